// ONNX operators -> ops of the graph: one lowering each, families of them in lower_*.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "import/node.h"

namespace pantoum::import {

// Sets every output that is wanted, or refuses.
struct OperatorEntry {
  const char* op_type;
  Result<void> (*lower)(Node& node);
  const char* made_of = "";  // the ops of the graph that it may become, by name; "": none of its own
  const char* note = "";     // what is not as ONNX has it, in a few words; docs/operators.md shows it
};

// Null: Pantoum does not have the operator.
[[nodiscard]] const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type);

// Of another domain: null where the process knows no custom operator of that name.
[[nodiscard]] const OperatorEntry* custom_entry(const std::string& domain, const std::string& op_type);

// Lowers the node by the entry: what was refused first, or what its lowering returns.
[[nodiscard]] Result<void> lower_by(const OperatorEntry& entry, Node& node);

using Family = std::span<const OperatorEntry>;

// All of them, family by family.
[[nodiscard]] std::vector<Family> all_operators();

[[nodiscard]] Family element_operators();
[[nodiscard]] Family product_operators();
[[nodiscard]] Family window_operators();
[[nodiscard]] Family resize_operators();
[[nodiscard]] Family norm_operators();
[[nodiscard]] Family reduce_operators();
[[nodiscard]] Family shape_operators();
[[nodiscard]] Family move_operators();
[[nodiscard]] Family index_operators();
[[nodiscard]] Family random_operators();
[[nodiscard]] Family grid_operators();
[[nodiscard]] Family einsum_operators();
[[nodiscard]] Family recurrent_operators();
[[nodiscard]] Family control_operators();
[[nodiscard]] Family loss_operators();
[[nodiscard]] Family signal_operators();

// Operators of one operand, by an op or by a function of both front ends.
template <ir::Kind kKind>
Result<void> lower_op(Node& node) {
  return node.set(apply(kKind, node.real(0)));
}
template <Value (*kFunction)(const Value&)>
Result<void> lower_real(Node& node) {
  return node.set(kFunction(node.real(0)));
}
template <Value (*kFunction)(const Value&)>
Result<void> lower_number(Node& node) {
  return node.set(kFunction(node.numeric(0)));
}

}  // namespace pantoum::import
