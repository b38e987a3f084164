// A sum over dimensions of a transpose is a sum over dimensions of what was transposed, if those that are left stand in the
// same order.
//   tolerance  the order of the terms changes; a maximum has every bit
//   where      reduce_sum, reduce_mean, reduce_max
//   not        transposes that move what is left
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> reduce_through_transpose(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_reduce_sum && op.kind != Kind::k_reduce_mean && op.kind != Kind::k_reduce_max)
    return std::nullopt;
  const ir::Op* transpose = maker_of(graph, op.inputs[0], Kind::k_transpose);
  if (transpose == nullptr || !is_ordinary(op)) return std::nullopt;
  int64_t mask = 0, last = -1;
  for (size_t d = 0; d < transpose->attrs.ints.size(); ++d) {
    const int64_t from = transpose->attrs.ints[d];
    if ((op.attrs.ints[0] >> d & 1) != 0) {
      mask |= int64_t{1} << from;
    } else if (from < last) {
      return std::nullopt;
    } else {
      last = from;
    }
  }
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(op.kind, op.name, {transpose->inputs[0]}, {{mask}, {}}));
  return edit.done();
}

}  // namespace

const Rule kReduceThroughTranspose{"reduce-through-transpose",
                                   "a sum over dimensions of a transpose is one of what was transposed",
                                   Preserves::kValues,
                                   2e-6,
                                   false,
                                   reduce_through_transpose};

}  // namespace pantoum::rewrite
