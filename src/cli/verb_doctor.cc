#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/page_options.h"
#include "host/file_pager.h"

namespace pantoum::cli {
namespace {

struct Finding {
  std::string what;
  bool yes = false;
  std::string detail, mend;  // mend: what to do about a no
};

struct DoctorOptions {
  Common common;
  PageWords pages{.file = "/var/tmp"};
};

Finding async_io(const std::string& folder) {
  const auto pager = host::FilePager::open(
      {.path = folder, .bytes = 1 << 20, .backend = host::PagerBackend::kUring, .align_bytes = 512, .encrypt = false});
  if (pager) return {"asynchronous I/O (io_uring)", true, "", ""};
  return {"asynchronous I/O (io_uring)", false, pager.error().message,
          "nothing to do: a thread with pread and pwrite serves instead"};
}

Finding direct_io(const std::string& folder) {
  const auto pager = host::FilePager::open({.path = folder, .bytes = 1 << 20, .align_bytes = 512, .encrypt = false});
  if (!pager) return {"page file in " + folder, false, pager.error().message, "choose another folder with --page-file"};
  const bool direct = (*pager)->direct_io();
  return {"direct I/O in " + folder, direct,
          direct ? "" : "this file system refuses O_DIRECT, so the page cache would hold what is paged out",
          "choose a folder on a disk (not tmpfs) with --page-file"};
}

Finding encryption(bool wanted) {
  if (!wanted)
    return {"page file encryption", false, "what is paged out lies in the page file as it is",
            "leave --page-encryption off out"};
  const auto cipher = host::PageCipher::create();
  if (!cipher) return {"page file encryption", false, cipher.error().message, cipher.error().help};
  return {"page file encryption", true, cipher->name(), ""};
}

Finding energy_meter() {
  std::error_code none;
  const std::filesystem::path meter = "/sys/class/powercap/intel-rapl:0/energy_uj";
  const bool there = std::filesystem::exists(meter, none);
  const bool readable = there && ::access(meter.c_str(), R_OK) == 0;
  return {"energy meter (RAPL)", readable,
          there && !readable ? "it is there but not readable"
          : readable         ? ""
                             : "none on this machine",
          there ? "run as root, or chmod a+r " + meter.string()
                : "energy figures are modelled from the device profile, and say so"};
}

Finding program(const char* name, const char* what, const char* package) {
  const char* path = std::getenv("PATH");
  std::string folders = path ? path : "/usr/bin:/bin";
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string candidate = folders.substr(0, end) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return {what, true, candidate, ""};
    folders.erase(0, std::min(end + 1, folders.size()));
  }
  return {what, false, fmt::format("no {} on the path", name), fmt::format("apt-get install {}", package)};
}

Finding disk_space(const std::string& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0)
    return {"space for the page file", false, "cannot look into " + folder, "choose another folder with --page-file"};
  const auto bytes = static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
  return {"space for the page file", bytes > (int64_t{1} << 30), base::show_bytes(bytes) + " in " + folder,
          "free some, or choose another folder with --page-file"};
}

Result<int> look(const DoctorOptions& options) {
  const std::vector<Finding> findings{
      {"processor cores", true, std::to_string(std::thread::hardware_concurrency()), ""},
      disk_space(options.pages.file),
      direct_io(options.pages.file),
      async_io(options.pages.file),
      encryption(options.pages.encrypt()),
      energy_meter(),
      program("cc", "C compiler", "gcc"),
      program("arm-none-eabi-gcc", "compiler for microcontrollers", "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
      program("qemu-system-arm", "emulator for microcontrollers", "qemu-system-arm")};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json.push_back({{"what", finding.what},
                    {"ok", finding.yes},
                    {"detail", finding.detail},
                    {"mend", finding.yes ? "" : finding.mend}});
    if (options.common.json()) continue;
    print_formatted("{:<32} {:<4} {}\n", base::one_line(finding.what), finding.yes ? "yes" : "no",
                    base::one_line(finding.detail));
    if (!finding.yes) print_formatted("{:<37} {}\n", "", base::one_line(finding.mend));
  }
  if (options.common.json()) print_json(json, 1);
  return 0;
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto options = std::make_shared<DoctorOptions>();
  Verb verb = line.add_verb("doctor", "what this machine has, and how to mend each no");
  add_page_options(verb, options->pages, "folder where the page file would be");
  add_common(verb, options->common);
  verb.does([options] { return look(*options); });
}

}  // namespace pantoum::cli
