#include "pipeline/planners.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/baseline.h"
#include "plan/planner.h"
#include "plan/weighted_plan.h"

namespace pantoum::pipeline {
namespace {

using plan::Infeasible;
using problem::CostGraph;

Result<problem::Plan> paging_only(const CostGraph& graph, const plan::PlanOptions& options, Infeasible* infeasible) {
  plan::PlanOptions own = options;
  own.question.freedoms.recomputing = false;
  return plan::make_plan(graph, own, infeasible);
}

Result<problem::Plan> remat_only(const CostGraph& graph, const plan::PlanOptions& options, Infeasible* infeasible) {
  plan::PlanOptions own = options;
  own.question.freedoms.paging = false;
  return plan::make_plan(graph, own, infeasible);
}

}  // namespace

std::vector<NamedPlanner> planners() {
  std::vector<NamedPlanner> all{{kOwnPlanner, "recomputes and pages", plan::make_plan},
                                {"pantoum-paging-only", "the same without recomputing", paging_only},
                                {"pantoum-remat-only", "the same without paging", remat_only}};
  for (const plan::Baseline& baseline : plan::baselines())
    all.push_back({baseline.name, baseline.source,
                   [make = baseline.plan](const CostGraph& graph, const plan::PlanOptions& options, Infeasible* infeasible) {
                     return plan::weighted_or_plain(
                         graph, options, infeasible,
                         [&](const CostGraph& of, const plan::PlanOptions& with, Infeasible*) { return make(of, with); });
                   }});
  return all;
}

Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names) {
  std::vector<NamedPlanner> all = planners();
  std::vector<std::string> known;
  known.reserve(all.size());
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

bool says_less(const Error& error, const plan::Infeasible& none, const Error& than, const plan::Infeasible& than_none) {
  if ((error.code == "E0301") != (than.code == "E0301")) return error.code != "E0301";
  return none.min_ram_bound_bytes < than_none.min_ram_bound_bytes;
}

}  // namespace pantoum::pipeline
