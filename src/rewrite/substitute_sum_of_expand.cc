// The sum over copies is the number of copies times one: sum(a expand(x)) = (a n) sum(x), and what stays spread is spread
// behind the sum. Of a mean: n is 1.
//   tolerance  n equal numbers are added up in n - 1 roundings before, in one behind
//   where      a reduce_sum or reduce_mean of an expand, over at least one dimension along which it copied
//   not        sums over dimensions of x alone (they cost the same); integers that would be scaled
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> sum_of_expand(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if ((op.kind != Kind::k_reduce_sum && op.kind != Kind::k_reduce_mean) || !is_ordinary(op)) return std::nullopt;
  const ir::Op* spread = maker_of(graph, op.inputs[0], Kind::k_expand);
  if (spread == nullptr || !ir::is_float(graph.value(op.outputs[0]).type.dtype)) return std::nullopt;
  const ir::Shape& wide = graph.value(op.inputs[0]).type.shape;
  ir::Shape narrow = graph.value(spread->inputs[0]).type.shape;
  narrow.insert(narrow.begin(), wide.size() - narrow.size(), 1);
  int64_t copies = 1;
  for (size_t d = 0; d < wide.size(); ++d)
    if ((op.attrs.ints[0] >> d & 1) != 0 && narrow[d] != wide[d]) copies *= wide[d];
  if (copies == 1) return std::nullopt;
  const double a = spread->attrs.reals[0] * (op.kind == Kind::k_reduce_sum ? static_cast<double>(copies) : 1.0);
  Edit edit(graph, at);
  const ir::ValueId x = edit.reshape(op.name + ".reshape", spread->inputs[0], narrow);
  const ir::ValueId sum = edit.op(op.kind, op.name + ".sum", {x}, op.attrs);
  const ir::TensorType type = edit.type(op.outputs[0]);
  edit.replace(op.outputs[0], edit.type(sum) == type ? edit.op(Kind::k_scale, op.name, {sum}, {{}, {a, -0.0}})
                                                     : edit.op(Kind::k_expand, op.name, {sum}, {{}, {a}}, {type}));
  return edit.done();
}

}  // namespace

const Rule kSumOfExpand{"sum-of-expand", "a sum over copies is a multiple of one", Preserves::kValues, 1e-5, false,
                        sum_of_expand};

}  // namespace pantoum::rewrite
