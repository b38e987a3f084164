// A file descriptor that closes itself, with reads and writes that finish or say why not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace pantoum::base {

class OwnedFile {
 public:
  // A regular file, for reading. E0201 with the system's reason.
  [[nodiscard]] static Result<OwnedFile> open_to_read(const std::string& path);

  OwnedFile(int descriptor, std::string path, uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}
  OwnedFile(OwnedFile&& other) noexcept;
  OwnedFile& operator=(OwnedFile&& other) noexcept;
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  ~OwnedFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t size() const { return size_; }  // when it was opened

  // Fills `data` from `at`; `code` when the system fails or the file ends before. No allocation on success.
  [[nodiscard]] Result<void> read_at(uint64_t at, std::span<std::byte> data, const char* code) const;

 private:
  int descriptor_ = -1;
  std::string path_;
  uint64_t size_ = 0;
};

// Is the open file the one of this name (a link is not followed)?
[[nodiscard]] bool is_file_at(int descriptor, const std::string& path);

// Becomes `path` at commit(): written beside it as `path`.part, flushed to the device, renamed over it, and the folder
// flushed. Dropped without commit, or killed, it leaves `path` as it was. Two writers of one path: the second gets
// E0901. An input in use (base/inputs_in_use.h) is at `path` or its `.part`: E0125. A special file (/dev/null, a pipe) is written to as it is.
class AtomicFile {
 public:
  [[nodiscard]] static Result<AtomicFile> create(const std::string& path, unsigned mode);
  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  [[nodiscard]] Result<void> append(std::span<const std::byte> data);  // E0901
  // Replaces bytes that were appended. Not where is_direct(). E0901.
  [[nodiscard]] Result<void> rewrite(uint64_t at, std::span<const std::byte> data);
  // `kept`: the name that the old file at `path` gets; "": it goes. Where this fails, the old or the new file is at `path`, whole. E0901.
  [[nodiscard]] Result<void> commit(const std::string& kept = "");
  // Is it a special file, to which append() writes at once?
  [[nodiscard]] bool is_direct() const { return file_.path() == path_; }

 private:
  AtomicFile(OwnedFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  OwnedFile file_;  // of path_ + ".part"
  std::string path_;
  bool committed_ = false;
};

}  // namespace pantoum::base
