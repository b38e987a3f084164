#include "plan/bound/lp_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "check/certificate.h"
#include "check/replay.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/linear_program.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"
#include "plan/planner.h"
#include "plan/simulate/switches.h"
#include "testing/chain_graphs.h"
#include "testing/random_case.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

using plan_test::chain;

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kSeeds = 60;
#else
constexpr uint64_t kSeeds = 600;
#endif

struct Asked {
  CostGraph graph;
  PlanOptions options;
  RelaxationOptions relaxation;
  Model model;
};

Asked ask(CostGraph graph, PlanOptions options, std::optional<Seconds> most_seconds = {}) {
  Asked made{.graph = std::move(graph), .options = std::move(options), .relaxation = {}, .model = {}};
  made.relaxation = {.question = made.options.question, .most_seconds = most_seconds};
  return made;
}

// Solves with a few rounds of cuts; the certificate of the last solution, nothing where there is none.
std::optional<Certificate> prove(Asked& asked, int32_t segments, int rounds = 6) {
  asked.model = make_model(asked.graph, asked.options);
  const Relaxation relaxation(asked.model, asked.relaxation,
                              choose_boundaries(asked.model, asked.options.question.budget_bytes(), segments));
  Separation separation(relaxation, {.violation = kSimplexViolation});
  LinearProgram program(relaxation.columns());
  program.add(relaxation.rows());
  for (int round = 0;; ++round) {
    if (program.solve(10) != LinearProgram::Answer::kOptimal) return std::nullopt;
    if (round == rounds) break;
    std::vector<Row> cuts = separation.violated(program.point());
    if (cuts.empty()) break;
    program.add(std::move(cuts));
  }
  return certify(relaxation, program, asked.options);
}

// Other multipliers than the solver's: what they prove is less, and as true.
Certificate with_random_multipliers(Certificate certificate, check::Random& random) {
  for (Certificate::Row& row : certificate.rows) row.multiplier *= random.chance(0.2) ? 4 * random.unit() + 1e-9 : 1;
  certificate.bound = 0;
  return certificate;
}

// Budgets, objectives, freedoms by the seed; nothing where no plan keeps everything.
std::optional<Asked> random_question(uint64_t seed) {
  check::Random random(seed);
  CostGraph graph = check::random_cost_graph(seed, {.least_ops = 4, .most_ops = 25});
  if (seed % 4 == 0) graph.device.pager.full_duplex = true, graph.device.pager.out.bytes_per_s /= 30;
  const auto whole = unplanned(graph);
  if (!whole) return std::nullopt;
  PlanOptions options{
      .question = {.budget = std::max<Bytes>(1, whole->predicted.arena_bytes * random.between(60, 100) / 100)}};
  if (random.chance(0.3)) options.question.objective = Objective::kTime;
  if (random.chance(0.4)) options.question.deadline = whole->predicted.time_s * (1 + random.unit());
  if (random.chance(0.3))
    options.question.energy_limit = whole->predicted.energy_j * (1 + random.unit() / (random.chance(0.5) ? 10 : 1000));
  options.question.freedoms.paging = !random.chance(0.2);
  options.question.freedoms.recomputing = !random.chance(0.2);
  options.question.freedoms.in_place = !random.chance(0.2);
  options.question.freedoms.numerics = random.chance(0.2);
  options.question.freedoms.reordering = random.chance(0.5);
  const bool long_enough = random.chance(0.5);
  if (random.chance(0.5)) options.without.add(all_switches()[random.index(all_switches().size())].rule);
  Asked made = ask(graph, options, long_enough ? std::optional(whole->predicted.time_s * 3) : std::nullopt);
  if (options.question.objective == Objective::kEnergy && random.chance(0.5))
    made.relaxation.second_price = random.unit();
  return made;
}

TEST(Certify, IsProvedAgainByTheChecker) {
  std::map<Rule, int> rules;
  int proved = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::optional<Asked> asked = random_question(seed);
    if (!asked) continue;
    const std::optional<Certificate> certificate = prove(*asked, seed % 3 == 0 ? 4 : 100);
    if (!certificate) continue;  // no plan: the budget is too small
    const auto bound = check::check_certificate(asked->graph, *certificate);
    ASSERT_TRUE(bound) << to_text(bound.error());
    const double claimed = std::max(0.0, certificate->bound), error = 1e-9 * std::max(1e-9, claimed);
    EXPECT_GE(*bound, claimed - error);
    // Without paging the planner lets what must be paged out come back; without last-uses it has columns more, without
    // pinned-room more bytes for the rest.
    const bool same = asked->model.uses(Switch::kLastUses) && asked->model.uses(Switch::kPinnedRoom);
    if (certificate->question.freedoms.paging && same) {
      EXPECT_LE(*bound, claimed + error);
    }
    for (const Certificate::Row& row : certificate->rows) ++rules[row.rule];
    ++proved;
  }
  EXPECT_GT(proved, static_cast<int>(kSeeds) / 3);
  rules[Rule::kSpend] = 1;  // of a test of its own
  for (int rule = 0; kSeeds > 100 && rule <= static_cast<int>(Rule::kFlow); ++rule)
    EXPECT_GT(rules[static_cast<Rule>(rule)], 0) << "rule " << rule;
}

TEST(Certify, TakesNoPathThroughWhatCannotBeRecomputed) {
  CostGraph graph = chain(8);
  graph.ops[6].recompute = false;
  for (size_t op = 8; op < graph.ops.size(); ++op)  // nobody needs tensor 5 once op 6 has run
    std::replace(graph.ops[op].inputs.begin(), graph.ops[op].inputs.end(), int64_t{5}, int64_t{0});
  const auto whole = unplanned(graph);
  ASSERT_TRUE(whole);
  const PlanOptions options{.question = {.budget = whole->predicted.arena_bytes / 2}};
  const Model model = make_model(graph, options);
  const Relaxation relaxation(model, {.question = {.budget = options.question.budget_bytes()}},
                              choose_boundaries(model, options.question.budget_bytes(), 100));
  const Point point(relaxation.columns().size(), -1e-10);  // a solver's zeros may be below 0
  const std::vector<Row> cuts = path_cuts(relaxation, point, 1e-4);
  EXPECT_FALSE(cuts.empty());
  for (const Row& row : cuts)
    for (size_t at = 4; at < row.of.size(); at += 2) EXPECT_NE(row.of[at - 2], 6) << "on to what op 6 reads";
}

// The question that a random plan answers: what it needs is the budget, and now and then the time it takes the
// deadline.
std::optional<Asked> question_of(const CostGraph& graph, const check::Found& found, check::Random& random) {
  PlanOptions options{.question = {.budget = std::max<Bytes>(1, found.arena_bytes),
                                   .freedoms = {.reordering = false, .numerics = true}}};
  if (random.chance(0.3)) options.question.objective = Objective::kTime;
  if (random.chance(0.5)) options.question.deadline = found.time_s;
  if (random.chance(0.3)) options.question.energy_limit = found.energy_j;
  if (random.chance(0.2)) {
    options.question.objective = Objective::kRam;
    options.question.budget = 2 * options.question.budget_bytes() + 1000;
    return ask(graph, options);
  }
  Asked made = ask(graph, options, random.chance(0.5) ? std::optional(found.time_s * 2) : std::nullopt);
  if (options.question.objective == Objective::kEnergy && random.chance(0.5))
    made.relaxation.second_price = random.unit();
  return made;
}

TEST(Certify, NeverBoundsAboveAPlanOfItsQuestion) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 4 * kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check::Random random(seed);
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 2, .most_ops = 14});
    Plan plan = check::random_plan(graph, seed + 77);
    plan.question.budget = Bytes{1} << 50;
    plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
    const auto found = check::replay(graph, plan);
    if (!found || !found->keeps_order) continue;
    std::optional<Asked> asked = question_of(graph, *found, random);
    const double needs = static_cast<double>(found->arena_bytes);
    const double value = asked->relaxation.question.objective == Objective::kRam ? needs
                         : asked->relaxation.question.objective == Objective::kTime
                             ? found->time_s
                             : found->energy_j + asked->relaxation.second_price * found->time_s;
    std::optional<Certificate> certificate = prove(*asked, 100);
    ASSERT_TRUE(certificate) << "the program has no solution, and the question has a plan";
    for (int trial = 0; trial < 4; ++trial) {
      const auto bound = check::check_certificate(asked->graph, *certificate);
      if (trial == 0) {
        ASSERT_TRUE(bound) << to_text(bound.error());
      }
      if (bound) {
        EXPECT_LE(*bound, value * (1 + 1e-9));
      }
      certificate = with_random_multipliers(*certificate, random);
    }
    ++compared;
  }
  EXPECT_GT(compared, static_cast<int>(kSeeds));
}

// The fastest plans spend more than the cheapest: near the least energy the limit raises the bound on time.
TEST(Certify, ProvesMoreTimeWhereLessEnergyMayBeSpent) {
  const CostGraph graph = chain(20);
  const Bytes ram = unplanned(graph).value().predicted.peak_bytes / 2;
  Asked cheap = ask(graph, {.question = {.budget = ram}}),
        free = ask(graph, {.question = {.budget = ram, .objective = Objective::kTime}}, 100);
  const std::optional<Certificate> energy = prove(cheap, 100), time = prove(free, 100, 12);
  ASSERT_TRUE(energy && time);
  PlanOptions options{
      .question = {.budget = ram, .energy_limit = energy->bound * 1.0001, .objective = Objective::kTime}};
  Asked limited = ask(graph, options, 100);
  const std::optional<Certificate> slower = prove(limited, 100, 12);
  ASSERT_TRUE(slower);
  EXPECT_GT(slower->bound, time->bound * 1.001);
  const auto bound = check::check_certificate(graph, *slower);
  ASSERT_TRUE(bound) << to_text(bound.error());
  EXPECT_NEAR(*bound, slower->bound, 1e-9 * slower->bound);
  Certificate dearer = *slower;
  dearer.question.energy_limit = energy->bound * 2;
  EXPECT_FALSE(check::check_certificate(graph, dearer)) << "its rows prove less for plans that may spend more";
}

TEST(Certify, TakesTimeFromTheWorkAloneWhereNothingMoves) {
  CostGraph graph = chain(24);
  graph.device.pager.mode = PagerMode::kNone;
  graph.device.idle_w = 2;
  const Plan whole = unplanned(graph).value();
  for (const Objective objective : {Objective::kTime, Objective::kEnergy}) {
    Asked asked = ask(graph, {.question = {.budget = whole.predicted.peak_bytes * 6 / 10, .objective = objective}});
    const std::optional<Certificate> certificate = prove(asked, 100);
    ASSERT_TRUE(certificate);
    EXPECT_FALSE(certificate->most_seconds);
    const double least = objective == Objective::kTime ? whole.predicted.time_s : whole.predicted.energy_j;
    EXPECT_GT(certificate->bound, least * 1.001) << "what is recomputed takes time";
    const auto bound = check::check_certificate(graph, *certificate);
    ASSERT_TRUE(bound) << to_text(bound.error());
    EXPECT_NEAR(*bound, certificate->bound, 1e-9 * certificate->bound);
    Certificate without = *certificate;
    std::erase_if(without.rows, [](const Certificate::Row& row) { return row.rule == Rule::kWork; });
    EXPECT_FALSE(check::check_certificate(graph, without)) << "idle power and time are of the work";
  }
}

TEST(Certify, IsProvedAgainForAChain) {
  for (const int64_t length : {5, 20, 40}) {
    const CostGraph graph = chain(length);
    const Bytes peak = unplanned(graph).value().predicted.peak_bytes;
    for (const int percent : {40, 60, 80}) {
      Asked asked = ask(graph, {.question = {.budget = peak * percent / 100}});
      const std::optional<Certificate> certificate = prove(asked, 100);
      if (!certificate) continue;
      const auto bound = check::check_certificate(graph, *certificate);
      ASSERT_TRUE(bound) << to_text(bound.error());
      EXPECT_NEAR(*bound, certificate->bound, 1e-9 * certificate->bound);
    }
  }
}

}  // namespace
}  // namespace pantoum::plan
