#include "plan/simulate/live_bytes.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

}  // namespace

void LiveBytes::reset(int32_t stages, Bytes ram) {
  ram_ = ram;
  stages_ = stages;
  peaks_.assign(z(stages), 0);
  highest_.assign(z(stages / kBlock + 1), 0);
  lowest_.assign(highest_.size(), 0);
}

void LiveBytes::refresh(int32_t block) {
  const int32_t first = block * kBlock, last = std::min(stages_, first + kBlock);
  Bytes high = peaks_[z(first)], low = high;
  for (int32_t stage = first + 1; stage < last; ++stage) {
    high = std::max(high, peaks_[z(stage)]);
    low = std::min(low, peaks_[z(stage)]);
  }
  highest_[z(block)] = high;
  lowest_[z(block)] = low;
}

void LiveBytes::set(int32_t stage, Bytes peak) {
  if (peaks_[z(stage)] == peak) return;
  peaks_[z(stage)] = peak;
  refresh(stage / kBlock);
}

void LiveBytes::add(int32_t first, int32_t last, Bytes delta) {
  for (int32_t begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    for (int32_t stage = begin; stage < end; ++stage) peaks_[z(stage)] += delta;
    refresh(block);
    begin = end;
  }
}

Bytes LiveBytes::change_within(int32_t first, int32_t last, Bytes delta) const {
  Bytes change = 0;
  for (int32_t stage = first; stage < last; ++stage) {
    const Bytes over = peaks_[z(stage)] - ram_;
    change += std::max<Bytes>(0, over + delta) - std::max<Bytes>(0, over);
  }
  return change;
}

Bytes LiveBytes::excess_change(int32_t first, int32_t last, Bytes delta) const {
  Bytes change = 0;
  for (int32_t begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    if (lowest_[z(block)] + std::min<Bytes>(delta, 0) >= ram_)
      change += delta * (end - begin);
    else if (highest_[z(block)] + std::max<Bytes>(delta, 0) > ram_)
      change += change_within(begin, end, delta);
    begin = end;
  }
  return change;
}

}  // namespace pantoum::plan
