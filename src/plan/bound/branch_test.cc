#include "plan/bound/lp_bound.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "check/certificate.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/relaxation.h"
#include "plan/planner.h"
#include "testing/random_case.h"
#include "testing/random_graph.h"

namespace pantoum::plan {

namespace {

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kSeeds = 25;
#else
constexpr uint64_t kSeeds = 400;
#endif

// Branches towards `target`, for at most so many iterations.
Branched branched(const Model& model, const PlanOptions& options, std::optional<Seconds> most_seconds, int32_t segments,
                  double target, int64_t iterations) {
  const Relaxation relaxation(model, {.question = options.question, .most_seconds = most_seconds},
                              choose_boundaries(model, options.question.budget_bytes(), segments));
  return branch_and_bound(relaxation, options,
                          {.seconds_left = [] { return 1.0; },
                           .iterations = iterations,
                           .target = [target] { return target; },
                           .raised = [](double) {}});
}

// A question by the seed, and what an answer costs; nothing where there is none.
struct Asked {
  CostGraph graph;
  PlanOptions options;
  double value = 0;
};
std::optional<Asked> ask(uint64_t seed) {
  check::Random random(seed);
  Asked asked{.graph = check::random_cost_graph(seed, {.least_ops = 5, .most_ops = 14}), .options = {}};
  const auto whole = unplanned(asked.graph);
  if (!whole) return std::nullopt;
  asked.options = {
      .question = {.budget = whole->predicted.arena_bytes * random.between(50, 90) / 100}, .effort = 1, .threads = 1};
  if (asked.options.question.budget_bytes() <= 0) return std::nullopt;
  if (random.chance(0.3)) asked.options.question.objective = Objective::kTime;
  if (random.chance(0.3)) asked.options.question.deadline = whole->predicted.time_s * (1.2 + random.unit());
  const auto plan = make_plan(asked.graph, asked.options);
  if (!plan) return std::nullopt;
  asked.value =
      asked.options.question.objective == Objective::kTime ? plan->predicted.time_s : plan->predicted.energy_j;
  asked.graph.order = plan->certificate ? plan->certificate->order : asked.graph.order;
  asked.options.question.freedoms.reordering = false;
  return plan->certificate ? std::optional(std::move(asked)) : std::nullopt;
}

// The target is above what a plan costs, so every case goes on until nothing is left to decide, or the limit.
TEST(BranchAndBound, NeverBoundsAboveAPlanOfItsQuestion) {
  int compared = 0, cases = 0;
  std::set<Variable> decided;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::optional<Asked> asked = ask(seed);
    if (!asked) continue;
    std::optional<Seconds> most_seconds;
    if (asked->options.question.objective == Objective::kTime && !asked->options.question.deadline)
      most_seconds = asked->value * 1.2;
    const Branched tree = branched(make_model(asked->graph, asked->options), asked->options, most_seconds,
                                   seed % 3 == 0 ? 4 : 100, asked->value * 1.2, 1500);
    ASSERT_TRUE(tree.certificate.has_value());
    const auto bound = check::check_certificate(asked->graph, *tree.certificate);
    ASSERT_TRUE(bound) << to_text(bound.error());
    EXPECT_LE(*bound, asked->value * (1 + 1e-9));
    EXPECT_LE(tree.bound, asked->value * (1 + 1e-9));
    for (const Certificate::Case& entry : tree.certificate->cases)
      if (entry.decision) decided.insert(entry.decision->variable);
    cases += static_cast<int>(tree.certificate->cases.size());
    ++compared;
  }
  EXPECT_GT(compared, static_cast<int>(kSeeds) / 8);
  EXPECT_GT(cases, kSeeds > 100 ? compared : 0);
  EXPECT_EQ(decided.size(), kSeeds > 100 ? 4U : decided.size());
}

// Three activations of 100 bytes are kept for gradients that read them last to first, in RAM for two and a half: the
// linear program drops half of the third.
CostGraph nested() {
  CostGraph graph;
  graph.device.pager.mode = PagerMode::kNone;
  const auto add = [&](Bytes bytes, std::vector<int64_t> inputs, double joules) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    graph.tensors.push_back({.id = id, .bytes = bytes});
    Choice choice{.time_s = 1, .energy_j = joules, .writes = {0}};
    for (size_t position = 0; position < inputs.size(); ++position) choice.reads.push_back(static_cast<int>(position));
    graph.ops.push_back({.id = id, .inputs = std::move(inputs), .outputs = {id}, .choices = {choice}});
    graph.order.push_back(id);
  };
  for (int64_t id = 0; id < 4; ++id) add(90 + 10 * id, {}, 3 + static_cast<double>(id));
  add(1, {}, 1);
  int64_t last = 4;
  for (int64_t id = 3; id >= 0; --id) add(1, {last, id}, 1), ++last;
  return graph;
}

TEST(BranchAndBound, ProvesTheOptimumWhereOneCombinationOfRowsDoesNot) {
  const CostGraph graph = nested();
  const PlanOptions options{.question = {.budget = 260, .freedoms = {.reordering = false}}, .effort = 1};
  const Model model = make_model(graph, options);
  const Plan plan = make_plan(graph, options).value();
  const Branched tree = branched(model, options, {}, 100, plan.predicted.energy_j * (1 - 1e-6), 100000);
  EXPECT_GE(tree.bound, plan.predicted.energy_j * (1 - 1e-6));
  EXPECT_TRUE(tree.whole.empty());
}

TEST(BranchAndBound, StopsAtItsLimitWithWhatIsProved) {
  const CostGraph graph = nested();
  const PlanOptions options{.question = {.budget = 260, .freedoms = {.reordering = false}}, .effort = 1};
  const Model model = make_model(graph, options);
  double last = -1;
  for (const int64_t iterations : {1, 40, 200, 1000}) {
    const Branched tree = branched(model, options, {}, 100, 1e9, iterations);
    EXPECT_GE(tree.bound, last);
    last = tree.bound;
    EXPECT_TRUE(check::check_certificate(graph, *tree.certificate));
    const Branched again = branched(model, options, {}, 100, 1e9, iterations);
    EXPECT_EQ(again.bound, tree.bound);
    EXPECT_EQ(again.iterations, tree.iterations);
  }
}

TEST(PressingStages, AreThoseOfRowsOfMemory) {
  Certificate certificate{.boundaries = {3, 5, 8, 12}};
  certificate.rows = {{Rule::kMemory, {2}, 1},
                      {Rule::kPath, {1, 2, 0, 0}, 1},
                      {Rule::kCover, {0, -1, 0, 1, 0}, 1},
                      {Rule::kRounding, {3, 1, 4, 0}, 1}};
  EXPECT_EQ(pressing_stages(certificate), (std::vector<int32_t>{3, 8}));
}

}  // namespace
}  // namespace pantoum::plan
