// The names that safetensors has for element types.
#pragma once

#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace pantoum::weights {

// "F32" for kF32 and so on.
[[nodiscard]] std::string_view safetensors_name(base::DType dtype);
// Nothing for a name that is unknown or that Pantoum does not hold (F16, BF16, ...).
[[nodiscard]] std::optional<base::DType> safetensors_dtype(std::string_view name);
// True for a name of the format that Pantoum does not hold.
[[nodiscard]] bool is_other_safetensors_dtype(std::string_view name);

}  // namespace pantoum::weights
