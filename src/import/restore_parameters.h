// What the optimizer of PyTorch's newer exporter did to parameters, undone where that is exact.
//   * a parameter that was transposed or reshaped ahead of time is the program's again, and the node that moves it is back;
//     where the file has the parameter too (a tied embedding), both are one again
//   * parameters that were merged because their first contents are equal are separate again
//   * biases that were left out because they begin as zeros are back
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/model.h"

namespace onnx {
class GraphProto;
}

namespace pantoum::import {

// Names the convolutions of PyTorch's older exporter whose weights it computed: batch norm folded into them.
[[nodiscard]] std::vector<std::string> find_computed_kernels(const onnx::GraphProto& graph,
                                                             const std::map<std::string, Initializer>& initializers);

struct Restorations {
  std::vector<Restoration> list;
  std::vector<std::string> problems;  // what training cannot undo: a sentence each
  std::vector<std::string> notes, warnings;
};

// Needs names, shapes, metadata and, to be sure of ties, contents.
[[nodiscard]] Restorations find_restorations(const onnx::GraphProto& graph,
                                             const std::map<std::string, Initializer>& initializers);

// To the message: names, dimensions, nodes. Contents of initializers are left as they are.
void restore_message(onnx::GraphProto& graph, const std::vector<Restoration>& list);
// To the contents.
void restore_contents(std::map<std::string, Initializer>& initializers, const std::vector<Restoration>& list);

}  // namespace pantoum::import
