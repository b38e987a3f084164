#include "plan/simulate/live_bytes.h"

namespace pantoum::plan {
void LiveBytes::reset(Stage stages, Bytes budget) {
  budget_ = budget;
  stages_ = stages;
  peaks_.assign(static_cast<size_t>(stages), 0);
  highest_.assign(static_cast<size_t>(stages / kBlock) + 1, 0);
  lowest_.assign(highest_.size(), 0);
}

void LiveBytes::refresh(int32_t block) {
  const int32_t first = block * kBlock, last = std::min(stages_, first + kBlock);
  Bytes high = peaks_[first], low = high;
  for (Stage stage = first + 1; stage < last; ++stage) {
    high = std::max(high, peaks_[stage]);
    low = std::min(low, peaks_[stage]);
  }
  highest_[block] = high;
  lowest_[block] = low;
}

void LiveBytes::set(Stage stage, Bytes peak) {
  if (peaks_[stage] == peak) return;
  peaks_[stage] = peak;
  refresh(stage / kBlock);
}

void LiveBytes::add(Stage first, Stage last, Bytes delta) {
  for (Stage begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    for (Stage stage = begin; stage < end; ++stage) peaks_[stage] += delta;
    refresh(block);
    begin = end;
  }
}

Bytes LiveBytes::change_within(Stage first, Stage last, Bytes delta) const {
  Bytes change = 0;
  for (Stage stage = first; stage < last; ++stage) {
    const Bytes over = peaks_[stage] - budget_;
    change += std::max<Bytes>(0, over + delta) - std::max<Bytes>(0, over);
  }
  return change;
}

Bytes LiveBytes::excess_change(Stage first, Stage last, Bytes delta) const {
  Bytes change = 0;
  for (Stage begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    if (lowest_[block] + std::min<Bytes>(delta, 0) >= budget_)
      change += delta * (end - begin);
    else if (highest_[block] + std::max<Bytes>(delta, 0) > budget_)
      change += change_within(begin, end, delta);
    begin = end;
  }
  return change;
}

}  // namespace pantoum::plan
