// What PyTorch's newer exporter (torch.onnx.export with dynamo=True) says of a model's tensors.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
}

namespace pantoum::import {

enum class Mark : uint8_t { kNone, kParameter, kBuffer, kContradictory };

struct ParameterMarks {
  bool any = false;                                         // does the file say anything of any tensor?
  std::map<std::string, Mark> marks;                        // by initializer
  std::set<std::string> parameters;                         // the program's, by name; the file may lack some
  std::set<std::string> buffers;                            // the same
  std::set<std::string> updated;                            // buffers that the program's forward pass changes
  std::map<std::string, std::string> names;                 // "p_fc_weight", as fx nodes call it -> "fc.weight"
  std::map<std::string, std::vector<std::string>> sources;  // of a folded value: what it was folded from

  [[nodiscard]] Mark of(const std::string& name) const;
};

// Metadata that is damaged, or of no kind that is known, says nothing. Linear in the size of the file.
[[nodiscard]] ParameterMarks read_parameter_marks(const onnx::GraphProto& graph);

}  // namespace pantoum::import
