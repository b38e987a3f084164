// Norms that an exporter wrote out as arithmetic: x times gamma over sqrt(variance + epsilon), and what is added to it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "import/onnx_proto.h"

namespace pantoum::import {

struct WrittenNorms {
  std::set<std::string> weights;     // scales and shifts
  std::set<std::string> statistics;  // variances under a root, and means that are subtracted with them
};

// Of batch norms with fixed statistics, and of norms over activations. Names are those of tensors with contents, or of
// what nodes make of them alone. Linear in the number of nodes.
//   nodes        in an order of computation
//   activations  what depends on the model's inputs
//   count        elements of a tensor with contents; 0 for what is none
using CountElements = std::function<int64_t(const std::string&)>;
[[nodiscard]] WrittenNorms find_written_norms(const std::vector<const onnx::NodeProto*>& nodes,
                                              const std::unordered_set<std::string>& activations,
                                              const CountElements& count);

}  // namespace pantoum::import
