#include "problem/objective_values.h"

#include <fmt/format.h>

#include "base/units.h"

namespace pantoum::problem {

std::string show_value(Objective objective, double value) {
  if (objective == Objective::kTime) return base::show_seconds(value);
  if (objective == Objective::kWeighted) return fmt::format("{:.4g}", value);
  return base::show_joules(value) + (objective == Objective::kEdp ? " s" : "");
}

CostGraph weighted_graph(const CostGraph& graph, const Weights& weights) {
  CostGraph weighted = graph;
  for (Op& op : weighted.ops)
    for (Choice& choice : op.choices) choice.energy_j *= weights.joule;
  Device& device = weighted.device;
  device.pager.in.w *= weights.joule;
  device.pager.out.w *= weights.joule;
  for (Engine& engine : device.engines) engine.idle_w *= weights.joule;
  device.idle_w = weights.joule * device.idle_w + weights.second;
  return weighted;
}

}  // namespace pantoum::problem
