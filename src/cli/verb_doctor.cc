#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cost/meters/open_meter.h"
#include "cost/profile_store.h"
#include "host/file_pager.h"
#include "host/kernel_set.h"
#include "host/processors.h"
#include "kernels/opencl/engine.h"

namespace pantoum::cli {

namespace {

struct Finding {
  std::string id, what;
  bool yes = false;
  bool stops_train = false;                     // a no: `pantoum train` with these options would end with an error
  std::string detail, mend;                     // mend: what to do about a no
  std::vector<cost::MeterFinding> meters = {};  // of the energy meters: each kind
};

struct MachineQuestion {
  std::string page_folder;
  bool encrypt = true;
};

namespace fs = std::filesystem;

// The first line that begins with `key`, without it; "" where there is none.
std::string line_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The clusters of a machine that has several; kernels run on the first.
std::string clusters_text(const std::vector<host::Cluster>& clusters) {
  if (clusters.size() < 2) return "";
  std::string text;
  for (const host::Cluster& cluster : clusters)
    text += fmt::format("{}{} of speed {:.2f}", text.empty() ? "; kernels run on " : ", the others are ",
                        host::name_of(cluster.processors), cluster.slowest / clusters.front().slowest);
  return text;
}

Finding processor() {
  const std::string model = line_of("/proc/cpuinfo", "model name");
  const int allowed = allowed_cores();
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  return {
      .id = "cpu",
      .what = "processor",
      .yes = true,
      .detail = fmt::format("{}{} thread{}{}{}", model.empty() ? "" : model + ", ", allowed, allowed == 1 ? "" : "s",
                            static_cast<unsigned>(allowed) < all ? fmt::format(" of {}", all) : "",
                            clusters_text(host::clusters_of(host::allowed_processors())))};
}

Finding threads() {
  try {
    std::thread([] {}).join();
  } catch (const std::system_error& error) {
    return {"threads", "threads", false, true, error.code().message(), "raise the limit (ulimit -u)"};
  }
  return {.id = "threads", .what = "threads", .yes = true, .detail = "the system gives them"};
}

// The smallest limit on this process's memory, beside what the machine has.
std::string limit_text(int resource, const char* option) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {};
  return fmt::format("; {} {}", option, base::show_bytes(static_cast<int64_t>(limit.rlim_cur)));
}

std::string cgroup_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  int64_t bytes = 0;
  return file >> bytes ? fmt::format("; control group {}", base::show_bytes(bytes)) : "";
}

Finding memory() {
  const auto kib = [](const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); };
  const int64_t available = 1024 * kib(line_of("/proc/meminfo", "MemAvailable"));
  const int64_t all = 1024 * kib(line_of("/proc/meminfo", "MemTotal"));
  constexpr int64_t kLeast = int64_t{32} << 20;  // the program itself, with a back end
  return {
      .id = "memory",
      .what = "memory",
      .yes = available >= kLeast || all == 0,
      .stops_train = true,
      .detail = fmt::format("{} of {} available{}{}{}", base::show_bytes(available), base::show_bytes(all),
                            limit_text(RLIMIT_AS, "ulimit -v"), limit_text(RLIMIT_DATA, "ulimit -d"), cgroup_limit()),
      .mend = "free some memory"};
}

std::string loaded_from(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos && line.find('/') != std::string::npos)
      return line.substr(line.find('/'));
  return library;
}

Finding back_end() {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kOneDnn, 0);
  Finding finding{.id = "onednn", .what = "fast kernels (oneDNN)", .yes = kernels.has_value()};
  if (kernels) {
    finding.detail = fmt::format("{}, {}", (*kernels)->name(), loaded_from("libpantoum_onednn"));
    return finding;
  }
  const Error& error = kernels.error();
  finding.detail =
      error.message + (error.notes.empty() ? "" : fmt::format("; looked for: {}", fmt::join(error.notes, "; ")));
  finding.mend = "the portable kernels serve instead, slower; " + error.help;
  return finding;
}

// What an engine on the device would be, or why there is none.
std::string opencl_device(const std::shared_ptr<const opencl::Library>& library, const opencl::Device& device) {
  const auto engine = opencl::Engine::open(library, device, {.arena_bytes = 4096});
  const std::string what = engine
                               ? fmt::format("{}, {}", opencl::sharing_text(device),
                                             (*engine)->has_portable_bits() ? "the portable bits" : "bits of its own")
                               : engine.error().message;
  return fmt::format("{} ({}): {}", device.name, device.platform_name, what);
}

Finding opencl_devices() {
  Finding finding{.id = "opencl", .what = "OpenCL devices", .mend = "nothing to do: the processor computes everything"};
  const auto library = opencl::load_library();
  const auto devices =
      library ? opencl::list_devices(**library) : Result<std::vector<opencl::Device>>(Failure(library.error()));
  if (!devices) return finding.detail = devices.error().message, finding;
  std::vector<std::string> texts;
  for (const opencl::Device& device : *devices) {
    finding.yes = finding.yes || device.refusal.empty();
    texts.push_back(fmt::format("opencl{}: {}", texts.size(), opencl_device(*library, device)));
  }
  finding.detail = fmt::format("{}", fmt::join(texts, "; "));
  return finding;
}

Finding async_io(const std::string& folder) {
  const auto pager = host::FilePager::open(
      {.path = folder, .bytes = 1 << 20, .backend = host::PagerBackend::kUring, .align_bytes = 512, .encrypt = false});
  Finding finding{.id = "async_io", .what = "asynchronous I/O (io_uring)", .yes = pager.has_value()};
  if (pager) return finding;
  finding.detail = pager.error().message;
  finding.mend = "nothing to do: a thread with pread and pwrite serves instead";
  return finding;
}

Finding page_file(const std::string& folder) {
  const auto pager = host::FilePager::open({.path = folder, .bytes = 1 << 20, .align_bytes = 512, .encrypt = false});
  Finding finding{.id = "page_file", .what = "page file in " + folder, .yes = pager.has_value(), .stops_train = true};
  if (!pager) finding.detail = pager.error().message, finding.mend = "choose another folder with --page-file";
  return finding;
}

Finding direct_io(const std::string& folder) {
  const auto pager = host::FilePager::open({.path = folder, .bytes = 1 << 20, .align_bytes = 512, .encrypt = false});
  const bool direct = pager && (*pager)->direct_io();
  return {.id = "direct_io",
          .what = "direct I/O in " + folder,
          .yes = direct,
          .detail = direct  ? ""
                    : pager ? "this file system refuses O_DIRECT, so the page cache would hold what is paged out"
                            : pager.error().message,
          .mend = "choose a folder on a disk (not tmpfs) with --page-file"};
}

Finding encryption(bool wanted) {
  Finding finding{.id = "encryption", .what = "page file encryption"};
  if (!wanted) {
    finding.detail = "what is paged out lies in the page file as it is";
    finding.mend = "leave --page-encryption off out";
    return finding;
  }
  const auto cipher = host::PageCipher::create();
  finding.yes = cipher.has_value(), finding.stops_train = true;
  finding.detail = cipher ? cipher->name() : cipher.error().message;
  if (!cipher) finding.mend = cipher.error().help;
  return finding;
}

Finding energy_meter() {
  Finding finding{.id = "energy_meter", .what = "energy meters", .meters = cost::find_meters()};
  std::vector<std::string> labels;
  for (const cost::MeterFinding& meter : finding.meters)
    if (meter.usable) labels.push_back(meter.label);
  finding.yes = !labels.empty();
  finding.detail = finding.yes ? fmt::format("{}", fmt::join(labels, "; ")) : "none that can be read";
  finding.mend = "energy figures are modelled from the device profile, and say so";
  return finding;
}

Finding profile_store() {
  const std::string path = default_profile_store();
  Finding finding{.id = "profile_store", .what = "store of measured times"};
  finding.mend = "set HOME or XDG_CACHE_HOME, or name a file with --profile-store";
  if (path.empty()) return finding.detail = "no folder for it", finding;
  std::error_code none;
  if (!fs::exists(path, none)) {
    fs::path folder = fs::path(path).parent_path();
    while (!fs::exists(folder, none) && folder.has_relative_path()) folder = folder.parent_path();
    finding.yes = ::access(folder.c_str(), W_OK) == 0;
    finding.detail = path + (finding.yes ? ": not made yet" : ": its folder cannot be written to");
    return finding;
  }
  const auto store = cost::ProfileStore::open(path);
  const Result<int64_t> rows = store ? (*store)->rows() : Result<int64_t>(Failure(store.error()));
  const bool writable = ::access(path.c_str(), W_OK) == 0;
  finding.yes = rows.has_value() && writable;
  finding.detail = rows ? fmt::format("{}: {} times{}", path, *rows, writable ? "" : ", and it cannot be written to")
                        : path + ": " + rows.error().message;
  if (!rows) finding.mend = rows.error().help;
  return finding;
}

Finding program(const char* id, const char* name, const char* what, const char* package) {
  const char* path = std::getenv("PATH");
  std::string folders = path ? path : "/usr/bin:/bin";
  Finding finding{.id = id, .what = what};
  while (!folders.empty() && !finding.yes) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string candidate = folders.substr(0, end) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) finding.yes = true, finding.detail = candidate;
    folders.erase(0, std::min(end + 1, folders.size()));
  }
  if (finding.yes) return finding;
  finding.detail = fmt::format("no {} on the path", name);
  finding.mend = fmt::format("apt-get install {}", package);
  return finding;
}

Finding disk_space(const std::string& folder) {
  struct statvfs status {};
  Finding finding{.id = "disk_space", .what = "space for the page file"};
  finding.mend = "free some, or choose another folder with --page-file";
  if (::statvfs(folder.c_str(), &status) != 0) return finding.detail = "cannot look into " + folder, finding;
  const auto bytes = static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
  finding.yes = bytes > (int64_t{1} << 30);
  finding.detail = base::show_bytes(bytes) + " in " + folder;
  return finding;
}

std::vector<Finding> findings_of(const MachineQuestion& question) {
  const std::string& folder = question.page_folder;
  return {processor(),
          threads(),
          memory(),
          back_end(),
          opencl_devices(),
          page_file(folder),
          disk_space(folder),
          direct_io(folder),
          async_io(folder),
          encryption(question.encrypt),
          profile_store(),
          energy_meter(),
          program("cc", "cc", "C compiler", "gcc"),
          program("arm_compiler", "arm-none-eabi-gcc", "compiler for microcontrollers",
                  "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
          program("qemu", "qemu-system-arm", "emulator for microcontrollers", "qemu-system-arm")};
}

struct DoctorOptions {
  Common common;
  PlanOptions pages{.page_file = "/var/tmp"};
};

bool stops(const Finding& finding) {
  return !finding.yes && finding.stops_train;
}

nlohmann::ordered_json to_json(const cost::MeterFinding& meter) {
  return {{"word", meter.word}, {"ok", meter.usable}, {"detail", meter.label}, {"mend", meter.help}};
}

nlohmann::ordered_json to_json(const Finding& finding) {
  nlohmann::ordered_json json{{"id", finding.id},         {"what", finding.what},
                              {"ok", finding.yes},        {"stops_train", stops(finding)},
                              {"detail", finding.detail}, {"mend", finding.yes ? "" : finding.mend}};
  for (const cost::MeterFinding& meter : finding.meters) json["meters"].push_back(to_json(meter));
  return json;
}

void print(const cost::MeterFinding& meter) {
  print_formatted("  {:<30} {:<4} {}\n", "--meter " + meter.word, meter.usable ? "yes" : "no",
                  base::one_line(meter.label));
  if (!meter.usable) print_formatted("{:<37} {}\n", "", base::one_line(meter.help));
}

void print_finding(const Finding& finding) {
  print_formatted("{:<32} {:<4} {}\n", base::one_line(finding.what), finding.yes ? "yes" : "no",
                  base::one_line(finding.detail));
  if (!finding.yes)
    print_formatted("{:<37} {}{}\n", "", stops(finding) ? "stops train: " : "", base::one_line(finding.mend));
  for (const cost::MeterFinding& meter : finding.meters) print(meter);
}

Result<int> look(const DoctorOptions& options) {
  const std::vector<Finding> findings =
      findings_of({.page_folder = *options.pages.page_file, .encrypt = options.pages.page_encryption});
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) json.push_back(to_json(finding));
  if (options.common.json())
    print_json(json, 1);
  else
    std::for_each(findings.begin(), findings.end(), print_finding);
  return std::any_of(findings.begin(), findings.end(), stops) ? 1 : 0;
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto options = std::make_shared<DoctorOptions>();
  Verb verb =
      line.add_verb("doctor", "what this machine has, and how to mend each no; exits 1 on what would stop train");
  verb.add_settings_of(settings::fields_of(options->pages), {"page_file", "page_encryption"});
  verb.option("--page-file")
      .described("folder where the page file would be")
      .is(Kind::kText);  // what is wrong with it is the answer
  add_common(verb, options->common);
  verb.does([options] { return look(*options); });
}

}  // namespace pantoum::cli
