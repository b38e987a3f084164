// A torch graph file -> forward graph, as the module has it: what trains, what is detached, which statistics a step moves.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/tensor_type.h"
#include "import/onnx.h"

namespace pantoum::aten {

// What a torch graph file holds: the graph, and the contents of its tensors, one by one when they are asked for.
struct TorchSource {
  std::string where;  // names the file in messages
  std::string_view graph;
  std::function<Result<std::vector<std::byte>>(const std::string& name, const base::TensorType& type)> read;
};

// The options are those of an ONNX model; `batch` must be that of the graph, or 0. E0401 with one note for each call that is not
// supported, with file and line of the module's code; E0211 arguments that do not fit; E0202, E0209 the graph; E024x the tensors.
[[nodiscard]] Result<import::Imported> load_torch(const TorchSource& source, const import::OnnxOptions& options = {});
// Every call's coverage, all problems at once (info.refusal).
[[nodiscard]] Result<import::ModelInfo> inspect_torch(const TorchSource& source,
                                                      const import::OnnxOptions& options = {});

}  // namespace pantoum::aten
