// Substitutions on the training steps and forward programs of known networks, small.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "autodiff/autodiff.h"
#include "base/files.h"
#include "import/onnx.h"
#include "rewrite/rule.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::OpId;
using ir::ValueId;

// Floats of small waves; whole numbers, and what a mask lets through, are zeros.
ir::Feeds feeds_for_network(const Graph& graph) {
  ir::Feeds feeds;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) {
      const ir::TensorType& type = graph.value(id).type;
      std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
      for (int64_t at = 0; type.dtype == ir::DType::kF32 && at < type.elements(); ++at) {
        const auto number = static_cast<float>(0.5 * std::sin(0.9 * static_cast<double>(at) + id));
        std::memcpy(bytes.data() + 4 * at, &number, 4);
      }
      feeds[id] = std::move(bytes);
    }
  return feeds;
}

std::vector<ValueId> kept_of_network(const Graph& graph) {
  std::vector<ValueId> all = graph.outputs;
  all.insert(all.end(), graph.results.begin(), graph.results.end());
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) all.push_back(value.next);
  return all;
}

// Parameters of both signs, of about the root of their fan-in; statistics around 1.
void give_weights(Graph& graph) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    ir::Value& value = graph.values[id];
    const bool statistic = value.role == ir::Role::kBuffer;
    if ((!statistic && value.role != ir::Role::kParameter) || value.type.dtype != ir::DType::kF32) continue;
    const ir::Shape& shape = value.type.shape;
    const int64_t rows = shape.empty() ? 1 : shape[0];
    const double size = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(value.type.elements() / rows, 1)));
    auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(value.type.bytes()));
    for (int64_t at = 0; at < value.type.elements(); ++at) {
      const double wave = std::sin(1.1 * static_cast<double>(at * at % 1009) + static_cast<double>(id));
      const auto number = static_cast<float>(statistic ? 1 + 0.3 * wave : size * wave);
      std::memcpy(data->data() + 4 * at, &number, 4);
    }
    value.data = data;
  }
}

std::optional<Graph> forward_of_network(const std::string& name) {
  const TemporaryFolder folder;  // the files are without their weights
  std::ofstream(folder.path() / "weights.bin").close();
  std::filesystem::resize_file(folder.path() / "weights.bin", uintmax_t{128} << 20);
  const auto bytes = base::read_file(PANTOUM_SOURCE_DIR "/tests/networks/" + name + ".onnx");
  if (!bytes) return std::nullopt;
  auto imported = import::parse_onnx(bytes->data(), bytes->size(), folder.path().string(), {.accept_folded = true});
  if (!imported) return std::nullopt;
  give_weights(imported->graph);
  return std::move(imported->graph);
}

autodiff::TrainingOptions mse() {
  autodiff::TrainingOptions options;
  options.loss = {{"mse"}};
  options.optimizer = autodiff::Sgd{.momentum = 0.9};
  return options;
}

// The largest difference of what is kept, as a share of the tensor's largest number; 0: the same bits.
double difference(const Graph& graph, const ir::Evaluated& expected, const ir::Evaluated& found) {
  double worst = 0;
  for (const ValueId id : kept_of_network(graph)) {
    const auto place = static_cast<size_t>(id);
    if (expected.bytes[place] == found.bytes[place]) continue;
    if (graph.value(id).type.dtype != ir::DType::kF32) return INFINITY;
    const auto a = expected.as<float>(id), b = found.as<float>(id);
    double largest = 0.1, apart = 0;
    for (size_t at = 0; at < a.size(); ++at) {
      if (std::isnan(a[at]) && std::isnan(b[at])) continue;
      largest = std::max(largest, std::abs(static_cast<double>(a[at])));
      apart = std::max(apart, std::isnan(b[at]) ? INFINITY : std::abs(static_cast<double>(a[at] - b[at])));
    }
    worst = std::max(worst, apart / largest);
  }
  return worst;
}

// Every rule at its first place and at its last.
void try_rules(const std::string& name, const Graph& graph, bool inference, std::map<std::string, int>& applied) {
  const ir::Feeds feeds = feeds_for_network(graph);
  const auto expected = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.scalars = {1, 3, 0.01}});
  ASSERT_TRUE(expected.has_value()) << name << to_text(expected.error());
  for (const Rule& rule : rules()) {
    if (rule.inference_only && !inference) continue;
    std::vector<Graph> made;
    for (OpId at = 0; at < static_cast<OpId>(graph.ops.size()) && made.empty(); ++at)
      if (auto next = rule.apply(graph, at)) made.push_back(*std::move(next));
    for (auto at = static_cast<OpId>(graph.ops.size()); at-- > 0 && made.size() == 1;)
      if (auto next = rule.apply(graph, at)) made.push_back(*std::move(next));
    for (const Graph& next : made) {
      const auto valid = ir::validate(next);
      ASSERT_TRUE(valid.has_value()) << name << " " << rule.name << to_text(valid.error());
      const auto found = ir::evaluate(next, *pt_portable_kernels(), feeds, {.scalars = {1, 3, 0.01}});
      ASSERT_TRUE(found.has_value()) << name << " " << rule.name << to_text(found.error());
      const double apart = difference(graph, *expected, *found);
      const double allowed = rule.preserves == Preserves::kBits ? 0 : 1e-3;  // through dozens of layers and back
      EXPECT_LE(apart, allowed) << name << " " << rule.name;
      ++applied[rule.name];
    }
  }
}

// Of the folder's networks, whose README says what they are; all of them keep what the rules promise.
constexpr const char* kNetworks[] = {"squeezenet", "shufflenetv2", "mmoe", "highway", "bert"};

TEST(SubstitutionsOfNetworks, KeepTheirStepsAndForwardPrograms) {
  std::map<std::string, int> training, inference;
  for (const std::string name : kNetworks) {
    const auto forward = forward_of_network(name);
    ASSERT_TRUE(forward.has_value()) << name;
    const auto step = autodiff::make_training(*forward, mse());
    ASSERT_TRUE(step.has_value()) << name << to_text(step.error());
    try_rules(name, *step, false, training);
    const auto program = autodiff::make_evaluation(*forward, mse());
    ASSERT_TRUE(program.has_value()) << name << to_text(program.error());
    try_rules(name, *program, true, inference);
  }
  std::string fit;
  for (const auto& [name, count] : training) fit += name + " ";
  EXPECT_GE(training.size(), 6U) << fit;
  for (const char* name : {"fold-batch-norm", "fold-parameters", "fold-scale-shift"})
    EXPECT_GT(inference[name], 0) << name;
  RecordProperty("training", fit);
}

}  // namespace
}  // namespace pantoum::rewrite
