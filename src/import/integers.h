// Operators on integers, which are made of the ops that compute on them: no gradient passes.
#pragma once

#include "import/operators.h"

namespace pantoum::import {

// Is the first input of int64, int32 or uint8? bool is compared and chosen, but not computed on.
[[nodiscard]] bool computes_integers(const Node& node);
// A constant of `dtype`, wrapped to it.
[[nodiscard]] ir::ValueId whole_constant(Node& node, ir::DType dtype, ir::Shape shape,
                                         const std::vector<int64_t>& values);

[[nodiscard]] Result<ir::ValueId> whole_neg(Node& node, ir::ValueId x);
// All bits inverted, which turns the order around: least becomes most, without an overflow. Of bools: not.
[[nodiscard]] Result<ir::ValueId> whole_not(Node& node, ir::ValueId x);

[[nodiscard]] Result<void> lower_integer_neg(Node& node);
[[nodiscard]] Result<void> lower_integer_abs(Node& node);
[[nodiscard]] Result<void> lower_integer_sign(Node& node);
[[nodiscard]] Result<void> lower_integer_pow(Node& node);

}  // namespace pantoum::import
