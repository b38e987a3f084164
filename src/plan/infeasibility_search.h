// What is known of a question for which no plan was found, and what can be found out in the time that is left.
#pragma once

#include <optional>

#include "plan/bound/ram_bound.h"
#include "plan/instance.h"
#include "plan/planner.h"

namespace pantoum::plan {

class Solver;

class InfeasibilitySearch {
 public:
  // Keeps `graph` by reference. `begin`: of the question, whose time limit counts.
  InfeasibilitySearch(const CostGraph& graph, const PlanOptions& options, Instance::Clock::time_point begin);

  // A plan that meets the budget and the limits after all, or nothing. `solver`: of the question, which found none;
  // `least`: the largest working set of its model.
  std::optional<Plan> run(const Solver& solver, const WorkingSet& least);

  // Once run() found nothing. Bound and status of the smallest plan are those of its own question.
  Infeasible known(const CostGraph& original);

 private:
  [[nodiscard]] Seconds seconds_left() const;
  std::optional<Plan> explore_limits(const Solver& solver);
  [[nodiscard]] bool of_all_plans(const Certificate& certificate) const;
  void raise_ram_bound(const Model& model);
  [[nodiscard]] RamBound ram_bound_of(const Model& model, bool any_order) const;
  Infeasible::Least least_of(Objective objective, double proved, std::optional<Plan>& found);
  std::optional<Plan> smallest_plan(Bytes working_set);
  std::optional<Plan> unplanned_step(PlanOptions& options);
  void halve_budget(PlanOptions options, Bytes low, Plan& best);

  const CostGraph& graph_;
  PlanOptions options_;
  Instance::Until until_;
  Infeasible known_;
};

}  // namespace pantoum::plan
