#include "autodiff/shared_products.h"

#include <algorithm>

namespace pantoum::autodiff {
namespace {

using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::ValueId;

// With this many rows, more rows gain little.
constexpr int64_t kTallRows = 128;

// A product of matrices whose rows can be stacked, and whose factors move for less than the weight's gradient is
// written, read beside a sum, and that sum written.
bool is_thin_product(const ir::Graph& graph, const Op& op) {
  if (op.kind != Kind::k_matmul || op.attrs.ints[0] != 0) return false;
  const ir::Shape &a = graph.value(op.inputs[0]).type.shape, &b = graph.value(op.inputs[1]).type.shape;
  if (a.size() != 2 || b.size() != 2) return false;
  const int64_t rows = a[0], inner = a[1], columns = op.attrs.ints[1] != 0 ? b[0] : b[1];
  return 2 * rows * (inner + columns) < 4 * inner * columns;
}

}  // namespace

SharedProducts::SharedProducts(const ir::Graph& forward, const std::vector<char>& takes_part,
                               const std::vector<char>& active)
    : active_(active) {
  std::map<std::vector<ValueId>, std::vector<const Op*>> sharing;  // by weight, whether it is transposed, and bias
  for (size_t id = 0; id < forward.ops.size(); ++id) {
    const Op& op = forward.ops[id];
    if (!takes_part[id] || !is_thin_product(forward, op) || !active[static_cast<size_t>(op.inputs[1])]) continue;
    const ValueId bias = op.inputs.size() == 3 ? op.inputs[2] : kNone;
    sharing[{op.inputs[1], static_cast<ValueId>(op.attrs.ints[1] != 0), bias}].push_back(&op);
  }
  for (const auto& [key, ops] : sharing) {
    if (ops.size() < 2) continue;
    int64_t rows = kTallRows;
    for (const Op* op : ops) {
      if (rows >= kTallRows) {
        stacks_.emplace_back();
        rows = 0;
      }
      rows += forward.value(op->outputs[0]).type.shape[0];
      stacks_.back().waiting.insert(op->outputs[0]);
      stack_of_[op->outputs[0]] = stacks_.size() - 1;
    }
  }
}

void SharedProducts::claim(const Op& op, std::vector<char>& wanted) const {
  if (stack_of_.contains(op.outputs[0])) std::fill(wanted.begin() + 1, wanted.end(), char{0});
}

std::vector<SharedProducts::Contribution> SharedProducts::add(ir::Builder& builder, const Op& op, ValueId d_output) {
  const auto found = stack_of_.find(op.outputs[0]);
  if (found == stack_of_.end()) return {};
  Stack& stack = stacks_[found->second];
  stack.waiting.erase(op.outputs[0]);
  if (d_output != kNone) stack.parts[op.outputs[0]] = {op.inputs[0], d_output};
  if (!stack.waiting.empty() || stack.parts.empty()) return {};
  std::vector<ValueId> lefts, gradients;
  for (const auto& [output, part] : stack.parts) {
    lefts.push_back(part.first);
    gradients.push_back(part.second);
  }
  return contributions(builder, op, builder.concat(op.name + ".a", lefts, 0),
                       builder.concat(op.name + ".dy", gradients, 0));
}

// y = a b + bias, or y = a b' + bias
std::vector<SharedProducts::Contribution> SharedProducts::contributions(ir::Builder& builder, const Op& op, ValueId a,
                                                                        ValueId dy) const {
  const std::vector<ValueId> factors = op.attrs.ints[1] != 0 ? std::vector{dy, a} : std::vector{a, dy};
  std::vector<Contribution> made = {{op.inputs[1], builder.op(Kind::k_matmul, op.name + ".dw", factors, {{1, 0}, {}})}};
  if (op.inputs.size() == 3 && active_[static_cast<size_t>(op.inputs[2])])
    made.push_back({op.inputs[2], builder.sum_to(dy, builder.type(op.inputs[2]).shape)});
  return made;
}

}  // namespace pantoum::autodiff
