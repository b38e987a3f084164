// Where torch's detach stood that the optimizer of PyTorch's newer exporter left out, as it leaves out every Identity: calls still name what
// it gave.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "import/model.h"

namespace pantoum::import {

struct DetachedInputs {
  std::set<std::pair<std::string, int>> inputs;  // by the node's first output, and the place of the input
  std::vector<std::string> warnings;             // of calls where nothing tells which operand it was
};

// Linear in the size of the file.
[[nodiscard]] DetachedInputs find_detached(const onnx::GraphProto& graph,
                                           const std::map<std::string, Initializer>& initializers);

}  // namespace pantoum::import
