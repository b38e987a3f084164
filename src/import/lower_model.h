// A whole model -> a graph, node by node; problems are collected, not thrown away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/model.h"
#include "import/onnx.h"

namespace pantoum::import {

// What the dimension 0 of the inputs is bound to.
struct Batch {
  std::string name;  // "" when the model has a static batch
  int64_t size = 1;
  int64_t rebinds = 0;            // a static batch of this extent becomes `size`; 0: none
  bool chosen = false;            // by the caller
  bool recurrent_series = false;  // as OnnxOptions has it: how many steps an op has is the batch's matter
};

// The batch by the options, the model's own extent, or 1. E0210 for a batch out of range.
[[nodiscard]] Result<Batch> bind_batch(const Model& model, const OnnxOptions& options);

// "[N,3,?]", as the file declares it.
[[nodiscard]] std::string show_dims(const onnx::TensorShapeProto& shape);

// The declared shape with the batch bound; none when a dimension stays open, or there is none.
[[nodiscard]] std::optional<ir::Shape> bound_shape(const onnx::ValueInfoProto& value, const Batch& batch);

struct NodeOutcome {
  NodeCoverage coverage;                             // without output_shapes
  std::string code;                                  // of the problem: "E0401", "E0211"; empty: fine
  std::vector<std::optional<ir::TensorType>> types;  // per output, where known
};

struct LoweredModel {
  ir::Graph graph;
  std::vector<NodeOutcome> nodes;         // in the file's order
  std::optional<Error> dynamic;           // E0210: all inputs with dimensions that nothing binds
  std::vector<std::string> lost_outputs;  // outputs that could not be made
};

[[nodiscard]] LoweredModel lower_model(const Model& model, const Batch& batch);

}  // namespace pantoum::import
