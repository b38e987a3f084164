// From a policy that keeps everything to one that fits, and from there to a good one.
#pragma once

#include <functional>

#include "plan/simulate.h"

namespace pantoum::plan {

// When to stop. With `rounds` > 0 there is no clock: the same answer on every machine.
struct SearchLimits {
  int64_t rounds = 0;          // proposals of each chain
  std::function<bool()> stop;  // asked now and then; true: give the best so far
  double target = 0;           // good enough: a value at or below
};

struct SearchResult {
  Policy policy;
  Outcome outcome;
};

// Gives up, gap by gap, what costs least per byte that it saves, until the policy fits or nothing helps.
// Cost: a simulation of every gap that spans the worst stage, per gap given up.
[[nodiscard]] SearchResult greedy(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits);

// Threshold accepting (Dueck and Scheuer, 1990) over the gaps' policies: a random gap is kept, paged or dropped, with
// random thresholds; worse plans are taken while they are worse by less than a falling threshold; the price of a byte
// over the budget adapts.
[[nodiscard]] SearchResult anneal(const Model& model, const Limit& limit, const SearchResult& start, uint64_t seed,
                                  const SearchLimits& limits);

// Moves page-ins ahead of their uses where that shortens the makespan and the budget allows it.
[[nodiscard]] Policy hoist(const Model& model, const Limit& limit, Policy policy, const SearchLimits& limits);

}  // namespace pantoum::plan
