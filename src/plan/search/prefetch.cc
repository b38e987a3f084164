#include <algorithm>

#include "plan/search/search.h"

namespace pantoum::plan {

// From the last use to the first, each page-in is tried one, two, four, ... stages earlier.
Policy hoist(const Model& model, const Limit& limit, Policy policy, const SearchLimits& limits) {
  if (!model.async || !model.uses(Switch::kHoist)) return policy;
  Simulator simulator(model, {.question = {.budget = limit.question.budget,
                                           .deadline = limit.question.deadline,
                                           .objective = limit.question.objective},
                              .clock = true});
  simulator.reset(std::move(policy));
  for (int32_t gap = static_cast<int32_t>(model.gaps.size()); gap-- > 0;) {
    const Gap& span = model.gaps[static_cast<size_t>(gap)];
    const GapPolicy start = simulator.policy().gaps[static_cast<size_t>(gap)];
    if (start.evict >= span.to || span.to == model.never() || span.to > model.end()) continue;
    for (int32_t ahead = 1; span.to - ahead > start.evict; ahead *= 2) {
      if (limits.stop && limits.stop()) return simulator.policy();
      GapPolicy to = simulator.policy().gaps[static_cast<size_t>(gap)];
      to.fetch = span.to - ahead;
      const Outcome before = simulator.outcome(), after = simulator.propose({{gap, to}});
      if (after.sound && after.excess <= before.excess && after.late <= before.late &&
          after.energy <= before.energy * (1 + 1e-12) && after.time < before.time * (1 - 1e-9))
        simulator.accept();
      else
        simulator.reject();
    }
  }
  return simulator.policy();
}

}  // namespace pantoum::plan
