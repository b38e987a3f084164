// The most live bytes of every stage, and what it takes to shift a range of them: most stages of a long step are only
// shifted.
#pragma once

#include <algorithm>

#include "base/quantities.h"
#include "plan/simulate/indices.h"

namespace pantoum::plan {

using base::Bytes;

class LiveBytes {
 public:
  // All stages at 0.
  void reset(Stage stages, Bytes budget);
  [[nodiscard]] Bytes operator[](Stage stage) const { return peaks_[stage]; }
  // Replaces what one stage has.
  void set(Stage stage, Bytes peak);
  // Adds delta to the stages [first, last).
  void add(Stage first, Stage last, Bytes delta);
  // How many more bytes were over the budget, summed over [first, last), if delta were added. Cost: blocks, and the
  // stages of those blocks that cross the budget.
  [[nodiscard]] Bytes excess_change(Stage first, Stage last, Bytes delta) const;

 private:
  static constexpr int32_t kBlock = 64;
  [[nodiscard]] Bytes change_within(Stage first, Stage last, Bytes delta) const;
  void refresh(int32_t block);

  Bytes budget_ = 0;
  Stage stages_ = 0;
  Indexed<Stage, Bytes> peaks_;
  Indexed<int32_t, Bytes> highest_, lowest_;  // by block of stages
};

}  // namespace pantoum::plan
