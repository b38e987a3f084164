// The file behind a pager: private, unlinked, allocated in full, opened both with and without O_DIRECT.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// One open file descriptor, closed with it.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

struct PageFile {
  Descriptor buffered;
  Descriptor direct;          // -1 without direct I/O
  uint32_t direct_align = 1;  // what offsets, sizes and addresses must be multiples of, to go through `direct`
  uint64_t direct_step = 1;   // what offsets and sizes are multiples of where a transfer goes through `direct`
  uint64_t bytes = 0;

  // The descriptor for a transfer: `direct` where it is possible. No page of the system's cache belongs to a transfer through `direct` and to a neighbour through
  // `buffered`: the cache would write its copy of the page over the other's bytes.
  int fd_for(uint64_t at, const void* data, size_t size) const;
};

// Makes the file. `path`, `direct`: as FilePagerOptions says. E0902.
Result<PageFile> make_page_file(const std::string& path, uint64_t bytes, bool direct);

// The status of a failed read or write: PT_E_FULL for no space, else PT_E_IO. `error`: errno, or 0 for a transfer that moved
// nothing.
[[nodiscard]] pt_status status_of_errno(int error);

}  // namespace pantoum::host
