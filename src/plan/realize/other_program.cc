#include "plan/realize/other_program.h"
#include "plan/realize/allocations.h"
#include "plan/search/policy_of_plan.h"
#include "plan/simulate/order.h"
#include "plan/simulate/simulate.h"

#include <utility>

namespace pantoum::plan {

std::optional<std::vector<place::Bytes>> offsets_beside(const OtherProgram& other,
                                                        const std::map<int64_t, place::Bytes>& initial,
                                                        place::Bytes align, place::Bytes budget) {
  constexpr int64_t kSteps = 20'000;
  std::vector<place::Allocation> all = other.all;
  for (const auto& [tensor, at] : other.shared)
    if (const auto found = initial.find(tensor); found != initial.end()) all[at].fixed = found->second;
  Result<place::Placement> placed = place::place(all, {.align = align, .budget = budget, .steps = kSteps});
  if (!placed) return std::nullopt;
  return std::move(placed->at);
}

std::optional<OtherProgram> other_program(const CostGraph& graph, const Plan& plan, const PlanOptions& options) {
  CostGraph ordered = graph;
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
