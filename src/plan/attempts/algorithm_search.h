// The inner search: chooses an algorithm for every op of one graph.
#pragma once

#include <vector>

#include "plan/attempts/objective_expression.h"

namespace pantoum::plan {

// The value that the search minimizes: a question's objective, or a formula.
struct Aim {
  Question question;                                // its objective, weights and freedom of numerics
  const ObjectiveExpression* expression = nullptr;  // in place of the objective
  double value(Joules energy, Seconds time) const;
};

struct Assignment {
  std::vector<int> choices;  // by op, in the graph's order of ops
  double value = 0;          // of running all ops once, without paging and recomputing
  Joules energy_j = 0;
  Seconds time_s = 0;
};

// Returns a choice for every op, among the choices that the aim's freedom of numerics allows. A sum of costs is least if the cost of each op is least
// (distance 1). For any other value, changes one op at a time, then two at a time (distance 2), as long as a change makes the value less: the paper's
// algorithm 2 (energy-aware-graph-optimization, section 3.3), with differences of sums in place of sums. For a sum with a deadline, returns choices
// that meet the deadline, if there are any; `value` is then a lower bound for all plans that meet the deadline. Cost: linear, or
// quadratic in the ops that have a choice.
Assignment assign_algorithms(const CostGraph& graph, const Aim& aim);

}  // namespace pantoum::plan
