#include "host/memory_meter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace pantoum::host {
namespace {

constexpr size_t kProbedStackBytes = 128 << 10;

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
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  size_t size = 0;
  while (size < sizeof text) {
    const ssize_t got = ::read(file, text + size, sizeof text - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ::close(file);
  const std::string_view status(text, size);
  return {field(status, "VmRSS:"), field(status, "VmHWM:"), field(status, "RssFile:")};
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

}  // namespace pantoum::host
