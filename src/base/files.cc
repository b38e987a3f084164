#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/inputs_in_use.h"
#include "base/open_input.h"
#include "base/special_files.h"
#include "base/system_calls.h"

namespace pantoum::base {

std::string system_reason() {
  return std::strerror(errno);
}

Failure write_failure(const std::string& path, const std::string& why) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::exists(folder, ignored))
    return fail("E0901", fmt::format("cannot write the file: there is no folder '{}'", folder.string()), path,
                fmt::format("mkdir -p {}", folder.string()));
  return fail("E0901", "cannot write the file: " + why, path,
              "free some space or choose another place; the old file, if any, is whole");
}

namespace {

Result<void> write_through(const std::string& path, std::string_view contents) {
  PANTOUM_TRY(check_file(path, Access::write));
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
  if (file < 0) return write_failure(path, system_reason());
  Result<void> written;
  if (!write_all(file, contents)) written = write_failure(path, system_reason());
  if (::close(file) != 0 && written) written = write_failure(path, system_reason());
  return written;
}

// A new file in the folder, under a name that nobody can foresee; -1: errno has the reason.
int create_hidden(int folder, const std::string& beside, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    uint64_t random = 0;
    if (!draw_random(random)) return -1;
    name = fmt::format("{}.part-{:016x}", beside, random);
    const int file = uninterrupted(
        [&] { return ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644); });
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

bool is_special_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  // /dev/stdout and /proc/self/fd/63 are links that the system makes; no other link is followed.
  const bool is_link = S_ISLNK(status.st_mode);
  const bool by_the_system = path.starts_with("/dev/") || path.starts_with("/proc/self/fd/");
  if (is_link && (!by_the_system || ::stat(path.c_str(), &status) != 0)) return false;
  return !S_ISDIR(status.st_mode) && (is_link || !S_ISREG(status.st_mode));
}

Result<void> flush_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const int folder = uninterrupted([&] { return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (folder < 0) return {};  // a folder that may be written but not read cannot be flushed
  const bool flushed = uninterrupted([&] { return ::fsync(folder); }) == 0 ||
                       errno == EINVAL;  // EINVAL: the file system cannot flush folders
  const std::string why = flushed ? "" : system_reason();
  ::close(folder);
  if (!flushed) return write_failure(path, why);
  return {};
}

Result<int> open_input(const std::string& path) {
  if (path.find('\0') != std::string::npos) return fail("E0201", "cannot open the file: its path has a byte of 0");
  PANTOUM_TRY(check_file(path, Access::read));
  record_input(path);
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0)
    return fail("E0201", "cannot open the file: " + system_reason(), path, "check the path and its permissions");
  return file;
}

Result<std::string> read_file(const std::string& path) {
  PANTOUM_ASSIGN(const int file, open_input(path));
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(file);
    return fail("E0201", "cannot read the file: it is a folder", path, "name a file inside it");
  }
  std::string contents;
  if (S_ISREG(status.st_mode) && status.st_size > 0)
    contents.reserve(std::min(static_cast<uint64_t>(status.st_size), kMostFileBytes) + 1);
  char piece[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const std::string why = system_reason();
      ::close(file);
      return fail("E0201", "cannot read the file: " + why, path);
    }
    if (got == 0) break;
    if (contents.size() + static_cast<size_t>(got) > kMostFileBytes) {
      ::close(file);
      return fail("E0201", fmt::format("cannot read the file: it has more than {} bytes", kMostFileBytes), path);
    }
    contents.append(piece, static_cast<size_t>(got));
  }
  ::close(file);
  return contents;
}

std::string read_part(const std::string& path, uint64_t at, size_t most) {
  std::string part;
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0) return part;
  part.resize(most);
  size_t filled = 0;
  while (filled < most) {
    const ssize_t got = uninterrupted(
        [&] { return ::pread(file, part.data() + filled, most - filled, static_cast<off_t>(at + filled)); });
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  ::close(file);
  part.resize(filled);
  return part;
}

Result<void> replace_file_in(int folder, const std::string& name, std::string_view contents, const std::string& shown) {
  PANTOUM_TRY(check_file(shown, Access::write));
  PANTOUM_TRY(check_no_input_in(folder, name, shown));
  std::string hidden;
  const int file = create_hidden(folder, name, hidden);
  if (file < 0) return write_failure(shown, system_reason());
  Result<void> written;
  if (!write_all(file, contents) || uninterrupted([&] { return ::fsync(file); }) != 0)
    written = write_failure(shown, system_reason());
  if (::close(file) != 0 && written) written = write_failure(shown, system_reason());
  if (written && ::renameat(folder, hidden.c_str(), folder, name.c_str()) != 0)
    written = write_failure(shown, system_reason());
  if (!written) ::unlinkat(folder, hidden.c_str(), 0);
  return written;
}

Result<void> write_file_atomically(const std::string& path, std::string_view contents) {
  if (is_special_file(path)) return write_through(path, contents);
  PANTOUM_TRY(replace_file_in(AT_FDCWD, path, contents, path));
  return flush_folder_of(path);
}

}  // namespace pantoum::base
