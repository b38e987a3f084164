#include "base/owned_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace pantoum::base {
namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;  // Linux moves at most 2 GiB at a time

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool same_file(int descriptor, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

OwnedFile::OwnedFile(OwnedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

OwnedFile& OwnedFile::operator=(OwnedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

OwnedFile::~OwnedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<OwnedFile> OwnedFile::open_to_read(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must not make us wait before it is refused.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail("E0201", "cannot open the file: " + system_reason(), path, "check the path and its permissions");
  OwnedFile file(descriptor, path, 0);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return fail("E0201", "cannot read the file: " + system_reason(), path);
  if (!S_ISREG(status.st_mode))
    return fail("E0201", "cannot read the file: it is not a regular file", path, "name a file");
  file.size_ = static_cast<uint64_t>(status.st_size);
  return file;
}

Result<void> OwnedFile::read_at(uint64_t at, std::span<std::byte> data, const char* code) const {
  size_t done = 0;
  while (done < data.size()) {
    const size_t want = std::min(data.size() - done, kMaxTransfer);
    const ssize_t got = ::pread(descriptor_, data.data() + done, want, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(code, "cannot read the file: " + system_reason(), path_);
    if (got == 0)
      return fail(code, "the file ends at byte " + std::to_string(at + done), path_,
                  "it was cut short; copy or make it again");
    done += static_cast<size_t>(got);
  }
  return {};
}

Result<AtomicFile> AtomicFile::create(const std::string& path, unsigned mode) {
  if (is_special_file(path)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return write_failure(path, system_reason());
    return AtomicFile(OwnedFile(descriptor, path, 0), path);
  }
  // why: the name can be foreseen, because it is the lock: two writers of one path meet at it. No link is followed, and
  // what stands there is written only under the lock.
  const std::string part = path + ".part";
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor < 0) return write_failure(path, system_reason());
    OwnedFile file(descriptor, part, 0);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return write_failure(path, "another process is writing it");
    // Between open and lock another writer may have renamed this very file into place; then it must not be touched.
    if (!same_file(descriptor, part)) continue;
    if (::ftruncate(descriptor, 0) != 0 || ::fchmod(descriptor, mode) != 0) return write_failure(path, system_reason());
    return AtomicFile(std::move(file), path);
  }
  return write_failure(path, "other processes keep writing it");
}

AtomicFile::~AtomicFile() {
  if (file_.descriptor() >= 0 && !committed_ && !is_direct()) ::unlink(file_.path().c_str());
}

Result<void> AtomicFile::append(std::span<const std::byte> data) {
  size_t done = 0;
  while (done < data.size()) {
    const size_t want = std::min(data.size() - done, kMaxTransfer);
    const ssize_t wrote = ::write(file_.descriptor(), data.data() + done, want);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return write_failure(path_, system_reason());
    done += static_cast<size_t>(wrote);
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (is_direct()) return {};
  if (::fsync(file_.descriptor()) != 0) return write_failure(path_, system_reason());
  if (::rename(file_.path().c_str(), path_.c_str()) != 0) return write_failure(path_, system_reason());
  committed_ = true;
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return {};  // a folder that may be written and not read: the rename stands, its moment of durability is the
                // system's
  const bool flushed = ::fsync(folder) == 0 || errno == EINVAL;  // EINVAL: the file system has no such thing
  const std::string why = flushed ? "" : system_reason();
  ::close(folder);
  if (!flushed) return write_failure(path_, why);
  return {};
}

}  // namespace pantoum::base
