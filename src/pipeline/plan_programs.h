// Plans of all programs of a step.
#pragma once

#include <chrono>

#include "pipeline/pipeline.h"
#include "pipeline/request.h"

namespace pantoum::pipeline {

// The time limit is one of all questions together.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double left() const {
    return seconds_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  [[nodiscard]] bool over() const { return left() <= kLeast; }
  [[nodiscard]] double next() const { return std::max(left(), kLeast); }

 private:
  static constexpr double kLeast = 0.05;  // enough where nothing need be given up
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// By Pantoum's own planner, or by one of the literature's; a formula by its slopes.
[[nodiscard]] Result<problem::Plan> make_plan(const PlanRequest& request, const problem::CostGraph& graph,
                                              const plan::PlanOptions& options, plan::Infeasible* infeasible);

// Training's state lies where training's plan is best, if the other programs fit as well; else packed; else as in the
// plan of the smallest budget. `reuse`, when given, is taken as the training plan. Errors as plan_model. Without
// `infeasible` it is a try: nothing is sought to tell more, and not for long where training has no plan.
[[nodiscard]] Result<void> find_plans(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                                      const problem::Plan* reuse, plan::Infeasible* infeasible);

// From model and request in it, a plan is used again: with the graph that it is of.
void keep_request(problem::Plan& plan, const Compiled& compiled, const PlanRequest& request);

// What a user is told where planning is to start from a plan of none of these graphs; "": nothing.
[[nodiscard]] std::string warning_of_start(const plan::PlanOptions& options,
                                           const std::vector<const problem::CostGraph*>& graphs);

// What a planned program is worth to the request.
[[nodiscard]] double value_of_plan(const problem::Plan& plan, const PlanRequest& request);

// E0001 where the checker rejects the proof that there is no plan.
[[nodiscard]] Result<void> check_infeasibility(const plan::Infeasible& infeasible);

}  // namespace pantoum::pipeline
