// What becomes of gradients between the backward sweep and the updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autodiff/autodiff.h"
#include "ir/builder.h"
#include "ir/op_registry.h"
#include "testing/evaluate.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::ValueId;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> waves(size_t first, size_t count, double frequency) {
  std::vector<float> values(count);
  for (size_t at = 0; at < count; ++at)
    values[at] = static_cast<float>(std::sin(frequency * static_cast<double>(first + at + 1)));
  return values;
}

// x [batch,4] -> `layers` times fc, tanh -> [batch,4]
Graph network(int64_t batch, int layers = 2) {
  Graph graph;
  ir::Builder builder(graph);
  ValueId y = builder.input("x", {ir::DType::kF32, {batch, 4}});
  for (int layer = 0; layer < layers; ++layer) {
    const auto data = std::make_shared<const std::vector<std::byte>>(bytes_of(waves(0, 16, 0.7 + layer)));
    const std::string name = "fc" + std::to_string(layer);
    const ValueId w = builder.parameter(name, {ir::DType::kF32, {4, 4}}, data);
    y = builder.op(Kind::k_tanh, name + ".t", {builder.op(Kind::k_matmul, name + ".y", {y, w}, {{0, 0}, {}})});
  }
  graph.outputs = {y};
  return graph;
}

Graph made(Result<Graph> graph) {
  EXPECT_TRUE(graph) << to_text(graph.error());
  EXPECT_TRUE(ir::validate(*graph));
  return *graph;
}

size_t count_of(const Graph& graph, Kind kind) {
  return static_cast<size_t>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; }));
}

using Contents = std::map<std::string, std::vector<std::byte>>;

// One run on the rows from `first` on; `contents` is what persists from run to run.
void run(const Graph& graph, size_t first, uint64_t step, Contents& contents) {
  ir::Feeds feeds;
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (const auto found = contents.find(graph.values[id].name); found != contents.end())
      feeds[static_cast<ValueId>(id)] = found->second;
  const auto rows = static_cast<size_t>(graph.value(graph.inputs[0]).type.shape[0]);
  feeds[graph.inputs[0]] = bytes_of(waves(first * 4, rows * 4, 0.9));
  feeds[graph.labels[0]] = bytes_of(waves(first * 4, rows * 4, 0.3));
  const Result<ir::Evaluated> ran = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.scalars = {step, 5, 0.05}});
  ASSERT_TRUE(ran) << to_text(ran.error());
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (const ir::Value& value = graph.values[id]; value.next != ir::kNone)
      contents[value.name] = ran->bytes[static_cast<size_t>(value.next)];
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Accumulation, OfMicroBatchesIsTheStepOfTheWholeBatch) {
  for (const Optimizer& optimizer : {Optimizer{Sgd{.momentum = 0.9}}, Optimizer{Adam{}}}) {
    TrainingOptions options{.loss = {{"mse"}}, .optimizer = optimizer, .clip_norm = 0.05};
    const Graph whole = made(make_training(network(8), options));
    options.accumulate = 4;
    const Graph add = made(make_accumulation(network(2), options)), last = made(make_training(network(2), options));
    Contents expected, found;
    for (uint64_t step = 1; step <= 6; ++step) {
      run(whole, 8 * step, step, expected);
      for (size_t part = 0; part < 4; ++part) run(part < 3 ? add : last, 8 * step + 2 * part, step, found);
      for (const auto& [name, bytes] : expected) {
        const std::vector<float> a = floats(bytes), b = floats(found[name]);
        ASSERT_EQ(a.size(), b.size()) << name;
        for (size_t at = 0; at < a.size(); ++at) EXPECT_NEAR(a[at], b[at], 2e-6) << name;
      }
    }
    for (const float sum : floats(found["accumulated.fc0"])) EXPECT_EQ(sum, 0) << "a step leaves nothing behind";
  }
}

TEST(Accumulation, UpdatesNothingButItsSums) {
  const Graph graph = made(make_accumulation(network(2), {.loss = {{"mse"}}, .accumulate = 4}));
  for (const ir::Value& value : graph.values)
    EXPECT_EQ(value.next != ir::kNone, value.name.starts_with("accumulated.") && !value.name.ends_with("'"))
        << value.name;
  EXPECT_EQ(count_of(graph, Kind::k_accumulate), 2U);
  EXPECT_EQ(count_of(graph, Kind::k_sgd), 0U);
}

TEST(GradientChain, HoldsUpdatesBackUntilTheNormOfAllIsKnown) {
  const Graph graph = made(make_training(network(2), {.loss = {{"mse"}}, .clip_norm = 1}));
  size_t last_norm = 0, first_update = graph.ops.size();
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].kind == Kind::k_norm) last_norm = op;
    if (graph.ops[op].kind == Kind::k_sgd) first_update = std::min(first_update, op);
  }
  EXPECT_EQ(count_of(graph, Kind::k_norm), 3U) << "one of each gradient, one of them";
  EXPECT_LT(last_norm, first_update);
}

TEST(GradientChain, TakesTheNormOfManyGradientsInGroups) {
  const Graph graph = made(make_training(network(2, 70), {.loss = {{"mse"}}, .clip_norm = 1}));
  EXPECT_EQ(count_of(graph, Kind::k_norm), 70U + 3 + 1);
}

TEST(GradientChain, ClipsByValueWithoutWaiting) {
  const Graph graph = made(make_training(network(2), {.loss = {{"mse"}}, .clip_value = 0.1}));
  for (size_t op = 0; op < graph.ops.size(); ++op)
    EXPECT_TRUE(graph.ops[op].kind != Kind::k_clip || graph.ops[op + 1].kind == Kind::k_sgd);
  EXPECT_EQ(count_of(graph, Kind::k_clip), 2U);
}

}  // namespace
}  // namespace pantoum::autodiff
