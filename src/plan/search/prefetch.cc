#include <algorithm>

#include "plan/search/search.h"
#include "plan/simulate/simulate.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {

// From the last use to the first, each page-in is tried one, two, four, ... stages earlier.
Policy prefetch(const Model& model, const Limit& limit, Policy policy, const SearchLimits& limits) {
  if (!model.async || !model.uses(Switch::kPrefetch)) return policy;
  Simulator simulator(model, {.question = {.budget = limit.question.budget,
                                           .deadline = limit.question.deadline,
                                           .objective = limit.question.objective},
                              .reserve = limit.reserve,
                              .clock = true});
  simulator.reset(std::move(policy));
  for (const IntervalIndex interval : model.intervals.indices().descending()) {
    const Interval& span = model.intervals[interval];
    const IntervalPolicy start = simulator.policy().intervals[interval];
    if (start.evict >= span.to || span.to == model.never() || span.to > model.end()) continue;
    for (Stage ahead = 1; span.to - ahead > start.evict; ahead *= 2) {
      if (limits.stop && limits.stop()) return simulator.policy();
      IntervalPolicy to = simulator.policy().intervals[interval];
      to.fetch = span.to - ahead;
      const Outcome before = simulator.outcome(), after = simulator.propose({{interval, to}});
      if (after.sound && after.excess <= before.excess && after.time_excess <= before.time_excess &&
          after.energy <= before.energy * (1 + 1e-12) && after.time < before.time * (1 - 1e-9))
        simulator.accept();
      else
        simulator.reject();
    }
  }
  return simulator.policy();
}

}  // namespace pantoum::plan
