// One question: the search for a plan and, beside it, the proof of how good a plan can be.
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

// The search for a plan of an instance: starts, annealing, offsets, and again where the offsets cost RAM or time.
//
//   greedy start -> annealing -> offsets -> plan
//                   ^                |
//                   +----------------+  a smaller budget, an earlier deadline

// A plan that meets the budget and the limits, or nothing within the time limit. Its bound, method and status are not filled
// in. `best_value`: of the best policy so far, which others may read at any time. The search stops at the prover's bound and
// takes up its policies, while it runs.
std::optional<Plan> search_plan(const Instance& instance, Prover& prover, std::atomic<double>& best_value);

// The plan without budget and limits that retains every tensor until its last use.
std::optional<Plan> keep_everything(const Instance& instance, Prover& prover);

class Solver {
 public:
  // Keeps `graph` by reference.
  Solver(const CostGraph& graph, const PlanOptions& options, Instance::Until until = {})
      : instance_(graph, options, until), prover_(instance_) {}

  // A plan for the budget, or nothing within the limits; by the clock the bound is raised beside the search.
  std::optional<Plan> solve_and_prove();

  // Raises the bound, where that is not done yet, towards a plan's value.
  void prove_for(double value);

  // A plan for the budget, or nothing within the limits.
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
  std::atomic<double> best_value_{std::numeric_limits<double>::infinity()};  // of the best policy so far
  bool proof_stopped_ = false;                                               // as there was no plan to prove for
};

}  // namespace pantoum::plan
