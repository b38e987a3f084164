#include "base/special_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/system_calls.h"

namespace pantoum::base {
namespace {

bool is_open_here(const std::string& path) {
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/", "/dev/std"})
    if (path.starts_with(folder)) return true;
  return false;
}

}  // namespace

std::string why_no_file(const std::string& path, Access access) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return "";
  if (S_ISSOCK(status.st_mode)) return "it is a socket";
  if (is_open_here(path)) return "";
  if (S_ISFIFO(status.st_mode)) return "it is a named pipe";
  const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  return access == Access::write && is_null ? "" : "it is a device";
}

Result<void> check_file(const std::string& path, Access access) {
  const std::string why = why_no_file(path, access);
  if (why.empty()) return {};
  if (access == Access::read) return fail("E0201", "cannot read the file: " + why, path, "name a file");
  return fail("E0901", "cannot write the file: " + why, path, "name a file");
}

int open_own_file(const std::string& path, int flags, unsigned mode, std::string& why) {
  // O_NONBLOCK: to open a pipe waits for its other end.
  const int file =
      uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode); });
  struct stat status {};
  const bool known = file >= 0 && ::fstat(file, &status) == 0;
  const int error = errno;
  if (known && S_ISREG(status.st_mode)) return file;
  if (file >= 0) ::close(file);
  why =
      error == ELOOP && file < 0 ? "a symbolic link is there, and none is followed" : why_no_file(path, Access::write);
  errno = error;
  if (why.empty()) why = known ? "it is no regular file" : system_reason();
  return -1;
}

}  // namespace pantoum::base
