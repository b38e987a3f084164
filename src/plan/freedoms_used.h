// What a plan makes use of, of what a question may forbid.
#pragma once

#include "problem/plan.h"

namespace pantoum::plan {

// Does the plan, which holds on the graph, do nothing that these freedoms leave out? Cost: near linear.
[[nodiscard]] bool keeps_freedoms(const problem::CostGraph& graph, const problem::Plan& plan,
                                  const problem::Freedoms& freedoms);

}  // namespace pantoum::plan
