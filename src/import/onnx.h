// ONNX model -> forward graph in training form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/restoration.h"
#include "import/shapes.h"
#include "import/tensor.h"

namespace pantoum::import {

struct OnnxOptions {
  int64_t batch = 0;  // binds the batch dimension; 0: the model's own if static, else 1 (inspect)
  // Globs over tensors (fnmatch): trained whatever the file says of them; not trained. The graph's parameters are what
  // trains and what is frozen: autodiff::freeze marks the latter.
  std::vector<std::string> train = {}, freeze = {};
  std::vector<std::string> shapes = {};  // of open dimensions, as bind_shapes reads them
  bool accept_folded = false;     // train what the exporter folded as it stands in the file
  bool recurrent_series = false;  // LSTM and GRU as few ops of many time steps each, where there are such ops
};

// A tensor of the model that has contents.
struct TensorInfo {
  std::string name, type;  // "f32[64,3,7,7]"
  std::string trains;      // "yes", "no", "ambiguous"
  std::string why;
};

// One node of the model, and whether Pantoum can run and train it.
struct NodeCoverage {
  std::string name, op_type, domain;
  bool forward = false, gradient = false;
  std::string problem;                     // empty: fine; else what is wrong, and what to do
  std::string note;                        // e.g. "trained with batch statistics"
  std::vector<std::string> output_shapes;  // "[N,16,14,14]": the batch by its name
  std::vector<std::string> ops;            // what it became, by name; views are left out
};

struct ModelInfo {
  int64_t ir_version = 0, opset = 0;
  std::string producer, graph_name;  // the file's name where the exporter gives every graph the same
  std::string batch_name;  // "" when the model has a static batch
  int64_t batch = 0;       // as bound
  std::vector<NodeCoverage> nodes;
  std::vector<TensorInfo> tensors;           // in the file's order
  std::vector<std::string> inputs, outputs;  // "x f32[N,3,8,8]"; "?" where a shape is not known
  std::optional<Error> refusal;              // of load_onnx
  std::vector<std::string> folded;    // what the exporter folded, so that training is not the program's; not accepted
  std::vector<std::string> warnings;  // folded batch norm or dropout, dynamic shapes, ...
  std::vector<std::string> notes;     // what import decided, and what it cannot know
  int64_t parameter_count = 0;        // elements of trained parameters
  int64_t inference_norms = 0;        // batch norms in inference form, in a file that has no others
};

struct Imported {
  std::vector<Restoration> restorations = {};  // done; ONNX with trained weights needs them, too
  Graph graph;                                 // inputs, parameters, buffers, constants, forward ops in training form
  ModelInfo info;
  std::map<std::string, Tensor> fixed;  // tensors of the file whose contents the program was made with
  // Buffers of a torch graph that PyTorch computed of others, with the names of these, which are in `fixed` too.
  std::map<std::string, std::vector<std::string>> computed = {};
};

// Every node's coverage, all problems at once; an error only when the file itself cannot be read (E0201 to E0209).
[[nodiscard]] Result<ModelInfo> inspect_onnx(const std::string& path, const OnnxOptions& options = {});

// The graph. E0406 the exporter folded what trains; E0401 with one note per unsupported node; E0210 dynamic shapes; E02xx unreadable.
// Deterministic: the same file gives the same graph, names included. Names of parameters are the initializers' names.
[[nodiscard]] Result<Imported> load_onnx(const std::string& path, const OnnxOptions& options = {});
// The same from bytes (fuzzing, tests); `folder` is where external data lies.
[[nodiscard]] Result<Imported> parse_onnx(const void* bytes, size_t size, const std::string& folder,
                                          const OnnxOptions& options = {});

// The paths of the files that hold tensors of the model; none where it cannot be read.
[[nodiscard]] std::vector<std::string> external_data_files(const std::string& path);

}  // namespace pantoum::import
