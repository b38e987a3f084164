// Parallel annealing: several annealings side by side, in rounds of equal length; after each the best is known to all.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "plan/search/search.h"

namespace pantoum::plan {

struct ParallelLimits {
  int annealings = 4;
  std::function<int()> threads;            // asked before every round; no influence on what is found, unless a clock
                                           // ends the search
  int64_t rounds = 0;                      // proposals of each annealing; 0: until `stop`
  std::chrono::duration<double> round{0};  // by the clock: about the longest that a round may take; 0: any
  SearchLimits search;                     // stop and target of each annealing
  std::function<void(const Outcome&)> improved;  // told of every better plan that fits, between the rounds
  std::function<bool()> stagnant;                // asked between the rounds; true: that will do
  std::function<std::optional<Policy>()>
      hint;  // asked between the rounds: where an annealing may restart; may be empty
};

// Every second annealing goes its own way: it begins with the smaller question of a plan that only rematerializes or only
// pages, goes on with both, and restarts, by other means, when it gets no better. The others anneal from `start`, from
// the best of all after each round, and try parts of what their neighbour that goes its own way has found. While nothing
// gets better, the rounds get longer, up to four times `round`. A hint, where there is one, is where such an annealing
// restarts next.
[[nodiscard]] SearchResult anneal_in_parallel(const Model& model, const Limit& limit, const SearchResult& start,
                                              const ParallelLimits& limits);

}  // namespace pantoum::plan
