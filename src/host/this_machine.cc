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

std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// "32768K"; 0: it is no size.
uint64_t size_of(const std::string& text) {
  std::istringstream words(text);
  uint64_t size = 0;
  if (!(words >> size)) return 0;
  char unit = 0;
  words >> unit;
  constexpr uint64_t kMost = uint64_t{1} << 34;  // more than any cache has
  const uint64_t factor = unit == 'K' ? 1024 : unit == 'M' ? 1 << 20 : 1;
  return size <= kMost / factor ? size * factor : 0;
}

// The size of the highest level that holds data; 0: none is told.
uint64_t cache_in(const std::string& folder) {
  int highest = 0;
  uint64_t bytes = 0;
  constexpr int kMostIndices = 16;
  for (int index = 0; index < kMostIndices; ++index) {
    const std::string of = folder + "/index" + std::to_string(index) + "/";
    const std::string level = first_word(of + "level");
    if (level.empty() || first_word(of + "type") == "Instruction") continue;
    const uint64_t size = size_of(first_word(of + "size"));
    if (size == 0 || level.size() != 1 || level[0] - '0' < highest) continue;
    highest = level[0] - '0';
    bytes = size;
  }
  return bytes;
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

uint64_t cache_bytes(const std::string& folder) {
  constexpr uint64_t kUsual = 1 << 20;
  if (const uint64_t bytes = cache_in(folder); bytes > 0) return bytes;
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = ::sysconf(level); bytes > 0) return static_cast<uint64_t>(bytes);
  return kUsual;
}

}  // namespace pantoum::host
