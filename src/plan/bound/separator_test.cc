#include "plan/bound/separator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "plan/bound/boundaries.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/planner.h"
#include "plan/simulate/switches.h"
#include "testing/chain_graphs.h"

namespace pantoum::plan {
namespace {

using plan_test::chain;

struct Asked {
  CostGraph graph = chain(20);
  PlanOptions options = {.question = {.budget = unplanned(graph).value().predicted.peak_bytes / 2}};

  LpBound solve(int64_t iterations = 5000) const {
    const Model model = make_model(graph, options);
    const Relaxation relaxation(model, {.question = options.question},
                                choose_boundaries(model, options.question.budget_bytes(), 100));
    return lp_bound(relaxation, options,
                    {.seconds_left = [] { return 10.0; },
                     .iterations = iterations,
                     .target = [] { return HUGE_VAL; },
                     .raised = [](double) {}});
  }
};

TEST(Separators, HaveNamesAndRulesOfTheirOwn) {
  std::set<std::string> names;
  std::set<Rule> rules;
  for (const Separator& separator : separators()) {
    EXPECT_TRUE(names.insert(separator.name).second) << separator.name;
    EXPECT_FALSE(separator.switches.empty()) << separator.name;
    for (const Rule rule : separator.rules) EXPECT_TRUE(rules.insert(rule).second) << separator.name;
  }
}

TEST(Separation, CountsWhatItFindsAndWhatThatProves) {
  const LpBound found = Asked().solve();
  ASSERT_EQ(found.separators.size(), separators().size());
  double moved = 0;
  for (const SeparatorCount& count : found.separators) {
    EXPECT_TRUE(count.on) << count.name;
    EXPECT_LE(count.kept, count.found) << count.name;
    EXPECT_EQ(count.seconds, 0) << count.name << ": an effort stands for the clock";
    moved += count.bound_moved;
  }
  EXPECT_GT(found.separators.front().kept, 0);
  EXPECT_GT(moved, 0);
  EXPECT_LT(moved, found.bound);
}

TEST(Separation, TakesTheTimeByTheClock) {
  double seconds = 0;
  for (const SeparatorCount& count : Asked().solve(0).separators) seconds += count.seconds;
  EXPECT_GT(seconds, 0);
}

TEST(Separation, NeverAsksASeparatorThatIsSwitchedOff) {
  Asked asked;
  asked.options.without.add(Switch::kPathCuts);
  const SeparatorCount count = asked.solve().separators.front();
  EXPECT_EQ(count, (SeparatorCount{.name = "path-cuts", .on = false}));
}

TEST(Separation, BooksARiseToTheFirstSeparatorOfTheRound) {
  const Asked asked;
  const Model model = make_model(asked.graph, asked.options);
  const Relaxation relaxation(model, {.question = asked.options.question}, {model.end()});
  Separation separation(relaxation, {.clocked = false});
  separation.solved(10);
  separation.kept({{.rule = Rule::kCover}, {.rule = Rule::kRounding}});
  separation.solved(12);
  separation.kept({{.rule = Rule::kCover}, {.rule = Rule::kPath}});
  separation.solved(15);
  separation.solved(16);  // nothing was kept before
  separation.kept({{.rule = Rule::kPath}});
  separation.solved(14);
  EXPECT_EQ(separation.counts()[0].kept, 2);
  EXPECT_EQ(separation.counts()[0].bound_moved, 3);
  EXPECT_EQ(separation.counts()[1].kept, 3);
  EXPECT_EQ(separation.counts()[1].bound_moved, 2);
}

}  // namespace
}  // namespace pantoum::plan
