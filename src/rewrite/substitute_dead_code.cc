// An op that nobody reads is no part of the step: without it (and what it alone read) every output, result and successor
// is computed from the same ops, so it has the same bits.
//   where    any op none of whose outputs is read (by an alternative neither), an output, a result or a successor
//   not      an op that keeps its use through a successor: updates and statistics stay
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> drop_dead_code(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto reads = [](const std::vector<ir::ValueId>& inputs, ir::ValueId value) {
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  };
  for (const ir::ValueId output : op.outputs) {
    for (size_t later = static_cast<size_t>(at) + 1; later < graph.ops.size(); ++later) {
      if (reads(graph.ops[later].inputs, output)) return std::nullopt;
      for (const ir::Alternative& other : graph.ops[later].alternatives)
        if (reads(other.inputs, output)) return std::nullopt;
    }
    if (is_kept(graph, output)) return std::nullopt;
  }
  ir::Graph less = graph;
  ir::drop_dead_ops(less);
  return less;
}

}  // namespace

const Rule kDropDeadCode{"drop-dead-code", "ops that nobody reads go", Preserves::kBits, 0, false, drop_dead_code};

}  // namespace pantoum::rewrite
