#include "plan/update_selection.h"

#include <gtest/gtest.h>

#include <random>

namespace pantoum::plan {
namespace {

// A chain of gradients from the loss (part 0) downward, as of a network of four layers: each layer has a bias, which needs the gradient of its
// output, and a weight, whose gradient costs more.
UpdateProblem chain() {
  UpdateProblem problem{.cost = {10}, .needs = {{}}, .always = {0}, .contribution = {}, .parts = {}};
  for (int layer = 0; layer < 4; ++layer) {
    const int gradient = static_cast<int>(problem.cost.size());
    problem.cost.insert(problem.cost.end(), {2, 1, 5});
    problem.needs.insert(problem.needs.end(), {{layer == 0 ? 0 : gradient - 3}, {gradient}, {gradient}});
    problem.contribution.insert(problem.contribution.end(), {1.0 + layer, 4.0});
    problem.parts.insert(problem.parts.end(), {{gradient + 1}, {gradient + 2}});
  }
  return problem;
}

TEST(UpdateSelection, PaysForTheGradientsDownToATensorOnce) {
  const UpdateProblem problem = chain();
  EXPECT_DOUBLE_EQ(cost_of_updates(problem, {0, 0, 0, 0, 0, 0, 0, 0}), 10);
  EXPECT_DOUBLE_EQ(cost_of_updates(problem, {0, 0, 0, 0, 0, 0, 1, 0}), 10 + 4 * 2 + 1);
  EXPECT_DOUBLE_EQ(cost_of_updates(problem, {1, 1, 0, 0, 0, 0, 1, 0}), 10 + 4 * 2 + 1 + 1 + 5);
}

TEST(UpdateSelection, TakesTheDeepBiasesBeforeAWeight) {
  const auto found = select_updates(chain(), 10 + 8 + 4, 10);  // all four biases: 10
  ASSERT_TRUE(found);
  EXPECT_EQ(found->chosen, (std::vector<char>{1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_DOUBLE_EQ(found->contribution, 10);
  EXPECT_TRUE(found->optimal);
}

// Two tensors, each whole or a half of it.
TEST(UpdateSelection, TakesOneShareOfATensor) {
  const UpdateProblem problem{.cost = {10, 4, 8, 4, 8},
                              .needs = {{}, {}, {}, {}, {}},
                              .always = {0},
                              .contribution = {3, 5, 2.5, 4},
                              .parts = {{1}, {2}, {3}, {4}},
                              .group = {0, 0, 1, 1}};
  const auto chosen = [&](double limit) { return select_updates(problem, limit, 10)->chosen; };
  EXPECT_EQ(chosen(14), (std::vector<char>{1, 0, 0, 0}));
  EXPECT_EQ(chosen(18), (std::vector<char>{1, 0, 1, 0}));
  EXPECT_EQ(select_updates(problem, 22, 10)->contribution, 7.5);
  EXPECT_EQ(chosen(26), (std::vector<char>{0, 1, 0, 1}));
  EXPECT_TRUE(select_updates(problem, 1000, 10)->optimal);
  EXPECT_EQ(select_updates(problem, 1000, 10)->contribution, 9);
}

TEST(UpdateSelection, KnowsTheLeast) {
  UpdateProblem problem = chain();
  EXPECT_FALSE(select_updates(problem, 9, 10));
  const auto least = cheapest_update(problem);
  ASSERT_TRUE(least);
  EXPECT_DOUBLE_EQ(least->cost, 13);
  const auto none = select_updates(problem, 12, 10);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->contribution, 0);
  problem.contribution.assign(8, 0);
  EXPECT_FALSE(cheapest_update(problem));
  EXPECT_EQ(select_updates(problem, 1000, 10)->chosen, std::vector<char>(8, 0));
}

// Parts need earlier ones at random, as gradients of branches that join do; several items share parts.
UpdateProblem random_problem(std::mt19937& draw) {
  const auto below = [&](int most) { return static_cast<int>(draw() % static_cast<unsigned>(most)); };
  const int parts = 4 + below(12), items = 1 + below(9);
  UpdateProblem problem;
  for (int part = 0; part < parts; ++part) {
    problem.cost.push_back(below(4) == 0 ? 0 : 1e-4 * (1 + below(1000)));
    problem.needs.emplace_back();
    for (int times = below(3); part > 0 && times > 0; --times) problem.needs.back().push_back(below(part));
  }
  for (int times = below(3); times > 0; --times) problem.always.push_back(below(parts));
  for (int item = 0; item < items; ++item) {
    problem.contribution.push_back(below(6) == 0 ? 0 : 1e3 * (1 + below(50)));
    problem.parts.emplace_back();
    for (int times = 1 + below(2); times > 0; --times) problem.parts.back().push_back(below(parts));
  }
  return problem;
}

double best_of_all(const UpdateProblem& problem, double limit) {
  const size_t items = problem.contribution.size();
  double best = -1;
  for (size_t set = 0; set < size_t{1} << items; ++set) {
    std::vector<char> chosen(items, 0);
    double contribution = 0;
    for (size_t item = 0; item < items; ++item)
      if ((set >> item & 1) != 0) chosen[item] = 1, contribution += problem.contribution[item];
    if (cost_of_updates(problem, chosen) <= limit) best = std::max(best, contribution);
  }
  return best;
}

TEST(UpdateSelection, IsTheBestOfAllSubsetsAndNeverAboveTheLimit) {
  std::mt19937 draw(7);
  int some = 0, refused = 0;
  for (int at = 0; at < 400; ++at) {
    const UpdateProblem problem = random_problem(draw);
    const double all = cost_of_updates(problem, std::vector<char>(problem.contribution.size(), 1));
    const double limit = all * static_cast<double>(draw() % 101) / 100;
    const auto found = select_updates(problem, limit, 10);
    const double best = best_of_all(problem, limit);
    ASSERT_EQ(found.has_value(), best >= 0) << at;
    if (!found) {
      ++refused;
      continue;
    }
    EXPECT_LE(found->cost, limit * (1 + 1e-9)) << at;
    EXPECT_DOUBLE_EQ(found->cost, cost_of_updates(problem, found->chosen)) << at;
    EXPECT_NEAR(found->contribution, best, 2e-6 * std::max(1.0, best)) << at;
    some += found->contribution > 0;
  }
  EXPECT_GT(some, 200);
  EXPECT_GT(refused, 5);
}

// Hundreds of tensors, as of a real network: branch and bound ends.
TEST(UpdateSelection, IsOptimalForANetworkOfManyLayers) {
  std::mt19937 draw(3);
  UpdateProblem problem{.cost = {100}, .needs = {{}}, .always = {0}, .contribution = {}, .parts = {}};
  for (int layer = 0; layer < 50; ++layer) {
    const int gradient = static_cast<int>(problem.cost.size());
    const auto cost = [&] { return 1 + 1e-3 * static_cast<double>(draw() % 5000); };
    problem.cost.insert(problem.cost.end(), {cost(), 0.1 * cost(), cost()});
    problem.needs.insert(problem.needs.end(), {{layer == 0 ? 0 : gradient - 3}, {gradient}, {gradient}});
    problem.contribution.insert(problem.contribution.end(), {0.3 * cost(), cost()});
    problem.parts.insert(problem.parts.end(), {{gradient + 1}, {gradient + 2}});
  }
  const double all = cost_of_updates(problem, std::vector<char>(problem.contribution.size(), 1));
  double before = 0;
  for (const double share : {0.3, 0.5, 0.8}) {
    const auto found = select_updates(problem, share * all, 600);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->optimal);
    EXPECT_LE(found->cost, share * all * (1 + 1e-9));
    EXPECT_GT(found->contribution, before);
    before = found->contribution;
  }
}

}  // namespace
}  // namespace pantoum::plan
