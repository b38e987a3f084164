#include "host/this_machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pantoum::host {
namespace {

// Of the first processor, those that are there.
constexpr std::array<std::string_view, 6> kTelling{"model name",      "cpu family", "model",
                                                   "CPU implementer", "CPU part",   "uarch"};

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

bool is_telling(std::string_view key) {
  for (const std::string_view each : kTelling)
    if (each == key) return true;
  return false;
}

}  // namespace

std::string processor_name() {
  std::string name;
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !is_telling(trimmed(std::string_view(line).substr(0, colon)))) continue;
    name += trimmed(std::string_view(line).substr(colon + 1)) + " ";
  }
  utsname system{};
  return name + (::uname(&system) == 0 ? system.machine : "unknown");
}

uint64_t available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") return kilobytes * 1024;
  }
  return 0;
}

uint64_t cache_bytes() {
  constexpr uint64_t kUsual = 1 << 20;
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = ::sysconf(level); bytes > 0) return static_cast<uint64_t>(bytes);
  return kUsual;
}

}  // namespace pantoum::host
