// A file whose bytes are read from it when they are looked at, so that large files take no memory of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace pantoum::base {

// The file must not become shorter while it is mapped, as for a program that is running; a file that is replaced (renamed over) is
// another one. Pages that are looked at are a copy of the file, which the system gives to others when it needs memory.
class MappedFile {
 public:
  // E0201 cannot be opened or read, or is no regular file, or has more than `most` bytes. The file is recorded as an input.
  [[nodiscard]] static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, uint64_t most);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {begin_, size_}; }
  // Copies bytes of the file without making them a part of the process. E0201.
  [[nodiscard]] Result<void> read(uint64_t at, std::span<std::byte> into) const;
  // Gives back the pages that were looked at; they can be looked at again.
  void give_back() const;

 private:
  MappedFile(std::string path, int file, const std::byte* begin, size_t size)
      : path_(std::move(path)), file_(file), begin_(begin), size_(size) {}

  std::string path_;
  int file_;
  const std::byte* begin_;
  size_t size_;
};

}  // namespace pantoum::base
