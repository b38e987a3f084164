// A weighted sum of energy and makespan is the energy of another graph.
#pragma once

#include "problem/cost_graph.h"
#include "problem/objective.h"

namespace pantoum::problem {

// The graph whose every plan takes as many joules as the same plan of `graph` takes in joules times weights.joule and
// seconds times weights.second: each cost is multiplied, and idling counts the seconds. Times, bytes and structure stay.
CostGraph weighted_graph(const CostGraph& graph, const Weights& weights);

}  // namespace pantoum::problem
