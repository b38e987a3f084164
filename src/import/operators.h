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

extern const Family element_operators;
extern const Family product_operators;
extern const Family window_operators;
extern const Family resize_operators;
extern const Family norm_operators;
extern const Family reduce_operators;
extern const Family shape_operators;
extern const Family move_operators;
extern const Family index_operators;
extern const Family random_operators;
extern const Family recurrent_operators;
extern const Family control_operators;
extern const Family loss_operators;
extern const Family signal_operators;

// Operators of one operand, by an op or by a function of both front ends.
template <Kind kKind>
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

// Constant folding: the shape arithmetic that exporters leave in a model, computed while importing by the reference kernels.

// Is the operator folded where all of its operands are settings?
[[nodiscard]] bool is_folded(const std::string& op_type);

// What only folding makes: the operands must be settings.
extern const Family folded_operators;

// Lowers the node into a graph of its own, evaluates that in double by the portable kernels, and sets the node's outputs as known. Integers
// are exact and wrap; float32 is rounded once, at the end; float64 stays.
//   returns  false: an operand is no setting, or the operands are too large together
//   errors   the operator's own; E0401 a result that is too large; E0211 what a kernel refuses
//   cost     elements of operands and results are taken from the lowering's budget for constants
[[nodiscard]] Result<bool> fold(Lowering& lowering, Node& node);

}  // namespace pantoum::import
