// Every model of ONNX's own test data (Debian's package libonnx-testdata): none crashes the importer, what is refused
// says why and what to do, and what is imported computes the outputs that ONNX expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "import/catalog.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"
#include "testing/evaluate.h"

namespace pantoum::import {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> models() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(kData))
    if (entry.path().filename() == "model.onnx") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// The numbered tensors of one data set of a test: input_0.pb, input_1.pb, ...; none where one is no tensor of ours.
std::optional<std::vector<Tensor>> tensors(const fs::path& folder, const std::string& kind) {
  std::vector<Tensor> found;
  ExternalData external("", false);
  for (int number = 0;; ++number) {
    const fs::path path = folder / (kind + "_" + std::to_string(number) + ".pb");
    if (!fs::exists(path)) return found;
    onnx::TensorProto message;
    if (!message.ParseFromString(bytes_of(path))) return std::nullopt;
    auto tensor = read_tensor(message, external, path.string());
    if (!tensor) return std::nullopt;
    if (tensor->type.dtype == ir::DType::kF64)  // as the graph computes it
      tensor = make_tensor(ir::DType::kF32, tensor->type.shape, *to_reals(*tensor));
    found.push_back(*tensor);
  }
}

// The model as an exporter of today would write it: the versions that Pantoum reads, and shapes, axes and bounds, which
// these tests feed as inputs (integers, and floating scalars), as initializers with the values of the data set.
std::string modernized(const std::string& bytes, const fs::path& data) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  if (model.ir_version() < 4) model.set_ir_version(4);
  for (auto& import : *model.mutable_opset_import())
    if (import.domain().empty() && import.version() < 11 && model.graph().node(0).op_type() != "Clip")
      import.set_version(11);
  onnx::GraphProto& graph = *model.mutable_graph();
  std::set<std::string> known;
  for (const auto& initializer : graph.initializer()) known.insert(initializer.name());
  for (int number = 0; number < graph.input_size(); ++number) {
    onnx::TensorProto value;
    if (!value.ParseFromString(bytes_of(data / ("input_" + std::to_string(number) + ".pb")))) break;
    const bool integer = value.data_type() == onnx::TensorProto::INT64 || value.data_type() == onnx::TensorProto::INT32;
    const bool scalar = value.dims_size() == 0;
    if (known.contains(graph.input(number).name()) || number == 0 || !(integer || scalar)) continue;
    value.set_name(graph.input(number).name());
    *graph.add_initializer() = value;
  }
  return model.SerializeAsString();
}

// Is the output not the one of inference? Batch norm and dropout are trained with training semantics; what is random is
// drawn otherwise than the reference draws it.
bool trains_differently(const Imported& model) {
  return std::any_of(model.info.nodes.begin(), model.info.nodes.end(), [](const NodeCoverage& node) {
    return node.op_type == "BatchNormalization" || node.op_type == "Dropout" ||
           std::ranges::find(node.ops, "random") != node.ops.end();
  });
}

// The largest |a - b| / (1e-5 + |b|) over floating elements; infinity where integers or sizes differ.
double distance(const std::vector<std::byte>& ours, const Tensor& theirs) {
  if (ours.size() != theirs.data->size()) return HUGE_VAL;
  if (theirs.type.dtype != ir::DType::kF32) return ir::same_bytes(ours, *theirs.data) ? 0 : HUGE_VAL;
  double worst = 0;
  for (size_t at = 0; at < ours.size(); at += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, &ours[at], sizeof a);
    std::memcpy(&b, &(*theirs.data)[at], sizeof b);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::fabs(double{a} - double{b}) / (1e-5 + std::fabs(double{b}));
    worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
  }
  return worst;
}

// docs/operators.md lists what an operator may become.
void check_catalog(const Imported& model, const fs::path& path) {
  static const std::vector<CatalogEntry> catalog = operator_catalog();
  for (const NodeCoverage& node : model.info.nodes) {
    if (node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan") continue;  // what their nodes become
    const auto entry = std::ranges::find(catalog, node.op_type, &CatalogEntry::op_type);
    ASSERT_NE(entry, catalog.end()) << node.op_type;
    for (const std::string& op : node.ops)
      EXPECT_NE(std::ranges::find(entry->made_of, op), entry->made_of.end())
          << path << ": " << node.op_type << " becomes " << op << ", which its entry does not say";
  }
}

enum class Outcome { kCompared, kRefused, kTrainsDifferently, kOtherInputs };

Outcome judge(const fs::path& path, bool modern, std::map<std::string, int>& compared_ops) {
  const fs::path data = path.parent_path() / "test_data_set_0";
  std::string bytes = bytes_of(path);
  if (modern) bytes = modernized(bytes, data);
  auto inputs = tensors(data, "input");
  const auto outputs = tensors(data, "output");
  const auto model = parse_onnx(bytes.data(), bytes.size(), path.parent_path().string());
  if (!model) {
    const Error& error = model.error();
    EXPECT_TRUE(error.code.starts_with("E02") || error.code == "E0401") << path << ": " << error.code;
    EXPECT_FALSE(error.message.empty()) << path;
    EXPECT_FALSE(error.notes.empty() && error.where.empty() && error.help.empty()) << path << ": " << error.message;
    return Outcome::kRefused;
  }
  EXPECT_TRUE(ir::validate(model->graph).has_value()) << path;
  check_catalog(*model, path);
  if (trains_differently(*model)) return Outcome::kTrainsDifferently;
  if (inputs && model->graph.inputs.size() < inputs->size()) inputs->resize(model->graph.inputs.size());
  if (!inputs || !outputs || inputs->size() != model->graph.inputs.size() ||
      outputs->size() != model->graph.outputs.size())
    return Outcome::kOtherInputs;
  ir::Feeds feeds;
  for (size_t number = 0; number < inputs->size(); ++number) {
    const ir::ValueId id = model->graph.inputs[number];
    if (model->graph.value(id).type != (*inputs)[number].type) return Outcome::kOtherInputs;
    feeds[id] = (*inputs)[number].data.copy();
  }
  const auto found = ir::evaluate(model->graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(found.has_value()) << path << (found ? "" : to_text(found.error()));
  if (!found) return Outcome::kRefused;
  for (size_t number = 0; number < outputs->size(); ++number) {
    const ir::ValueId id = model->graph.outputs[number];
    EXPECT_EQ(model->graph.value(id).type.shape, (*outputs)[number].type.shape) << path;
    EXPECT_LE(distance(found->bytes[static_cast<size_t>(ir::root_of(model->graph, id))], (*outputs)[number]), 2e-3)
        << path << " output " << number;
  }
  for (const NodeCoverage& node : model->info.nodes) ++compared_ops[node.op_type];
  return Outcome::kCompared;
}

TEST(OnnxTestData, ImportsWhatItListsAndRefusesTheRestClearly) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData << ": apt-get install libonnx-testdata";
  std::map<Outcome, int> outcomes;
  std::map<std::string, int> compared;
  for (const fs::path& path : models()) {
    std::map<std::string, int> as_it_is;
    judge(path, false, as_it_is);
    ++outcomes[judge(path, true, compared)];
  }
  std::cout << outcomes[Outcome::kCompared] << " compared, " << outcomes[Outcome::kTrainsDifferently]
            << " with training semantics, " << outcomes[Outcome::kOtherInputs]
            << " with inputs or outputs of other kinds, " << outcomes[Outcome::kRefused] << " refused\n";
  EXPECT_GE(outcomes[Outcome::kCompared], 615);
  for (const char* op : {"Add",
                         "AveragePool",
                         "Cast",
                         "Concat",
                         "Constant",
                         "Conv",
                         "Div",
                         "Erf",
                         "Expand",
                         "Flatten",
                         "Gather",
                         "GridSample",
                         "MaxUnpool",
                         "TopK",
                         "Gemm",
                         "Identity",
                         "LSTM",
                         "LeakyRelu",
                         "LogSoftmax",
                         "MatMul",
                         "MaxPool",
                         "Mul",
                         "Pow",
                         "RNN",
                         "ReduceMean",
                         "ReduceSum",
                         "Relu",
                         "Reshape",
                         "Shape",
                         "Sigmoid",
                         "Slice",
                         "Softmax",
                         "Split",
                         "Sqrt",
                         "Squeeze",
                         "Sub",
                         "Tanh",
                         "Transpose",
                         "Unsqueeze",
                         "GlobalAveragePool",
                         "LayerNormalization"})
    EXPECT_GE(compared[op], 1) << op;
}

}  // namespace
}  // namespace pantoum::import
