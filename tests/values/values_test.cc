// Loss, gradients and optimizer steps against PyTorch in float64, on five networks. README.md tells how the expected
// values were made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autodiff/autodiff.h"
#include "import/onnx.h"
#include "ir/evaluate.h"
#include "values/generator.h"

namespace pantoum {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

using values::bytes_of;
using values::uniform;

// The model file beside the weights that the generator makes, in a folder of their own.
class Network {
 public:
  explicit Network(const std::string& name)
      : folder_(fs::temp_directory_path() / ("pantoum-values-" + name + "-" + std::to_string(::getpid()))) {
    const fs::path source = fs::path(PANTOUM_SOURCE_DIR) / "tests" / "values";
    expected_ = Json::parse(std::ifstream(source / (name + ".json")));
    fs::create_directories(folder_);
    fs::copy_file(source / (name + ".onnx"), folder_ / "model.onnx", fs::copy_options::overwrite_existing);
    std::fstream weights(folder_ / "weights.bin", std::ios::out | std::ios::binary);
    for (const Json& tensor : expected_["tensors"]) {
      const std::vector<float> values = uniform(tensor["stream"], tensor["count"], tensor["scale"], tensor["shift"]);
      weights.seekp(tensor["offset"].get<std::streamoff>());
      weights.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    }
  }
  ~Network() { fs::remove_all(folder_); }

  [[nodiscard]] const Json& expected() const { return expected_; }
  [[nodiscard]] std::string path() const { return (folder_ / "model.onnx").string(); }

  [[nodiscard]] std::vector<std::byte> batch() const {
    size_t count = 1;
    for (const Json& extent : expected_["shape"]) count *= extent.get<size_t>();
    return bytes_of(uniform(expected_["x_stream"], count, 1, 0));
  }
  [[nodiscard]] std::vector<std::byte> labels() const {
    return bytes_of(values::below(expected_["label_stream"], expected_["shape"][0], expected_["classes"]));
  }

 private:
  fs::path folder_;
  Json expected_;
};

ir::Graph training_of(const Network& network, autodiff::Optimizer optimizer) {
  auto imported = import::load_onnx(network.path());
  EXPECT_TRUE(imported) << to_text(imported.error());
  auto graph = autodiff::make_training(imported->graph, {.optimizer = optimizer});
  EXPECT_TRUE(graph) << to_text(graph.error());
  return std::move(*graph);
}

ir::Feeds feeds_of(const Network& network, const ir::Graph& graph) {
  return {{graph.inputs.at(0), network.batch()}, {graph.labels.at(0), network.labels()}};
}

ir::EvaluateOptions blocked(const ir::Graph& graph, uint64_t step, double lr) {
  ir::EvaluateOptions options;
  options.scalars = {step, 0, lr};
  for (const ir::Op& op : graph.ops) {
    const bool product = op.kind == ir::Kind::k_matmul || op.kind == ir::Kind::k_conv2d ||
                         op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv2d_dw;
    options.algorithms.push_back(product ? 1 : 0);
  }
  return options;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// The kept entries within 1e-4 of max(largest magnitude of the tensor, 1e-3 of `largest` over the model); and the norm
// likewise.
void compare(const std::string& name, const std::vector<float>& ours, const Json& expected, double largest) {
  const double bound = 1e-4 * std::max(expected["max"].get<double>(), 1e-3 * largest);
  const std::vector<double> entries = expected["entries"];
  for (size_t pick = 0; pick < entries.size(); ++pick) {
    const size_t at = ours.size() > entries.size() ? pick * ours.size() / entries.size() : pick;
    EXPECT_NEAR(static_cast<double>(ours.at(at)), entries[pick], bound) << name << "[" << at << "]";
  }
  EXPECT_NEAR(norm_of(ours), expected["norm"].get<double>(), bound * std::sqrt(static_cast<double>(ours.size())))
      << name;
}

double largest_of(const Json& tensors) {
  double largest = 0;
  for (const Json& tensor : tensors) largest = std::max(largest, tensor["max"].get<double>());
  return largest;
}

class ValuesOf : public testing::TestWithParam<const char*> {};

TEST_P(ValuesOf, LossAndGradientsAreThoseOfPyTorchInDouble) {
  const Network network(GetParam());
  const ir::Graph graph = training_of(network, autodiff::NoOptimizer{});
  const auto values = ir::evaluate(graph, *pt_portable_kernels(), feeds_of(network, graph), blocked(graph, 1, 0));
  ASSERT_TRUE(values) << to_text(values.error());
  const double loss = network.expected()["loss"];
  EXPECT_NEAR(static_cast<double>(values->as<float>(graph.results.at(0)).at(0)), loss, 1e-4 * std::abs(loss));
  const Json& gradients = network.expected()["gradients"];
  size_t compared = 0;
  for (ir::ValueId output : graph.outputs) {
    const std::string name = graph.value(output).name.substr(std::string("grad.").size());
    ASSERT_TRUE(gradients.contains(name)) << name;
    compare(name, values->as<float>(output), gradients[name], largest_of(gradients));
    ++compared;
  }
  EXPECT_EQ(compared, gradients.size());
}

// Five steps; returns the parameters by name.
std::map<std::string, std::vector<float>> train(const Network& network, autodiff::Optimizer optimizer, double lr) {
  const ir::Graph graph = training_of(network, optimizer);
  ir::Feeds feeds = feeds_of(network, graph);
  for (uint64_t step = 1; step <= 5; ++step) {
    auto values = ir::evaluate(graph, *pt_portable_kernels(), feeds, blocked(graph, step, lr));
    EXPECT_TRUE(values) << to_text(values.error());
    for (size_t id = 0; id < graph.values.size(); ++id)
      if (graph.values[id].next != ir::kNone)
        feeds[static_cast<ir::ValueId>(id)] = values->bytes[static_cast<size_t>(graph.values[id].next)];
  }
  std::map<std::string, std::vector<float>> parameters;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].role != ir::Role::kParameter || graph.values[id].next == ir::kNone) continue;
    const std::vector<std::byte>& bytes = feeds[static_cast<ir::ValueId>(id)];
    std::vector<float>& values = parameters[graph.values[id].name];
    values.resize(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return parameters;
}

TEST_P(ValuesOf, FiveStepsOfSgdAreThoseOfPyTorchInDouble) {
  const Network network(GetParam());
  const Json& expected = network.expected()["sgd"];
  const auto parameters = train(network, autodiff::Sgd{.momentum = 0.9, .weight_decay = 1e-4}, 0.01);
  EXPECT_EQ(parameters.size(), expected.size());
  for (const auto& [name, values] : parameters) compare(name, values, expected.at(name), largest_of(expected));
}

TEST_P(ValuesOf, FiveStepsOfAdamKeepPyTorchsNorms) {
  const Network network(GetParam());
  const Json& expected = network.expected()["adam"];
  const auto parameters = train(network, autodiff::Adam{}, 1e-3);
  EXPECT_EQ(parameters.size(), expected.size());
  for (const auto& [name, values] : parameters) {
    const double norm = expected.at(name)["norm"];
    EXPECT_NEAR(norm_of(values), norm, 1e-2 * norm) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ValuesOf, testing::Values("cnn", "mlp", "resnet18", "vgg16", "transformer"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace pantoum
