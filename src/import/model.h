// An ONNX file, read and checked: what the lowering starts from.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "import/onnx_proto.h"
#include "import/restoration.h"
#include "import/subgraphs.h"
#include "import/tensor.h"

namespace pantoum::import {

// kAmbiguous: the file does not tell a parameter from a table; it is trained, and said to be so.
enum class Trains : uint8_t { kNo, kYes, kAmbiguous };

// An ONNX file: bytes that someone keeps meanwhile, or a mapped file, whose large contents stay there.
struct ModelBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const base::MappedFile> file;  // null: large contents are copied
};

struct Initializer {
  Tensor tensor;        // empty when `problem` is set
  std::string problem;  // the element type is not supported
  Trains trains = Trains::kNo;
  bool frozen = false;    // --freeze names it
  bool doubtful = false;  // does not train, and the file does not say that it must not
  std::string why;        // of `trains`, in a few words

  [[nodiscard]] bool is_parameter() const { return trains != Trains::kNo; }
};

struct Model {
  std::shared_ptr<onnx::ModelProto> proto;  // never null; contents of initializers moved out
  int64_t opset = 0;                        // of the default domain
  std::map<std::string, Initializer> initializers;
  std::vector<Restoration> restorations;  // applied to the model's message already
  std::vector<std::string> folded;        // what the exporter folded and nothing restores: a sentence each
  std::vector<std::string> export_notes, export_warnings;
  std::set<std::pair<std::string, int>> detached;  // inputs of nodes, by their first outputs, that no gradient passes
  std::map<std::string, TensorType> tables;        // in Constant nodes, of two elements or more
  std::vector<int> order;      // nodes in topological order: the order of the file if that is topological
  std::vector<char> live;      // per node of the file: does an output of the model depend on it?
  std::set<std::string> read;  // every name that a node reads or that is an output of the model
  Captures captures;           // values that subgraphs read from outside
};

// Parses and checks. E0202 not ONNX, truncated; E0203 IR version; E0204 opset; E0205 a damaged tensor; E0206 external
// data; E0207 names defined twice or never, cycles; E0208 no graph, inputs or outputs without a type.
// Memory and time are linear in the size of the file (and of external files); of a mapped file, memory is linear in what is beside large contents.
//   train    globs: a table of floating-point numbers in a Constant node that one of them names becomes an initializer
//   weights  names of tables that become initializers, too
[[nodiscard]] Result<Model> read_model(const ModelBytes& file, ExternalData& external,
                                       const std::vector<std::string>& train = {},
                                       const std::set<std::string>& weights = {});

}  // namespace pantoum::import
