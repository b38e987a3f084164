#include "plan/simulate/switches.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "plan/planner.h"
#include "testing/chain_graphs.h"

namespace pantoum::plan {

namespace {

using plan_test::chain;

TEST(Switches, HaveOneNameEachInTheOrderOfTheEnumeration) {
  std::set<std::string_view> names;
  for (size_t at = 0; at < all_switches().size(); ++at) {
    const SwitchInfo& each = all_switches()[at];
    EXPECT_EQ(static_cast<size_t>(each.rule), at) << each.name;
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_EQ(switch_named(each.name), each.rule);
    EXPECT_FALSE(each.definition.empty());
  }
  EXPECT_FALSE(switch_named("gravity"));
}

// How many rows of each rule prove the bound of a chain at this share of its unplanned peak.
std::map<Rule, int> rows_of(const Without& without) {
  const CostGraph graph = chain(16, 20);
  const auto whole = unplanned(graph);
  PlanOptions options{
      .question = {.budget = whole->predicted.arena_bytes * 6 / 10}, .without = without, .effort = 2, .threads = 1};
  options.without.add(Switch::kStagePrice);  // a bound of its own, without rows
  options.without.add(Switch::kBranching);   // its few segments need few cuts
  options.without.add(Switch::kBoundaryRefinement);
  const Result<Plan> plan = make_plan(graph, options);
  std::map<Rule, int> rows;
  if (plan && plan->certificate)
    for (const Certificate::Row& row : plan->certificate->rows) ++rows[row.rule];
  return rows;
}

TEST(Switches, TakeCutsOutOfTheProof) {
  const std::map<Rule, int> all = rows_of({});
  for (const auto& [rule, row] : {std::pair{Switch::kPathCuts, Rule::kPath},
                                  {Switch::kRounding, Rule::kRounding},
                                  {Switch::kCovers, Rule::kCover}}) {
    Without without;
    without.add(rule);
    std::map<Rule, int> left = rows_of(without);
    EXPECT_TRUE(all.contains(row)) << static_cast<int>(row);
    EXPECT_FALSE(left.contains(row)) << static_cast<int>(row);
    EXPECT_FALSE(left.empty());
  }
}

}  // namespace
}  // namespace pantoum::plan
