// Attention in blocks in place of the ops that importers write: the same bits forward and backward, in less RAM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "autodiff/autodiff.h"
#include "ir/builder.h"
#include "rewrite/passes.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::rewrite {
namespace {

using autodiff::CaseBuilder;
using ir::Graph;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

enum class Mask : uint8_t { kNone, kCausal, kPadding, kKeep, kFill, kTrained };

// How somebody wrote attention down.
struct Written {
  int64_t batch = 2, heads = 3, m = 6, n = 7, d = 4, e = 5;
  bool joined = false;  // heads are of the batch: 3-D products, masks see 4-D scores
  bool scale_first = false, scale_last = false;
  bool turned_k = false, turned_v = false;
  std::vector<Mask> masks = {};
};

class AttentionModel {
 public:
  explicit AttentionModel(const Written& w, uint32_t seed = 7) : w_(w), random_(seed), c(graph, seed) {}
  Graph graph;

 private:
  Written w_;
  std::mt19937 random_;

 public:
  CaseBuilder c;

  ValueId matrices(int64_t rows, int64_t columns) {
    return c.parameter(w_.joined ? Shape{w_.batch * w_.heads, rows, columns}
                                 : Shape{w_.batch, w_.heads, rows, columns});
  }

  // Some elements of every row, never all, or as causal masks have them.
  ValueId causal() {
    std::vector<float> data;
    for (int64_t row = 0; row < w_.m; ++row)
      for (int64_t column = 0; column < w_.n; ++column) data.push_back(column > row ? kMinusInfinity : 0);
    return c.builder.constant_f32("causal", {w_.m, w_.n}, data);
  }
  ValueId padding() { return c.builder.input("padding", autodiff::f32({w_.batch, 1, 1, w_.n})); }
  ValueId chosen() {
    const ValueId x = c.builder.input("chosen", autodiff::f32({w_.heads, 1, w_.n}));
    return c.op(Kind::k_compare, {x, c.builder.constant_f32("half", {}, {0.5F})}, {{PT_COMPARE_LESS}, {}});
  }
  ValueId masked(ValueId scores, Mask mask) {
    const ValueId low = c.builder.constant_f32("low", {1}, {-3e38F});
    switch (mask) {
      case Mask::kCausal:
        return c.op(Kind::k_add, {causal(), scores});
      case Mask::kPadding:
        return c.op(Kind::k_add, {scores, padding()});
      case Mask::kKeep:
        return c.op(Kind::k_where, {chosen(), scores, low});
      case Mask::kFill:
        return c.op(Kind::k_where, {chosen(), low, scores});
      case Mask::kTrained:
        return c.op(Kind::k_add, {scores, c.parameter({w_.m, w_.n})});
      default:
        return scores;
    }
  }
  ValueId view(ValueId x, bool joined) {
    const Shape shape = joined ? Shape{w_.batch * w_.heads, w_.m, w_.n} : Shape{w_.batch, w_.heads, w_.m, w_.n};
    return w_.joined && !w_.masks.empty() ? c.builder.reshape(x, shape) : x;
  }
  ValueId half(ValueId x) { return c.op(Kind::k_scale, {x}, {{}, {0.47, 0}}); }

  ValueId scores() {
    const ValueId q = matrices(w_.m, w_.d), k = w_.turned_k ? matrices(w_.d, w_.n) : matrices(w_.n, w_.d);
    ValueId s = c.op(Kind::k_matmul, {q, k}, {{0, w_.turned_k ? 0 : 1}, {}});
    if (w_.scale_first) s = half(s);
    s = view(s, false);
    for (const Mask mask : w_.masks) s = masked(s, mask);
    if (w_.scale_last) s = half(s);
    return view(s, true);
  }
  ValueId weights(ValueId scores) {
    return c.op(Kind::k_softmax, {scores}, {{static_cast<int64_t>(c.builder.type(scores).shape.size()) - 1}, {}});
  }
  ValueId values(ValueId weights) {
    const ValueId v = w_.turned_v ? matrices(w_.e, w_.n) : matrices(w_.n, w_.e);
    return c.op(Kind::k_matmul, {weights, v}, {{0, w_.turned_v ? 1 : 0}, {}});
  }
  Graph finished(ValueId y) {
    graph.outputs = {c.op(Kind::k_relu, {y})};
    return graph;
  }
  Graph whole() { return finished(values(weights(scores()))); }
};

int64_t count(const Graph& graph, Kind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [kind](const ir::Op& op) { return op.kind == kind; });
}

Graph training_of(const Graph& forward) {
  auto graph = autodiff::make_training(forward, {.loss = {{.name = "mse"}}});
  EXPECT_TRUE(graph) << to_text(graph.error());
  return graph ? *std::move(graph) : Graph{};
}

// Outputs, results and updated parameters.
std::vector<std::vector<std::byte>> left_behind(const Graph& graph, uint16_t algorithm, int in_place) {
  ir::Feeds feeds;
  uint32_t seed = 3;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) {
      std::vector<std::byte> bytes(static_cast<size_t>(graph.value(id).type.bytes()));
      std::mt19937 random(++seed);
      for (size_t at = 0; at < bytes.size(); at += 4) {
        const float value = std::uniform_real_distribution<float>(0, 1)(random);
        std::memcpy(bytes.data() + at, &value, 4);
      }
      feeds[id] = bytes;
    }
  ir::EvaluateOptions options{.scalars = {1, 0, 0.1}, .in_place = in_place};
  for (const ir::Op& op : graph.ops) {
    const bool has = op.kind == Kind::k_attention || op.kind == Kind::k_attention_grad || op.kind == Kind::k_matmul;
    options.algorithms.push_back(has ? algorithm : 0);
  }
  const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, options);
  EXPECT_TRUE(run) << to_text(run.error());
  std::vector<std::vector<std::byte>> left;
  if (!run) return left;
  for (const auto* list : {&graph.outputs, &graph.results})
    for (const ValueId id : *list) left.push_back(run->bytes[static_cast<size_t>(id)]);
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) left.push_back(run->bytes[static_cast<size_t>(value.next)]);
  return left;
}

std::vector<Written> ways() {
  using enum Mask;
  std::vector<Written> all = {
      {},
      {.scale_first = true},
      {.scale_last = true, .turned_k = true, .turned_v = true},
      {.scale_first = true, .masks = {kCausal}},
      {.scale_first = true, .turned_k = true, .masks = {kPadding}},
      {.joined = true, .masks = {kPadding}},
      {.joined = true, .scale_first = true, .turned_v = true, .masks = {kKeep, kCausal}},
      {.scale_last = true, .masks = {kFill}},
      {.masks = {kCausal, kPadding, kKeep}},
      {.batch = 1, .heads = 1, .m = 1, .n = 1, .d = 1, .e = 1, .scale_first = true},
      {.batch = 1, .heads = 1, .m = 33, .n = 130, .d = 17, .e = 4, .masks = {kFill}},
      {.batch = 2, .heads = 1, .m = 200, .n = 400, .d = 8, .e = 8, .scale_first = true, .masks = {kPadding}},
  };
  std::mt19937 random(11);
  for (int at = 0; at < 20; ++at) {
    const auto flag = [&] { return (random() & 1) != 0; };
    const auto below = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
    all.push_back(
        {below(3), below(4), below(30), below(30), below(9), below(9), flag(), flag(), flag(), flag(), flag()});
    if (flag()) all.back().masks.push_back(static_cast<Mask>(below(4)));
  }
  return all;
}

TEST(FuseAttention, KeepsEveryBitOfTheStepByEveryAlgorithmAndInPlace) {
  for (const Written& way : ways()) {
    const Graph forward = AttentionModel(way).whole(), fused = fuse_attention(forward);
    ASSERT_TRUE(ir::validate(fused));
    EXPECT_EQ(count(fused, Kind::k_attention), 1) << ir::to_text(forward);
    EXPECT_EQ(count(fused, Kind::k_softmax) + count(fused, Kind::k_matmul), 0) << ir::to_text(fused);
    const Graph plain = training_of(forward), step = training_of(fused);
    ASSERT_TRUE(ir::validate(step));
    const auto expected = left_behind(plain, 0, ir::kNone);
    EXPECT_EQ(left_behind(plain, 1, ir::kNone), expected);
    for (const uint16_t algorithm : {uint16_t{0}, uint16_t{1}, uint16_t{2}})
      for (const int in_place : {ir::kNone, 0, 1})
        EXPECT_EQ(left_behind(step, algorithm, in_place), expected) << algorithm << in_place << ir::to_text(fused);
  }
}

// What the issue is about: no tensor as large as the scores, forward or backward.
TEST(FuseAttention, LeavesNoScores) {
  const Written way{.batch = 2, .heads = 4, .m = 64, .n = 64, .d = 8, .e = 8, .scale_first = true};
  const Graph forward = AttentionModel(way).whole();
  const Graph plain = training_of(forward), step = training_of(fuse_attention(forward));
  const auto largest = [](const Graph& graph) {
    ir::Bytes bytes = 0;
    for (const ir::Op& op : graph.ops)
      for (const ValueId output : op.outputs) bytes = std::max(bytes, graph.value(output).type.bytes());
    return bytes;
  };
  const ir::Bytes scores = ir::Bytes{2} * 4 * 64 * 64 * 4, heads = ir::Bytes{2} * 4 * 64 * 8 * 4;
  EXPECT_EQ(largest(plain), scores);
  EXPECT_EQ(largest(step), heads);
  const auto peak = [](const Graph& graph) {
    const auto live = unplanned_bytes(graph);
    return *std::max_element(live.begin(), live.end());
  };
  EXPECT_GE(peak(plain), 2 * scores);
  EXPECT_LT(peak(step), scores);
}

TEST(FuseAttention, LeavesMasksThatTrain) {
  const Graph graph = AttentionModel({.masks = {Mask::kTrained}}).whole();
  EXPECT_EQ(ir::to_text(fuse_attention(graph)), ir::to_text(graph));
}

TEST(FuseAttention, LeavesMoreStepsThanItKnows) {
  const Graph graph =
      AttentionModel({.scale_first = true, .scale_last = true, .masks = {Mask::kFill, Mask::kCausal}}).whole();
  EXPECT_EQ(ir::to_text(fuse_attention(graph)), ir::to_text(graph));
}

// Each reads what would not be there any more, or is in the way.
TEST(FuseAttention, LeavesWhatOthersReadOrComeBetween) {
  using Change = ValueId (*)(AttentionModel&);
  const Change changes[] = {[](AttentionModel& m) {  // scores are read
                              const ValueId s = m.scores();
                              const ValueId y = m.values(m.weights(s));
                              m.graph.outputs.push_back(s);
                              return m.c.op(Kind::k_relu, {y});
                            },
                            [](AttentionModel& m) {  // weights are an output
                              const ValueId p = m.weights(m.scores());
                              m.graph.outputs.push_back(p);
                              return m.values(p);
                            },
                            [](AttentionModel& m) {  // dropout of the weights
                              const ValueId p = m.weights(m.scores());
                              return m.values(m.c.op(Kind::k_dropout, {p}, {{1}, {0.5}}));
                            },
                            [](AttentionModel& m) {  // a shift is no scaling
                              return m.values(m.weights(m.c.op(Kind::k_scale, {m.scores()}, {{}, {1, 0.5}})));
                            },
                            [](AttentionModel& m) {  // along the queries
                              const ValueId s = m.scores();
                              return m.values(m.c.op(Kind::k_softmax, {s}, {{2}, {}}));
                            },
                            [](AttentionModel& m) {  // one V for all heads
                              const ValueId p = m.weights(m.scores());
                              return m.c.op(Kind::k_matmul, {p, m.c.parameter({7, 5})}, {{0, 0}, {}});
                            },
                            [](AttentionModel& m) {  // the weights' transpose
                              const ValueId p = m.weights(m.scores());
                              return m.c.op(Kind::k_matmul, {p, m.matrices(6, 5)}, {{1, 0}, {}});
                            }};
  for (const Change& change : changes) {
    AttentionModel model({});
    const ValueId y = change(model);
    model.graph.outputs.push_back(y);
    EXPECT_EQ(ir::to_text(fuse_attention(model.graph)), ir::to_text(model.graph));
  }
}

// Q, K and V may be one tensor, through views too: dQ is then written over none of them.
TEST(FuseAttention, WritesOverNothingThatIsReadAsSomethingElse) {
  Graph forward;
  CaseBuilder c(forward, 3);
  const ValueId x = c.op(Kind::k_relu, {c.parameter({2, 3, 9, 9})});
  const ValueId flat = c.builder.reshape(x, {6, 9, 9});
  const ValueId scores = c.builder.reshape(c.op(Kind::k_matmul, {flat, flat}, {{0, 1}, {}}), {2, 3, 9, 9});
  const ValueId masked = c.op(Kind::k_add, {scores, c.builder.input("padding", autodiff::f32({2, 1, 1, 9}))});
  const ValueId weights = c.op(Kind::k_softmax, {masked}, {{3}, {}});
  forward.outputs = {c.op(Kind::k_matmul, {weights, x}, {{0, 0}, {}})};
  const Graph fused = fuse_attention(forward);
  EXPECT_EQ(count(fused, Kind::k_attention), 1);
  const Graph plain = training_of(forward), step = training_of(fused);
  const auto expected = left_behind(plain, 0, ir::kNone);
  for (const int in_place : {0, 1, 2}) EXPECT_EQ(left_behind(step, 1, in_place), expected);
}

}  // namespace
}  // namespace pantoum::rewrite
