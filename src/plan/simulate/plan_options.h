// A question for the planner, and how much it is to do for the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <vector>

#include "plan/simulate/indices.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {

struct OtherProgram;

struct Progress {
  Seconds elapsed = 0;
  double best = 0;          // objective value of the best plan so far; infinity before the first
  double bound = 0;         // proved lower bound
  const char* search = "";  // what the search is at, and the proof beside it; "": it has ended
  const char* proof = "";
};

struct PlanOptions {
  Bytes reserved = 0;       // of the RAM that was asked for, and not in the budget: messages add it again
  Question question;        // of equal values, the other one of time and energy counts
  Without without;          // rules of bounds and search that are switched off
  double gap = 1e-4;        // stop when proved within
  Seconds time_limit = 60;  // honoured to within 200 ms, but for a first plan
  int64_t effort = 0;       // > 0: a fixed amount of search instead of a clock: the same plan on any machine
  int threads = 0;          // at work at any moment; 0: as many as there are cores
  // A plan of the same graph, where the search begins; the answer is never worse than it where it fits.
  const Plan* warm_start = nullptr;
  // The search that found the warm start goes on: in its order of first computations, and from no other start where it fits.
  bool goes_on = false;
  // Tensors whose arena offset is given (a second program that shares the arena).
  std::map<int64_t, Bytes> fixed_initial;
  // Programs that share the arena and do not run beside this one. Tensors that both start with get offsets that serve
  // all programs.
  const std::vector<OtherProgram>* others = nullptr;
  std::stop_token stop;  // asks for the best so far
  // Told a few times a second, from another thread, where the search goes by the clock.
  std::function<void(const Progress&)> progress;
};

}  // namespace pantoum::plan
