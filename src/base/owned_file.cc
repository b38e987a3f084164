#include "base/owned_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/special_files.h"
#include "base/inputs_in_use.h"
#include "base/system_calls.h"

namespace pantoum::base {
namespace {

// Gives `path` its second name `kept`, in place of the file that had it. Where a file system has no hard links the file
// is moved there, and `path` is missing until the new one takes its place.
Result<void> keep_under(const std::string& path, const std::string& kept) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};  // there is nothing to keep
  const std::string part = kept + ".part";
  PANTOUM_TRY(check_file(kept, Access::write));
  PANTOUM_TRY(check_file(part, Access::write));
  ::unlink(part.c_str());
  const bool linked = ::link(path.c_str(), part.c_str()) == 0;
  const bool kept_it = ::rename(linked ? part.c_str() : path.c_str(), kept.c_str()) == 0;
  const std::string why = kept_it ? "" : system_reason();
  if (linked) ::unlink(part.c_str());  // rename() failed, or both names already belonged to one file, where rename() does nothing
  if (!kept_it) return write_failure(kept, why);
  return {};
}

std::string_view text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace

bool is_file_at(int descriptor, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

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
  if (path.find('\0') != std::string::npos) return fail("E0201", "cannot open the file: its path has a byte of 0");
  record_input(path);
  // O_NONBLOCK: a pipe without a writer must not make us wait before it is refused.
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
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
    PANTOUM_TRY(check_file(path, Access::write));
    const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
    if (descriptor < 0) return write_failure(path, system_reason());
    return AtomicFile(OwnedFile(descriptor, path, 0), path);
  }
  // The name can be foreseen because it is the lock, at which two writers of one path meet. No link is followed, and
  // what stands there is written only under the lock.
  const std::string part = path + ".part";
  PANTOUM_TRY(check_no_input(path));
  PANTOUM_TRY(check_no_input(part));
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = part, target = path;  // allocated first: a failure later would leave the file
    std::string why;
    const int descriptor = open_own_file(part, O_WRONLY | O_CREAT, mode, why);
    if (descriptor < 0) return write_failure(part, why);
    OwnedFile file(descriptor, std::move(name), 0);
    if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0)
      return write_failure(path, errno == EWOULDBLOCK ? "another process is writing it" : system_reason());
    // Between open and lock another writer may have renamed this very file into place; then it must not be touched.
    if (!is_file_at(descriptor, part)) continue;
    AtomicFile made(std::move(file), std::move(target));  // from here on it is ours to remove
    if (uninterrupted([&] { return ::ftruncate(descriptor, 0); }) != 0 || ::fchmod(descriptor, mode) != 0)
      return write_failure(path, system_reason());
    return made;
  }
  return write_failure(path, "other processes keep writing it");
}

AtomicFile::~AtomicFile() {
  if (file_.descriptor() >= 0 && !committed_ && !is_direct()) ::unlink(file_.path().c_str());
}

Result<void> AtomicFile::append(std::span<const std::byte> data) {
  if (!write_all(file_.descriptor(), text_of(data))) return write_failure(path_, system_reason());
  return {};
}

Result<void> AtomicFile::rewrite(uint64_t at, std::span<const std::byte> data) {
  if (!write_all_at(file_.descriptor(), at, text_of(data))) return write_failure(path_, system_reason());
  return {};
}

Result<void> AtomicFile::commit(const std::string& kept) {
  if (is_direct()) return {};
  if (uninterrupted([&] { return ::fsync(file_.descriptor()); }) != 0) return write_failure(path_, system_reason());
  if (!kept.empty()) PANTOUM_TRY(check_no_input(kept));
  if (!kept.empty()) PANTOUM_TRY(keep_under(path_, kept));
  if (::rename(file_.path().c_str(), path_.c_str()) != 0) return write_failure(path_, system_reason());
  committed_ = true;
  return flush_folder_of(path_);
}

}  // namespace pantoum::base
