#include "plan/simulate/policy.h"

namespace pantoum::plan {

namespace {

// Returns for each tensor the last stage at which an op that has to be computed reads it under the choices, or 0.
Indexed<TensorIndex, Stage> last_reads(const Model& model, const Choices& choices) {
  Indexed<TensorIndex, Stage> last(model.tensors.size(), 0);
  const Indexed<OpIndex, char> needed = needed_ops(model, choices);
  for (const OpIndex op : model.ops.indices()) {
    if (!needed[op]) continue;
    for (const TensorIndex tensor : model.chosen(op, choices).reads)
      last[tensor] = std::max(last[tensor], model.ops[op].stage);
  }
  return last;
}

}  // namespace

Policy keep_all(const Model& model, Choices choices) {
  const Indexed<TensorIndex, Stage> reads = last_reads(model, choices);
  Policy policy{.intervals = {}, .choices = std::move(choices)};
  policy.intervals.reserve(model.intervals.size());
  for (const Interval& interval : model.intervals) {
    const TensorModel& tensor = model.tensors[interval.tensor];
    const bool last = interval.to == model.never();
    const bool unread = interval.free && reads[interval.tensor] < interval.to;
    const bool page = last && tensor.ends_in_aux && tensor.start != Home::kAux;
    IntervalPolicy kept = retained(interval);
    kept.page = page;
    policy.intervals.push_back((last || unread) && !tensor.pinned ? evicted(interval, page) : kept);
  }
  return policy;
}

}  // namespace pantoum::plan
