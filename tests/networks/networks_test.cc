// Ten steps of SGD on networks as PyTorch exports them, against PyTorch's own: the loss of every step, and of every
// tensor that changed its norm and the norm of its change. README.md tells how the expected values were made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autodiff/autodiff.h"
#include "import/onnx.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"
#include "values/generator.h"

namespace pantoum {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kBound = 1e-3;

size_t count_of(const Json& shape) {
  size_t count = 1;
  for (const Json& extent : shape) count *= extent.get<size_t>();
  return count;
}

// The batch's tensor that `spec` describes, as make_expected.py makes it.
std::vector<std::byte> contents(const Json& spec, uint32_t stream) {
  const size_t count = count_of(spec["shape"]);
  if (spec["kind"] == "uniform") return values::bytes_of(values::uniform(stream, count, 1, 0));
  if (spec["kind"] == "ids") return values::bytes_of(values::below(stream, count, spec["below"]));
  const auto rows = spec["shape"][0].get<size_t>(), length = spec["shape"][1].get<size_t>();
  std::vector<int64_t> mask;
  for (const int64_t less : values::below(stream, rows, static_cast<uint32_t>(length / 2)))
    for (size_t at = 0; at < length; ++at) mask.push_back(at < length - static_cast<size_t>(less) ? 1 : 0);
  return values::bytes_of(mask);
}

// The model file beside the weights that the generator makes, in a folder of their own.
class Network {
 public:
  Network(const std::string& name, const std::string& file) {
    const fs::path source = fs::path(PANTOUM_SOURCE_DIR) / "tests" / "networks";
    expected_ = Json::parse(std::ifstream(source / (name + ".json")));
    fs::copy_file(source / file, folder_.path() / "model.onnx", fs::copy_options::overwrite_existing);
    std::ofstream weights(folder_.path() / "weights.bin", std::ios::binary);
    for (const Json& tensor : expected_["weights"]) {  // name, stream, offset, count, scale, shift
      const std::vector<float> made = values::uniform(tensor[1], tensor[3], tensor[4], tensor[5]);
      weights.seekp(tensor[2].get<std::streamoff>());
      weights.write(reinterpret_cast<const char*>(made.data()), static_cast<std::streamsize>(made.size() * 4));
    }
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const Json& expected() const { return expected_; }

  [[nodiscard]] ir::Graph training() const {
    const auto imported = import::load_onnx((folder_.path() / "model.onnx").string());
    EXPECT_TRUE(imported) << to_text(imported.error());
    const autodiff::Loss loss = expected_["loss"] == "mse" ? autodiff::Loss::kMse : autodiff::Loss::kCrossEntropy;
    const autodiff::Sgd sgd{.momentum = expected_["momentum"]};
    auto graph = autodiff::make_training(imported->graph, {.losses = {{.loss = loss}}, .optimizer = sgd});
    EXPECT_TRUE(graph) << to_text(graph.error());
    return std::move(*graph);
  }

  [[nodiscard]] ir::Feeds feeds(const ir::Graph& graph) const {
    ir::Feeds feeds;
    for (size_t input = 0; input < graph.inputs.size(); ++input)
      feeds[graph.inputs[input]] = contents(expected_["inputs"][input], static_cast<uint32_t>(1000 + input));
    feeds[graph.labels.at(0)] = contents(expected_["label"], 2000);
    return feeds;
  }

 private:
  TemporaryFolder folder_;
  Json expected_;
};

ir::EvaluateOptions options_for(const ir::Graph& graph, uint64_t step, double lr) {
  ir::EvaluateOptions options;
  options.scalars = {step, 0, lr};
  for (const ir::Op& op : graph.ops) {
    const bool product = op.kind == ir::Kind::k_matmul || op.kind == ir::Kind::k_conv2d ||
                         op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv2d_dw;
    options.algorithms.push_back(product ? 1 : 0);
  }
  return options;
}

// The losses of the steps; `feeds` are what the next step would begin with.
std::vector<double> train(const ir::Graph& graph, ir::Feeds& feeds, size_t steps, double lr) {
  std::vector<double> losses;
  for (uint64_t step = 1; step <= steps; ++step) {
    auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, options_for(graph, step, lr));
    if (!run) {
      ADD_FAILURE() << to_text(run.error());
      break;
    }
    losses.push_back(static_cast<double>(run->as<float>(graph.results.at(0)).at(0)));
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const ir::ValueId next = graph.values[id].next;
      if (next != ir::kNone) feeds[static_cast<ir::ValueId>(id)] = std::move(run->bytes[static_cast<size_t>(next)]);
    }
  }
  return losses;
}

void compare_losses(const std::vector<double>& losses, const Json& expected) {
  const double bound = expected.value("bound", kBound);
  for (size_t step = 0; step < losses.size(); ++step) {
    const double loss = expected["losses"][step];
    EXPECT_NEAR(losses[step], loss, bound * std::abs(loss)) << "step " << step + 1;
  }
}

struct Norms {
  double norm = 0, change = 0;
};

Norms norms_of(const std::vector<std::byte>& now, const ir::Data& start) {
  Norms norms;
  for (size_t at = 0; at < now.size(); at += sizeof(float)) {
    float after = 0, before = 0;
    std::memcpy(&after, &now[at], sizeof after);
    if (start) std::memcpy(&before, &(*start)[at], sizeof before);
    const double moved = static_cast<double>(after) - static_cast<double>(before);
    norms.norm += static_cast<double>(after) * static_cast<double>(after);
    norms.change += moved * moved;
  }
  return {std::sqrt(norms.norm), std::sqrt(norms.change)};
}

// Tensors that hardly move, such as a bias before a normalization, move by rounding alone: their change is held to a
// hundredth of the largest one, and to the rounding of the weights themselves.
size_t compare_tensors(const ir::Graph& graph, const ir::Feeds& feeds, const Json& expected) {
  double largest = 0;  // of the parameters: running statistics move by more
  for (const auto& [name, pair] : expected.items())
    if (name.find("running") == std::string::npos) largest = std::max(largest, pair[1].get<double>());
  size_t compared = 0;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value& value = graph.values[id];
    const bool kept = value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer;
    if (!kept || value.next == ir::kNone) continue;
    if (!expected.contains(value.name)) {
      ADD_FAILURE() << "PyTorch has no tensor " << value.name;
      continue;
    }
    const Norms ours = norms_of(feeds.at(static_cast<ir::ValueId>(id)), value.data);
    const double norm = expected[value.name][0], change = expected[value.name][1];
    EXPECT_NEAR(ours.norm, norm, kBound * norm) << value.name;
    const double allowed = 10 * kBound * std::max(change, 1e-2 * largest) + 1e-6 * norm;
    EXPECT_NEAR(ours.change, change, allowed) << value.name << ", its change";
    ++compared;
  }
  return compared;
}

class TrainingOf : public testing::TestWithParam<std::string> {};

TEST_P(TrainingOf, TheExportByTracingIsPyTorchs) {
  const Network network(GetParam(), GetParam() + ".onnx");
  const Json& expected = network.expected();
  const ir::Graph graph = network.training();
  ir::Feeds feeds = network.feeds(graph);
  const std::vector<double> losses = train(graph, feeds, expected["losses"].size(), expected["lr"]);
  ASSERT_EQ(losses.size(), expected["losses"].size());
  compare_losses(losses, expected);
  EXPECT_EQ(compare_tensors(graph, feeds, expected["after"]), expected["after"].size());
}

// The other exporter writes other operators for the same network: the loss after one step shows its gradients.
TEST_P(TrainingOf, TheExportOfTheProgramIsPyTorchs) {
  const Network network(GetParam(), GetParam() + ".dynamo.onnx");
  const ir::Graph graph = network.training();
  ir::Feeds feeds = network.feeds(graph);
  const std::vector<double> losses = train(graph, feeds, 2, network.expected()["lr"]);
  ASSERT_EQ(losses.size(), 2U);
  compare_losses(losses, network.expected());
}

std::vector<std::string> networks() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(PANTOUM_SOURCE_DIR) / "tests" / "networks"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainingOf, testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace pantoum
