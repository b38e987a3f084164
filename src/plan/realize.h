// From an instruction stream to a plan: offsets, exact figures, places in storage.
#pragma once

#include <optional>
#include <vector>

#include "plan/planner.h"
#include "plan/simulate.h"

namespace pantoum::plan {

struct Realized {
  std::optional<Plan>
      plan;  // nothing: no offsets within `room`, a stream that cannot run, a deadline missed, or storage too small
  Bytes excess = 0;  // > 0: by how much the smallest arena found exceeds `room`
  Seconds late = 0;  // > 0: by how much it misses the deadline
};

// `room`: bytes that the arena may take; 0: as few as can be found soon. The plan has no bound, status or method yet.
// Cost: a placement (at most 2 s, or a tenth of options.time_limit; a fixed number of steps with options.effort > 0)
// and a replay.
[[nodiscard]] Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                               const PlanOptions& options, Bytes room);

}  // namespace pantoum::plan
