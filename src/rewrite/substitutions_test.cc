// Every substitution on random graphs that it fits, forward and in training steps, in both precisions, and on near misses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/files.h"
#include "rewrite/rule.h"
#include "testing/evaluate.h"
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::OpId;

constexpr pt_scalars kStep{3, 42, 0.1};
constexpr uint32_t kSeeds = 24;

std::vector<RuleCase> all_cases() {
  std::vector<RuleCase> all = bit_rule_cases();
  for (const auto& more : {value_rule_cases(), inference_rule_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

const Rule& rule_of(const RuleCase& each) {
  const Rule* rule = find_rule(each.rule);
  EXPECT_NE(rule, nullptr) << each.rule;
  return *rule;
}

bool is_double(const ir::TensorType& type) {
  return type.dtype == ir::DType::kF64;
}

// Inputs and labels of any graph: the same numbers in both precisions, all positive if asked.
ir::Feeds feeds_of(const Graph& graph) {
  ir::Feeds feeds;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) {
      const ir::TensorType& type = graph.value(id).type;
      std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
      for (int64_t at = 0; at < type.elements(); ++at) {
        const auto number = static_cast<float>(std::sin(1.3 * static_cast<double>(at) + id));
        const double wide = static_cast<double>(number);
        if (is_double(type)) std::memcpy(bytes.data() + 8 * at, &wide, 8);
        if (type.dtype == ir::DType::kF32) std::memcpy(bytes.data() + 4 * at, &number, 4);
      }
      feeds[id] = std::move(bytes);
    }
  return feeds;
}

std::vector<ValueId> kept_by(const Graph& graph) {
  std::vector<ValueId> all = graph.outputs;
  all.insert(all.end(), graph.results.begin(), graph.results.end());
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) all.push_back(value.next);
  return all;
}

ir::Evaluated evaluated(const Graph& graph, const ir::Feeds& feeds) {
  bool wide = false;
  for (const ir::Value& value : graph.values) wide = wide || is_double(value.type);
  const pt_kernel_table& kernels = wide ? *pt_portable_kernels_f64() : *pt_portable_kernels();
  auto run = ir::evaluate(graph, kernels, feeds, {.scalars = kStep});
  EXPECT_TRUE(run.has_value()) << to_text(run.error()) << ir::to_text(graph);
  return run ? *std::move(run) : ir::Evaluated{};
}

double number_at(const std::vector<std::byte>& bytes, size_t at, bool wide) {
  double number = 0;
  float narrow = 0;
  if (wide) {
    std::memcpy(&number, bytes.data() + 8 * at, 8);
    return number;
  }
  std::memcpy(&narrow, bytes.data() + 4 * at, 4);
  return static_cast<double>(narrow);
}

// What every rule promises of names, and of the numbers of everything that is kept: within `share` of the largest.
void expect_equal(const Graph& before, const Graph& after, const Rule& rule, double share) {
  const auto valid = ir::validate(after);
  ASSERT_TRUE(valid.has_value()) << rule.name << ": " << to_text(valid.error()) << ir::to_text(after);
  ASSERT_EQ(kept_by(before), kept_by(after)) << rule.name;
  std::set<std::string> names;
  for (const ir::Op& op : after.ops) EXPECT_TRUE(names.insert(op.name).second) << rule.name << " " << op.name;
  for (size_t id = 0; id < before.values.size(); ++id) EXPECT_EQ(before.values[id].name, after.values[id].name);
  const ir::Feeds feeds = feeds_of(before);
  const ir::Evaluated expected = evaluated(before, feeds), found = evaluated(after, feeds);
  ASSERT_FALSE(expected.bytes.empty() || found.bytes.empty());
  for (const ValueId id : kept_by(before)) {
    const auto &a = expected.bytes[static_cast<size_t>(id)], &b = found.bytes[static_cast<size_t>(id)];
    if (share == 0 || !ir::is_float(before.value(id).type.dtype)) {
      EXPECT_EQ(a, b) << rule.name << "\n" << ir::to_text(before) << "\n" << ir::to_text(after);
      continue;
    }
    const bool wide = is_double(before.value(id).type);
    double largest = 1;  // the samples' numbers are about that
    const auto count = static_cast<size_t>(before.value(id).type.elements());
    for (size_t at = 0; at < count; ++at) largest = std::max(largest, std::abs(number_at(a, at, wide)));
    for (size_t at = 0; at < count; ++at)
      ASSERT_NEAR(number_at(a, at, wide), number_at(b, at, wide), share * largest) << rule.name << "\n"
                                                                                   << ir::to_text(before) << "\n"
                                                                                   << ir::to_text(after);
  }
}

std::vector<OpId> places(const Graph& graph, const Rule& rule) {
  std::vector<OpId> all;
  for (OpId at = 0; at < static_cast<OpId>(graph.ops.size()); ++at)
    if (rule.apply(graph, at)) all.push_back(at);
  return all;
}

Graph forward_of(const Build& build, uint32_t seed) {
  Sample sample(seed);
  sample.graph.outputs = {build(sample)};
  const auto valid = ir::validate(sample.graph);
  EXPECT_TRUE(valid.has_value()) << to_text(valid.error());
  EXPECT_FALSE(sample.c.builder.error().has_value());
  return sample.graph;
}

std::optional<Graph> training_of(const Graph& forward) {
  autodiff::TrainingOptions options;
  options.loss = {{"mse"}};
  options.optimizer = autodiff::Sgd{.momentum = 0.9, .weight_decay = 0.01};
  auto step = autodiff::make_training(forward, options);
  if (!step) return std::nullopt;
  return *std::move(step);
}

// Of a sum of a few dozen terms the bound is met with room; a training step squares and spreads what forward rounds.
constexpr double kDouble = 1e-12, kThroughAStep = 20;

size_t expect_all_places(const Graph& graph, const Rule& rule, double slack) {
  size_t applied = 0;
  for (const OpId at : places(graph, rule)) {
    expect_equal(graph, *rule.apply(graph, at), rule, rule.tolerance * slack);
    ++applied;
  }
  const Graph wide = ir::to_double(graph);
  for (const OpId at : places(wide, rule)) {
    expect_equal(wide, *rule.apply(wide, at), rule, rule.preserves == Preserves::kBits ? 0 : kDouble * slack);
    ++applied;
  }
  return applied;
}

TEST(Substitutions, EveryRuleHasItsCaseAndItsName) {
  std::set<std::string> cased, named;
  for (const RuleCase& each : all_cases()) {
    EXPECT_TRUE(cased.insert(each.rule).second) << each.rule;
    EXPECT_FALSE(each.misses.empty()) << each.rule;
  }
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(named.insert(rule.name).second) << rule.name;
    EXPECT_EQ(find_rule(rule.name), &rule);
    EXPECT_EQ(rule.preserves == Preserves::kBits, rule.tolerance == 0) << rule.name;
    EXPECT_STRNE(rule.does, "") << rule.name;
  }
  EXPECT_EQ(cased, named);
  EXPECT_EQ(find_rule("no-such-rule"), nullptr);
  EXPECT_EQ(find_rule(nullptr), nullptr);
}

// A row of the page for each, with what it preserves.
TEST(Substitutions, ThePageNamesThemAllAndWhatTheyPreserve) {
  const std::string page = base::read_file(PANTOUM_SOURCE_DIR "/docs/substitutions.md").value();
  for (const Rule& rule : rules()) {
    std::string preserves = "bits";
    if (rule.preserves == Preserves::kValues) preserves = fmt::format("values, {:g}", rule.tolerance);
    const std::string row = fmt::format("| `{}` | {} | {} | {} |", rule.name, rule.does, preserves,
                                        rule.inference_only ? "inference" : "both");
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

class EveryRule : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryRule, KeepsWhatItPromisesForward) {
  const Rule& rule = rule_of(GetParam());
  for (uint32_t seed = 0; seed < kSeeds && !HasFatalFailure(); ++seed) {
    const Graph graph = forward_of(GetParam().fits, seed);
    ASSERT_FALSE(places(graph, rule).empty()) << rule.name << " does not fit\n" << ir::to_text(graph);
    EXPECT_GT(expect_all_places(graph, rule, 1), 0U);
  }
}

TEST_P(EveryRule, KeepsWhatItPromisesOfATrainingStep) {
  const Rule& rule = rule_of(GetParam());
  if (rule.inference_only) return;
  size_t applied = 0;
  for (uint32_t seed = 0; seed < kSeeds / 2 && !HasFatalFailure(); ++seed) {
    const auto step = training_of(forward_of(GetParam().fits, seed));
    if (!step) continue;  // gradients of gradients do not exist
    applied += expect_all_places(*step, rule, kThroughAStep);
  }
  // no gradient flows to a weight's gradient
  if (training_of(forward_of(GetParam().fits, 0))) {
    EXPECT_GE(applied, 8U) << rule.name;
  }
}

TEST_P(EveryRule, LeavesNearMisses) {
  const Rule& rule = rule_of(GetParam());
  for (size_t miss = 0; miss < GetParam().misses.size(); ++miss)
    for (uint32_t seed = 0; seed < 3; ++seed) {
      const Graph graph = forward_of(GetParam().misses[miss], seed);
      EXPECT_TRUE(places(graph, rule).empty()) << rule.name << " fits miss " << miss << "\n" << ir::to_text(graph);
      EXPECT_TRUE(places(ir::to_double(graph), rule).empty()) << rule.name << " fits miss " << miss;
    }
}

INSTANTIATE_TEST_SUITE_P(Substitutions, EveryRule, testing::ValuesIn(all_cases()), [](const auto& each) {
  std::string name = each.param.rule;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace pantoum::rewrite
