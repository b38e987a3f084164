// From an instruction stream to a plan: offsets, exact figures, places in storage.
#pragma once

#include <optional>
#include <vector>

#include "plan/simulate/event.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

using problem::CostGraph;

struct Realized {
  std::optional<Plan>
      plan;  // nothing: no offsets within the budget, a stream that cannot run, a deadline missed, or storage too small
  Bytes excess = 0;  // > 0: by how much the smallest arena found exceeds the budget
  Seconds late = 0;  // > 0: by how much it misses the deadline
};

// `budget`: bytes that the arena may take; none: as few as can be found soon. The plan has no bound, status or method yet.
// Cost: a placement (at most 2 s, or a tenth of options.time_limit; a fixed number of steps with options.effort > 0)
// and a replay.
[[nodiscard]] Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                               const PlanOptions& options, std::optional<Bytes> budget);

}  // namespace pantoum::plan
