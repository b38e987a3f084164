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
  kComputed,    // for the first time
  kRecomputed,  // computed again
  kPagedIn,     // read back from storage
  kInStorage,   // not in RAM: written to storage, and read back later (or there from the start)
  kDropped,     // not in RAM: computed again later
};

struct Bar {
  int64_t tensor = 0;
  How how = How::kComputed;
  double begin_s = 0, end_s = 0;
  int64_t by = -1;                // op that wrote it; -1: none
  int64_t first = -1, last = -1;  // ops that read it meanwhile; -1: none
  [[nodiscard]] bool in_ram() const { return how < How::kInStorage; }
};

// The bars in the order in which they begin; within an instruction by tensor. The plan has passed the checker, whose spans these
// are. Bytes are taken from the begin of a compute, the issue of a page_in; they are free from the issue of a free.
[[nodiscard]] std::vector<Bar> lifetimes_of(const problem::Plan& plan, const std::vector<check::Span>& spans);

}  // namespace pantoum::report
