#include "problem/weighted_graph.h"

namespace pantoum::problem {

CostGraph weighted_graph(const CostGraph& graph, const Weights& weights) {
  CostGraph weighted = graph;
  for (Op& op : weighted.ops)
    for (Choice& choice : op.choices) choice.energy_j *= weights.joule;
  Device& device = weighted.device;
  device.pager.in.w *= weights.joule;
  device.pager.out.w *= weights.joule;
  device.idle_w = weights.joule * device.idle_w + weights.second;
  return weighted;
}

}  // namespace pantoum::problem
