// Arithmetic that several families share.
#pragma once

#include "aten/node.h"

namespace pantoum::aten {

// The type that two arguments, tensors or numbers, are compared and combined in.
[[nodiscard]] Result<ir::DType> common_type(Node& node, Slot a, Slot b);
// Towards minus infinity: floor(a / b), of one type.
[[nodiscard]] Result<ir::ValueId> floor_division(Node& node, ir::ValueId a, ir::ValueId b);
// Towards zero.
[[nodiscard]] Result<ir::ValueId> truncated(Node& node, ir::ValueId x);
// Bools turned around.
[[nodiscard]] Result<ir::ValueId> inverted(Node& node, ir::ValueId x);
// The same value, through which no gradient passes.
[[nodiscard]] Result<ir::ValueId> detached(Node& node, ir::ValueId x);
// The root of a sum of squares; 0 has slope 0, as PyTorch's.
[[nodiscard]] Result<ir::ValueId> root_of_squares(Node& node, ir::ValueId sum);
// C ? a : b, where both have one type.
[[nodiscard]] Result<ir::ValueId> chosen(Node& node, ir::ValueId condition, ir::ValueId a, ir::ValueId b);

}  // namespace pantoum::aten
