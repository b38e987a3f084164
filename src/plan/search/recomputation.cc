#include "plan/search/recomputation.h"

#include <algorithm>

namespace pantoum::plan {

std::vector<Simulator::Change> dropped_with_inputs(const Model& model, const Policy& policy, IntervalIndex interval,
                                                   const std::function<bool(TensorIndex)>& keep) {
  const Interval& span = model.intervals[interval];
  std::vector<Simulator::Change> changes{{interval, evicted(span, false)}};
  const OpIndex producer = model.tensors[span.tensor].producer;
  if (!producer.exists()) return changes;
  for (const TensorIndex read : model.chosen(producer, policy.choices).reads) {
    if (model.tensors[read].pinned || !keep(read)) continue;
    for (const IntervalIndex each : model.tensors[read].intervals) {
      const Interval& input = model.intervals[each];
      if (input.from >= span.to || input.to < span.to) continue;
      const IntervalPolicy& now = policy.intervals[each];
      if (now.evict >= std::min(span.to, input.to)) continue;  // it is there
      IntervalPolicy longer = retained(input);
      longer.page = now.page;
      if (span.to < input.to) longer.evict = span.to;
      changes.push_back({each, longer});
    }
  }
  return changes;
}

}  // namespace pantoum::plan
