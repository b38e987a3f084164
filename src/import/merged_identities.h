// Parameters that PyTorch's older exporter took for one because their first contents are equal: the file has one of them,
// and an Identity for each of the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/model.h"
#include "import/restore_parameters.h"

namespace onnx {
class GraphProto;
}

namespace pantoum::import {

// Those whose elements are all equal are equal by chance of their initialization, and are separate again. Others are taken to
// be tied; where the exporter merged by contents, a warning says that they may be copies of a module.
[[nodiscard]] Restorations find_merged_identities(const onnx::GraphProto& graph,
                                                  const std::map<std::string, Initializer>& initializers);

// What that exporter computed ahead of time and what holds the elements of a named weight, in their order or transposed: in
// the program it may be that weight, and nothing in the file proves it. A sentence each.
[[nodiscard]] std::vector<std::string> find_copies(const std::map<std::string, Initializer>& initializers);

}  // namespace pantoum::import
