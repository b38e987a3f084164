// Values that the newer exporter's optimizer took for one because their first contents are equal, or left out because
// they change nothing at first (a factor of 1), where that would train another program.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/fx_node.h"
#include "import/model.h"

namespace onnx {
class GraphProto;
}

namespace pantoum::import {

struct MergeSearch {
  const onnx::GraphProto& graph;
  const std::map<std::string, Initializer>& initializers;
  const ParameterMarks& marks;
  const std::vector<FxCall>& calls;               // of the nodes
  const std::set<std::pair<int, int>>& separate;  // node and input: merged, and separate again
  const std::vector<std::string>& gone;           // parameters that neither the file nor a call names, in quotes
  bool lacks_buffers;                             // of the program, which a merged initializer may stand for
};

// Adds a sentence for each place that nothing tells apart. Returns, by initializer, who reads it in place of a constant.
[[nodiscard]] std::map<std::string, std::vector<Restoration::Reader>> tell_merged(const MergeSearch& search,
                                                                                  std::vector<std::string>& problems);

}  // namespace pantoum::import
