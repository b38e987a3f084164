// The JSON of a safetensors header, and the names that it has for element types. The JSON is read event by event: no tree is
// built, so that memory stays linear in the text.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weights/safetensors.h"

namespace pantoum::weights {

struct RawEntry {  // as the header says, not yet checked against the file
  std::string name, dtype;
  std::vector<uint64_t> shape;
  std::array<uint64_t, 2> offsets{};  // begin, end; from the first byte after the header
};

struct RawHeader {
  std::vector<RawEntry> tensors;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

// E0240 where the text is not JSON or not a header of safetensors (keys missing, unknown or twice, wrong types, rank
// over 64).
Result<RawHeader> read_header_json(std::string_view text, const std::string& where);

// "F32" for kF32 and so on.
std::string_view safetensors_name(base::DType dtype);
// Nothing for a name that is unknown or that Pantoum does not hold (I16, F8_E4M3, ...), nor for the floats of two bytes, which are read as float32.
std::optional<base::DType> safetensors_dtype(std::string_view name);
// True for a name of the format that Pantoum does not hold.
[[nodiscard]] bool is_other_safetensors_dtype(std::string_view name);

// ---- sums (safetensors_sums.cc) ----
//
// Sums in the metadata of a file: "pantoum.xxh3.tensors" of every tensor's bytes, 16 digits each in the order of their
// places, and "pantoum.xxh3" of all that the header says beside that sum itself. Files of other tools have none.

inline constexpr const char* kHeaderSum = "pantoum.xxh3";
inline constexpr const char* kTensorSums = "pantoum.xxh3.tensors";
inline constexpr size_t kSumDigits = 16;

// The sum of names, types, shapes, places (from `data_at`, the first byte of data, on) and metadata. It does not depend on
// spaces and order in the text, so that a copy of tensors and metadata by another tool keeps it valid.
uint64_t header_sum(const std::vector<SafetensorEntry>& tensors, uint64_t data_at,
                    const std::map<std::string, std::string>& metadata);

// E0244 the header has another sum than it says, or lacks some of the sums.
Result<void> check_header_sum(const SafetensorFile& file, uint64_t data_at);

// Reads the data of a file with sums; E0244 with all tensors whose bytes are others than were written. E0241.
Result<void> check_tensor_sums(const SafetensorFile& file);

}  // namespace pantoum::weights
