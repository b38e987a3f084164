#include "plan/other_program.h"

#include <utility>

#include "plan/realize/allocations.h"
#include "plan/search/policy_of_plan.h"
#include "plan/simulate/order.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

std::optional<OtherProgram> other_program(const problem::CostGraph& graph, const Plan& plan,
                                          const PlanOptions& options) {
  problem::CostGraph ordered = graph;
  ordered.order = order_of(plan, graph);
  const Model model = make_model(ordered, options);
  const std::optional<Policy> policy = policy_of(plan, model);
  if (!policy) return std::nullopt;
  Simulator simulator(model, {.question = options.question});
  if (!simulator.reset(*policy).fits()) return std::nullopt;
  Allocations allocations = make_allocations(model, simulator.events(), {.fixed = {}, .others = nullptr}, {});
  OtherProgram other{.all = std::move(allocations.all), .shared = {}};
  for (const auto& [tensor, at] : allocations.initial) other.shared.emplace(model.tensors[tensor].id, at);
  return other;
}

}  // namespace pantoum::plan
