#include "base/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/open_input.h"
#include "base/system_calls.h"

namespace pantoum::base {
namespace {

Failure no_map(int file, const std::string& path, const std::string& why) {
  ::close(file);
  return fail("E0201", "cannot read the file: " + why, path);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, uint64_t most) {
  PANTOUM_ASSIGN(const int file, open_input(path));
  struct stat status {};
  if (::fstat(file, &status) != 0) return no_map(file, path, system_reason());
  if (!S_ISREG(status.st_mode)) return no_map(file, path, "it is no regular file");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > most) return no_map(file, path, fmt::format("it has more than {} bytes", most));
  const std::byte* begin = nullptr;
  if (size > 0) {
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) return no_map(file, path, system_reason());
    begin = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, file, begin, size));
}

MappedFile::~MappedFile() {
  if (begin_ != nullptr) ::munmap(const_cast<std::byte*>(begin_), size_);
  ::close(file_);
}

Result<void> MappedFile::read(uint64_t at, std::span<std::byte> into) const {
  if (at > size_ || into.size() > size_ - at) return fail("E0201", "cannot read the file: it is too short", path_);
  while (!into.empty()) {
    const ssize_t got = uninterrupted(
        [&] { return ::pread(file_, into.data(), std::min(into.size(), kMaxTransfer), static_cast<off_t>(at)); });
    if (got < 0) return fail("E0201", "cannot read the file: " + system_reason(), path_);
    if (got == 0) return fail("E0201", "cannot read the file: it became shorter", path_, "copy or export it again");
    into = into.subspan(static_cast<size_t>(got));
    at += static_cast<uint64_t>(got);
  }
  return {};
}

void MappedFile::give_back() const {
  if (begin_ != nullptr) (void)::madvise(const_cast<std::byte*>(begin_), size_, MADV_DONTNEED);
}

}  // namespace pantoum::base
