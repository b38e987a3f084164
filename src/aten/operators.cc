#include "aten/operators.h"

#include <string_view>
#include <unordered_map>

namespace pantoum::aten {

std::vector<std::span<const OperatorEntry>> all_operators() {
  return {arithmetic_operators(), unary_operators(), activation_operators(), logic_operators(),   reduce_operators(),
          shape_operators(),      move_operators(),  index_operators(),      scatter_operators(), product_operators(),
          conv_operators(),       pool_operators(),  norm_operators(),       random_operators(),  loss_operators(),
          create_operators(),     resize_operators()};
}

const OperatorEntry* find_operator(const std::string& op) {
  static const auto entries = [] {
    std::unordered_map<std::string_view, const OperatorEntry*> all;
    for (const auto family : all_operators())
      for (const OperatorEntry& entry : family) all.emplace(entry.name, &entry);
    return all;
  }();
  constexpr std::string_view kDomain = "aten.";
  if (!op.starts_with(kDomain)) return nullptr;
  const auto found = entries.find(std::string_view(op).substr(kDomain.size()));
  return found == entries.end() ? nullptr : found->second;
}

}  // namespace pantoum::aten
