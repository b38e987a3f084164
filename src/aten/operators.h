// Operators of ATen -> ops of the graph: one lowering each, one family per file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aten/node.h"

namespace pantoum::aten {

// Sets every output that is wanted, or refuses.
struct OperatorEntry {
  const char* name;  // "add.Tensor"
  Result<void> (*lower)(Node& node);
  bool gradient = true;  // does one pass, where its operands are floating point?
};

// `op` as it was captured, "aten.add.Tensor". Null: Pantoum does not have the operator.
[[nodiscard]] const OperatorEntry* find_operator(const std::string& op);

// All of them, family by family.
[[nodiscard]] std::vector<std::span<const OperatorEntry>> all_operators();

[[nodiscard]] std::span<const OperatorEntry> arithmetic_operators();
[[nodiscard]] std::span<const OperatorEntry> unary_operators();
[[nodiscard]] std::span<const OperatorEntry> activation_operators();
[[nodiscard]] std::span<const OperatorEntry> logic_operators();
[[nodiscard]] std::span<const OperatorEntry> reduce_operators();
[[nodiscard]] std::span<const OperatorEntry> shape_operators();
[[nodiscard]] std::span<const OperatorEntry> move_operators();
[[nodiscard]] std::span<const OperatorEntry> index_operators();
[[nodiscard]] std::span<const OperatorEntry> scatter_operators();
[[nodiscard]] std::span<const OperatorEntry> product_operators();
[[nodiscard]] std::span<const OperatorEntry> conv_operators();
[[nodiscard]] std::span<const OperatorEntry> pool_operators();
[[nodiscard]] std::span<const OperatorEntry> norm_operators();
[[nodiscard]] std::span<const OperatorEntry> random_operators();
[[nodiscard]] std::span<const OperatorEntry> loss_operators();
[[nodiscard]] std::span<const OperatorEntry> create_operators();
[[nodiscard]] std::span<const OperatorEntry> resize_operators();

// Arguments of many operators.
inline constexpr Slot kSelf = {0, "self"}, kOther = {1, "other"}, kDim = {1, "dim"};

template <ir::Kind kKind>
Result<void> lower_unary(Node& node) {
  PANTOUM_ASSIGN(const ir::ValueId x,
                 node.as(kSelf, ir::DType::kF32));  // integers become floating point, as PyTorch's do
  return node.set(node.op(kKind, {x}));
}

}  // namespace pantoum::aten
