// Random plans of random graphs, good and broken: what the checker and the reference checker must agree on.
#pragma once

#include <cstdint>
#include <string>

#include "problem/plan.h"
#include "testing/random_graph.h"

namespace pantoum::check {

struct RandomCase {
  problem::Plan plan;    // its graph inside
  std::string mutation;  // "none", or what was done to the plan to break a rule (it may hold all the same)
};

// A naive executor that keeps the rules runs the graph in its order, moves tensors in and out at random and places them
// at random free offsets; then about half of the plans are spoilt. Predictions are the replay's wherever the plan
// holds. Deterministic.
[[nodiscard]] RandomCase random_case(uint64_t seed, const RandomGraphOptions& options = {});

// A plan that keeps the rules (almost always: an executor that guesses wrong leaves a broken one), without predictions.
[[nodiscard]] problem::Plan random_plan(const problem::CostGraph& graph, uint64_t seed);

}  // namespace pantoum::check
