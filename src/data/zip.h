// The directory of a ZIP file (NPZ is one). Pure functions on bytes: also what fuzzers call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/owned_file.h"
#include "base/result.h"

namespace pantoum::data {

inline constexpr uint64_t kMostDirectory = uint64_t{1} << 24;  // bytes: hundreds of thousands of members

struct ZipMember {
  std::string name;
  uint64_t header_at = 0;  // of its local header
  uint64_t packed_bytes = 0, bytes = 0;
  uint32_t crc = 0;     // of the unpacked bytes
  uint16_t method = 0;  // 0 stored, 8 deflate
};

// Reads the directory at the file's end, ZIP64 too. E0261 no ZIP, damaged, encrypted, in several parts.
[[nodiscard]] Result<std::vector<ZipMember>> read_zip_directory(const base::OwnedFile& file);

// The position at which a member's data begin. The function checks that they end inside the file. E0261.
[[nodiscard]] Result<uint64_t> zip_data_at(const base::OwnedFile& file, const ZipMember& member);

// The members that `directory`, the bytes of a central directory, lists. E0261.
[[nodiscard]] Result<std::vector<ZipMember>> parse_zip_directory(std::span<const std::byte> directory,
                                                                 const std::string& where);

}  // namespace pantoum::data
