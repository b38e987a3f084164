#include "plan/attempts/planners.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/baseline.h"

namespace pantoum::plan {

std::vector<NamedPlanner> planners() {
  const auto without = [](bool Freedoms::*freedom) {
    return [freedom](const CostGraph& graph, PlanOptions options, Infeasible* infeasible) {
      options.question.freedoms.*freedom = false;
      return make_plan(graph, options, infeasible);
    };
  };
  const auto own = [](const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
    return make_plan(graph, options, infeasible);
  };
  std::vector<NamedPlanner> all{
      {kOwnPlanner, "recomputes and pages", own},
      {"pantoum-paging-only", "the same without recomputing", without(&Freedoms::recomputing)},
      {"pantoum-remat-only", "the same without paging", without(&Freedoms::paging)}};
  for (const Baseline& baseline : baselines())
    all.push_back({baseline.name, baseline.source,
                   [make = baseline.plan](const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
                     return weighted_or_plain(
                         graph, options, infeasible,
                         [&](const CostGraph& of, const PlanOptions& with, Infeasible*) { return make(of, with); });
                   }});
  return all;
}

Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names) {
  std::vector<NamedPlanner> all = planners();
  std::vector<std::string> known;
  for (const NamedPlanner& planner : all) known.push_back(planner.name);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail("E0115", fmt::format("there is no planner '{}'", name), "--planners",
                  fmt::format("use some of {}", fmt::join(known, ",")));
  std::erase_if(all, [&](const NamedPlanner& planner) {
    return std::find(names.begin(), names.end(), planner.name) == names.end();
  });
  return all;
}

}  // namespace pantoum::plan
