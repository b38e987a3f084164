// A network of this folder: its file beside weights made by the generator of README.md; what tests of values share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "autodiff/autodiff.h"
#include "import/onnx.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"
#include "values/generator.h"

namespace pantoum {

using Json = nlohmann::json;
namespace fs = std::filesystem;

using values::bytes_of;
using values::uniform;
using values::words;

// The model file beside the weights that the generator makes, in a folder of their own.
class Network {
 public:
  explicit Network(const std::string& name) {
    const fs::path source = fs::path(PANTOUM_SOURCE_DIR) / "tests" / "values";
    expected_ = Json::parse(std::ifstream(source / (name + ".json")));
    fs::copy_file(source / (name + ".onnx"), folder_.path() / "model.onnx", fs::copy_options::overwrite_existing);
    std::fstream weights(folder_.path() / "weights.bin", std::ios::out | std::ios::binary);
    for (const Json& tensor : expected_["tensors"]) {
      const std::vector<float> values = uniform(tensor["stream"], tensor["count"], tensor["scale"], tensor["shift"]);
      weights.seekp(tensor["offset"].get<std::streamoff>());
      weights.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    }
  }

  [[nodiscard]] const Json& expected() const { return expected_; }
  [[nodiscard]] std::string path() const { return (folder_.path() / "model.onnx").string(); }

  // `count` classes, and uniform numbers in [-1, 1), of a stream.
  [[nodiscard]] static std::vector<std::byte> classes(uint32_t stream, size_t count, uint32_t classes) {
    std::vector<int64_t> drawn;
    for (uint32_t word : words(stream, count)) drawn.push_back(word % classes);
    return bytes_of(drawn);
  }
  [[nodiscard]] static std::vector<std::byte> numbers(uint32_t stream, const Json& shape) {
    size_t count = 1;
    for (const Json& extent : shape) count *= extent.get<size_t>();
    return bytes_of(uniform(stream, count, 1, 0));
  }

 private:
  TemporaryFolder folder_;
  Json expected_;
};

inline ir::Graph training_of(const Network& network, const autodiff::TrainingOptions& options,
                             const import::OnnxOptions& how = {}) {
  auto imported = import::load_onnx(network.path(), how);
  EXPECT_TRUE(imported) << to_text(imported.error());
  auto graph = autodiff::make_training(imported->graph, options);
  EXPECT_TRUE(graph) << to_text(graph.error());
  return std::move(*graph);
}

inline ir::EvaluateOptions blocked(const ir::Graph& graph, uint64_t step, double lr) {
  ir::EvaluateOptions options;
  options.scalars = {step, 0, lr};
  for (const ir::Op& op : graph.ops) {
    const bool product = op.kind == ir::Kind::k_matmul || op.kind == ir::Kind::k_conv2d ||
                         op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv2d_dw;
    options.algorithms.push_back(product ? 1 : 0);
  }
  return options;
}

inline double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// Runs the step that often, each from the last one's parameters and state, which `feeds` then holds; returns the
// losses.
inline std::vector<float> run_steps(const ir::Graph& graph, ir::Feeds& feeds, uint64_t steps, double lr) {
  std::vector<float> losses;
  for (uint64_t step = 1; step <= steps; ++step) {
    auto values = ir::evaluate(graph, *pt_portable_kernels(), feeds, blocked(graph, step, lr));
    EXPECT_TRUE(values) << to_text(values.error());
    losses.push_back(values->as<float>(graph.results.at(0)).at(0));
    for (size_t id = 0; id < graph.values.size(); ++id)
      if (graph.values[id].next != ir::kNone)
        feeds[static_cast<ir::ValueId>(id)] = values->bytes[static_cast<size_t>(graph.values[id].next)];
  }
  return losses;
}

// The trained parameters among `feeds`, by name.
inline std::map<std::string, std::vector<float>> parameters_of(const ir::Graph& graph, const ir::Feeds& feeds) {
  std::map<std::string, std::vector<float>> parameters;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].role != ir::Role::kParameter || graph.values[id].next == ir::kNone) continue;
    const std::vector<std::byte>& bytes = feeds.at(static_cast<ir::ValueId>(id));
    std::vector<float>& values = parameters[graph.values[id].name];
    values.resize(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return parameters;
}

}  // namespace pantoum
