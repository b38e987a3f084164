// Constant folding: the shape arithmetic that exporters leave in a model, computed while importing by the reference kernels.
#pragma once

#include "import/operators.h"

namespace pantoum::import {

// Is the operator folded where all of its operands are settings?
[[nodiscard]] bool is_folded(const std::string& op_type);

// What only folding makes: the operands must be settings.
[[nodiscard]] Family folded_operators();

// Lowers the node into a graph of its own, evaluates that in double by the portable kernels, and sets the node's outputs as known. Integers
// are exact and wrap; float32 is rounded once, at the end; float64 stays.
//   returns  false: an operand is no setting, or the operands are too large together
//   errors   the operator's own; E0401 a result that is too large; E0211 what a kernel refuses
//   cost     elements of operands and results are taken from the lowering's budget for constants
[[nodiscard]] Result<bool> fold(Lowering& lowering, Node& node);

}  // namespace pantoum::import
