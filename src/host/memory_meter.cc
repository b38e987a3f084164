#include "host/memory_meter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace pantoum::host {
namespace {

constexpr size_t kProbedStackBytes = 128 << 10;
constexpr size_t kWarmHeapBytes =
    96 << 10;  // below the 128 KiB from which malloc maps pages anew, and gives the heap's end back

// "VmRSS:\t    1234 kB" -> 1234 * 1024; 0 when the line is not there.
uint64_t field(std::string_view status, std::string_view name) {
  size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  at += name.size();
  while (at < status.size() && (status[at] == ' ' || status[at] == '\t')) ++at;
  uint64_t kilobytes = 0;
  for (; at < status.size() && status[at] >= '0' && status[at] <= '9'; ++at)
    kilobytes = kilobytes * 10 + static_cast<uint64_t>(status[at] - '0');
  return kilobytes * 1024;
}

// The text of a file of /proc, as far as it fits; empty if it cannot be read.
template <size_t kBytes>
std::string_view read_text(const char* path, char (&text)[kBytes]) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  size_t size = 0;
  while (size < kBytes) {
    const ssize_t got = ::read(file, text + size, kBytes - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ::close(file);
  return {text, size};
}

// The kernel notes the peak from counters of which every processor keeps a part to itself: max(32, 2 x processors) pages of
// each of the three kinds (files, anonymous, shared; Linux calls it percpu_counter_batch).
uint64_t uncertainty_of_peak() {
  const auto processors = static_cast<uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  return 3 * processors * std::max<uint64_t>(32, 2 * processors) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// One mapping of /proc/self/smaps: its lines come one by one.
struct Mapping {
  uintptr_t begin = 0, end = 0;
  bool of_file = false, writable = false;
  bool unchanged = false;  // it is known to hold no pages but the file's; the list may end in the middle of a mapping

  // "55d0c0000000-55d0c0021000 r-xp 00002000 08:01 1234  /path" begins another mapping; false for other lines.
  bool begins(const char* line) {
    unsigned long first = 0, last = 0, inode = 0;
    char access[8] = {};
    if (std::sscanf(line, "%lx-%lx %7s %*s %*s %lu", &first, &last, access, &inode) != 4) return false;
    *this = {first, last, inode != 0, access[1] == 'w', false};
    return true;
  }
  void note(const char* line) {
    unsigned long kilobytes = 0;
    if (std::sscanf(line, "Anonymous: %lu", &kilobytes) == 1) unchanged = kilobytes == 0;
  }
  // Small pages are asked for first, so that one touched instruction does not bring megabytes back.
  void give_back() const {
    if (!of_file || writable || !unchanged) return;
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_NOHUGEPAGE);
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
};

[[gnu::noinline]] void touch_stack() {
  unsigned char stack[kProbedStackBytes];
  for (size_t at = 0; at < kProbedStackBytes; at += 1024) stack[at] = 1;
  asm volatile("" : : "r"(stack) : "memory");  // so that the stores are not left out
}

}  // namespace

ResidentSet read_resident_set() {
  char text[8192];
  const std::string_view status = read_text("/proc/self/status", text);
  return {field(status, "VmRSS:"), field(status, "VmHWM:"), field(status, "RssFile:")};
}

ResidentSet read_exact_resident_set() {
  ResidentSet found = read_resident_set();
  char text[4096];
  const std::string_view rollup = read_text("/proc/self/smaps_rollup", text);
  if (const uint64_t counted = field(rollup, "\nRss:"); counted > 0) {
    const uint64_t anonymous = field(rollup, "\nAnonymous:");
    found.now_bytes = counted;
    found.file_bytes = counted > anonymous ? counted - anonymous : 0;
  }
  if (found.peak_bytes < found.now_bytes + uncertainty_of_peak()) found.peak_bytes = found.now_bytes;
  return found;
}

bool reset_resident_peak() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::write(file, "5", 1) == 1;
  ::close(file);
  return done;
}

uint64_t resident_bytes(const void* data, uint64_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page,
                  end = reinterpret_cast<uintptr_t>(data) + bytes;
  unsigned char there[512];
  uint64_t found = 0;
  for (uintptr_t at = begin; at < end; at += sizeof there * page) {
    const size_t length = std::min<size_t>(sizeof there * page, end - at);
    if (::mincore(reinterpret_cast<void*>(at), length, there) != 0) return found;
    for (size_t one = 0; one * page < length; ++one) found += (there[one] & 1U) != 0 ? page : 0;
  }
  return found;
}

void give_back_clean_files() {
  std::FILE* maps = std::fopen("/proc/self/smaps", "re");
  if (maps == nullptr) return;
  Mapping mapping;
  char line[4096];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    Mapping next;
    if (next.begins(line)) {
      mapping.give_back();
      mapping = next;
    } else {
      mapping.note(line);
    }
  }
  mapping.give_back();
  std::fclose(maps);
}

void warm_stack() {
  touch_stack();
}

void warm_heap() {
  void* const block = std::malloc(kWarmHeapBytes);
  if (block == nullptr) return;
  std::memset(block, 0, kWarmHeapBytes);
  asm volatile("" : : "r"(block) : "memory");
  std::free(block);
}

}  // namespace pantoum::host
