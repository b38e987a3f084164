// The JSON of a safetensors header, and the names that it has for element types. The JSON is read event by event: no tree is
// built, so that memory stays linear in the text.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

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
[[nodiscard]] Result<RawHeader> read_header_json(std::string_view text, const std::string& where);

// "F32" for kF32 and so on.
[[nodiscard]] std::string_view safetensors_name(base::DType dtype);
// Nothing for a name that is unknown or that Pantoum does not hold (F16, BF16, ...).
[[nodiscard]] std::optional<base::DType> safetensors_dtype(std::string_view name);
// True for a name of the format that Pantoum does not hold.
[[nodiscard]] bool is_other_safetensors_dtype(std::string_view name);

}  // namespace pantoum::weights
