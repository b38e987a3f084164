// Another model of ONNX as a part of the one that is built: a backbone. Example:
//
//   PANTOUM_ASSIGN(const layers::PartSource source, layers::PartSource::read(bytes, folder));
//   PANTOUM_ASSIGN(const layers::JoinedPart part, source.join("back", {x}, {}));
//   net.output("y", net.linear(part.outputs[0], 10));
//
// Values of the part have its name as a prefix: "back.conv1.weight". Its nodes become those of opset 21.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx_proto.h"
#include "pantoum/model_builder.hpp"

namespace pantoum::layers {

// Nodes and initializers under the names that they get; no inputs or outputs are declared.
struct Part {
  std::shared_ptr<onnx::GraphProto> graph;
  std::vector<std::string> inputs, outputs;  // of its values: those that it reads, those that others read
  std::vector<std::string> names;            // all that it gives to values
};

struct PartOptions {
  // False: constants all of them, normalized by the running statistics, and without dropout.
  bool trains = false;
  // Weights and biases of its operators train, although the file calls them constants: of a file for inference.
  bool all_weights = false;
};

struct JoinedPart {
  struct Stored {
    std::string name;
    std::vector<int64_t> shape;
    bool is_statistic = false;
  };
  std::vector<Tensor> outputs;
  std::vector<Stored> stored;  // what training changes, in the order of the file
};

struct PartInput {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // -1 where the file leaves the extent open; dimension 0 is the batch
  bool has_shape = false;
};

class PartSource {
 public:
  // E0202 to E0208, E0401: the bytes are no model, or one that is not read. `folder`: where tensors outside of the file lie.
  [[nodiscard]] static Result<PartSource> read(const std::string& bytes, const std::string& folder);

  [[nodiscard]] const std::vector<PartInput>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }

  // Adds the model to that of the tensors, which are as many as it has inputs, of their element types.
  // E0207 a name is taken; E0211, E0401: the part does not compute these shapes, or it cannot be trained inside another model.
  [[nodiscard]] Result<JoinedPart> join(const std::string& name, const std::vector<Tensor>& inputs,
                                        const PartOptions& options) const;

 private:
  struct Read;
  std::shared_ptr<const Read> read_;
  std::vector<PartInput> inputs_;
  std::vector<std::string> outputs_;
};

}  // namespace pantoum::layers
