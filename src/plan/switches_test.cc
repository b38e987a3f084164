#include "plan/switches.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "plan/planner.h"

namespace pantoum::plan {
namespace {

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

// A chain forward and back.
CostGraph chain(int64_t length) {
  CostGraph graph;
  graph.device.align_bytes = 4;
  graph.device.pager = {.mode = cost::PagerMode::kAsync,
                        .in = {.latency_s = 0.01, .bytes_per_s = 1000, .w = 5},
                        .out = {.latency_s = 0.01, .bytes_per_s = 1000, .w = 6}};
  const auto add = [&](const std::vector<int64_t>& inputs, double joules) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    graph.tensors.push_back({.id = id, .bytes = 90 + 7 * (id % 5)});
    cost::Choice choice{.time_s = joules / 100, .energy_j = joules, .workspace_bytes = 20 * (id % 3), .writes = {0}};
    for (size_t position = 0; position < inputs.size(); ++position) choice.reads.push_back(static_cast<int>(position));
    graph.ops.push_back({.id = id, .inputs = inputs, .outputs = {id}, .choices = {choice}});
    graph.order.push_back(id);
    return id;
  };
  add({}, 1);
  for (int64_t at = 1; at < length; ++at) add({at - 1}, 1 + static_cast<double>(at % 3) / 2);
  int64_t gradient = length - 1;
  for (int64_t at = length - 1; at > 0; --at) gradient = add({gradient, at, at - 1}, 2);
  return graph;
}

// How many rows of each rule prove the bound of a chain at this share of its unplanned peak.
std::map<Rule, int> rows_of(const Without& without) {
  const CostGraph graph = chain(16);
  const auto whole = unplanned(graph);
  PlanOptions options{.ram = whole->predicted.arena_bytes * 6 / 10, .without = without, .effort = 2, .threads = 1};
  options.without.add(Switch::kStagePrice);  // a bound of its own, without rows
  options.without.add(Switch::kBranching);   // its few epochs need few cuts
  options.without.add(Switch::kLadder);
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
