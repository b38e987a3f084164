// Computes ops whose inputs are known before the program runs, with the portable kernels.
#pragma once

#include "ir/graph.h"

namespace pantoum::rewrite {

// The op's outputs as constants in its place: their names stay. False, and the graph as it was, where an input is not
// known, an output is kept, no portable kernel of that precision computes the op, or the kernel refuses the numbers.
// What has no data is zeros. `producer`s are not renumbered: `ops` keeps its length, the op without operands.
[[nodiscard]] bool fold_op(ir::Graph& graph, ir::OpId op, bool parameters_too);
// All that fold_op can of the ops that make values from `first` on; then the graph without them.
void fold_new_ops(ir::Graph& graph, ir::ValueId first, bool parameters_too);

}  // namespace pantoum::rewrite
