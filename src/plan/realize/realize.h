// Makes a plan of an instruction stream: offsets, exact figures, places in storage.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "plan/search/search.h"
#include "plan/simulate/indices.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

// The exact figures of a finished plan: peak, arena, time and energy, offsets included.

// Runs the plan's instructions as semantics.md says. nullopt: one of them cannot be issued (a tensor is not where it
// must be; overlaps are the placement's business). Cost: linear but for the freed bytes that are still being written.
// `taken`: what a transfer of so many bytes, written or read, takes of the engine from its issue on, which semantics.md does
// not count; in mode async.
using EngineSeconds = std::function<Seconds(bool out, Bytes bytes)>;
// `used`: receives what the plan makes use of, of what a question may forbid.
std::optional<Predicted> predict(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken = {},
                                 Freedoms* used = nullptr);

// Returns no less than the exact seconds or joules whose plain sum is `value`, and no less than sums that are rounded
// up. An instruction adds at most four operations; each errs by half a unit in the last place, or by one where it is
// rounded up.
inline double upper_end(const Plan& plan, double value) {
  const auto operations = static_cast<double>(8 * (plan.instructions.size() + 2));
  return value * (1 + operations * std::numeric_limits<double>::epsilon());
}

struct Realized {
  // Nothing: no offsets within the budget, a stream that cannot run, a limit that is missed, or too little storage.
  std::optional<Plan> plan;
  Bytes byte_excess = 0;  // > 0: by how much the smallest arena found exceeds the budget
  Bytes live_bytes = 0;   // the most at one moment, of other programs too: no arena is smaller
  // Bytes that allocations would have to share in each stage, if offsets within the budget came near. Empty: nothing
  // is known of that.
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

// When the bytes of what was written out and freed can be had without waiting for the write.

// By event: for a free whose tensor is still being written, the event before which that write has ended, or before
// which the budget leaves no other bytes; for all others the event itself. Empty where nothing is freed so early.
// Runs the stream as if offsets did not matter. Whoever keeps the bytes until then loses nothing: all of them fit, and
// nobody waits who need not. Cost: linear.
std::vector<size_t> write_completions(const Model& model, const std::vector<Event>& events, Bytes budget);

// Annealing among plans that have offsets: what the search makes of all the RAM that offsets leave.

struct PlacedResult {
  Policy policy;
  Plan plan;
};

// A better plan than `plan`, whose policy is `start`: from neighbour to neighbour of the policy, as far as their allocations
// have offsets within the budget near the last ones. Nothing: none was found. Not where transfers run beside compute.
// Cost: annealing's for a proposal; for the best of eight that are better a simulation of the whole policy and a short
// search for offsets, which counts as 100 of limits.rounds.
std::optional<PlacedResult> improve_placed(const CostGraph& graph, const Model& model, const Limit& limit,
                                           const PlanOptions& options, const Policy& start, const Plan& plan,
                                           const SearchLimits& limits);

}  // namespace pantoum::plan
