// The contents of a tensor: bytes of the compiler's own, or a part of a file.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace pantoum::ir {

// Shared and never changed; null: none. Bytes of a file are in no way aligned.
class Data {
 public:
  Data() = default;
  Data(std::nullptr_t) {}
  template <class Vector>
  requires std::same_as<std::remove_const_t<Vector>, std::vector<std::byte>> Data(std::shared_ptr<Vector> owned)
      : bytes_(owned ? std::span(std::as_const(*owned)) : std::span<const std::byte>()), owner_(std::move(owned)) {}
  // Bytes [at, at + size) of the file.
  Data(std::shared_ptr<const base::MappedFile> file, uint64_t at, size_t size)
      : bytes_(file->bytes().subspan(at, size)), file_(file.get()), at_(at), owner_(std::move(file)) {}

  explicit operator bool() const { return owner_ != nullptr; }
  bool operator==(std::nullptr_t) const { return owner_ == nullptr; }
  std::span<const std::byte> operator*() const { return bytes_; }
  const std::span<const std::byte>* operator->() const { return &bytes_; }
  [[nodiscard]] std::vector<std::byte> copy() const { return {bytes_.begin(), bytes_.end()}; }

  // Copies a part; pages of a file do not become a part of the process, as they do where the bytes are looked at. E0201.
  [[nodiscard]] Result<void> read(uint64_t at, std::span<std::byte> into) const {
    if (file_ != nullptr) return file_->read(at_ + at, into);
    std::memcpy(into.data(), bytes_.data() + at, into.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  const base::MappedFile* file_ = nullptr;  // kept by owner_
  uint64_t at_ = 0;
  std::shared_ptr<const void> owner_;
};

[[nodiscard]] inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

}  // namespace pantoum::ir
