// A step whose forward part is a chain and whose backward part runs it back: what revolve and POFO are made for.
//
//   forward   f0 -> f1 -> ... -> f(n-1)         state i: what f(i) writes; state -1: what is there at the start
//   backward  step n, step n-1, ..., step 0     step i: the ops that read states i-1 and i, or neither
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {

struct Task;

struct Chain {
  Indexed<int32_t, OpIndex> forward;             // by state
  Indexed<int32_t, std::vector<OpIndex>> steps;  // n + 1 of them: the backward ops of step i, in order
  int32_t length() const { return static_cast<int32_t>(forward.size()); }
};

// E0304 where an op of the forward part reads more than its predecessor (and what is there at the start), may run once
// only, or where the backward part goes back and forth.
Result<Chain> find_chain(const Task& task);

}  // namespace pantoum::plan::baseline
