// Will it fit? One compilation, the least RAM, and a curve from there to the unplanned peak.
#include <algorithm>

#include "api/access.h"
#include "pantoum/deploy.hpp"
#include "pipeline/sweep.h"
#include "pipeline/training_data.h"
#include "plan/planner.h"
#include "problem/cost_graph.h"
#include "report/explain.h"
#include "report/names.h"

namespace pantoum {
namespace {

constexpr int kMostBudgets = 1000;

// The least RAM that is known and proved, and what is in it at the peak.
Result<void> set_least(const pipeline::Compiled& compiled, const pipeline::PlanRequest& request, Estimate& estimate) {
  const problem::CostGraph& graph = compiled.training().cost.graph;
  PANTOUM_ASSIGN(const plan::Infeasible none, pipeline::least_ram(graph, request));
  estimate.least_ram_bytes = none.min_ram_bytes;
  estimate.least_ram_bound_bytes = none.min_ram_bound_bytes;
  if (!none.min_plan) return {};
  problem::Plan least = *none.min_plan;
  least.graph = graph;
  PANTOUM_ASSIGN(const report::CheckedPlan checked, report::check_plan(std::move(least)));
  estimate.binds = api::held_at_peak(report::explain(checked, {}));
  return {};
}

Result<void> check_count(int budgets) {
  if (budgets >= 1 && budgets <= kMostBudgets) return {};
  return fail("E0116", "the number of budgets is not between 1 and 1000", "budgets", "5 make a useful table");
}

}  // namespace

std::vector<Held> api::held_at_peak(const report::Explanation& why) {
  const report::Names names(why.plan.graph);
  std::vector<Held> held;
  held.reserve(why.at_peak.size());
  for (const report::Resident& resident : why.at_peak) held.push_back({names.of(resident), resident.bytes});
  return held;
}

Result<Estimate> estimate(const Model& model, const Device& device, const PlanOptions& options, int budgets) {
  PANTOUM_TRY(check_count(budgets));
  PANTOUM_ASSIGN(const pipeline::ModelRequest asked, api::model_request(Access::impl(model)));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, pipeline::plan_request(device.name, options));
  request.options.time_limit /= budgets + 1;  // of each question
  PANTOUM_ASSIGN(const pipeline::Compiled compiled, pipeline::compile_model(asked, request));
  request.reserve += pipeline::prefetch_bytes(request.settings.prefetch, compiled.training().graph);
  const pipeline::SweptGraphs graphs = pipeline::swept_graphs(compiled);
  const problem::CostGraph& graph = compiled.training().cost.graph;
  PANTOUM_ASSIGN(const problem::Predicted unplanned, pipeline::unplanned_step(graph, request));
  Estimate estimate{.device = graph.device.name,
                    .time_source = problem::time_source(graph.device),
                    .unplanned_peak_bytes = unplanned.peak_bytes + request.reserve,
                    .unplanned_time_s = unplanned.time_s};
  PANTOUM_TRY(set_least(compiled, request, estimate));
  PANTOUM_ASSIGN(estimate.rows, api::swept_rows(graphs, request, pipeline::even_budgets(estimate.least_ram_bytes, estimate.unplanned_peak_bytes, budgets)));
  return estimate;
}

}  // namespace pantoum
