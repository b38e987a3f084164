// A plan that is there -> the policy that makes it, for the search to start from.
#pragma once

#include <optional>

#include "plan/simulate/policy.h"

namespace pantoum::plan {

// What each op is first computed by, and when each tensor is evicted and rematerialized between two uses. A plan may say
// more than a policy can: of several times that a tensor comes back before its use, the policy has the last. It may so be
// over the budget, or not sound. Nothing: the plan first computes its ops in another order than the model's, or by a
// choice that is not permitted, or its instructions are none of the graph's.
// The plan is of the model's graph, other costs apart, and need not have been checked. Cost: instructions, and for each
// tensor its intervals times how often it is moved.
std::optional<Policy> policy_of(const Plan& plan, const Model& model);

}  // namespace pantoum::plan
