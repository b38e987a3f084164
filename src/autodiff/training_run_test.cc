// Training graphs run step after step by the reference evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autodiff/autodiff.h"
#include "ir/builder.h"
#include "testing/evaluate.h"

namespace pantoum::autodiff {
namespace {

using ir::Evaluated;
using ir::Feeds;
using ir::Graph;
using ir::Kind;
using ir::ValueId;

ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> waves(size_t count, double frequency) {
  std::vector<float> values(count);
  for (size_t element = 0; element < count; ++element) {
    values[element] = static_cast<float>(std::sin(frequency * static_cast<double>(element + 1)));
  }
  return values;
}

ir::Data data_of(size_t count, double frequency) {
  return std::make_shared<const std::vector<std::byte>>(bytes_of(waves(count, frequency)));
}

// x [8,4] -> fc -> batch norm -> relu -> dropout -> fc -> [8,3]
Graph network() {
  Graph graph;
  ir::Builder builder(graph);
  const ir::TensorType six = f32({6});
  const auto ones = std::make_shared<const std::vector<std::byte>>(bytes_of(std::vector<float>(6, 1)));
  const ValueId x = builder.input("x", f32({8, 4}));
  const ValueId w1 = builder.parameter("fc1", f32({4, 6}), data_of(24, 1.7));
  const ValueId scale = builder.parameter("scale", six, ones), bias = builder.parameter("bias", six, nullptr);
  const ValueId mean = builder.buffer("mean", six, nullptr), var = builder.buffer("var", six, ones);
  const ValueId w2 = builder.parameter("fc2", f32({6, 3}), data_of(18, 2.3));
  const ValueId y = builder.op(Kind::k_matmul, "fc1.y", {x, w1}, {{0, 0}, {}});
  const auto norm = builder.add(Kind::k_batch_norm, "bn", {y, scale, bias}, {{}, {1e-5}});
  const auto stats = builder.add(Kind::k_batch_norm_stats, "bn.stats", {mean, var, norm[1], norm[2]}, {{8}, {0.9}});
  graph.value(mean).next = stats[0];
  graph.value(var).next = stats[1];
  const ValueId r = builder.op(Kind::k_relu, "relu", {norm[0]});
  const ValueId dropped = builder.op(Kind::k_dropout, "dropout", {r}, {{3}, {0.1}});
  graph.outputs = {builder.op(Kind::k_matmul, "fc2.y", {dropped, w2}, {{0, 0}, {}})};
  EXPECT_FALSE(builder.error());
  return graph;
}

Feeds batch_for(const Graph& graph) {
  return {{graph.inputs[0], bytes_of(waves(32, 0.9))},
          {graph.labels[0], bytes_of(std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, -1})}};
}

struct Trained {
  std::vector<float> losses;
  std::map<std::string, std::vector<std::byte>> persistent;  // after the last step
};

Trained train(const Graph& graph, uint64_t steps, int in_place) {
  Feeds feeds = batch_for(graph);
  Trained trained;
  for (uint64_t step = 1; step <= steps; ++step) {
    const Result<Evaluated> run = ir::evaluate(graph, *pt_portable_kernels(), feeds,
                                               {.scalars = {step, 5, 0.05}, .algorithms = {}, .in_place = in_place});
    EXPECT_TRUE(run) << to_text(run.error());
    if (!run) return trained;
    trained.losses.push_back(run->as<float>(graph.results[0])[0]);
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const ir::Value& value = graph.values[id];
      if (value.next == ir::kNone) continue;
      feeds[static_cast<ValueId>(id)] = run->bytes[static_cast<size_t>(value.next)];
      trained.persistent[value.name] = feeds[static_cast<ValueId>(id)];
    }
  }
  return trained;
}

class TrainingRun : public testing::TestWithParam<Optimizer> {
 protected:
  Graph graph_ = *make_training(network(), {.optimizer = GetParam()});
};

TEST_P(TrainingRun, LearnsItsBatch) {
  const Trained trained = train(graph_, 60, ir::kNone);
  ASSERT_EQ(trained.losses.size(), 60u);
  EXPECT_LT(trained.losses.back(), 0.5f * trained.losses.front());
}

TEST_P(TrainingRun, IsTheSameInPlace) {
  const Trained apart = train(graph_, 5, ir::kNone), shared = train(graph_, 5, 0);
  EXPECT_EQ(apart.losses, shared.losses);
  EXPECT_EQ(apart.persistent, shared.persistent);
}

// [loss, right answers, counted answers] of the evaluation graph with these parameters and statistics.
std::vector<float> evaluated(const std::map<std::string, std::vector<std::byte>>& persistent) {
  const Result<Graph> graph = make_evaluation(network(), {});
  EXPECT_TRUE(graph);
  Feeds feeds = batch_for(*graph);
  for (size_t id = 0; id < graph->values.size(); ++id) {
    const auto found = persistent.find(graph->values[id].name);
    if (found != persistent.end()) feeds[static_cast<ValueId>(id)] = found->second;
  }
  const Result<Evaluated> run = ir::evaluate(*graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(run);
  const std::vector<float> count = run->as<float>(graph->results[1]);
  return {run->as<float>(graph->results[0])[0], count[0], count[1]};
}

TEST_P(TrainingRun, EvaluatesWithWhatWasTrained) {
  const std::vector<float> before = evaluated({}), after = evaluated(train(graph_, 200, ir::kNone).persistent);
  EXPECT_LT(after[0], 0.6f * before[0]);
  EXPECT_GT(after[1], before[1]);
  EXPECT_EQ(after[2], 7) << "the label below 0 is not counted";
}

INSTANTIATE_TEST_SUITE_P(Optimizers, TrainingRun,
                         testing::Values(Optimizer{Sgd{}}, Optimizer{Sgd{.momentum = 0.9, .weight_decay = 1e-4}},
                                         Optimizer{Sgd{.momentum = 0.9, .nesterov = true}}, Optimizer{Adam{}},
                                         Optimizer{AdamW{}}, Optimizer{RmsProp{.alpha = 0.9}},
                                         Optimizer{RmsProp{.momentum = 0.5, .centered = true}}, Optimizer{Adagrad{}}));

TEST(Evaluate, RefusesInputsWithoutTheirBytes) {
  const Result<Graph> graph = make_training(network(), {});
  ASSERT_TRUE(graph);
  Feeds feeds = batch_for(*graph);
  feeds[graph->inputs[0]].pop_back();
  Result<Evaluated> run = ir::evaluate(*graph, *pt_portable_kernels(), feeds);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, "E0212");
  EXPECT_EQ(run.error().where, "x");
  feeds.erase(graph->inputs[0]);
  run = ir::evaluate(*graph, *pt_portable_kernels(), feeds);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, "E0212");
}

TEST(Evaluate, TellsWhichOpFailed) {
  const Result<Graph> graph = make_training(network(), {});
  ASSERT_TRUE(graph);
  Feeds feeds = batch_for(*graph);
  feeds[graph->labels[0]] = bytes_of(std::vector<int64_t>(8, 99));
  const Result<Evaluated> run = ir::evaluate(*graph, *pt_portable_kernels(), feeds);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, "E0905");
  EXPECT_EQ(run.error().where, "loss");
}

TEST(Evaluate, TellsWhichOpHasNoKernel) {
  const Result<Graph> graph = make_training(network(), {});
  ASSERT_TRUE(graph);
  const pt_kernel_table none{nullptr, 0};
  const Result<Evaluated> run = ir::evaluate(*graph, none, batch_for(*graph));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, "E0404");
  EXPECT_EQ(run.error().where, "fc1.y");
}

// A table of 50 rows of which a batch reads a few, some of them often.
Graph embedding() {
  Graph graph;
  ir::Builder builder(graph);
  const ValueId indices = builder.input("indices", {ir::DType::kI64, {6, 20}});
  const ValueId table = builder.parameter("table", f32({50, 70}), data_of(3500, 1.3));
  graph.outputs = {builder.op(Kind::k_gather, "rows", {table, indices}, {{0}, {}})};
  return graph;
}

// The same step through the gradient's whole table.
Graph with_dense_update(Graph graph) {
  for (ir::Op& op : graph.ops) {
    if (op.kind != Kind::k_sgd_rows) continue;
    const ir::Op rows = op;
    graph.values.push_back({.name = "dense", .type = graph.value(rows.inputs[0]).type});
    const auto dense = static_cast<ValueId>(graph.values.size() - 1);
    op = {.kind = Kind::k_sgd, .name = "dense sgd", .inputs = {rows.inputs[0], dense}, .outputs = rows.outputs};
    op.attrs = {{0}, {0, 0}};
    const ir::Op gather{.kind = Kind::k_gather_grad,
                        .name = "dense grad",
                        .inputs = {rows.inputs[2], rows.inputs[1]},
                        .outputs = {dense},
                        .attrs = {{0}, {}}};
    graph.ops.insert(graph.ops.begin() + (&op - graph.ops.data()), gather);
    break;
  }
  for (size_t id = 0; id < graph.ops.size(); ++id)
    for (const ValueId output : graph.ops[id].outputs) graph.value(output).producer = static_cast<ir::OpId>(id);
  return graph;
}

TEST(SgdRows, GivesTheBitsOfTheWholeGradient) {
  const auto rows = make_training(embedding(), {.loss = {{.name = "mse"}}, .optimizer = Sgd{}});
  ASSERT_TRUE(rows) << to_text(rows.error());
  const Graph dense = with_dense_update(*rows);
  ASSERT_TRUE(ir::validate(dense));
  std::vector<int64_t> indices;
  for (int64_t at = 0; at < 120; ++at) indices.push_back(at * at % 23 - (at % 3 == 0 ? 50 : 0) + (at % 3 == 0 ? 3 : 0));
  const Feeds feeds = {{rows->inputs[0], bytes_of(indices)}, {rows->labels[0], bytes_of(waves(120 * 70, 0.37))}};
  const pt_scalars scalars{1, 0, 0.7};
  for (const int in_place : {ir::kNone, 0}) {
    const auto a = ir::evaluate(*rows, *pt_portable_kernels(), feeds, {.scalars = scalars, .in_place = in_place});
    const auto b = ir::evaluate(dense, *pt_portable_kernels(), feeds, {.scalars = scalars, .in_place = in_place});
    ASSERT_TRUE(a && b);
    for (size_t id = 0; id < rows->values.size(); ++id) {
      if (rows->values[id].next == ir::kNone) continue;
      const auto next = static_cast<size_t>(rows->values[id].next);
      EXPECT_EQ(a->bytes[next], b->bytes[next]);
      EXPECT_NE(a->bytes[next], a->bytes[id]);
    }
  }
}

TEST(SgdRows, StandsOnlyWhereRowsWithoutGradientStayAsTheyAre) {
  const auto kinds_of = [](const Optimizer& optimizer) {
    const auto graph = make_training(embedding(), {.loss = {{.name = "mse"}}, .optimizer = optimizer});
    std::vector<Kind> kinds;
    for (const ir::Op& op : graph->ops) kinds.push_back(op.kind);
    return kinds;
  };
  EXPECT_THAT(kinds_of(Sgd{}), testing::ElementsAre(Kind::k_gather, Kind::k_mse, Kind::k_mse_grad, Kind::k_sgd_rows));
  EXPECT_THAT(kinds_of(Sgd{.momentum = 0.9}), testing::Contains(Kind::k_gather_grad));
  EXPECT_THAT(kinds_of(Sgd{.weight_decay = 0.1}), testing::Contains(Kind::k_gather_grad));
  EXPECT_THAT(kinds_of(Adam{}), testing::Contains(Kind::k_gather_grad));
}

}  // namespace
}  // namespace pantoum::autodiff
