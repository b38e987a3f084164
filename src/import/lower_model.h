// A whole model -> a graph, node by node; problems are collected, not thrown away.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/model.h"
#include "import/onnx.h"

namespace pantoum::import {

// The batch to which dimension 0 of the inputs is bound.
struct Batch {
  std::string name;  // "" when the model has a static batch
  int64_t size = 1;
  int64_t rebinds = 0;            // a static batch of this extent becomes `size`; 0: none
  bool chosen = false;            // by the caller
  bool recurrent_series = false;  // as OnnxOptions has it: how many steps an op has is the batch's matter
};

// The batch by the options, the model's own extent, or 1. E0210 for a batch out of range.
[[nodiscard]] Result<Batch> bind_batch(const Model& model, const OnnxOptions& options);

// The largest extent of a dimension.
constexpr int64_t kMostExtent = INT32_MAX;

// Some converters write -1 for an open dimension.
[[nodiscard]] bool is_open(const onnx::TensorShapeProto_Dimension& dim);

// Null where the file does not declare it.
[[nodiscard]] const onnx::TensorShapeProto* declared_shape(const onnx::ValueInfoProto& input);

// "[N,3,?]", as the file declares it.
[[nodiscard]] std::string show_dims(const onnx::TensorShapeProto& shape);

// The declared shape with the batch bound; none when a dimension stays open, or there is none.
[[nodiscard]] std::optional<Shape> bound_shape(const onnx::ValueInfoProto& value, const Batch& batch);

struct NodeOutcome {
  NodeCoverage coverage;                         // without output_shapes
  std::string code;                              // of the problem: "E0401", "E0211"; empty: fine
  std::vector<std::optional<TensorType>> types;  // per output, where known
};

struct LoweredModel {
  Graph graph;
  std::vector<NodeOutcome> nodes;         // in the file's order
  std::optional<Error> dynamic;           // E0210: all inputs with dimensions that nothing binds
  std::vector<std::string> lost_outputs;  // outputs that could not be made
  std::set<std::string> fixed;            // tensors of the file whose contents the program was made with
};

[[nodiscard]] LoweredModel lower_model(const Model& model, const Batch& batch);

// The facts that `pantoum inspect` prints about a model.

// `wider` is the same model lowered at batch.size + 1, from which dimensions that grow with the batch are told; null
// when the batch is static.
[[nodiscard]] ModelInfo describe_model(const Model& model, const Batch& batch, const LoweredModel& lowered,
                                       const LoweredModel* wider);

// "[N,16,14,14]", "[49*N,32]": `shape` at a batch of `size`, `wider` at size + 1.
[[nodiscard]] std::string show_shape(const Shape& shape, const Shape* wider, const Batch& batch);

// Signs that the exporter folded batch norm or dropout away.
[[nodiscard]] std::vector<std::string> warn_of_folding(const Model& model);

}  // namespace pantoum::import
