// From a policy that retains everything to one that fits, and from there to a good one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "plan/bound/row.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan {

// When to stop. With `rounds` > 0 there is no clock: the same answer on every machine.
struct SearchLimits {
  int64_t rounds = 0;             // proposals of an annealing
  std::function<bool()> stop;     // asked now and then; true: give the best so far
  double target = 0;              // good enough: a value at or below
  double heat = 3e-4;             // the first temperature of `anneal`, as a share of what is paid beyond the first
                                  // computations
  const Policy* guide = nullptr;  // another good policy: exchanges try parts of it
  std::optional<double> unavoidable = {};  // what unavoidable() says, where that is known
};

struct SearchResult {
  Policy policy;
  Outcome outcome;
  Priced price;  // that `anneal` came to; 0: none yet
};

// Evicts, interval by interval, what costs least per byte that it saves, until the policy fits or nothing helps.
// With a deadline or an energy limit: first without; where that is after the deadline, without transfers; where it is
// above the energy limit, by what costs least energy; then by what costs least time.
// Cost: a simulation of every interval that spans the worst stage, per interval evicted.
SearchResult greedy(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits);

// Takes other choices for the ops during which there are too many bytes, if that makes the bytes fewer.
SearchResult with_leaner_kernels(const Model& model, const Limit& limit, const Policy& policy);

// Fits before it does not; nearer to fitting; of less value.
bool better(const Outcome& a, const Outcome& b);

// Returns what every plan pays: the first computations by first_choices().
double unavoidable(const Model& model, const Limit& limit);

// Simulated annealing over the intervals' policies (`Neighbours`) and the ops' choices, cool from the start; the price of
// a byte over the budget adapts. Now and then an exchange: an interval is turned over, or intervals near each other become
// as they are elsewhere (in an isomorphic part, in the guide); those around are settled anew, and the whole is taken or
// left.
SearchResult anneal(const Model& model, const Limit& limit, const SearchResult& start, uint64_t seed,
                    const SearchLimits& limits);

// Issues page-ins ahead of their uses where that shortens the makespan and the budget allows it.
Policy prefetch(const Model& model, const Limit& limit, Policy policy, const SearchLimits& limits);

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
SearchResult anneal_in_parallel(const Model& model, const Limit& limit, const SearchResult& start,
                                const ParallelLimits& limits);

class Relaxation;

// LP rounding: a solution of the relaxation -> a policy near it, for the search to start from.

// Of an interval that segments open in: retained while S is at least a half at every opening; else evicted after the
// last opening before S falls, and retained again from the stage where it rises to stay so until the use; paged where
// the tensor is written by more than a half or can only be paged. The policy may be over the budget. Cost: linear in
// intervals times segments.
Policy round_lp(const Relaxation& relaxation, const Point& point, Choices choices);

// A plan that is there -> the policy that makes it, for the search to start from.

// What each op is first computed by, and when each tensor is evicted and rematerialized between two uses. A plan may say
// more than a policy can: of several times that a tensor comes back before its use, the policy has the last. It may so be
// over the budget, or not sound. Nothing: the plan first computes its ops in another order than the model's, or by a
// choice that is not permitted, or its instructions are none of the graph's.
// The plan is of the model's graph, other costs apart, and need not have been checked. Cost: instructions, and for each
// tensor its intervals times how often it is moved.
std::optional<Policy> policy_of(const Plan& plan, const Model& model);

}  // namespace pantoum::plan
