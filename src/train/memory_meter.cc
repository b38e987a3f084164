#include "train/memory_meter.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#endif

namespace pantoum::train {
namespace {

constexpr size_t kStackBytes = 128 << 10;

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

// Populates the executable segments of the object that holds the address in `wanted`.
int populate_object(dl_phdr_info* object, size_t, void* wanted) {
  const auto address = reinterpret_cast<uintptr_t>(wanted);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  bool holds = false;
  for (int pass = 0; pass < 2; ++pass)
    for (int segment = 0; segment < object->dlpi_phnum; ++segment) {
      const auto& header = object->dlpi_phdr[segment];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const uintptr_t begin = object->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
      if (pass == 0) holds = holds || (address >= begin && address < end);
      const uintptr_t first = begin / page * page;
      if (pass == 1 && holds) (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_READ);
    }
  return holds ? 1 : 0;
}

[[gnu::noinline]] void touch_stack() {
  unsigned char room[kStackBytes];
  for (size_t at = 0; at < kStackBytes; at += 1024) room[at] = 1;
  asm volatile("" : : "r"(room) : "memory");  // so that the stores are not left out
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
  return {field(status, "VmRSS:"), field(status, "VmHWM:")};
}

bool reset_resident_peak() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::write(file, "5", 1) == 1;
  ::close(file);
  return done;
}

void warm_code_and_stack(const void* function) {
  touch_stack();
  ::dl_iterate_phdr(populate_object, const_cast<void*>(function));
}

}  // namespace pantoum::train
