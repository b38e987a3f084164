// A lock file beside a file, held by the process that writes the file.
#pragma once

#include <string>

#include "base/owned_file.h"
#include "base/result.h"

namespace pantoum::base {

// Holds `path`.lock until it ends, and removes it then; a process that dies lets go of it. Folders that `path` lacks
// are made.
class FileLock {
 public:
  // E0907 another process (told by its number) holds it; E0901 it cannot be made. A special file has no lock.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path);
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(OwnedFile file) : file_(std::move(file)) {}
  OwnedFile file_;  // descriptor -1: of a special file
};

}  // namespace pantoum::base
