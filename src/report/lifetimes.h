// When each tensor of a step is in RAM, when it is not, and why.
//
//   x   |##########|- - dropped - -|%% again %%|
//   w   |#####|. . in storage . . .|<< paged in >>|
#pragma once

#include <vector>

#include "check/replay.h"
#include "problem/plan.h"

namespace pantoum::report {

enum class How : uint8_t {
  kFromStart,   // in RAM before the step
  kComputed,    // computed for the first time
  kRecomputed,  // computed again
  kPagedIn,     // read back from storage
  kInStorage,   // not in RAM: written to storage, and read back later (or there from the start)
  kDropped,     // not in RAM: computed again later
};

struct Bar {
  int64_t tensor = 0;
  How how = How::kComputed;
  double begin_s = 0, end_s = 0;
  int64_t by = -1;                // op that wrote the tensor; -1: none
  int64_t first = -1, last = -1;  // first and last op that read it in this time; -1: none
  [[nodiscard]] bool in_ram() const { return how < How::kInStorage; }
};

// Returns the bars in the order in which they begin, and within an instruction by tensor. The plan must have passed the checker; the bars use the
// checker's spans. A tensor takes RAM from the begin of its compute or the issue of its page_in, until the issue of its free.
[[nodiscard]] std::vector<Bar> lifetimes_of(const problem::Plan& plan, const std::vector<check::Span>& spans);

}  // namespace pantoum::report
