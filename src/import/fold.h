// Constant folding: the shape arithmetic that exporters leave in a model.
#pragma once

#include <span>

#include "import/attributes.h"
#include "import/numbers.h"

namespace pantoum::import {

// One node whose inputs are all known.
struct FoldCall {
  const onnx::NodeProto& node;
  int64_t opset;
  std::span<const Numbers* const> inputs;  // null where an optional input is absent
  int64_t most_elements;                   // larger results are refused
};

struct FolderEntry {
  const char* op_type;
  size_t min_inputs;  // that must be present
  Result<Numbers> (*fold)(const FoldCall& call);
};

// Null for an operator that is not folded.
[[nodiscard]] const FolderEntry* find_folder(const std::string& op_type);

// Folds; E0211 when an input is missing, else as the operator's own rule.
[[nodiscard]] Result<Numbers> fold(const FolderEntry& folder, const FoldCall& call);

// The families.
[[nodiscard]] std::span<const FolderEntry> arithmetic_folders();
[[nodiscard]] std::span<const FolderEntry> select_folders();
[[nodiscard]] std::span<const FolderEntry> reduce_folders();
[[nodiscard]] std::span<const FolderEntry> movement_folders();
[[nodiscard]] std::span<const FolderEntry> index_folders();
[[nodiscard]] std::span<const FolderEntry> signal_folders();
// All of them.
[[nodiscard]] std::vector<std::span<const FolderEntry>> all_folders();

// E0401: the folded tensor would be larger than the call allows.
[[nodiscard]] Result<int64_t> check_folded_size(const FoldCall& call, const ir::Shape& shape);

// E0211 for floating-point numbers.
[[nodiscard]] Result<std::vector<int64_t>> want_ints(const Numbers& numbers);
// Axes as the second input or, in older models, as an attribute; none where neither is there.
[[nodiscard]] Result<std::optional<std::vector<int64_t>>> folded_axes(const FoldCall& call);

}  // namespace pantoum::import
