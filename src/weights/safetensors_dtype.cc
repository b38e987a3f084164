#include "weights/safetensors_dtype.h"

#include <algorithm>
#include <array>

namespace pantoum::weights {
namespace {

struct Named {
  base::DType dtype;
  std::string_view name;
};

constexpr std::array<Named, PT_DTYPE_COUNT> kNames{{{base::DType::kF32, "F32"},
                                                    {base::DType::kI64, "I64"},
                                                    {base::DType::kI32, "I32"},
                                                    {base::DType::kU8, "U8"},
                                                    {base::DType::kBool, "BOOL"},
                                                    {base::DType::kF64, "F64"}}};

constexpr std::array<std::string_view, 10> kOthers{"F16", "BF16",    "I8",      "I16", "U16",
                                                   "U32", "F8_E4M3", "F8_E5M2", "U64", "C64"};

}  // namespace

std::string_view safetensors_name(base::DType dtype) {
  for (const Named& named : kNames)
    if (named.dtype == dtype) return named.name;
  return "?";
}

std::optional<base::DType> safetensors_dtype(std::string_view name) {
  for (const Named& named : kNames)
    if (named.name == name) return named.dtype;
  return std::nullopt;
}

bool is_other_safetensors_dtype(std::string_view name) {
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

}  // namespace pantoum::weights
