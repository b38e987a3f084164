// A B + A C = A (B + C), A B - A C = A (B - C), and with the second factor shared: of products, convolutions, their
// gradients, and of mul between tensors of one shape.
//   tolerance  B + C is rounded before the product, by one rounding of |B| + |C|; the measure is the sum of |A| (|B| + |C|)
//   where      the addition or subtraction alone reads both, which have the same attributes and no bias; B and C are of one
//              type
//   not        the way back; more than two terms at once
#include <utility>

#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// Position of the shared factor in both products.
std::optional<std::pair<size_t, size_t>> shared_factor(const ir::Graph& graph, const ir::Op& a, const ir::Op& b) {
  for (const size_t left : {size_t{0}, size_t{1}})
    for (const size_t right : {size_t{0}, size_t{1}}) {
      if (left != right && a.kind != Kind::k_mul) continue;
      const bool alike = graph.value(a.inputs[1 - left]).type == graph.value(b.inputs[1 - right]).type;
      if (alike && a.inputs[left] == b.inputs[right]) return std::pair{left, right};
    }
  return std::nullopt;
}

const ir::Op* product_maker(const ir::Graph& graph, ir::ValueId value, const ir::TensorType& type) {
  const ir::Op* op = maker_of(graph, value);
  if (op == nullptr || graph.value(value).type != type || op->inputs.size() != 2 || !is_ordinary(*op)) return nullptr;
  if (op->kind != Kind::k_mul) return is_bilinear(*op) ? op : nullptr;
  const bool full = graph.value(op->inputs[0]).type == type && graph.value(op->inputs[1]).type == type;
  return full && ir::is_float(type.dtype) ? op : nullptr;
}

std::optional<ir::Graph> factor_sum(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if ((op.kind != Kind::k_add && op.kind != Kind::k_sub) || !is_ordinary(op)) return std::nullopt;
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  const ir::Op *a = product_maker(graph, op.inputs[0], type), *b = product_maker(graph, op.inputs[1], type);
  if (a == nullptr || b == nullptr || a == b || a->kind != b->kind || a->attrs != b->attrs) return std::nullopt;
  const auto shared = shared_factor(graph, *a, *b);
  if (!shared || !is_read_by_one(graph, op.inputs[0]) || !is_read_by_one(graph, op.inputs[1])) return std::nullopt;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs = a->inputs;
  inputs[1 - shared->first] =
      edit.op(op.kind, op.name + ".factor", {a->inputs[1 - shared->first], b->inputs[1 - shared->second]}, {});
  edit.replace(op.outputs[0], edit.op(a->kind, a->name, std::move(inputs), a->attrs, {type}));
  return edit.done();
}

}  // namespace

const Rule kFactorSum{"factor-sum", "A B + A C is A (B + C)", Preserves::kValues, 1e-5, false, factor_sum};

}  // namespace pantoum::rewrite
