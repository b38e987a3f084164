#include "autodiff/shared_products.h"

namespace pantoum::autodiff {
namespace {

using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::ValueId;

// A product of matrices whose rows can be stacked, and whose factors move for less than the weight's gradient is
// written, read beside a sum, and that sum written.
bool is_thin_product(const ir::Graph& graph, const Op& op) {
  if (op.kind != Kind::k_matmul || op.attrs.ints[0] != 0) return false;
  const ir::Shape &a = graph.value(op.inputs[0]).type.shape, &b = graph.value(op.inputs[1]).type.shape;
  if (a.size() != 2 || b.size() != 2) return false;
  const int64_t rows = a[0], inner = a[1], columns = op.attrs.ints[1] != 0 ? b[0] : b[1];
  return 2 * rows * (inner + columns) < 4 * inner * columns;
}

// The weight's gradient of y = a b, or y = a b'.
ValueId product(ir::Builder& builder, const std::string& weight, bool trans_b, ValueId a, ValueId dy) {
  const std::vector<ValueId> factors = trans_b ? std::vector{dy, a} : std::vector{a, dy};
  return builder.op(Kind::k_matmul, weight + ".dw", factors, {{1, 0}, {}});
}

}  // namespace

SharedProducts::SharedProducts(const ir::Graph& forward, const std::vector<char>& takes_part,
                               const std::vector<char>& active) {
  std::map<std::pair<ValueId, bool>, std::vector<const Op*>> sharing;  // by weight and whether it is transposed
  for (size_t id = 0; id < forward.ops.size(); ++id) {
    const Op& op = forward.ops[id];
    if (!takes_part[id] || !is_thin_product(forward, op) || !active[static_cast<size_t>(op.inputs[1])]) continue;
    sharing[{op.inputs[1], op.attrs.ints[1] != 0}].push_back(&op);
  }
  for (const auto& [key, ops] : sharing) {
    if (ops.size() < 2 || !weights_.try_emplace(key.first, Stack{key.second, {}}).second) continue;
    for (const Op* op : ops) {
      claimed_.insert(op->outputs[0]);
      if (op->inputs.size() == 3 && active[static_cast<size_t>(op->inputs[2])]) biases_[op->inputs[2]];
    }
  }
}

void SharedProducts::claim(const Op& op, std::vector<char>& wanted) const {
  if (!claimed_.contains(op.outputs[0])) return;
  wanted[1] = 0;
  if (op.inputs.size() == 3) wanted[2] = 0;
}

void SharedProducts::add(const Op& op, ValueId d_output) {
  if (!claimed_.contains(op.outputs[0])) return;
  weights_.at(op.inputs[1]).parts[op.outputs[0]] = {op.inputs[0], d_output};
  if (op.inputs.size() == 3 && biases_.contains(op.inputs[2]))
    biases_.at(op.inputs[2]).parts[op.outputs[0]] = {op.inputs[0], d_output};
}

ValueId SharedProducts::gradient(ir::Builder& builder, ValueId value) const {
  const bool is_weight = weights_.contains(value);
  if (!is_weight && !biases_.contains(value)) return kNone;
  const Stack& stack = is_weight ? weights_.at(value) : biases_.at(value);
  ValueId sum = kNone;
  for (auto part = stack.parts.begin(); part != stack.parts.end();) {
    std::vector<ValueId> lefts, gradients;
    for (int64_t rows = 0; part != stack.parts.end() && rows < ir::kTallRows; ++part) {
      lefts.push_back(part->second.first);
      gradients.push_back(part->second.second);
      rows += builder.type(gradients.back()).shape[0];
    }
    const std::string name = builder.graph().value(value).name;
    const ValueId d = builder.concat(name + ".dy", gradients, 0);
    const ValueId made = is_weight ? product(builder, name, stack.trans_b, builder.concat(name + ".a", lefts, 0), d)
                                   : builder.sum_to(d, builder.type(value).shape);
    sum = sum == kNone ? made : builder.op(Kind::k_add, "grad." + name, {sum, made});
  }
  return sum;
}

}  // namespace pantoum::autodiff
