// Turns data that cannot be read sample by sample (compressed, text, pictures) into a file that can, once, in a private cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/owned_file.h"
#include "base/result.h"

namespace pantoum::data {

inline constexpr uint64_t kMostUnpacked = uint64_t{1} << 36;  // bytes of one compressed file or member

// A text that identifies this state of a file: its path, size and time of change. E0201.
[[nodiscard]] Result<std::string> identity_of(const std::string& path);

// The path of the file `stem`-HASH-OF-KEY (mode 0600) in `folder`, which is made if it is absent (mode 0700). `make` writes the file unless
// it is there. Atomic: a crash leaves no half file under that name. E0901 the cache cannot be written; the errors of `make`.
[[nodiscard]] Result<std::string> cached_file(const std::string& folder, const std::string& stem,
                                              const std::string& key,
                                              const std::function<Result<void>(base::AtomicFile&)>& make);

// The cached file of what a gzip file holds. Memory: 128 KiB. E0201 cannot be read; E0261 damaged gzip, or more than
// kMostUnpacked; E0901.
[[nodiscard]] Result<std::string> unpack_gzip(const std::string& path, const std::string& cache_folder);

// Deflate data inside a file: a member of a zip file.
struct PackedMember {
  std::string name;
  uint64_t at = 0, packed_bytes = 0, bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the unpacked bytes
};

// The same for such a member; E0261 also when size or checksum are others than it says.
[[nodiscard]] Result<std::string> unpack_member(const base::OwnedFile& file, const PackedMember& member,
                                                const std::string& cache_folder);

// Whether a member that is stored as it is has the size and the checksum that it says. Reads it once. E0261.
[[nodiscard]] Result<void> check_stored(const base::OwnedFile& file, const PackedMember& member);

// Appends through a buffer of 64 KiB.
class PieceWriter {
 public:
  explicit PieceWriter(base::AtomicFile& out) : out_(out) {}
  [[nodiscard]] Result<void> put(std::span<const std::byte> data);  // E0901
  [[nodiscard]] Result<void> flush();                               // once, at the end; E0901

 private:
  base::AtomicFile& out_;
  std::vector<std::byte> pending_;
};

}  // namespace pantoum::data
