// Several searches side by side, in rounds of equal length: after each the best is known to all.
#pragma once

#include <functional>

#include "plan/search.h"

namespace pantoum::plan {

struct ChainLimits {
  int chains = 4;
  int threads = 1;                               // has no influence on what is found, unless a clock ends the search
  int64_t rounds = 0;                            // proposals of each chain; 0: until `stop`
  SearchLimits search;                           // stop and target of each chain
  std::function<void(const Outcome&)> improved;  // told of every better plan that fits, between the rounds
  std::function<bool()> stagnant;                // asked between the rounds; true: that will do
};

// Anneals from `start` in all chains. A chain that fell behind goes on from the best one's plan; while nothing gets
// better, the rounds get longer, and every second chain begins anew at `start`.
[[nodiscard]] SearchResult anneal_chains(const Model& model, const Limit& limit, const SearchResult& start,
                                         const ChainLimits& limits);

}  // namespace pantoum::plan
