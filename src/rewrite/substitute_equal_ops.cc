// Common subexpressions: two ops of one kind with the same inputs, attributes and output types run the same kernel on the
// same bytes, so that readers of the later one may read the earlier one.
//   where    an op and an earlier equal one, both ordinary
//   not      effects (updates, running statistics), draws at random (dropout and random, though equal keys draw alike), ops
//            from outside the project, ops with alternatives; inputs in another order (a + b and b + a)
//   note     the earlier output lives longer; a planner may still compute it again, and the search weighs that
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

bool are_equal_ops(const ir::Graph& graph, const ir::Op& a, const ir::Op& b) {
  return a.kind == b.kind && a.inputs == b.inputs && a.attrs == b.attrs && is_ordinary(b) &&
         ir::types_of(graph, a.outputs) == ir::types_of(graph, b.outputs);
}

std::optional<ir::Graph> merge_equal_ops(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!is_ordinary(op)) return std::nullopt;
  ir::OpId first = 0;  // behind everything it reads
  for (const ir::ValueId input : op.inputs) first = std::max(first, graph.value(input).producer + 1);
  for (ir::OpId other = at; other-- > first;) {
    if (graph.op(other).kind != op.kind || !are_equal_ops(graph, op, graph.op(other))) continue;
    Edit edit(graph, at);
    for (size_t output = 0; output < op.outputs.size(); ++output)
      edit.replace(op.outputs[output], graph.op(other).outputs[output]);
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kMergeEqualOps{"merge-equal-ops", "what is computed twice is computed once", Preserves::kBits, 0, false,
                          merge_equal_ops};

}  // namespace pantoum::rewrite
