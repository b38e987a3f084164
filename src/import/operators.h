// ONNX operators -> ops of the graph: one lowering each, one family per file (lower_conv.cc, lower_norm.cc, ...).
#pragma once

#include <span>
#include <string>

#include "import/node.h"

namespace pantoum::import {

// Sets every output that is wanted, or refuses.
struct OperatorEntry {
  const char* op_type;
  Result<void> (*lower)(Node& node);
};

// Null: Pantoum does not have the operator.
[[nodiscard]] const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type);
// What to do about an operator that Pantoum does not have.
[[nodiscard]] std::string advice_for(const std::string& domain, const std::string& op_type);

[[nodiscard]] std::span<const OperatorEntry> product_operators();
[[nodiscard]] std::span<const OperatorEntry> conv_operators();
[[nodiscard]] std::span<const OperatorEntry> pool_operators();
[[nodiscard]] std::span<const OperatorEntry> arithmetic_operators();
[[nodiscard]] std::span<const OperatorEntry> activation_operators();
[[nodiscard]] std::span<const OperatorEntry> norm_operators();
[[nodiscard]] std::span<const OperatorEntry> reduce_operators();
[[nodiscard]] std::span<const OperatorEntry> shape_operators();
[[nodiscard]] std::span<const OperatorEntry> move_operators();
[[nodiscard]] std::span<const OperatorEntry> recurrent_operators();
[[nodiscard]] std::span<const OperatorEntry> constant_operators();

}  // namespace pantoum::import
