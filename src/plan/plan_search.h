// The search for a plan of an instance: starts, annealing, offsets, and again where the offsets cost RAM or time.
//
//   greedy start -> annealing -> offsets -> plan
//                   ^                |
//                   +----------------+  a smaller budget, an earlier deadline
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "plan/search/search.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Plan;

struct ParallelLimits;
struct Instance;
struct Realized;
class Prover;

class PlanSearch {
 public:
  // Keeps all three by reference. `best_value`: of the best policy so far, which the search tells and others may read
  // at any time. The search stops at the prover's bound and takes up its policies, while it runs.
  PlanSearch(const Instance& instance, Prover& prover, std::atomic<double>& best_value)
      : instance_(instance), prover_(prover), best_value_(best_value) {}

  // A plan that meets the budget and the limits, or nothing within the time limit. Its bound, method and status are
  // not filled in.
  std::optional<Plan> run();

  // The plan without budget and limits that retains every tensor until its last use.
  std::optional<Plan> keep_everything();

 private:
  // What one attempt searches under: less than the question allows where offsets have cost some of it.
  struct Attempt {
    Limit limit;
    double time_share = 0;  // of the time limit, by which it ends
  };
  struct Starts {
    SearchResult best;
    std::vector<SearchResult> by_energy;  // where time counts: the policies of least energy
  };
  using Stagnant = std::function<bool(Seconds improved_at)>;

  [[nodiscard]] Attempt whole_question() const;
  [[nodiscard]] double time_share(int attempt) const;
  [[nodiscard]] bool out_of_time(const Attempt& attempt) const;
  [[nodiscard]] bool stagnant(Seconds improved_at) const;
  [[nodiscard]] double target() const;
  [[nodiscard]] SearchLimits limits(const Attempt& attempt) const;

  [[nodiscard]] Starts find_starts(const Attempt& attempt);
  SearchResult with_lean_reads(const Attempt& attempt, const Policy& keep, SearchResult found) const;
  SearchResult with_lean_choices(const Attempt& attempt, SearchResult found) const;
  SearchResult least_energy(const Attempt& attempt);

  SearchResult improved(const Attempt& attempt, const SearchResult& start);
  SearchResult anneal_to_bound(const Attempt& attempt, const SearchResult& start);
  SearchResult anneal_aside(const Attempt& attempt, const SearchResult& start, const Stagnant& stagnant);
  SearchResult with_fewest_transfers(const Attempt& attempt, const SearchResult& fast);
  [[nodiscard]] ParallelLimits annealing_limits(const Attempt& attempt) const;
  void report(double best);

  [[nodiscard]] Realized realize(const Attempt& attempt, const SearchResult& found, std::optional<Bytes> budget) const;
  [[nodiscard]] Realized place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> budget) const;
  [[nodiscard]] bool waits_for_writes(const Realized& realized, const SearchResult& found) const;
  [[nodiscard]] bool tighten(Limit& limit, const Realized& missed) const;

  const Instance& instance_;
  Prover& prover_;
  std::atomic<double>& best_value_;
  std::mutex progress_mutex_;
};

}  // namespace pantoum::plan
