#include "plan/attempts/objective_expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plan/attempts/attempts.h"
#include "plan/planner.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

constexpr Result<Plan> (*kMake)(const CostGraph&, const PlanOptions&, Infeasible*) = make_plan;

ObjectiveExpression parsed(const std::string& text) {
  Result<ObjectiveExpression> expression = ObjectiveExpression::parse(text, "--objective");
  EXPECT_TRUE(expression) << text << ": " << (expression ? "" : expression.error().message);
  return *std::move(expression);
}

double value_at(const std::string& text, double energy, double time) {
  return parsed(text).at({.time_s = time, .energy_j = energy}).value;
}

TEST(ObjectiveExpression, HasTheUsualRulesOfPrecedence) {
  EXPECT_DOUBLE_EQ(value_at("1 + 2*energy", 3, 5), 7);
  EXPECT_DOUBLE_EQ(value_at("(1+2) * energy", 3, 5), 9);
  EXPECT_DOUBLE_EQ(value_at("energy - 1 - 1", 3, 5), 1);
  EXPECT_DOUBLE_EQ(value_at("energy / 2 / 3", 12, 5), 2);
  EXPECT_DOUBLE_EQ(value_at("2^3^2 + energy", 1, 1), 513);
  EXPECT_DOUBLE_EQ(value_at("-time^2 + 100*time", 1, 3), 291);
  EXPECT_DOUBLE_EQ(value_at("energy^0.5 * time^.5", 4, 9), 6);
  EXPECT_DOUBLE_EQ(value_at("power", 6, 2), 3);
  EXPECT_DOUBLE_EQ(value_at("1e-3*time + energy", 1, 1000), 2);
}

TEST(ObjectiveExpression, ItsSlopesAreThoseOfDifferences) {
  for (const char* text : {"0.3*energy + 2*time", "energy*time^2", "energy^0.7*time^0.3", "power + 0.1*time",
                           "(energy + 1)/(2 + time) + time", "2^time + energy", "time^energy + 3*energy"}) {
    const ObjectiveExpression expression = parsed(text);
    constexpr double kEnergy = 1.3, kTime = 2.1, kStep = 1e-6;
    const auto at = [&](double energy, double time) {
      return expression.at({.time_s = time, .energy_j = energy}).value;
    };
    const auto slope = expression.at({.time_s = kTime, .energy_j = kEnergy});
    EXPECT_NEAR(slope.per_joule, (at(kEnergy + kStep, kTime) - at(kEnergy - kStep, kTime)) / (2 * kStep), 1e-6) << text;
    EXPECT_NEAR(slope.per_second, (at(kEnergy, kTime + kStep) - at(kEnergy, kTime - kStep)) / (2 * kStep), 1e-6)
        << text;
  }
}

TEST(ObjectiveExpression, KnowsTheQuestionsThatAskForIt) {
  const auto exact = [](const std::string& text) { return parsed(text).exact(); };
  EXPECT_EQ(exact("energy")->objective, Objective::kEnergy);
  EXPECT_EQ(exact("3*energy + 5")->objective, Objective::kEnergy);
  EXPECT_EQ(exact("time/4")->objective, Objective::kTime);
  EXPECT_EQ(exact("time*energy")->objective, Objective::kEdp);
  EXPECT_EQ(exact("2*(energy*time)")->objective, Objective::kEdp);
  const auto sum = exact("(2*energy + time)*3 - energy");
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->objective, Objective::kWeighted);
  EXPECT_EQ(sum->weights, (Weights{5, 3}));
  for (const char* other :
       {"power", "energy*time + energy", "energy^2", "energy - 0.1*time", "1/energy + time", "energy/time"})
    EXPECT_FALSE(exact(other)) << other;
}

TEST(ObjectiveExpression, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& text) {
    const auto expression = ObjectiveExpression::parse(text, "--objective");
    return expression ? "accepted" : expression.error().code;
  };
  const std::string deep(200, '('), signs(200, '-'), powers = [] {
    std::string text = "energy";
    for (int level = 0; level < 200; ++level) text += "^1";
    return text;
  }();
  for (const std::string& text : {std::string(),
                                  std::string(" "),
                                  std::string("joules"),
                                  std::string("energytime"),
                                  std::string("energy energy"),
                                  std::string("energy +"),
                                  std::string("* energy"),
                                  std::string("(energy"),
                                  std::string("energy)"),
                                  std::string("3"),
                                  std::string("-energy"),
                                  std::string("-time - energy"),
                                  std::string("energy/0"),
                                  std::string("0x10*energy"),
                                  std::string("1e999*energy"),
                                  std::string("1e31*energy"),
                                  std::string("time + 1e-320*energy"),
                                  std::string("nan*energy"),
                                  std::string("inf + energy"),
                                  std::string("energy;"),
                                  std::string("energy\0", 7),
                                  std::string("\xff"),
                                  deep + "energy",
                                  signs + "energy",
                                  powers,
                                  std::string(2000, ' ') + "energy"})
    EXPECT_EQ(refusal(text), "E0117") << text.substr(0, 40);
}

TEST(ObjectiveSearch, PrefersPlansForWhichTheFormulaHasAValue) {
  int told = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    plan::PlanOptions options{.effort = 1, .threads = 1};
    const auto unlimited = plan::unplanned(graph);
    ASSERT_TRUE(unlimited);
    options.question.budget = unlimited->predicted.arena_bytes;
    options.question.objective = Objective::kEnergy;
    const auto least = make_plan(graph, options);
    options.question.objective = Objective::kTime;
    const auto fast = make_plan(graph, options);
    ASSERT_TRUE(least && fast);
    const double low = least->predicted.energy_j, high = fast->predicted.energy_j;
    if (high > low * (1 + 1e-6)) {  // the root has no value for the plan of the least energy
      const auto found = plan_by_slopes(parsed(fmt::format("(energy - {})^0.5 + energy", (low + high) / 2)), graph,
                                        options, nullptr, kMake);
      ASSERT_TRUE(found) << to_text(found.error());
      EXPECT_GE(found->predicted.energy_j, (low + high) / 2);
      ++told;
    }
    const auto none =
        plan_by_slopes(parsed(fmt::format("(energy - {})^0.5", 1 + 2 * high)), graph, options, nullptr, kMake);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, "E0117");
    EXPECT_NE(none.error().message.find("has no value"), std::string::npos);
  }
  EXPECT_GT(told, 1);
}

// Its best plan is none that energy alone or time alone would choose.
TEST(ObjectiveSearch, FindsNoWorsePlanThanTheObjectivesOfItsParts) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    plan::PlanOptions options{.effort = 1, .threads = 1};
    const auto unlimited = plan::unplanned(graph);
    ASSERT_TRUE(unlimited);
    options.question.budget = unlimited->predicted.arena_bytes;
    for (const char* text : {"energy*time^2", "energy^0.3*time^0.7", "power"}) {
      const ObjectiveExpression expression = parsed(text);
      const auto found = plan_by_slopes(expression, graph, options, nullptr, kMake);
      ASSERT_TRUE(found) << seed << ": " << found.error().message;
      const double value = expression.at(found->predicted).value;
      for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
        plan::PlanOptions part = options;
        part.question.objective = objective;
        const auto plan = make_plan(graph, part);
        ASSERT_TRUE(plan);
        const double of_part = expression.at(plan->predicted).value;
        if (!std::isfinite(of_part)) continue;
        EXPECT_LE(value, of_part * (1 + 1e-12)) << seed << " " << text;
        better += value < of_part * (1 - 1e-6) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(better, 10) << "a test that cannot tell them apart";
}

}  // namespace
}  // namespace pantoum::plan
