// What the search decides: for every interval retain, page or drop, with thresholds; for every op a choice.
#pragma once

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct IntervalPolicy {
  Stage evict = 0;    // evicted right after this stage; >= the interval's `to`: retained
  Stage retain = 0;   // rematerialized at or after this stage (a recomputation needed it), it is retained
  Stage until = 0;    // ... until it is evicted again right after this stage; >= the interval's `to`: until its use
  Stage fetch = 0;    // rematerialized before this stage, ahead of the use; >= the interval's `to`: when it is used
  bool page = false;  // evicted by writing it to storage (once); otherwise dropped
  friend bool operator==(const IntervalPolicy&, const IntervalPolicy&) = default;
};

struct Policy {
  Indexed<IntervalIndex, IntervalPolicy> intervals;
  Choices choices;
  friend bool operator==(const Policy&, const Policy&) = default;
};

// The interval's tensor stays in RAM from the beginning of the interval to its end.
inline IntervalPolicy retained(const Interval& interval) {
  return {.evict = interval.to, .retain = interval.to, .until = interval.to, .fetch = interval.to};
}
// The interval's tensor is evicted at its beginning, and not retained again before its use.
inline IntervalPolicy evicted(const Interval& interval, bool page) {
  return {.evict = interval.from, .retain = interval.to, .until = interval.to, .fetch = interval.to, .page = page};
}

// Every tensor is retained until its last use under these choices.
Policy keep_all(const Model& model, Choices choices);

// May the interval's tensor be evicted by writing it to storage?
inline bool may_page(const Model& model, IntervalIndex interval) {
  return model.tensors[model.intervals[interval].tensor].can_page;
}
// May the interval's tensor be evicted without writing it? For good where no op has to read it afterwards.
inline bool may_drop(const Model& model, IntervalIndex interval) {
  const Interval& span = model.intervals[interval];
  return model.tensors[span.tensor].can_drop || span.to == model.never() || span.free;
}

}  // namespace pantoum::plan
