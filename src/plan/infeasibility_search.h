// What is known of a question for which no plan was found, and what can be found out in the time that is left.
#pragma once

#include <optional>

#include "plan/bound/bounds.h"
#include "plan/planner.h"
#include "plan/solver.h"

namespace pantoum::plan {

class Inquest {
 public:
  // Keeps `graph` by reference. `begin`: of the question, whose time limit counts.
  Inquest(const CostGraph& graph, const PlanOptions& options, Solver::Clock::time_point begin);

  // A plan that meets the budget and the limits after all, or nothing.
  std::optional<Plan> run(const Solver& solver, const WorkingSet& least);

  // Once run() found nothing. Bound and status of the smallest plan are those of its own question.
  Infeasible known(const CostGraph& original);

 private:
  [[nodiscard]] Seconds seconds_left() const;
  void raise_ram_bound(const Model& model);
  Infeasible::Least least_of(Objective objective, double proved, std::optional<Plan>& found);
  std::optional<Plan> smallest_plan();

  const CostGraph& graph_;
  PlanOptions options_;
  Solver::Until until_;
  Infeasible known_;
};

}  // namespace pantoum::plan
