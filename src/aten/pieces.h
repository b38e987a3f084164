// Pieces of tensors: what several families cut out and put together.
#pragma once

#include "aten/node.h"

namespace pantoum::aten {

// `count` elements along the axis, from `begin`, every `step`th (which may be negative).
[[nodiscard]] Result<ir::ValueId> piece(Node& node, ir::ValueId x, size_t axis, int64_t begin, int64_t count,
                                        int64_t step = 1);
// Zeros (or `value`) before and after the elements of an axis.
[[nodiscard]] Result<ir::ValueId> padded(Node& node, ir::ValueId x, size_t axis, int64_t before, int64_t after,
                                         double value);
[[nodiscard]] ir::ValueId joined(Node& node, std::vector<ir::ValueId> parts, int64_t axis);
// A tensor of equal elements: a number, spread.
[[nodiscard]] Result<ir::ValueId> filled(Node& node, const ir::TensorType& type, double value);

}  // namespace pantoum::aten
