#include "import/operators.h"

namespace pantoum::import {
std::vector<std::span<const OperatorEntry>> all_operators() {
  return {product_operators(),
          conv_operators(),
          conv_transpose_operators(),
          pool_operators(),
          resize_operators(),
          arithmetic_operators(),
          integer_operators(),
          select_operators(),
          math_operators(),
          activation_operators(),
          norm_operators(),
          group_norm_operators(),
          composed_activation_operators(),
          reduce_operators(),
          scan_operators(),
          shape_operators(),
          move_operators(),
          split_operators(),
          recurrent_operators(),
          pad_operators(),
          rearrange_operators(),
          index_operators(),
          scatter_operators(),
          top_k_operators(),
          random_operators(),
          unpool_operators(),
          grid_operators(),
          einsum_operators(),
          constant_operators(),
          control_operators(),
          sequence_operators(),
          lp_pool_operators(),
          loss_operators(),
          row_operators(),
          fourier_operators()};
}

const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") return custom_entry(domain, op_type);
  for (const auto family : all_operators()) {
    for (const OperatorEntry& entry : family) {
      if (op_type == entry.op_type) return &entry;
    }
  }
  return nullptr;
}

}  // namespace pantoum::import
