// Planned programs of one network -> the binary plan that the runtime executes.
#pragma once

#include <string>
#include <vector>

#include "artifact/binary_plan.h"
#include "cost/build_cost_graph.h"
#include "ir/graph.h"
#include "problem/plan.h"

namespace pantoum::artifact {

// One planned program: the graph it came from, its cost graph, its plan. All outlive the call.
struct PlannedProgram {
  std::string name;           // "train", "eval", "accumulate"
  std::string result_prefix;  // put before the names of its results: "", "eval.", "accumulate."
  const ir::Graph& graph;
  const cost::BuiltCostGraph& built;
  const problem::Plan& plan;
};

// Programs share one arena and their persistent tensors (inputs, labels, parameters, buffers, optimizer state,
// constants), which are told by their names, with their successors; the first program gives each its place in RAM,
// storage or ROM, the others must agree on RAM. Temporary storage of the second and later programs follows that of the
// first.
//   errors  E0250 programs that disagree on a persistent tensor; storage slots missing, overlapping or beyond the
//   capacity
Result<BinaryPlan> compile_programs(const std::vector<PlannedProgram>& programs);

}  // namespace pantoum::artifact
