// Substitutions one after the other on whole training steps, on numbers that are none, on what may not change, and on graphs
// of ten thousand ops.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "rewrite/rule.h"
#include "testing/evaluate.h"
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::OpId;

ir::Feeds waves_for(const Graph& graph) {
  ir::Feeds feeds;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) {
      const ir::TensorType& type = graph.value(id).type;
      std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
      for (int64_t at = 0; type.dtype == ir::DType::kF32 && at < type.elements(); ++at) {
        const auto number = static_cast<float>(std::sin(1.7 * static_cast<double>(at) + id));
        std::memcpy(bytes.data() + 4 * at, &number, 4);
      }
      feeds[id] = std::move(bytes);
    }
  return feeds;
}

ir::Evaluated run_of(const Graph& graph) {
  auto run = ir::evaluate(graph, *pt_portable_kernels(), waves_for(graph), {.scalars = {2, 9, 0.05}});
  EXPECT_TRUE(run.has_value()) << to_text(run.error()) << ir::to_text(graph);
  return run ? *std::move(run) : ir::Evaluated{.bytes = std::vector<std::vector<std::byte>>(graph.values.size())};
}

std::vector<ValueId> lasting(const Graph& graph) {
  std::vector<ValueId> all = graph.outputs;
  all.insert(all.end(), graph.results.begin(), graph.results.end());
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) all.push_back(value.next);
  return all;
}

// ---- sample networks, each with what some rules look for ----

ValueId attention(Sample& s) {
  const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 5, 6}});
  const auto head = [&] { return s.matmul(x, s.parameter({6, 6})); };
  const ValueId q = s.scale(head(), 0.4), k = head(), v = head();
  const ValueId scores = s.matmul(q, s.transpose(k, {0, 2, 1}));
  const ValueId mixed = s.matmul(s.op(Kind::k_softmax, {scores}, {{2}, {}}), v);
  return s.op(Kind::k_add, {s.op(Kind::k_mul, {s.constant({}, 1), x}), s.matmul(mixed, s.parameter({6, 6}))});
}

ValueId inception(Sample& s) {
  const std::vector<int64_t> one{1, 1, 0, 0, 0, 0, 1, 1, 1}, three{1, 1, 1, 1, 1, 1, 1, 1, 1};
  const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 3, 6, 6}});
  const ValueId stem = s.op(Kind::k_relu, {s.conv(x, s.parameter({4, 3, 3, 3}), three)});
  std::vector<ValueId> branches;
  for (const int64_t outputs : {3, 2, 4})
    branches.push_back(s.op(Kind::k_relu, {s.op(Kind::k_add, {s.conv(stem, s.parameter({outputs, 4, 1, 1}), one),
                                                              s.parameter({outputs, 1, 1})})}));
  branches.push_back(s.op(Kind::k_relu, {s.conv(stem, s.parameter({2, 4, 3, 3}), three)}));
  const ValueId joined = s.op(Kind::k_concat, branches, {{1}, {}});
  const ValueId sum = s.op(Kind::k_add, {s.conv(joined, s.parameter({4, 11, 3, 3}), three), stem});
  const ValueId pooled = s.op(Kind::k_reduce_mean, {s.op(Kind::k_dropout, {sum}, {{5}, {0.3}})}, {{0b1100}, {}});
  return s.matmul(pooled, s.parameter({4, 5}));
}

ValueId gates(Sample& s) {
  const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {3, 8}});
  const ValueId w = s.parameter({8, 8});
  ValueId h = s.op(Kind::k_tanh, {s.matmul(x, w)});
  for (int step = 0; step < 2; ++step) {
    const std::vector<ValueId> parts = s.c.ops(Kind::k_split, {s.op(Kind::k_add, {s.matmul(h, w), s.matmul(x, w)})},
                                               {{1}, {}}, {{ir::DType::kF32, {3, 4}}, {ir::DType::kF32, {3, 4}}});
    const ValueId a = s.op(Kind::k_sigmoid, {parts[0]}), b = s.op(Kind::k_sigmoid, {parts[1]});
    h = s.op(Kind::k_concat, {s.op(Kind::k_mul, {a, b}), s.op(Kind::k_mul, {b, a})}, {{1}, {}});
  }
  const ValueId turned = s.op(Kind::k_relu, {s.transpose(s.reshape(h, {3, 2, 4}), {1, 0, 2})});
  return s.reshape(s.transpose(turned, {1, 0, 2}), {3, 8});
}

Graph step_of(const Build& build, uint32_t seed) {
  Sample sample(seed);
  sample.graph.outputs = {build(sample)};
  autodiff::TrainingOptions options;
  options.loss = {{"mse"}};
  options.optimizer = autodiff::Adam{};
  auto step = autodiff::make_training(sample.graph, options);
  EXPECT_TRUE(step.has_value()) << to_text(step.error());
  return *std::move(step);
}

// The sum of what is allowed to differ, after rules that keep values.
void expect_close(const Graph& graph, const ir::Evaluated& expected, const ir::Evaluated& found, double share,
                  const std::string& walk) {
  for (const ValueId id : lasting(graph)) {
    if (share == 0 || graph.value(id).type.dtype != ir::DType::kF32) {
      ASSERT_EQ(expected.bytes[static_cast<size_t>(id)], found.bytes[static_cast<size_t>(id)]) << walk;
      continue;
    }
    const auto a = expected.as<float>(id), b = found.as<float>(id);
    for (size_t at = 0; at < a.size(); ++at)
      ASSERT_NEAR(a[at], b[at], share * std::max(1.0F, std::abs(a[at]))) << walk << graph.value(id).name;
  }
}

struct Walk {
  Graph graph;
  std::string names;
  std::map<std::string, int> applied;
};

// The rule at the first op from `first` on, round the graph, at which it fits.
std::optional<Graph> next_place(const Graph& graph, const Rule& rule, size_t first) {
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (auto next = rule.apply(graph, static_cast<OpId>((first + op) % graph.ops.size()))) return next;
  return std::nullopt;
}

// Random applications of rules of one kind, at most `steps`.
Walk walk(Graph graph, uint32_t seed, int steps, bool bits_alone) {
  std::mt19937 random(seed);
  Walk all{std::move(graph), "", {}};
  for (int tries = 0; tries < 300 && steps > 0; ++tries) {
    const Rule& rule = rules()[random() % rules().size()];
    if (rule.inference_only || (bits_alone && rule.preserves != Preserves::kBits)) continue;
    auto next = next_place(all.graph, rule, random() % all.graph.ops.size());
    if (!next) continue;
    const auto valid = ir::validate(*next);
    EXPECT_TRUE(valid.has_value()) << all.names << rule.name << ": " << to_text(valid.error()) << ir::to_text(*next);
    if (!valid) break;
    all.graph = *std::move(next);
    all.names += std::string(rule.name) + " ";
    ++all.applied[rule.name];
    --steps;
  }
  return all;
}

TEST(SubstitutionWalks, KeepWholeTrainingStepsValidAndTheirNumbers) {
  std::map<std::string, int> applied;
  for (const auto& build : {attention, inception, gates})
    for (uint32_t seed = 0; seed < 8; ++seed)
      for (const bool bits_alone : {true, false}) {
        const Graph step = step_of(build, seed);
        const Walk found = walk(step, seed, 40, bits_alone);
        EXPECT_TRUE(bits_alone || !found.applied.empty()) << ir::to_text(step);
        for (const auto& [name, count] : found.applied) applied[name] += count;
        ASSERT_EQ(lasting(step), lasting(found.graph)) << found.names;
        // Adam divides by the root of squared gradients: what is nearly 0 may differ by a share of the rate.
        expect_close(step, run_of(step), run_of(found.graph), bits_alone ? 0 : 2e-2, found.names);
      }
  for (const char* name :
       {"sink-transpose", "merge-equal-ops", "fold-bias", "merge-convolutions", "transpose-into-product", "sink-split"})
    EXPECT_GT(applied[name], 0) << name;
}

TEST(SubstitutionWalks, ReachMostRulesAfterAutodiff) {
  std::set<std::string> fit;
  for (const auto& build : {attention, inception, gates}) {
    const Graph step = step_of(build, 1);
    for (const Rule& rule : rules())
      for (OpId at = 0; at < static_cast<OpId>(step.ops.size()) && !rule.inference_only; ++at)
        if (rule.apply(step, at)) {
          fit.insert(rule.name);
          break;
        }
  }
  EXPECT_GE(fit.size(), 7U);
}

// ---- numbers that are none ----

float special(std::mt19937& random) {
  const float all[] = {-0.0F,  0.0F, INFINITY, -INFINITY, NAN,   1e-41F, -1e-41F,  3e38F,
                       -3e38F, 0.5F, -0.5F,    1.0F,      -2.5F, 1e-20F, 65504.0F, 0.1F};
  return all[random() % 16];
}

TEST(SubstitutionWalks, RulesOfBitsKeepZerosSignsAndInfinities) {
  size_t applied = 0;
  for (const RuleCase& each : bit_rule_cases()) {
    const Rule& rule = *find_rule(each.rule);
    for (uint32_t seed = 0; seed < 12; ++seed) {
      Sample sample(seed);
      sample.graph.outputs = {each.fits(sample)};
      std::mt19937 random(seed);
      for (ir::Value& value : sample.graph.values) {
        if (value.role != ir::Role::kParameter) continue;
        auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(value.type.bytes()));
        for (size_t at = 0; at < data->size(); at += 4) {
          const float number = special(random);
          std::memcpy(data->data() + at, &number, 4);
        }
        value.data = data;
      }
      const ValueId output = sample.graph.outputs[0];
      const auto expected = run_of(sample.graph).as<uint32_t>(output);
      for (OpId at = 0; at < static_cast<OpId>(sample.graph.ops.size()); ++at) {
        const auto changed = rule.apply(sample.graph, at);
        if (!changed) continue;
        ++applied;
        const auto found = run_of(*changed).as<uint32_t>(output);
        for (size_t element = 0; element < expected.size(); ++element) {
          float a = 0, b = 0;
          std::memcpy(&a, &expected[element], 4);
          std::memcpy(&b, &found[element], 4);
          if (!std::isnan(a) || !std::isnan(b)) {  // which of two NaN it is, no rule says
            ASSERT_EQ(expected[element], found[element]) << rule.name << " " << a << " " << b;
          }
        }
      }
    }
  }
  EXPECT_GT(applied, 12 * bit_rule_cases().size() - 1);
}

// ---- what stays ----

TEST(SubstitutionsKeep, OutputsThatAnInputWouldReplace) {
  Graph graph;
  ir::Builder b(graph);
  const ValueId x = b.input("x", {ir::DType::kF32, {2, 3}});
  graph.outputs = {b.op(Kind::k_scale, "y", {x}, {{}, {1, 0}})};
  EXPECT_FALSE(find_rule("drop-zero-terms")->apply(graph, 0));
}

TEST(SubstitutionsKeep, TheNameOfAnOutputThatTakesAnothersPlace) {
  Graph graph;
  ir::Builder b(graph);
  const ValueId x = b.input("x", {ir::DType::kF32, {2, 3}});
  const ValueId y = b.op(Kind::k_exp, "y", {x}), same = b.op(Kind::k_exp, "same", {x});
  const ValueId z = b.op(Kind::k_relu, "z", {y});
  graph.outputs = {same, z};
  const auto merged = find_rule("merge-equal-ops")->apply(graph, 1);
  ASSERT_TRUE(merged && ir::validate(*merged));
  EXPECT_EQ(merged->ops.size(), 2U);
  EXPECT_EQ(merged->outputs, graph.outputs);
  EXPECT_EQ(merged->value(same).name, "same");
  graph.outputs = {y, same};  // two names for one value: both stay
  EXPECT_FALSE(find_rule("merge-equal-ops")->apply(graph, 1));
}

TEST(SubstitutionsKeep, EffectsAndDrawsApart) {
  Graph graph;
  ir::Builder b(graph);
  const ir::TensorType vector{ir::DType::kF32, {3}};
  const ValueId mean = b.buffer("mean", vector, nullptr), variance = b.buffer("var", vector, nullptr);
  const ValueId x = b.input("x", vector);
  for (const char* name : {"first", "second"}) {
    const auto made = b.add(Kind::k_batch_norm_stats, name, {mean, variance, x, x}, {{4}, {0.9}});
    graph.outputs.insert(graph.outputs.end(), made.begin(), made.end());
  }
  for (const char* name : {"draw", "again"})
    graph.outputs.push_back(b.op(Kind::k_random, name, {}, {{1, PT_RANDOM_UNIFORM}, {0, 1}}, {vector}));
  for (const char* name : {"drop", "drop again"})
    graph.outputs.push_back(b.op(Kind::k_dropout, name, {x}, {{1}, {0.5}}));
  ASSERT_TRUE(ir::validate(graph));
  for (const Rule& rule : rules())
    for (OpId at = 0; at < static_cast<OpId>(graph.ops.size()); ++at) EXPECT_FALSE(rule.apply(graph, at)) << rule.name;
}

TEST(SubstitutionsKeep, OpsWithAlternatives) {
  Graph graph;
  ir::Builder b(graph);
  const ValueId x = b.parameter("x", {ir::DType::kF32, {3, 2}}, nullptr);
  const ValueId y = b.op(Kind::k_relu, "y", {x}), g = b.op(Kind::k_relu_grad, "g", {x, y});
  const ValueId again = b.op(Kind::k_relu_grad, "again", {x, y});
  for (OpId op : {1, 2}) graph.ops[static_cast<size_t>(op)].alternatives = {{Kind::k_relu_grad, {x, x}, {}}};
  graph.outputs = {b.op(Kind::k_mul, "z", {g, again})};
  ASSERT_TRUE(ir::validate(graph));
  for (const Rule& rule : rules())
    for (OpId at : {1, 2}) EXPECT_FALSE(rule.apply(graph, at)) << rule.name;
}

// Weights without data are zeros; statistics of zeros divide by the root of eps.
TEST(SubstitutionsOfInference, FoldWhatHasNoData) {
  Graph graph;
  ir::Builder b(graph);
  const ir::TensorType vector{ir::DType::kF32, {2}};
  const ValueId x = b.input("x", {ir::DType::kF32, {3, 4}}), w = b.parameter("w", {ir::DType::kF32, {4, 2}}, nullptr);
  const ValueId y = b.op(Kind::k_matmul, "fc", {x, w}, {{0, 0}, {}});
  graph.outputs = {b.op(Kind::k_batch_norm_eval, "bn",
                        {y, b.parameter("s", vector, nullptr), b.parameter("b", vector, nullptr),
                         b.buffer("m", vector, nullptr), b.buffer("v", vector, nullptr)},
                        {{}, {1e-5}})};
  const auto folded = find_rule("fold-batch-norm")->apply(graph, 1);
  ASSERT_TRUE(folded && ir::validate(*folded));
  EXPECT_EQ(folded->ops.size(), 1U);
  EXPECT_EQ(run_of(graph).as<float>(graph.outputs[0]), run_of(*folded).as<float>(graph.outputs[0]));
}

// Two convolutions of one image are one, and their weights are joined before the program runs.
TEST(SubstitutionsOfInference, MergedConvolutionsHaveOneWeight) {
  Sample s(3);
  const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 3, 6, 6}});
  const std::vector<int64_t> around{1, 1, 1, 1, 1, 1, 1, 1, 1};
  const ValueId a = s.conv(x, s.parameter({2, 3, 3, 3}), around), b = s.conv(x, s.parameter({4, 3, 3, 3}), around);
  s.graph.outputs = {s.op(Kind::k_concat, {s.op(Kind::k_relu, {a}), s.op(Kind::k_relu, {b})}, {{1}, {}})};
  Graph graph = s.graph;
  for (const char* name : {"merge-convolutions", "fold-parameters", "sink-split"}) {
    auto next = next_place(graph, *find_rule(name), 0);
    ASSERT_TRUE(next && ir::validate(*next)) << name << ir::to_text(graph);
    graph = *std::move(next);
  }
  EXPECT_EQ(graph.ops.size(), 4U) << "a convolution, relu, split, concat" << ir::to_text(graph);
  expect_close(s.graph, run_of(s.graph), run_of(graph), 1e-5, "");
}

// ---- cost ----

#ifdef PANTOUM_SANITIZER
constexpr int kBlocksTried = 400;  // of some ops each
#else
constexpr int kBlocksTried = 2000;
#endif

TEST(SubstitutionsCost, TenThousandOpsAreTriedInSeconds) {
  Sample s(1);
  ValueId x = s.c.builder.input("x", {ir::DType::kF32, {4, 4}});
  const ValueId w = s.parameter({4, 4});
  for (int block = 0; block < kBlocksTried; ++block) {
    const ValueId y = s.op(Kind::k_relu, {s.matmul(x, w)});
    x = s.op(Kind::k_add, {s.op(Kind::k_softmax, {y}, {{1}, {}}), s.op(Kind::k_sigmoid, {x})});
  }
  s.graph.outputs = {x};
  ASSERT_GE(s.graph.ops.size(), 5U * kBlocksTried);
  std::map<std::string, double> seconds;
  double total = 0;
  for (const Rule& rule : rules()) {
    const auto begin = std::chrono::steady_clock::now();
    for (OpId at = 0; at < static_cast<OpId>(s.graph.ops.size()); ++at) static_cast<void>(rule.apply(s.graph, at));
    seconds[rule.name] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    total += seconds[rule.name];
  }
  std::string slowest;
  for (const auto& [name, took] : seconds)
    if (took > 0.05) slowest += name + " " + std::to_string(took) + " ";
  RecordProperty("seconds", slowest);
  EXPECT_LT(total, 60) << slowest;  // about 1 s on an idle machine
}

}  // namespace
}  // namespace pantoum::rewrite
