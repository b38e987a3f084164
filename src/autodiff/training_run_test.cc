// Training graphs run step after step by the reference evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
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
  EXPECT_THAT(kinds_of(Adagrad{}), testing::Contains(Kind::k_adagrad_rows));
  EXPECT_THAT(kinds_of(SparseAdam{}),
              testing::ElementsAre(Kind::k_gather, Kind::k_mse, Kind::k_mse_grad, Kind::k_adam_rows));
  EXPECT_THAT(kinds_of(Sgd{.momentum = 0.9}), testing::Contains(Kind::k_gather_grad));
  EXPECT_THAT(kinds_of(Sgd{.weight_decay = 0.1}), testing::Contains(Kind::k_gather_grad));
  EXPECT_THAT(kinds_of(Adagrad{.weight_decay = 0.1}), testing::Contains(Kind::k_gather_grad));
  EXPECT_THAT(kinds_of(Adam{}), testing::Contains(Kind::k_gather_grad));
}

// A table that is read twice, by indices of two types, and where `tied` by a product too.
Graph read_twice(bool tied) {
  Graph graph;
  ir::Builder builder(graph);
  const ValueId first = builder.input("first", {ir::DType::kI64, {6, 4}});
  const ValueId second = builder.input("second", {ir::DType::kI32, {6}});
  const ValueId table = builder.parameter("table", f32({9, 5}), data_of(45, 1.3));
  const ValueId a =
      builder.op(Kind::k_reduce_sum, "a", {builder.op(Kind::k_gather, "rows", {table, first}, {{0}, {}})}, {{2}, {}});
  const ValueId b = builder.op(Kind::k_gather, "others", {table, second}, {{0}, {}});
  ValueId y = builder.op(Kind::k_mul, "y", {builder.reshape(a, {6, 5}), b});
  if (tied) y = builder.op(Kind::k_matmul, "scores", {y, table}, {{0, 1}, {}});
  graph.outputs = {y};
  return graph;
}

TEST(SparseAdam, JoinsTheRowsOfATableThatIsReadTwice) {
  const TrainingOptions options{.loss = {{.name = "mse"}}, .optimizer = SparseAdam{.eps = 0.5}};
  const auto rows = make_training(read_twice(false), options);
  ASSERT_TRUE(rows) << to_text(rows.error());
  EXPECT_TRUE(rows->notes.empty());
  size_t updates = 0;
  for (const ir::Op& op : rows->ops) {
    EXPECT_NE(op.kind, Kind::k_gather_grad);
    updates += op.kind == Kind::k_adam_rows ? 1 : 0;
  }
  EXPECT_EQ(updates, 1U);
  // Every row is read, by one of the two, or by both: the step is Adam's, but for where eps is added.
  const auto dense =
      make_training(read_twice(false), {.loss = {{.name = "mse"}}, .optimizer = Adam{.eps = 0.5 / std::sqrt(0.001)}});
  ASSERT_TRUE(dense);
  const std::vector<int64_t> first{3, 3, 5, 6, 3, 3, 5, 6, 3, 3, 5, 6, 3, 3, 5, 6, 3, 3, 1, 4, 3, 3, 5, 6};
  const Feeds feeds = {{rows->inputs[0], bytes_of(first)},
                       {rows->inputs[1], bytes_of(std::vector<int32_t>{7, 8, -1, 2, 2, 0})},
                       {rows->labels[0], bytes_of(waves(30, 0.37))}};
  const auto a = ir::evaluate(*rows, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 0.7}});
  const auto b = ir::evaluate(*dense, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 0.7}});
  ASSERT_TRUE(a && b);
  const auto updated = [](const Graph& graph, const Evaluated& run) {
    for (const ir::Value& value : graph.values)
      if (value.name == "table") return floats_of(run.bytes[static_cast<size_t>(value.next)]);
    return std::vector<float>();
  };
  const std::vector<float> found = updated(*rows, *a), wanted = updated(*dense, *b);
  ASSERT_EQ(found.size(), 45U);
  for (size_t at = 0; at < found.size(); ++at) EXPECT_NEAR(found[at], wanted[at], 1e-5F) << at;
}

TEST(SparseAdam, TellsOfATableThatIsReadInAnotherWayToo) {
  const auto tied = make_training(read_twice(true), {.loss = {{.name = "mse"}}, .optimizer = SparseAdam{}});
  ASSERT_TRUE(tied);
  EXPECT_THAT(tied->notes, testing::ElementsAre(testing::HasSubstr("the table 'table' is read in another way too")));
  const auto none = make_training(network(), {.optimizer = SparseAdam{}});
  ASSERT_TRUE(none);
  EXPECT_THAT(none->notes, testing::Contains(testing::HasSubstr("sparse_adam trains as adam")));
  for (const Graph* graph : {&*tied, &*none})
    EXPECT_TRUE(std::ranges::any_of(graph->ops, [](const ir::Op& op) { return op.kind == Kind::k_adam; }));
}

TEST(SparseAdam, RefusesWhatReadsATablesGradient) {
  const ModelOptions rows{.loss = {{.name = "mse"}}, .optimizer = SparseAdam{}};
  std::vector<ModelOptions> all(4, rows);
  all[0].accumulate = 2, all[1].clip_norm = 1, all[2].clip_value = 1, all[3].split_update = true;
  for (const ModelOptions& options : all) {
    const auto made =
        options.split_update ? make_accumulation(embedding(), options) : make_training(embedding(), options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, "E0117");
    EXPECT_EQ(made.error().where, "'table'");
    ModelOptions dense = options;
    dense.loss = {};
    EXPECT_TRUE(options.split_update ? make_accumulation(network(), dense) : make_training(network(), dense));
  }
}

}  // namespace
}  // namespace pantoum::autodiff
