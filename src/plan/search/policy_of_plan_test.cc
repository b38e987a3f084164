#include "plan/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/planner.h"
#include "plan/simulate/simulate.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

struct Read {
  int plans = 0, sound = 0, fitting = 0, as_good = 0, evicting = 0;
};

// Plans of random graphs in the graph's order, read back.
Read read_back(Objective objective, bool pager) {
  Read read;
  for (uint64_t seed = 1; seed <= 90; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 6, .most_ops = 30, .pager = pager});
    PlanOptions options{.question = {.objective = objective, .freedoms = {.reordering = false}}};
    const auto free = unplanned(graph, options);
    if (!free) continue;
    options.question.budget = std::max<Bytes>(1, free->predicted.peak_bytes * 75 / 100);
    options.effort = 1;
    const auto plan = make_plan(graph, options);
    if (!plan) continue;
    const Model model = make_model(graph, options);
    const std::optional<Policy> policy = policy_of(*plan, model);
    EXPECT_TRUE(policy);
    if (!policy) continue;
    ++read.plans;
    const Outcome outcome = Simulator(model, {.question = options.question, .clock = true}).reset(*policy);
    read.sound += outcome.sound;
    read.fitting += outcome.fits();
    const double value = objective == Objective::kTime ? outcome.time : outcome.energy;
    const double its = objective == Objective::kTime ? plan->predicted.time_s : plan->predicted.energy_j;
    read.as_good += outcome.fits() && value <= its * 1.01;
    read.evicting += !(*policy == keep_all(model, policy->choices));
  }
  return read;
}

TEST(PolicyOfPlan, MakesThePlanAgain) {
  for (const bool pager : {true, false}) {
    for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
      SCOPED_TRACE((pager ? "with storage, objective " : "in RAM, objective ") +
                   std::to_string(static_cast<int>(objective)));
      const Read read = read_back(objective, pager);
      EXPECT_GT(read.plans, 20);
      EXPECT_GE(read.sound, read.plans * 95 / 100);
      EXPECT_GT(read.evicting, read.plans / 2);
      EXPECT_GE(read.fitting, read.plans * 95 / 100);
      EXPECT_GE(read.as_good, read.plans * 85 / 100);
    }
  }
}

// The order of first computations is the model's.
TEST(PolicyOfPlan, TellsOfNoOtherOrder) {
  int others = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CostGraph graph = check::random_cost_graph(seed, {.least_ops = 6, .most_ops = 12});
    const PlanOptions options{.question = {.freedoms = {.reordering = false}}};
    const auto plan = unplanned(graph, options);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(policy_of(*plan, make_model(graph, options)));
    std::swap(graph.order[graph.order.size() - 2], graph.order.back());
    if (!problem::validate(graph)) continue;
    const bool both = std::count_if(plan->instructions.begin(), plan->instructions.end(), [&](const auto& step) {
                        return step.what == Do::kCompute && (step.subject == graph.order.back() ||
                                                             step.subject == graph.order[graph.order.size() - 2]);
                      }) == 2;
    if (!both) continue;  // an optional op that nothing asks for
    ++others;
    EXPECT_FALSE(policy_of(*plan, make_model(graph, options)));
  }
  EXPECT_GT(others, 3);
}

// A plan that nobody has checked: whatever its instructions say, there is a policy or none.
TEST(PolicyOfPlan, ReadsAnyInstructions) {
  int policies = 0, none = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 4, .most_ops = 12});
    const PlanOptions options{.question = {.freedoms = {.reordering = false}}};
    const auto plan = unplanned(graph, options);
    ASSERT_TRUE(plan);
    const Model model = make_model(graph, options);
    check::Random random(seed);
    for (int change = 0; change < 40; ++change) {
      Plan other = *plan;
      Instruction& step = other.instructions[random.index(other.instructions.size())];
      const auto what = random.between(0, 5);
      if (what == 0) step.at.clear();
      if (what == 1) step.at.push_back(random.between(-8, 1 << 20));
      if (what == 2) step.subject = random.between(-1, 2000);
      if (what == 3) step.choice = static_cast<int>(random.between(-1, 5));
      if (what == 4) step.what = static_cast<Do>(random.between(0, 3));
      if (what == 5) std::swap(step, other.instructions[random.index(other.instructions.size())]);
      const std::optional<Policy> policy = policy_of(other, model);
      ++(policy ? policies : none);
      if (policy) (void)Simulator(model, {.question = {.budget = 100000}, .clock = true}).reset(*policy);
    }
  }
  EXPECT_GT(policies, 100);
  EXPECT_GT(none, 100);
}

}  // namespace
}  // namespace pantoum::plan
