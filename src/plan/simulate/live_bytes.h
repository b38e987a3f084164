// The load of every stage, and what it takes to shift a range of it: most stages of a long step are only shifted.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

class LiveBytes {
 public:
  // All stages at 0.
  void reset(int32_t stages, Bytes ram);
  [[nodiscard]] Bytes operator[](int32_t stage) const { return peaks_[static_cast<size_t>(stage)]; }
  void set(int32_t stage, Bytes peak);
  void add(int32_t first, int32_t last, Bytes delta);  // stages [first, last)
  // How many more bytes were over the budget, summed over [first, last), if delta were added. Cost: blocks, and the
  // stages of those blocks that cross the budget.
  [[nodiscard]] Bytes excess_change(int32_t first, int32_t last, Bytes delta) const;

 private:
  static constexpr int32_t kBlock = 64;
  [[nodiscard]] Bytes change_within(int32_t first, int32_t last, Bytes delta) const;
  void refresh(int32_t block);

  Bytes ram_ = 0;
  int32_t stages_ = 0;
  std::vector<Bytes> peaks_, highest_, lowest_;  // by stage; by block
};

}  // namespace pantoum::plan
