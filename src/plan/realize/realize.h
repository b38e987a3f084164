// From an instruction stream to a plan: offsets, exact figures, places in storage.
#pragma once

#include <optional>
#include <vector>

#include "plan/simulate/event.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct Realized {
  // Nothing: no offsets within the budget, a stream that cannot run, a limit that is missed, or too little storage.
  std::optional<Plan> plan;
  Bytes byte_excess = 0;  // > 0: by how much the smallest arena found exceeds the budget
  Bytes live_bytes = 0;   // the most at one moment, of other programs too: no arena is smaller
  // By stage, where offsets within the budget came near: the bytes that allocations would have to share. Empty: nothing is
  // known of that.
  Indexed<Stage, Bytes> clashes;
  Seconds time_excess = 0;  // > 0: by how much the step ends after the deadline
};

// `budget`: bytes that the arena may take; none: as few as can be found soon. The plan has no bound, status or method
// yet. `share`: of what a placement may take. Cost: a placement (at most 20 s, or Attempt::kPlacing's share of
// options.time_limit; a fixed number of steps with options.effort > 0) and a replay.
Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                 const PlanOptions& options, std::optional<Bytes> budget, double share = 1);

// A plan that has its instructions and offsets, with the figures and places in storage, where it meets the limits and the
// storage holds it.
Realized judged(const Model& model, const PlanOptions& options, Plan plan);

}  // namespace pantoum::plan
