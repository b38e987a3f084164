// The planner against exhaustive search: no bound above the optimum, no proof of infeasibility that is wrong, and what
// is called optimal is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/certificate.h"
#include "check/replay.h"
#include "plan/planner.h"
#include "plan/simulate/switches.h"
#include "testing/exhaustive_plans.h"
#include "testing/exhaustive_questions.h"
#include "testing/random_graph.h"

namespace pantoum::plan {

namespace {

using plan_test::exhaustive_optimum;

CostGraph small_graph(uint64_t seed) {  // two to four ops, now and then seven; masks and updates come on top
  const int most_ops = seed % 200 == 7 && !kFew ? 7 : 4;
  return check::random_cost_graph(
      seed, {.least_ops = 2, .most_ops = most_ops, .most_sources = 3, .several_numerics = seed % 4 == 0});
}

// Three budgets from about the least with which any plan is possible to where nothing need be given up.
std::vector<Bytes> budgets_of(const CostGraph& graph) {
  const auto whole = unplanned(graph, {.question = {.freedoms = {.reordering = false}}});
  if (!whole) return {};
  const Bytes most = whole->predicted.arena_bytes;
  Bytes none = 0, some = most;
  while (some - none > most / 64 + 1) {
    const Bytes middle = none + (some - none) / 2;
    const auto optimum = exhaustive_optimum(graph, question_for(middle));
    (optimum && std::isinf(*optimum) ? none : some) = middle;
  }
  return {some, some + (most - some) / 4, some + (most - some) * 3 / 5};
}

struct Tally {
  int asked = 0, planned = 0;
  int missed = 0;            // E0302 where a plan may exist
  int refused = 0;           // E0301
  int known = 0, equal = 0;  // the search is exact; the plan is the optimum
  int optimal = 0;           // the planner says so
};

void report(const Tally& tally) {
  for (const auto& [name, count] : {std::pair{"asked", tally.asked},
                                    {"planned", tally.planned},
                                    {"missed", tally.missed},
                                    {"refused", tally.refused},
                                    {"known", tally.known},
                                    {"equal", tally.equal},
                                    {"optimal", tally.optimal}})
    ::testing::Test::RecordProperty(name, count);
}

// One question, asked of the planner and of the search.
std::optional<Plan> hold_against_search(const CostGraph& graph, PlanOptions options, Tally& tally) {
  const std::optional<double> optimum = exhaustive_optimum(graph, options.question);
  if (!optimum) return std::nullopt;
  ++tally.asked;
  Infeasible why;
  Result<Plan> plan = make_plan(graph, options, &why);
  if (!plan) {
    if (plan.error().code == "E0301") {
      EXPECT_TRUE(std::isinf(*optimum)) << to_text(plan.error());
      EXPECT_LT(options.question.budget_bytes(), why.min_ram_bound_bytes);
      tally.refused += 1;
    } else {
      EXPECT_EQ(plan.error().code, "E0302") << to_text(plan.error());
      tally.missed += std::isinf(*optimum) ? 0 : 1;
    }
    return std::nullopt;
  }
  ++tally.planned;
  const auto found = check::replay(graph, *plan, options.question);
  EXPECT_TRUE(found) << to_text(found.error());
  EXPECT_GE(value_of(*plan), *optimum * (1 - kRounding)) << "the search misses plans";
  if (const auto bound = bound_of(*plan)) {  // what transfers in flight cost by their time is above the envelope
    const double least = exact(graph, options.question.objective) ? *optimum : value_of(*plan);
    EXPECT_LE(*bound, least * (1 + kRounding)) << "not a bound";
  }
  if (plan->certificate) {
    const auto proved = check::check_bound(*plan, value_of(*plan));
    EXPECT_TRUE(proved) << to_text(proved.error());
  }
  if (plan->status == Status::kOptimal && exact(graph, options.question.objective)) {
    EXPECT_LE(value_of(*plan) * (1 - options.gap), *optimum * (1 + kRounding)) << "not optimal";
  }
  tally.optimal += plan->status == Status::kOptimal ? 1 : 0;
  if (exact(graph, options.question.objective)) {
    ++tally.known;
    tally.equal += value_of(*plan) <= *optimum * (1 + 1e-6) ? 1 : 0;
  }
  return std::move(*plan);
}

struct SmallQuestion {
  uint64_t seed = 0;
  CostGraph graph;
  std::vector<Bytes> budgets;
};

// The same for all tests: half of the time goes into the budgets.
const std::vector<SmallQuestion>& questions() {
  static const std::vector<SmallQuestion> made = [] {
    std::vector<SmallQuestion> list;
    for (uint64_t seed = 1; seed <= 700 / kScale; ++seed) {
      CostGraph graph = small_graph(seed);
      std::vector<Bytes> budgets = budgets_of(graph);
      if (!budgets.empty()) list.push_back({.seed = seed, .graph = std::move(graph), .budgets = std::move(budgets)});
    }
    return list;
  }();
  return made;
}

TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchOnEnergy) {
  Tally tally;
  for (const auto& [seed, graph, budgets] : questions())
    for (const Bytes ram : budgets) {
      const PlanOptions options = options_for(ram);
      SCOPED_TRACE(told(seed, options));
      (void)hold_against_search(graph, options, tally);
    }
  report(tally);
  if (kFew) return;
  EXPECT_GT(tally.planned, tally.asked / 2);
  EXPECT_GT(tally.optimal, tally.planned / 3);  // choices, above all, are wider in the relaxation than in a plan
  EXPECT_LT(tally.missed, tally.asked * 3 / 10);
  EXPECT_GT(tally.equal, tally.known * 2 / 3);
}

TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchOnTime) {
  Tally tally;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 3 != 0) continue;
    for (const Bytes ram : budgets) {
      PlanOptions options = options_for(ram);
      options.question.objective = Objective::kTime;
      SCOPED_TRACE(told(seed, options));
      const auto plan = hold_against_search(graph, options, tally);
      const auto energy = exhaustive_optimum(graph, question_for(ram));
      if (plan && energy && plan->bound.energy_j) {
        EXPECT_LE(*plan->bound.energy_j, *energy * (1 + kRounding)) << "of the energy";
      }
    }
  }
  report(tally);
  if (kFew) return;
  EXPECT_LT(tally.missed, tally.asked * 3 / 10);
  EXPECT_GT(tally.equal, tally.known / 2);
}

TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchOnEnergyUnderADeadline) {
  Tally tally;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 3 != 1 || !exact(graph, Objective::kTime)) continue;
    for (const Bytes ram : budgets) {
      const auto soonest = exhaustive_optimum(graph, question_for(ram, Objective::kTime));
      if (!soonest || std::isinf(*soonest)) continue;
      for (const double slack : {0.95, 1.01, 1.3}) {
        PlanOptions options = options_for(ram);
        options.question.deadline = *soonest * slack;
        SCOPED_TRACE(told(seed, options) + ", " + std::to_string(slack) + " of the least time");
        const auto plan = hold_against_search(graph, options, tally);
        if (plan && plan->bound.time_s) {
          EXPECT_LE(*plan->bound.time_s, *soonest * (1 + kRounding)) << "of the time";
        }
      }
    }
  }
  report(tally);
  if (kFew) return;
  EXPECT_LT(tally.missed, tally.asked / 2);
  EXPECT_GT(tally.equal, tally.known / 2);
}

TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchOnEnergyTimesTime) {
  Tally tally;
  int certified = 0;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 3 != 2) continue;
    for (const Bytes ram : budgets) {
      PlanOptions options = options_for(ram);
      options.question.objective = Objective::kEdp;
      SCOPED_TRACE(told(seed, options));
      const auto plan = hold_against_search(graph, options, tally);
      if (!plan) continue;
      for (const Objective part : {Objective::kEnergy, Objective::kTime}) {
        const auto least = exhaustive_optimum(graph, question_for(ram, part));
        if (exact(graph, part) && least && bound_of(plan->bound, part)) {
          EXPECT_LE(*bound_of(plan->bound, part), *least * (1 + kRounding)) << name_of(part);
        }
      }
      if (plan->lines.empty()) continue;
      ++certified;
      const auto proved = check::check_bound(*plan, value_of(*plan));
      EXPECT_TRUE(proved) << to_text(proved.error());
    }
  }
  report(tally);
  if (kFew) return;
  EXPECT_LT(tally.missed, tally.asked * 3 / 10);
  EXPECT_GT(tally.equal, tally.known / 2);
  EXPECT_GT(tally.optimal, tally.known / 10);
  EXPECT_GT(certified, tally.planned / 4);
}

// Limits on energy around the least that the fastest plans and the cheapest take.
TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchUnderALimitOnEnergy) {
  Tally tally;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 6 != 2 || !exact(graph, Objective::kTime)) continue;
    for (const Bytes ram : {budgets[0], budgets[1]}) {
      const auto cheapest = exhaustive_optimum(graph, question_for(ram));
      if (!cheapest || std::isinf(*cheapest)) continue;
      for (const double slack : {0.95, 1.001, 1.1}) {
        for (const Objective objective : {Objective::kTime, Objective::kEdp}) {
          PlanOptions options = options_for(ram);
          options.question.objective = objective;
          options.question.energy_limit = *cheapest * slack;
          SCOPED_TRACE(told(seed, options) + ", " + std::to_string(slack) + " of the least energy");
          const auto plan = hold_against_search(graph, options, tally);
          if (!plan) continue;
          EXPECT_LE(plan->predicted.energy_j, *options.question.energy_limit);
          const auto proved = check::check_bound(*plan, value_of(*plan));
          EXPECT_TRUE(proved || proved.error().message == "the plan has none") << to_text(proved.error());
        }
      }
    }
  }
  report(tally);
  if (kFew) return;
  EXPECT_LT(tally.missed, tally.asked * 2 / 5);
  EXPECT_GT(tally.refused, tally.asked / 10);
  EXPECT_GT(tally.equal, tally.known / 2);
}

// Transfers that take no time and a joule per byte, computes that take no energy: among the fastest plans those that
// move the fewest bytes spend the least.
TEST(ExhaustiveSearch, MovesTheFewestBytesAmongTheFastestPlans) {
  int known = 0, equal = 0, moving = 0;
  for (const auto& [seed, given, budgets] : questions()) {
    if (seed % 2 != 0 || given.device.pager.mode == PagerMode::kNone) continue;
    CostGraph graph = given;
    graph.device.idle_w = 0;
    graph.device.pager.block_bytes = 1;
    graph.device.pager.in = graph.device.pager.out = {.latency_s = 0, .bytes_per_s = 1e30, .w = 1e30};
    for (Op& op : graph.ops)
      for (Choice& choice : op.choices) choice.energy_j = 0;
    for (const Bytes ram : {budgets[0], budgets[1]}) {
      PlanOptions options = options_for(ram);
      options.question.objective = Objective::kTime;
      SCOPED_TRACE(told(seed, options));
      const auto soonest = exhaustive_optimum(graph, question_for(ram, Objective::kTime));
      const Result<Plan> plan = make_plan(graph, options);
      if (!plan || !soonest || plan->predicted.time_s > *soonest * (1 + 1e-6)) continue;
      Question as_soon = question_for(ram);
      as_soon.deadline = plan->predicted.time_s * (1 + kRounding);
      const auto fewest = exhaustive_optimum(graph, as_soon);
      if (!fewest) continue;
      ++known;
      EXPECT_GE(plan->predicted.energy_j, *fewest * (1 - kRounding)) << "the search misses plans";
      equal += plan->predicted.energy_j <= *fewest * (1 + 1e-6) ? 1 : 0;
      moving += *fewest > 0 ? 1 : 0;
    }
  }
  RecordProperty("known", known), RecordProperty("equal", equal), RecordProperty("moving", moving);
  if (kFew) return;
  EXPECT_GT(moving, static_cast<int>(20 / kScale));
  EXPECT_GT(equal, known * 94 / 100);
}

// Without paging, or in a hurry, the working sets are not all: what is proved of the RAM holds, and is proved again.
TEST(ExhaustiveSearch, NeverProvesAwayTheRamThatAPlanNeeds) {
  int raised = 0;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 2 != 0) continue;
    for (const bool paging : {false, true}) {
      PlanOptions options = options_for(budgets[0] * 3 / 4);
      options.question.freedoms.paging = paging;
      const auto soonest = exhaustive_optimum(graph, question_for(Bytes{1} << 40, Objective::kTime));
      if (options.question.budget_bytes() <= 0 || !soonest || std::isinf(*soonest)) continue;
      if (paging) options.question.deadline = *soonest * 1.02;
      SCOPED_TRACE(told(seed, options));
      Infeasible why;
      if (make_plan(graph, options, &why) || why.min_ram_bound_bytes <= 1) continue;
      if (paging && !exact(graph, Objective::kTime)) {  // the search knows no transfer's time
        options.question.budget = why.min_ram_bound_bytes - 1;
        options.without.add(Switch::kFlowCuts);
        EXPECT_FALSE(make_plan(graph, options)) << options.question.budget_bytes() << " bytes do: " << why.why;
      } else {
        Question less = options.question;
        less.budget = why.min_ram_bound_bytes - 1;
        const auto below = exhaustive_optimum(graph, less);
        EXPECT_TRUE(!below || std::isinf(*below)) << why.min_ram_bound_bytes << " bytes are not needed: " << why.why;
      }
      if (!why.ram_certificate) continue;
      ++raised;
      const auto proved = check::check_certificate(graph, *why.ram_certificate);
      ASSERT_TRUE(proved) << to_text(proved.error());
      EXPECT_GE(*proved * (1 + kRounding), static_cast<double>(why.min_ram_bound_bytes - 1));
    }
  }
  if (!all_cases()) return;  // few questions raise it
  EXPECT_GT(raised, 10);
}

TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchWithoutPagingRematOrInPlace) {
  Tally tally;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 4 != 0) continue;
    for (const int without : {0, 1, 2}) {
      PlanOptions options = options_for(budgets[1 + seed / 4 % 2]);
      options.question.freedoms.paging = without != 0;
      options.question.freedoms.recomputing = without != 1;
      options.question.freedoms.in_place = without != 2;
      SCOPED_TRACE(told(seed, options) + ", without feature " + std::to_string(without));
      (void)hold_against_search(graph, options, tally);
    }
  }
  report(tally);
  if (kFew) return;
  EXPECT_LT(tally.missed, tally.asked * 3 / 10);
  EXPECT_GT(tally.equal, tally.known * 2 / 3);
}

class WithoutARule : public ::testing::TestWithParam<SwitchInfo> {};

// Each rule is off for questions of its own; by turns for energy, for time, and for energy in a hurry.
TEST_P(WithoutARule, AgreesWithExhaustiveSearch) {
  Tally tally;
  const auto own = static_cast<uint64_t>(GetParam().rule);
  const uint64_t turns = kFew ? 4 : all_switches().size();
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % turns != own % turns) continue;
    for (const Bytes ram : {budgets[0], budgets[1]}) {
      PlanOptions options = options_for(ram);
      options.without.add(GetParam().rule);
      if ((seed / all_switches().size()) % 3 == 1) options.question.objective = Objective::kTime;
      if ((seed / all_switches().size()) % 3 == 2 && exact(graph, Objective::kTime)) {
        const auto soonest = exhaustive_optimum(graph, question_for(ram, Objective::kTime));
        if (soonest && std::isfinite(*soonest)) options.question.deadline = *soonest * 1.1;
      }
      SCOPED_TRACE(told(seed, options));
      (void)hold_against_search(graph, options, tally);
    }
  }
  report(tally);
  if (!all_cases()) return;  // a rule has a handful of questions of its own
  EXPECT_GT(tally.planned, tally.asked / 3);
}

INSTANTIATE_TEST_SUITE_P(EachRule, WithoutARule, ::testing::ValuesIn(all_switches()), [](const auto& each) {
  std::string name(each.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ExhaustiveSearch, BoundsAndPlansOfAscendingBudgetsDoNotContradictEachOther) {
  int compared = 0;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 2 != 0) continue;
    const auto objective = seed % 4 == 0 ? Objective::kEnergy : Objective::kTime;
    std::optional<Plan> last;
    for (const Bytes ram : budgets) {
      PlanOptions options = options_for(ram);
      options.question.objective = objective;
      if (last) options.warm_start = &*last;
      SCOPED_TRACE(told(seed, options));
      Result<Plan> plan = make_plan(graph, options);
      EXPECT_TRUE(plan || !last) << "a plan for less is a plan for more";
      if (!plan) continue;
      EXPECT_TRUE(check::replay(graph, *plan));
      if (last) {
        ++compared;
        EXPECT_LE(value_of(*plan), value_of(*last));
        EXPECT_LE(bound_of(*plan).value_or(0), bound_of(*last).value_or(0) * (1 + kRounding));
        EXPECT_LE(bound_of(*plan).value_or(0), value_of(*last) * (1 + kRounding));
      }
      last = std::move(*plan);
    }
  }
  EXPECT_GT(compared, static_cast<int>(300 / kScale));
}

// Another order of first computations: what is claimed for any order holds for all of them.
TEST(ExhaustiveSearch, AgreesWithExhaustiveSearchInAnyOrder) {
  int planned = 0, refused = 0, any_order = 0;
  for (const auto& [seed, graph, budgets] : questions()) {
    if (seed % 4 != 3) continue;
    for (const Bytes ram : {budgets[0] * 3 / 4, budgets[1]}) {
      PlanOptions options = options_for(std::max<Bytes>(1, ram));
      options.question.freedoms.reordering = true;
      SCOPED_TRACE(told(seed, options));
      const auto optimum = exhaustive_optimum(graph, options.question);
      if (!optimum) continue;
      Infeasible why;
      const Result<Plan> plan = make_plan(graph, options, &why);
      if (!plan) {
        refused += plan.error().code == "E0301" ? 1 : 0;
        EXPECT_TRUE(plan.error().code != "E0301" || std::isinf(*optimum)) << to_text(plan.error());
        continue;
      }
      ++planned;
      EXPECT_TRUE(check::replay(graph, *plan));
      EXPECT_GE(plan->predicted.energy_j, *optimum * (1 - kRounding)) << "the search misses plans";
      any_order += plan->bound.any_order ? 1 : 0;
      if (plan->bound.any_order && plan->bound.energy_j && exact(graph)) {
        EXPECT_LE(*plan->bound.energy_j, *optimum * (1 + kRounding)) << "not a bound for any order";
      }
      if (plan->certificate) {
        const auto proved = check::check_bound(*plan, value_of(*plan));
        EXPECT_TRUE(proved) << to_text(proved.error());
      }
    }
  }
  if (kFew) return;
  RecordProperty("planned", planned), RecordProperty("any_order", any_order);
  EXPECT_GT(planned, static_cast<int>(100 / kScale));
  EXPECT_GT(any_order, planned / 2);
  EXPECT_GT(refused, static_cast<int>(30 / kScale));
}

}  // namespace
}  // namespace pantoum::plan
