#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "base/inputs_in_use.h"
#include "base/special_files.h"
#include "base/system_calls.h"

namespace pantoum::base {
namespace {

Failure held_by_another(const std::string& path, int descriptor) {
  char text[32] = {};
  const ssize_t got = ::pread(descriptor, text, sizeof text - 1, 0);
  long process = 0;
  const bool told = got > 0 && std::from_chars(text, text + got, process).ec == std::errc{} && process > 0;
  return fail("E0907", "another run is writing this file" + (told ? ": process " + std::to_string(process) : ""), path,
              "wait until it ends, or write to another place");
}

// Writes the number of this process into the lock file, for the message of a second process.
bool sign(int descriptor) {
  const std::string text = std::to_string(::getpid()) + "\n";
  return uninterrupted([&] { return ::ftruncate(descriptor, 0); }) == 0 && write_all_at(descriptor, 0, text);
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path) {
  if (is_special_file(path)) return FileLock(OwnedFile(-1, path, 0));
  const std::string name = path + ".lock";
  PANTOUM_TRY(check_no_input(name));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return write_failure(path, "it is a folder");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string own = name;  // allocated first: a failure later would leave the file
    std::string why;
    const int descriptor = open_own_file(name, O_RDWR | O_CREAT, 0644, why);
    if (descriptor < 0) return write_failure(name, why);
    OwnedFile file(descriptor, std::move(own), 0);
    if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) return held_by_another(path, descriptor);
      return write_failure(name, system_reason());
    }
    if (!is_file_at(descriptor, name)) continue;  // whoever held it removed it between open and lock
    FileLock lock(std::move(file));
    if (!sign(descriptor)) return write_failure(name, system_reason());
    return lock;
  }
  return write_failure(name, "other processes keep taking it");
}

FileLock::~FileLock() {
  if (file_.descriptor() >= 0) ::unlink(file_.path().c_str());  // before the lock goes: nobody else can hold it
}

}  // namespace pantoum::base
