// Questions of one graph, each with at least as much RAM and time as the one before: a plan for less is a plan for
// more, and a bound for more is one for less. Where no search is exact (transfers beside computes) this holds too.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "check/replay.h"
#include "plan/planner.h"
#include "testing/all_cases.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kSeeds = 3;
#else
const uint64_t kSeeds = all_cases() ? 40 : 16;
#endif
constexpr double kRounding = 1 + 1e-9;

enum class PagerKind : uint8_t { kNone, kSync, kHalfDuplex, kFullDuplex };

std::string name_of(PagerKind pager) {
  constexpr const char* kNames[] = {"None", "Sync", "HalfDuplex", "FullDuplex"};
  return kNames[static_cast<size_t>(pager)];
}

// With choices, outputs in place, several outputs, parameters and their updates.
CostGraph graph_of(uint64_t seed, PagerKind pager) {
  CostGraph graph = check::random_cost_graph(seed, {.least_ops = 2, .most_ops = 9, .pager = pager != PagerKind::kNone});
  Pager& own = graph.device.pager;
  if (pager == PagerKind::kNone || own.mode == PagerMode::kNone) return graph;
  own.mode = pager == PagerKind::kSync ? PagerMode::kSync : PagerMode::kAsync;
  own.full_duplex = pager == PagerKind::kFullDuplex;
  return graph;
}

struct Question {
  Bytes ram = 0;
  Seconds slack = 0;  // deadline over the time with unlimited RAM; 0: none
};

// Does whatever answers `a` answer `b`?
bool within(const Question& a, const Question& b) {
  return a.ram <= b.ram && (b.slack == 0 || (a.slack > 0 && a.slack <= b.slack));
}

struct Asked {
  Question question;
  Plan plan;
};

class Monotone : public ::testing::TestWithParam<PagerKind> {
 protected:
  PlanOptions options_of(uint64_t seed, const Question& question) {
    PlanOptions options{.question = {.budget = question.ram,
                                     .objective = seed % 3 == 0 ? Objective::kTime : Objective::kEnergy,
                                     .freedoms = {.reordering = false}},
                        .effort = 1,
                        .threads = 1};
    if (question.slack > 0) options.question.deadline = question.slack * whole_.predicted.time_s;
    return options;
  }

  std::vector<Asked> ask(uint64_t seed, const CostGraph& graph) {
    std::vector<Asked> asked;
    for (const double share : {0.55, 0.7, 0.85, 1.0})
      for (const double slack : {1.02, 1.5, 0.0}) {
        const Question question{
            std::max<Bytes>(1, static_cast<Bytes>(share * static_cast<double>(whole_.predicted.arena_bytes))), slack};
        Result<Plan> plan = make_plan(graph, options_of(seed, question));
        if (plan) asked.push_back({question, std::move(*plan)});
      }
    return asked;
  }

  Plan whole_;
};

TEST_P(Monotone, AcrossBudgetsAndDeadlines) {
  int pairs = 0, given = 0, several_choices = 0, several_outputs = 0, in_place = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CostGraph graph = graph_of(seed, GetParam());
    const auto whole = unplanned(graph, {.question = {.freedoms = {.reordering = false}}});
    if (!whole || whole->predicted.arena_bytes == 0) continue;
    whole_ = *whole;
    const std::vector<Asked> asked = ask(seed, graph);
    for (const Asked& less : asked)
      for (const Asked& more : asked) {
        if (&less == &more || !within(less.question, more.question)) continue;
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(less.question.ram) + " and " +
                     std::to_string(more.question.ram) + " bytes");
        ++pairs;
        EXPECT_LE(bound_of(more.plan).value_or(0), value_of(less.plan) * kRounding)
            << "a bound for more is one for less";
        if (value_of(more.plan) <= value_of(less.plan)) continue;
        ++given;  // the search missed what it is given now
        PlanOptions options = options_of(seed, more.question);
        options.warm_start = &less.plan;
        const Result<Plan> plan = make_plan(graph, options);
        ASSERT_TRUE(plan) << "a plan for less is a plan for more";
        EXPECT_LE(value_of(*plan), value_of(less.plan) * kRounding);
        EXPECT_TRUE(check::replay(graph, *plan, options.question));
      }
    if (asked.empty()) continue;
    for (const Op& op : graph.ops) {
      several_choices += op.choices.size() > 1 ? 1 : 0;
      several_outputs += op.outputs.size() > 1 ? 1 : 0;
      for (const Choice& choice : op.choices) in_place += choice.overwrites.empty() ? 0 : 1;
    }
  }
  RecordProperty("pairs", pairs);
  RecordProperty("given", given);
  EXPECT_GE(pairs, static_cast<int>(2 * kSeeds));
  EXPECT_GT(std::min({several_choices, several_outputs, in_place}), static_cast<int>(kSeeds / 3));
}

INSTANTIATE_TEST_SUITE_P(EveryPager, Monotone,
                         ::testing::Values(PagerKind::kNone, PagerKind::kSync, PagerKind::kHalfDuplex,
                                           PagerKind::kFullDuplex),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace pantoum::plan
