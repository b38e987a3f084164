#include "host/page_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

namespace pantoum::host {
namespace {

constexpr uint32_t kLargestDirectAlign = 65536;

std::string reason(int error) {
  return std::generic_category().message(error);
}

Failure no_file(const std::string& path, int error) {
  return fail("E0902", "the page file cannot be made: " + reason(error), path,
              "name a folder that can be written with --page-file");
}

Failure no_space(const std::string& path, uint64_t bytes, int error) {
  return fail("E0902", "the page file needs " + std::to_string(bytes) + " bytes and cannot have them: " + reason(error),
              path, "free that much space, or name another folder with --page-file");
}

bool is_folder(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// A file that did not exist, of this name or in this folder; `name` becomes its path.
Descriptor create(const std::string& path, std::string& name) {
  if (!is_folder(path)) {
    name = path;
    return Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  name = path + "/pantoum-page-XXXXXX";
  return Descriptor(mkostemp(name.data(), O_CLOEXEC));  // mode 0600, O_EXCL
}

bool is_same_file(int a, int b) {
  struct stat of_a = {};
  struct stat of_b = {};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

bool lives_in_ram(int fd) {
  struct statfs system = {};
  if (fstatfs(fd, &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC || system.f_type == HUGETLBFS_MAGIC;
}

// The smallest block that a direct read accepts, found by trying; 0: none.
uint32_t try_direct_align(int fd) {
  for (const uint32_t align : {512U, 4096U}) {
    void* block = nullptr;
    if (posix_memalign(&block, align, align) != 0) return 0;
    const ssize_t got = pread(fd, block, align, static_cast<off_t>(align));
    std::free(block);
    if (got >= 0) return align;
  }
  return 0;
}

// The alignment that direct I/O on this file needs; 0: there is no direct I/O.
uint32_t direct_align(int fd) {
#ifdef STATX_DIOALIGN
  struct statx found = {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) == 0 && (found.stx_mask & STATX_DIOALIGN) != 0) {
    const uint32_t align = std::max(found.stx_dio_mem_align, found.stx_dio_offset_align);
    return found.stx_dio_offset_align == 0 || align > kLargestDirectAlign ? 0 : align;
  }
#endif
  return try_direct_align(fd);
}

Result<void> reserve(int fd, const std::string& path, uint64_t bytes) {
  if (bytes == 0) return {};
  if (bytes > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return no_space(path, bytes, EFBIG);
  rlimit limit = {};  // asked first: going over it would be a signal
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return no_space(path, bytes, EFBIG);
  struct statfs system = {};  // asked first: an allocation that fails takes the whole disk until it has
  if (fstatfs(fd, &system) == 0 &&
      bytes / static_cast<uint64_t>(system.f_bsize) >= static_cast<uint64_t>(system.f_bavail))
    return no_space(path, bytes, ENOSPC);
  int error = 0;
  do error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  if (error != 0) return no_space(path, bytes, error);
  return {};
}

void add_direct(PageFile& file, Descriptor direct) {
  if (direct.get() < 0 || !is_same_file(direct.get(), file.buffered.get()) || lives_in_ram(direct.get())) return;
  const uint32_t align = direct_align(direct.get());
  if (align == 0) return;
  file.direct = std::move(direct);
  file.direct_align = align;
  file.direct_step = std::max<uint64_t>(align, static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

Result<PageFile> make_at(const std::string& path, uint64_t bytes, bool direct) {
  std::string name;
  PageFile file;
  file.buffered = create(path, name);
  if (file.buffered.get() < 0) return no_file(path, errno);
  Descriptor second(direct ? open(name.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC | O_NOFOLLOW) : -1);
  unlink(name.c_str());
  PANTOUM_TRY(reserve(file.buffered.get(), path, bytes));
  file.bytes = bytes;
  add_direct(file, std::move(second));
  return file;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int PageFile::fd_for(uint64_t at, const void* data, size_t size) const {
  const bool is_direct = direct.get() >= 0 && reinterpret_cast<uintptr_t>(data) % direct_align == 0 &&
                         at % direct_step == 0 && size % direct_step == 0;
  return is_direct ? direct.get() : buffered.get();
}

Result<PageFile> make_page_file(const std::string& path, uint64_t bytes, bool direct) {
  if (!path.empty()) return make_at(path, bytes, direct);
  Result<PageFile> first = make_at("/var/tmp", bytes, direct);
  if (first && (!direct || first->direct.get() >= 0)) return first;
  Result<PageFile> second = make_at("/tmp", bytes, direct);
  const bool second_is_better = second && (!first || second->direct.get() >= 0);
  return second_is_better ? std::move(second) : std::move(first);
}

pt_status status_of_errno(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? PT_E_FULL : PT_E_IO;
}

}  // namespace pantoum::host
