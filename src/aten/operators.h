// Operators of ATen -> ops of the graph: one lowering for each line, one family per file.
#pragma once

#include "aten/node.h"

namespace pantoum::aten {

// Sets every output that is wanted, or refuses.
struct OperatorEntry {
  const char* names;  // "add.Tensor add.Scalar"
  Result<void> (*lower)(Node& node);
  bool gradient = true;  // does one pass, where its operands are floating point?
};

// `op` as it was captured, "aten.add.Tensor". Null: Pantoum does not have the operator.
[[nodiscard]] const OperatorEntry* find_operator(const std::string& op);

// All of them, by name without "aten.".
[[nodiscard]] const std::multimap<std::string, const OperatorEntry*>& all_operators();

using Family = std::span<const OperatorEntry>;

extern const Family element_operators;
extern const Family reduce_operators;
extern const Family move_operators;
extern const Family index_operators;
extern const Family product_operators;
extern const Family window_operators;
extern const Family norm_operators;
extern const Family random_operators;
extern const Family loss_operators;
extern const Family resize_operators;

// Arguments of many operators.
inline constexpr Slot kSelf = {0, "self"}, kOther = {1, "other"}, kDim = {1, "dim"};

// The type that two arguments, tensors or numbers, are compared and combined in.
[[nodiscard]] DType common_type(Node& node, Slot a, Slot b);

}  // namespace pantoum::aten
