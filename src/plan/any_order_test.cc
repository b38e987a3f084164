// Bounds that are claimed for any order of first computations, against exhaustive search over all orders: none is above
// the optimum, no RAM is proved away that a plan does with, and each is proved again from the graph alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "check/certificate.h"
#include "check/claims.h"
#include "plan/bound/bound_search.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/planner.h"
#include "plan/simulate/model.h"
#include "testing/exhaustive_plans.h"
#include "testing/exhaustive_questions.h"
#include "testing/random_graph.h"
#include "testing/tower_graph.h"

namespace pantoum::plan {
namespace {

using check::Random;
using plan_test::exhaustive_optimum;

struct Tally {
  int graphs = 0, questions = 0;
  int planless = 0;                // questions without a plan in any order
  int bounds = 0, raised = 0;      // above what the computes cost alone
  int tight = 0;                   // the optimum
  int rams = 0;                    // bounds of the RAM
  int planned = 0, any_order = 0;  // by the planner; with a bound for any order
  int refused = 0;                 // E0301
  int false_refusals = 0;          // of questions with a plan, and of RAM that a plan does with
  int bounds_above = 0;            // the optimum
  int refusals_checked = 0;        // whose certificate proves them from the graph alone
  std::map<Rule, int> rules;       // of the rows of certificates
};

// Of three to seven ops: towers that meet again, or what the generator of all features makes of so few.
CostGraph graph_of(uint64_t seed) {
  if (seed % 3 == 0) return plan_test::tower_graph(seed);
  return check::random_cost_graph(
      seed, {.least_ops = 3, .most_ops = seed % 3 == 1 ? 4 : 5, .most_sources = 3, .several_numerics = seed % 4 == 0});
}

PlanOptions options_of(Random& random, Bytes peak) {
  PlanOptions options{.effort = 1, .threads = 1};
  Question& asked = options.question;
  asked.budget = std::max<Bytes>(1, peak * random.between(60, 120) / 100);
  asked.objective = random.chance(0.3) ? Objective::kTime : Objective::kEnergy;
  asked.freedoms = {.paging = !random.chance(0.4),
                    .recomputing = !random.chance(0.2),
                    .in_place = !random.chance(0.2),
                    .reordering = true,
                    .numerics = random.chance(0.3)};
  return options;
}

void limit(Random& random, const CostGraph& graph, Question& asked) {
  const bool hurries = random.chance(0.5);
  Question of = asked;
  of.objective = hurries ? Objective::kTime : Objective::kEnergy;
  if (!exact(graph, Objective::kTime) || !exact(graph, of.objective)) return;
  const auto least = exhaustive_optimum(graph, of, 20'000);
  if (!least || std::isinf(*least)) return;
  (hurries ? asked.deadline : asked.energy_limit) = *least * (0.97 + 0.3 * random.unit());
}

void hold_certificate(const CostGraph& graph, const Certificate& certificate, Tally& tally) {
  EXPECT_TRUE(certificate.any_order);
  for (const Certificate::Row& row : certificate.rows) ++tally.rules[row.rule];
  const auto proved = check::check_certificate(graph, certificate);
  EXPECT_TRUE(proved) << to_text(proved.error());
}

void hold_below(double bound, double optimum, Tally& tally) {
  const bool above = !(bound <= optimum * (1 + kRounding));
  tally.bounds_above += above ? 1 : 0;
  EXPECT_FALSE(above) << bound << " is not a bound of " << optimum;
}

void hold_bound(const CostGraph& graph, const Model& model, const PlanOptions& options, double optimum, Tally& tally) {
  BoundSearch search(model, options, 0, true);
  const double value = std::isfinite(optimum) ? 1.5 * optimum : HUGE_VAL;  // of a plan, which need not be the best
  search.run({.seconds_left = [] { return 1e9; }, .value = [&] { return value; }, .effort = 4, .solved = {}});
  ++tally.bounds;
  if (exact(graph, options.question.objective)) hold_below(search.bound(), optimum, tally);
  if (!search.certificate()) return;
  hold_certificate(graph, *search.certificate(), tally);
  double computes = 0;
  for (const OpModel& op : model.ops)
    if (!op.optional)
      computes += cheapest(op, [&](const ChoiceModel& choice) {
        return options.question.objective == Objective::kTime ? choice.seconds : choice.joules;
      });
  tally.raised += search.bound() > computes * (1 + 1e-6) ? 1 : 0;
  tally.tight += std::isfinite(optimum) && search.bound() >= optimum * (1 - 1e-4) ? 1 : 0;
}

// Any chain will do, whatever presses.
void hold_chain(const CostGraph& graph, const Model& model, const PlanOptions& options, double optimum, Random& random,
                Tally& tally) {
  Indexed<Stage, double> weights(model.ops.size() + 1);
  for (double& weight : weights) weight = random.chance(0.7) ? random.unit() : 0;
  std::vector<Stage> boundaries = heaviest_chain(model, weights);
  boundaries.push_back(model.end());
  const Relaxation relaxation(model, {.question = options.question, .any_order = true}, boundaries);
  const Branched found = branch_and_bound(relaxation, options,
                                          {.seconds_left = [] { return 1e9; },
                                           .iterations = 3000,
                                           .target = [&] { return optimum * 1.01; },
                                           .raised = [](double) {}});
  hold_below(found.bound, optimum, tally);
  if (found.certificate) hold_certificate(graph, *found.certificate, tally);
}

void hold_ram(const CostGraph& graph, const Model& model, const PlanOptions& options, Tally& tally) {
  const RamBound bound = ram_bound(model, options, 1e9, 2000, true);
  if (bound.certificate) hold_certificate(graph, *bound.certificate, tally);
  if (bound.bytes <= 1) return;
  Question less = options.question;
  less.budget = bound.bytes - 1;
  const auto below = exhaustive_optimum(graph, less, 50'000);
  if (!below) return;
  ++tally.rams;
  tally.false_refusals += std::isinf(*below) ? 0 : 1;
  EXPECT_TRUE(std::isinf(*below)) << bound.bytes << " bytes are not needed: " << bound.why;
}

void hold_refusal(const Error& error, const Infeasible& why, double optimum, Tally& tally) {
  const bool refused = error.code == "E0301";
  tally.refused += refused ? 1 : 0;
  tally.false_refusals += refused && !std::isinf(optimum) ? 1 : 0;
  EXPECT_TRUE(!refused || std::isinf(optimum)) << to_text(error);
  if (!why.refusal) return;
  const auto proved = check::check_refusal(*why.refusal);
  tally.refusals_checked += refused && proved ? 1 : 0;
  EXPECT_TRUE(proved) << to_text(proved.error());
}

// The planner's own answer.
void hold_answer(const CostGraph& graph, const PlanOptions& options, double optimum, Tally& tally) {
  Infeasible why;
  const Result<Plan> plan = make_plan(graph, options, &why);
  if (!plan) return hold_refusal(plan.error(), why, optimum, tally);
  ++tally.planned;
  tally.any_order += plan->bound.any_order ? 1 : 0;
  const auto claimed = check::prove_bounds(*plan);
  EXPECT_TRUE(claimed) << to_text(claimed.error());
  const auto bound = bound_of(*plan);
  if (plan->bound.any_order && bound && exact(graph, options.question.objective)) hold_below(*bound, optimum, tally);
}

void ask(uint64_t seed, Tally& tally) {
  const CostGraph graph = graph_of(seed);
  const auto whole = unplanned(graph, {.question = {.freedoms = {.reordering = false}}});
  if (!whole) return;
  ++tally.graphs;
  Random random(seed * 31 + 7);
  for (int question = 0; question < 3; ++question) {
    PlanOptions options = options_of(random, whole->predicted.arena_bytes);
    if (random.chance(0.3)) limit(random, graph, options.question);
    SCOPED_TRACE(told(seed, options) + ", question " + std::to_string(question));
    const auto optimum = exhaustive_optimum(graph, options.question, 50'000);
    if (!optimum) continue;
    ++tally.questions;
    tally.planless += std::isinf(*optimum) ? 1 : 0;
    const Model model = make_model(graph, options);
    hold_bound(graph, model, options, *optimum, tally);
    if (options.question.objective == Objective::kEnergy && std::isfinite(*optimum))
      hold_chain(graph, model, options, *optimum, random, tally);
    if (question > 0) continue;
    hold_ram(graph, model, options, tally);
    hold_answer(graph, options, *optimum, tally);
  }
}

// `--gtest_output=json:FILE` has the counts.
void report(const Tally& tally) {
  std::string text;
  const auto count = [&](const std::string& name, int number) {
    ::testing::Test::RecordProperty(name, number);
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(number);
  };
  count("graphs", tally.graphs), count("questions", tally.questions), count("without_plan", tally.planless);
  count("bounds", tally.bounds), count("above_computes", tally.raised), count("tight", tally.tight);
  count("ram_bounds", tally.rams), count("planned", tally.planned), count("any_order", tally.any_order);
  count("refused", tally.refused), count("refusals_checked", tally.refusals_checked);
  count("false_refusals", tally.false_refusals), count("bounds_above_optimum", tally.bounds_above);
  for (const auto& [rule, rows] : tally.rules) count("rows_of_rule_" + std::to_string(static_cast<int>(rule)), rows);
  std::puts(text.c_str());
}

TEST(AnyOrder, BoundsHoldForEveryOrderOfTinyGraphs) {
  Tally tally;
  const uint64_t graphs = kFew ? 50 : all_cases() ? 5000 : 400;
  for (uint64_t seed = 1; seed <= graphs; ++seed) ask(seed, tally);
  report(tally);
  EXPECT_GT(tally.questions, tally.graphs);
  if (kFew) return;
  EXPECT_GT(tally.raised, tally.bounds / 10);
  EXPECT_GT(tally.tight, tally.bounds / 10);
  EXPECT_GT(tally.rams, tally.graphs / 4);
  EXPECT_GT(tally.any_order, tally.planned / 2);
  EXPECT_GT(tally.refused, tally.graphs / 20);
}

}  // namespace
}  // namespace pantoum::plan
