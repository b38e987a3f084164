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

// Returns a text that identifies the present state of a file: its path, size and time of change. E0201: the file cannot be read.
[[nodiscard]] Result<std::string> identity_of(const std::string& path);

// Returns the path of the file `stem`-HASH-OF-KEY (mode 0600) in `folder`. Creates the folder (mode 0700) and, by `make`, the file if they do not
// exist. Atomic: a crash leaves no incomplete file under that name. E0901: the cache cannot be written; the errors of `make`.
[[nodiscard]] Result<std::string> cached_file(const std::string& folder, const std::string& stem,
                                              const std::string& key,
                                              const std::function<Result<void>(base::AtomicFile&)>& make);

// Returns the cached file with the unpacked contents of a gzip file. Memory: 128 KiB. E0201: the file cannot be read; E0261: the data are damaged, or
// more than kMostUnpacked bytes; E0901.
[[nodiscard]] Result<std::string> unpack_gzip(const std::string& path, const std::string& cache_folder);

// Deflate data inside a file: a member of a zip file.
struct PackedMember {
  std::string name;
  uint64_t at = 0, packed_bytes = 0, bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the unpacked bytes
};

// The same for a member. E0261: also if size or checksum differ from those of `member`.
[[nodiscard]] Result<std::string> unpack_member(const base::OwnedFile& file, const PackedMember& member,
                                                const std::string& cache_folder);

// Checks the size and the checksum of a member that is stored without compression. Reads the member once. E0261: one of them is wrong.
[[nodiscard]] Result<void> check_stored(const base::OwnedFile& file, const PackedMember& member);

// Appends to a file through a buffer of 64 KiB.
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
