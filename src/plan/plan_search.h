// The search for a plan of an instance: starts, annealing, offsets, and again where the offsets cost RAM or time.
//
//   greedy start -> annealing -> offsets -> plan
//                   ^                |
//                   +----------------+  a smaller budget, an earlier deadline
#pragma once

#include <atomic>
#include <functional>
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
class Reserve;

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
    bool sliced = false;    // even where there is no plan yet
    double placing = 1;     // of what placing may take
  };
  struct Starts {
    SearchResult best;
    std::vector<SearchResult> by_energy;  // where time counts: the policies of least energy
  };
  struct Found {
    std::optional<Plan> plan;
    SearchResult placed;    // its policy
    bool annealed = false;  // it is: not the first plan's
    bool lost = false;      // offsets cost time that the search had found
  };
  using Stagnant = std::function<bool(Seconds improved_at)>;

  void search_with_transfers(const Starts& starts, Found& best);
  void search_in_ram(SearchResult found, Found& best);
  void use_all_room(Found& best);
  std::optional<Plan> first_plan(Attempt attempt, SearchResult found);
  [[nodiscard]] ParallelLimits first_annealing(const Attempt& attempt) const;
  void give_way(Attempt& attempt, Reserve& reserve, SearchResult& found) const;
  [[nodiscard]] std::optional<Plan> unplanned_step() const;
  [[nodiscard]] bool proved(const Plan& plan) const;
  [[nodiscard]] bool settled() const;
  [[nodiscard]] int search_threads() const;
  [[nodiscard]] Attempt whole_question() const;
  [[nodiscard]] double first_share() const;
  [[nodiscard]] double next_share(double more) const;
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool no_time_left() const;
  [[nodiscard]] bool out_of_time(const Attempt& attempt) const;
  [[nodiscard]] double placing_left() const;
  [[nodiscard]] bool stagnant(Seconds improved_at) const;
  [[nodiscard]] double target() const;
  [[nodiscard]] SearchLimits limits(const Attempt& attempt) const;

  [[nodiscard]] Starts find_starts(const Attempt& attempt);
  [[nodiscard]] std::optional<SearchResult> start_given(const Attempt& attempt) const;
  SearchResult with_lean_reads(const Attempt& attempt, const Policy& keep, SearchResult found) const;
  SearchResult with_lean_choices(const Attempt& attempt, SearchResult found) const;
  SearchResult least_energy(const Attempt& attempt);

  SearchResult improved(const Attempt& attempt, const SearchResult& start);
  SearchResult anneal_to_bound(const Attempt& attempt, const SearchResult& start);
  SearchResult anneal_aside(const Attempt& attempt, const SearchResult& start, const Stagnant& stagnant);
  void settle_ties(const SearchResult& placed, std::optional<Plan>& best);
  [[nodiscard]] ParallelLimits annealing_limits(const Attempt& attempt) const;

  [[nodiscard]] Realized realize(const Attempt& attempt, const SearchResult& found) const;
  [[nodiscard]] Realized place_policy(const Limit& limit, const Policy& policy, double share,
                                      bool within_budget = true) const;
  [[nodiscard]] bool waits_for_writes(const Realized& realized, const SearchResult& found) const;
  [[nodiscard]] bool end_earlier(Limit& limit, const Realized& missed) const;

  const Instance& instance_;
  Prover& prover_;
  std::atomic<double>& best_value_;
};

}  // namespace pantoum::plan
