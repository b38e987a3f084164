#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "base/foreign_text.h"
#include "cost/meters/meter.h"

namespace pantoum::cost {
namespace {

constexpr unsigned kMostGpus = 1024;
constexpr int kNoPermission = 4;  // NVML_ERROR_NO_PERMISSION

using NvmlDevice = void*;

// The few functions of NVML that are called, by their names in the library.
struct Nvml {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*energy_mj)(NvmlDevice, unsigned long long*) = nullptr;
  int (*power_mw)(NvmlDevice, unsigned*) = nullptr;
  const char* (*text)(int) = nullptr;
  bool ready = false;

  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (ready) shutdown();
    if (library) ::dlclose(library);
  }

  template <class Function>
  bool find(Function& function, const char* called) {
    function = reinterpret_cast<Function>(::dlsym(library, called));
    return function != nullptr;
  }
  [[nodiscard]] std::string reason(int status) const {
    const char* said = text ? text(status) : nullptr;
    return said ? base::one_line(said) : fmt::format("status {}", status);
  }
};

Result<std::shared_ptr<Nvml>> open_nvml(const std::string& library) {
  auto nvml = std::make_shared<Nvml>();
  nvml->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!nvml->library)
    return fail("E0272", fmt::format("no {}: there is no driver of Nvidia", base::one_line(library)), {},
                "it comes with the driver of an Nvidia GPU");
  nvml->find(nvml->text, "nvmlErrorString");
  nvml->find(nvml->energy_mj, "nvmlDeviceGetTotalEnergyConsumption");  // absent before Volta's drivers
  nvml->find(nvml->name, "nvmlDeviceGetName");
  if (!nvml->find(nvml->init, "nvmlInit_v2") || !nvml->find(nvml->shutdown, "nvmlShutdown") ||
      !nvml->find(nvml->count, "nvmlDeviceGetCount_v2") || !nvml->find(nvml->device, "nvmlDeviceGetHandleByIndex_v2") ||
      !nvml->find(nvml->power_mw, "nvmlDeviceGetPowerUsage"))
    return fail("E0272", fmt::format("{} lacks functions of NVML", base::one_line(library)), {}, "update the driver");
  if (const int status = nvml->init(); status != 0)
    return fail("E0272", "NVML does not start: " + nvml->reason(status), {}, "'nvidia-smi' tells more of the driver");
  nvml->ready = true;
  return nvml;
}

Failure gpu_failure(const Nvml& nvml, unsigned gpu, int status) {
  return fail("E0909", fmt::format("GPU {} cannot be read: {}", gpu, nvml.reason(status)), {},
              status == kNoPermission ? "run as root" : "'nvidia-smi' tells more of it");
}

Result<Rail> rail_of_gpu(const std::shared_ptr<Nvml>& nvml, unsigned gpu) {
  NvmlDevice device = nullptr;
  if (const int status = nvml->device(gpu, &device); status != 0) return gpu_failure(*nvml, gpu, status);
  std::array<char, 97> name{};
  if (!nvml->name || nvml->name(device, name.data(), name.size() - 1) != 0) name[0] = 0;
  Rail rail{.name = fmt::format("GPU {} {}", gpu, base::one_line(name.data())), .joules_per_count = 1e-3};
  if (unsigned long long now = 0; nvml->energy_mj && nvml->energy_mj(device, &now) == 0) {
    rail.count = [nvml, device, gpu]() -> Result<uint64_t> {
      unsigned long long count = 0;
      if (const int status = nvml->energy_mj(device, &count); status != 0) return gpu_failure(*nvml, gpu, status);
      return uint64_t{count};
    };
    return rail;
  }
  rail.watts = [nvml, device, gpu]() -> Result<Watts> {
    unsigned milliwatts = 0;
    if (const int status = nvml->power_mw(device, &milliwatts); status != 0) return gpu_failure(*nvml, gpu, status);
    return milliwatts * 1e-3;
  };
  if (const Result<Watts> now = rail.watts(); !now) return Failure(now.error());
  return rail;
}

Result<MeterSource> source_of(const std::shared_ptr<Nvml>& nvml, unsigned first, unsigned last) {
  MeterSource source{.kind = MeterKind::kNvml};
  std::vector<std::string> names;
  for (unsigned gpu = first; gpu < last; ++gpu) {
    Result<Rail> rail = rail_of_gpu(nvml, gpu);
    if (!rail) return fail("E0272", rail.error().message, {}, rail.error().help);
    names.push_back(rail->name + (rail->count ? "" : ", power alone"));
    if (!rail->count) source.period_s = 0.05;
    source.rails.push_back(*std::move(rail));
  }
  source.label = fmt::format("NVML ({})", fmt::join(names, "; "));
  source.update_s = 0.1;
  return source;
}

}  // namespace

Result<MeterSource> nvml_source(const MeterPlace& place, const std::string& filter) {
  PANTOUM_ASSIGN(const std::shared_ptr<Nvml> nvml, open_nvml(place.nvml));
  unsigned count = 0;
  if (const int status = nvml->count(&count); status != 0 || count == 0 || count > kMostGpus)
    return fail("E0272", "NVML finds no GPU" + (status ? ": " + nvml->reason(status) : std::string()), {},
                "'nvidia-smi' tells more of the driver");
  unsigned first = 0, last = count;
  if (!filter.empty()) {
    const char* end = filter.data() + filter.size();
    const auto read = std::from_chars(filter.data(), end, first);
    if (read.ec != std::errc() || read.ptr != end || first >= count)
      return fail("E0272", fmt::format("no GPU '{}'", base::one_line(filter)), {},
                  fmt::format("NVML numbers them from 0 to {}", count - 1));
    last = first + 1;
  }
  PANTOUM_ASSIGN(MeterSource source, source_of(nvml, first, last));
  source.word = filter.empty() ? "nvml" : "nvml:" + filter;
  return source;
}

}  // namespace pantoum::cost
