#include "host/this_machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace pantoum::host {
namespace {

// The keys of /proc/cpuinfo that name a processor; each kernel has some of them.
constexpr std::array<std::string_view, 6> kTelling{"model name",      "cpu family", "model",
                                                   "CPU implementer", "CPU part",   "uarch"};

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
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

// The size of the highest cache level that holds data; 0: the kernel tells none.
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

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;  // "max" is none
}

uint64_t left_in(const std::string& folder, const std::string& most_name, const std::string& used_name) {
  const std::optional<uint64_t> most = number_in(folder + "/" + most_name), used = number_in(folder + "/" + used_name);
  if (!most || !used) return UINT64_MAX;
  return *most > *used ? *most - *used : 0;
}

}  // namespace

std::string processor_name() {
  std::string name;
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (std::ranges::find(kTelling, trimmed(std::string_view(line).substr(0, colon))) == kTelling.end()) continue;
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
    if (words >> name >> kilobytes && name == "MemAvailable:")
      return std::min(kilobytes * 1024, bytes_left_by_groups());
  }
  return 0;
}

uint64_t bytes_left_by_groups(const std::string& groups, const std::string& root) {
  uint64_t left = UINT64_MAX;
  std::ifstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const bool old = !controllers.empty();
    std::string path = line.substr(second + 1);
    for (bool more = true; more;) {  // where a container shows its own group as the root, the first are not there
      const std::string folder = root + (old ? "/memory" : "") + path;
      left = std::min(left, left_in(folder, old ? "memory.limit_in_bytes" : "memory.max",
                                    old ? "memory.usage_in_bytes" : "memory.current"));
      more = !path.empty();
      path.erase(std::min(path.rfind('/'), path.size()));
    }
  }
  return left;
}

uint64_t cache_bytes(const std::string& folder) {
  constexpr uint64_t kUsual = 1 << 20;
  if (const uint64_t bytes = cache_in(folder); bytes > 0) return bytes;
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = ::sysconf(level); bytes > 0) return static_cast<uint64_t>(bytes);
  return kUsual;
}

}  // namespace pantoum::host
