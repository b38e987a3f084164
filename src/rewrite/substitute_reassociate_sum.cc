// x + (b + c) = (x + b) + c where c is there last: a running sum, each addition over the one before it, and b need not wait.
//   tolerance  two roundings of other partial sums; the measure is |x| + |b| + |c|
//   where      additions of tensors of one type, the inner of which nobody else reads, and c is made after x
//   not        broadcast terms; a chain that is in order already, so that the rule never undoes itself
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> reassociate_sum(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_add || !is_ordinary(op)) return std::nullopt;
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ir::Op* inner = maker_of(graph, op.inputs[side], Kind::k_add);
    if (inner == nullptr) continue;
    const ir::ValueId x = op.inputs[1 - side];
    const auto made = [&](ir::ValueId value) { return graph.value(value).producer; };
    const size_t last = made(inner->inputs[1]) >= made(inner->inputs[0]) ? 1 : 0;
    const ir::ValueId b = inner->inputs[1 - last], c = inner->inputs[last];
    if (made(c) <= made(x)) continue;
    const auto full = [&](ir::ValueId value) { return graph.value(value).type == type; };
    if (!full(x) || !full(b) || !full(c) || !is_read_by_one(graph, op.inputs[side])) continue;
    Edit edit(graph, at);
    const ir::ValueId sum = edit.op(Kind::k_add, inner->name, {x, b}, {});
    edit.replace(op.outputs[0], edit.op(Kind::k_add, op.name, {sum, c}, {}));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kReassociateSum{
    "reassociate-sum", "a sum takes its terms in the order in which they are made", Preserves::kValues, 1e-6, false,
    reassociate_sum};

}  // namespace pantoum::rewrite
