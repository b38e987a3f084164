#include "pipeline/device_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/engine_threads.h"
#include "host/this_machine.h"
#include "kernels/opencl/engine.h"
#include "pipeline/measure_machine.h"

namespace pantoum::pipeline {
namespace {

constexpr problem::Seconds kAssumedHandOff = 2e-5;  // where nothing is measured

const cost::HostEngine* device_among(const std::vector<cost::HostEngine>& engines) {
  const auto found =
      std::ranges::find_if(engines, [](const cost::HostEngine& engine) { return engine.opencl.has_value(); });
  return found != engines.end() ? &*found : nullptr;
}

Result<opencl::Found> find(const cost::HostEngine& engine) {
  Result<opencl::Found> found = opencl::find_device(*engine.opencl);
  if (found) return found;
  Error error = found.error();
  error.help += fmt::format(
      "; without {}: leave it out of --engines, and plan again where a plan names it (weights and "
      "checkpoints serve any plan of the model)",
      engine.name);
  return Failure(std::move(error));
}

// What the device's times depend on beside an op.
std::string machine_of(const opencl::Device& device) {
  return fmt::format("{}|{}|{}|opencl {}", host::processor_name(), device.name, device.driver, PANTOUM_VERSION);
}

// A sentence about the times.
std::string words_of(const std::string& name, const cost::DeviceTimes& times, int threads) {
  const size_t known = times.known + times.now;
  if (known == 0)
    return fmt::format("the times on {} are assumed: an op takes as long there as on {} threads", name, threads);
  return fmt::format("{}: {} of {} kernels were measured; an op takes {:.0f} us there at least", name, known,
                     times.kernels, times.least * 1e6);
}

}  // namespace

Result<problem::Bytes> alignment_of(const std::vector<cost::HostEngine>& engines) {
  const cost::HostEngine* const engine = device_among(engines);
  if (engine == nullptr) return problem::Bytes{1};
  PANTOUM_ASSIGN(const opencl::Found found, find(*engine));
  return static_cast<problem::Bytes>(found.device.align_bytes);
}

Result<problem::Bytes> largest_arena_of(const std::vector<cost::HostEngine>& engines) {
  constexpr problem::Bytes kMost = std::numeric_limits<problem::Bytes>::max();
  const cost::HostEngine* const engine = device_among(engines);
  if (engine == nullptr) return kMost;
  PANTOUM_ASSIGN(const opencl::Found found, find(*engine));
  return static_cast<problem::Bytes>(std::min<uint64_t>(found.device.largest_allocation, kMost));
}

Result<problem::Seconds> hand_off_of(const PlanRequest& request, const pt_pool& pool) {
  if (request.settings.measure == Measure::off) return kAssumedHandOff;
  PANTOUM_ASSIGN(const std::unique_ptr<host::EngineThreads> threads,
                 host::EngineThreads::create(static_cast<uint32_t>(request.engines.size())));
  return host::measure_hand_off(*threads, pool);
}

Result<std::optional<DeviceAnswer>> ask_device(Compiled& compiled, const PlanRequest& request,
                                               const cost::DeviceProfile& profile,
                                               std::optional<problem::Seconds> seconds) {
  const cost::HostEngine* const named = device_among(request.engines);
  if (named == nullptr) return std::optional<DeviceAnswer>();
  const Program& training = compiled.training();
  const Measure measure = measure_of(request, profile.host);
  const bool measures = seconds && measure != Measure::off && measure != Measure::known;
  PANTOUM_ASSIGN(opencl::Found found, find(*named));
  const uint64_t bytes =
      measures ? bytes_to_measure(training, std::min(found.device.largest_allocation, host::available_bytes() / 2)) : 0;
  PANTOUM_ASSIGN(const std::unique_ptr<opencl::Engine> engine,
                 opencl::Engine::open(std::move(found.library), found.device, {.arena_bytes = bytes}));
  const pt_kernel_table table = *engine->table();
  auto kept = std::make_shared<const std::vector<pt_kernel>>(table.kernels, table.kernels + table.count);
  const pt_kernel_table rows{kept->data(), kept->size()};  // which outlive the engine
  compiled.device_kernels = kept;
  DeviceAnswer answer{.engine = named->name,
                      .name = engine->device().name,
                      .ways = cost::ways_on({&rows, engine->pool(), opencl::kAlgorithm, opencl::kEngine},
                                            training.graph, training.cost, compiled.kept_classes)};
  if (seconds) {
    PANTOUM_ASSIGN(MachineMeasurement machine, MachineMeasurement::begin(request, *compiled.kernels, profile));
    answer.times = machine.measure_ways(answer.ways, training, {static_cast<std::byte*>(engine->arena()), bytes},
                                        static_cast<problem::Bytes>(engine->align_bytes()), *engine->pool(),
                                        machine_of(engine->device()), *seconds);
    if (measures) answer.launch_s = engine->launch_seconds();
    machine.tell(compiled.warnings);
    compiled.planning_notes.push_back(words_of(named->name, answer.times, request.kernel_threads));
  }
  if (!engine->failure().empty())
    return fail("E0414", "the OpenCL device failed: " + engine->failure(), engine->device().name,
                "leave the engine out of --engines, or name another device");
  return std::optional(std::move(answer));
}

}  // namespace pantoum::pipeline
