// Solves one question: searches for a plan and, at the same time, proves a bound for all plans.
#pragma once

#include <atomic>
#include <limits>
#include <optional>
#include <stop_token>

#include "plan/instance.h"
#include "plan/prover.h"
#include "plan/simulate/indices.h"

namespace pantoum::plan {

struct Instance;
class Prover;

// The search for a plan of an instance: starts, annealing, offsets. It repeats these if the offsets cost RAM or time.
//
//   greedy start -> annealing -> offsets -> plan
//                   ^                |
//                   +----------------+  a smaller budget, an earlier deadline

// Returns a plan that meets the budget and the limits; nullopt if none was found within the time limit. Does not set the plan's bound, method and
// status. `best_value`: receives the value of the best policy so far; other threads may read it at any time. While the prover runs, the search uses
// its policies and stops at its bound.
std::optional<Plan> search_plan(const Instance& instance, Prover& prover, std::atomic<double>& best_value);

// The plan without budget and limits that retains every tensor until its last use.
std::optional<Plan> keep_everything(const Instance& instance, Prover& prover);

class Solver {
 public:
  // Keeps `graph` by reference.
  Solver(const CostGraph& graph, const PlanOptions& options, Instance::Until until = {})
      : instance_(graph, options, until), prover_(instance_) {}

  // Returns a plan for the budget; nullopt if none was found within the limits. With a time limit, raises the bound during the search.
  std::optional<Plan> solve_and_prove();

  // Raises the bound towards a plan's value, unless this is already done.
  void prove_for(double value);

  // Returns a plan for the budget; nullopt if none was found within the limits.
  std::optional<Plan> solve();

  // The plan without budget and limits that retains every tensor until its last use.
  std::optional<Plan> keep_everything();

  const Instance& instance() const { return instance_; }
  const Prover& proved() const { return prover_; }  // not while solve_and_prove() runs

 private:
  void prove(const std::stop_token& stop);
  void tell() const;

  const Instance instance_;
  Prover prover_;
  std::atomic<double> best_value_{std::numeric_limits<double>::infinity()};  // value of the best policy so far
  bool proof_stopped_ = false;  // because there was no plan whose bound to prove
};

}  // namespace pantoum::plan
