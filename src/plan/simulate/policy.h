// What the search decides: for every gap keep, page or drop, with three thresholds; for every op a choice.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct GapPolicy {
  int32_t evict = 0;  // given up right after this stage; >= the gap's `to`: kept
  int32_t again = 0;  // had again at or after this stage (a recomputation needed it), it is kept
  int32_t until = 0;  // ... until it is given up again right after this stage; >= the gap's `to`: until its use
  int32_t fetch = 0;  // paged in before this stage, ahead of the use; >= the gap's `to`: when it is used
  bool page = false;  // given up by writing it to storage (once); otherwise dropped
  friend bool operator==(const GapPolicy&, const GapPolicy&) = default;
};

struct Policy {
  std::vector<GapPolicy> gaps;   // by gap
  std::vector<int32_t> choices;  // by op
  friend bool operator==(const Policy&, const Policy&) = default;
};

// Everything stays until its last use under these choices.
[[nodiscard]] Policy keep_all(const Model& model, std::vector<int32_t> choices);

// How a gap may give its tensor up; for good where nothing has to read it afterwards.
[[nodiscard]] inline bool may_page(const Model& model, int32_t gap) {
  return model.tensors[static_cast<size_t>(model.gaps[static_cast<size_t>(gap)].tensor)].can_page;
}
[[nodiscard]] inline bool may_drop(const Model& model, int32_t gap) {
  const Gap& span = model.gaps[static_cast<size_t>(gap)];
  return model.tensors[static_cast<size_t>(span.tensor)].can_drop || span.to == model.never() || span.free;
}

}  // namespace pantoum::plan
