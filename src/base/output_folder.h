// A folder for output. Nothing is written outside of it: no symbolic link below it is followed.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/owned_file.h"
#include "base/result.h"

namespace pantoum::base {

class OutputFolder {
 public:
  // The folder at `path`, made with its parents where it is absent. E0901 it cannot be made or opened, is no folder, or
  // is a symbolic link (its parents may be).
  [[nodiscard]] static Result<OutputFolder> open(const std::string& path);

  // `name` is relative, of parts between slashes, none of them "", "." or ".."; folders on its way are made. The file is
  // replaced atomically, as by write_file_atomically, and a link in its place is replaced itself. E0901, also where a
  // part is a link or no folder.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view contents) const;

  [[nodiscard]] bool has(const std::string& name) const;  // whatever it is, a dangling link too
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  explicit OutputFolder(OwnedFile folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<OwnedFile> enter(const std::string& folder) const;

  OwnedFile folder_;
};

// A path in a new folder of the system's temporary files that other users cannot read. The folder is removed, with all files in
// it, when this ends.
class TemporaryPath {
 public:
  // The folder is made, the file is not. E0901.
  [[nodiscard]] static Result<std::shared_ptr<const TemporaryPath>> create(const std::string& name);
  TemporaryPath(std::string folder, const std::string& name)
      : folder_(std::move(folder)), path_(folder_ + "/" + name) {}
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
  ::pid_t process_ = ::getpid();  // a process that is forked from this one leaves the folder alone
};

}  // namespace pantoum::base
