// Where nothing trains, parameters and statistics are constants, and an op on them is computed now: weights that were joined
// or scaled by another rule are stored as they are used.
//   tolerance  the portable kernels' sums and functions in place of the device's
//   where      any op with a portable kernel of the precision, all of whose inputs are constants, parameters or buffers
//   not        outputs of the graph; draws at random; constants of more than 1 GiB
//   note       what the model's weights are when the rule applies is what it computes with: zeros, where there are none
#include "rewrite/edit.h"
#include "rewrite/fold.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> fold_parameters(const ir::Graph& graph, ir::OpId at) {
  for (const ir::ValueId input : graph.op(at).inputs)
    if (!is_constant(graph, input, true)) return std::nullopt;
  if (graph.op(at).inputs.empty()) return std::nullopt;
  ir::Graph folded = graph;
  if (!fold_op(folded, at, true)) return std::nullopt;
  ir::drop_dead_ops(folded);
  return folded;
}

}  // namespace

const Rule kFoldParameters{
    "fold-parameters", "ops on parameters are computed before the program runs", Preserves::kValues, 1e-5, true,
    fold_parameters};

}  // namespace pantoum::rewrite
