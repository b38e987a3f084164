#include "import/operators.h"

namespace pantoum::import {

std::vector<Family> all_operators() {
  return {element_operators(),   product_operators(), window_operators(), resize_operators(),
          norm_operators(),      reduce_operators(),  shape_operators(),  move_operators(),
          index_operators(),     random_operators(),  grid_operators(),   einsum_operators(),
          recurrent_operators(), control_operators(), loss_operators(),   signal_operators()};
}

const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") return custom_entry(domain, op_type);
  for (const Family family : all_operators())
    for (const OperatorEntry& entry : family)
      if (op_type == entry.op_type) return &entry;
  return nullptr;
}

Result<void> lower_by(const OperatorEntry& entry, Node& node) {
  const Result<void> lowered = entry.lower(node);
  PANTOUM_TRY(node.refusal());
  return lowered;
}

}  // namespace pantoum::import
