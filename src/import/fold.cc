#include "import/fold.h"

#include <fmt/format.h>

namespace pantoum::import {

std::vector<std::span<const FolderEntry>> all_folders() {
  return {arithmetic_folders(), select_folders(), reduce_folders(),
          movement_folders(),   index_folders(),  signal_folders()};
}

const FolderEntry* find_folder(const std::string& op_type) {
  for (const auto family : all_folders()) {
    for (const FolderEntry& entry : family) {
      if (op_type == entry.op_type) return &entry;
    }
  }
  return nullptr;
}

Result<Numbers> fold(const FolderEntry& folder, const FoldCall& call) {
  for (size_t input = 0; input < folder.min_inputs; ++input) {
    if (input < call.inputs.size() && call.inputs[input] != nullptr) continue;
    return fail("E0211", fmt::format("its input {} is missing", input));
  }
  return folder.fold(call);
}

Result<int64_t> check_folded_size(const FoldCall& call, const ir::Shape& shape) {
  const std::optional<int64_t> count = count_elements(shape);
  if (count && *count <= call.most_elements) return *count;
  return fail("E0401", fmt::format("a constant of shape {} is too large to be folded", ir::to_text(shape)));
}

Result<std::vector<int64_t>> want_ints(const Numbers& numbers) {
  if (numbers.is_real()) return fail("E0211", "a shape or an index is not an integer");
  return numbers.ints;
}

Result<std::optional<std::vector<int64_t>>> folded_axes(const FoldCall& call) {
  if (call.inputs.size() > 1 && call.inputs[1] != nullptr) {
    PANTOUM_ASSIGN(std::vector<int64_t> axes, want_ints(*call.inputs[1]));
    return std::optional(std::move(axes));
  }
  return Attributes(call.node).integers("axes");
}

}  // namespace pantoum::import
