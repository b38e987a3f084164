// ONNX operators -> ops of the graph: one lowering each, one family per file (lower_conv.cc, lower_norm.cc, ...).
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

// All of them, family by family.
[[nodiscard]] std::vector<std::span<const OperatorEntry>> all_operators();

[[nodiscard]] std::span<const OperatorEntry> product_operators();
[[nodiscard]] std::span<const OperatorEntry> conv_operators();
[[nodiscard]] std::span<const OperatorEntry> conv_transpose_operators();
[[nodiscard]] std::span<const OperatorEntry> pool_operators();
[[nodiscard]] std::span<const OperatorEntry> resize_operators();
[[nodiscard]] std::span<const OperatorEntry> arithmetic_operators();
[[nodiscard]] std::span<const OperatorEntry> integer_operators();
[[nodiscard]] std::span<const OperatorEntry> select_operators();
[[nodiscard]] std::span<const OperatorEntry> math_operators();
[[nodiscard]] std::span<const OperatorEntry> activation_operators();
[[nodiscard]] std::span<const OperatorEntry> composed_activation_operators();
[[nodiscard]] std::span<const OperatorEntry> norm_operators();
[[nodiscard]] std::span<const OperatorEntry> group_norm_operators();
[[nodiscard]] std::span<const OperatorEntry> reduce_operators();
[[nodiscard]] std::span<const OperatorEntry> scan_operators();
[[nodiscard]] std::span<const OperatorEntry> shape_operators();
[[nodiscard]] std::span<const OperatorEntry> move_operators();
[[nodiscard]] std::span<const OperatorEntry> split_operators();
[[nodiscard]] std::span<const OperatorEntry> pad_operators();
[[nodiscard]] std::span<const OperatorEntry> index_operators();
[[nodiscard]] std::span<const OperatorEntry> scatter_operators();
[[nodiscard]] std::span<const OperatorEntry> top_k_operators();
[[nodiscard]] std::span<const OperatorEntry> random_operators();
[[nodiscard]] std::span<const OperatorEntry> unpool_operators();
[[nodiscard]] std::span<const OperatorEntry> grid_operators();
[[nodiscard]] std::span<const OperatorEntry> rearrange_operators();
[[nodiscard]] std::span<const OperatorEntry> einsum_operators();
[[nodiscard]] std::span<const OperatorEntry> recurrent_operators();
[[nodiscard]] std::span<const OperatorEntry> constant_operators();
[[nodiscard]] std::span<const OperatorEntry> control_operators();
[[nodiscard]] std::span<const OperatorEntry> sequence_operators();
[[nodiscard]] std::span<const OperatorEntry> lp_pool_operators();
[[nodiscard]] std::span<const OperatorEntry> loss_operators();
[[nodiscard]] std::span<const OperatorEntry> row_operators();
[[nodiscard]] std::span<const OperatorEntry> fourier_operators();

}  // namespace pantoum::import
