// What every method starts from and ends with: the question as a model, and a stream made into a judged plan.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/simulate/event.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan::baseline {

struct Action;

struct Task {
  const CostGraph& graph;
  const PlanOptions& options;
  const char* name;  // of the method
  Model model;
  Choices choices;  // by op: the cheapest for the objective; the literature has one per op
  std::chrono::steady_clock::time_point begin;

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  [[nodiscard]] double left() const { return options.time_limit - elapsed(); }
  [[nodiscard]] bool out_of_time() const { return options.stop.stop_requested() || left() <= 0; }
  [[nodiscard]] const ChoiceModel& kernel(OpIndex op) const { return model.chosen(op, choices); }
  // What the simulator is asked: the budget and the objective, and no other limit.
  [[nodiscard]] Limit limit() const {
    return {.question = {.budget = options.question.budget, .objective = options.question.objective}};
  }
  [[nodiscard]] double price(const ChoiceModel& kernel) const {
    return options.question.objective == Objective::kEnergy ? kernel.joules : kernel.seconds;
  }
};

// E0300 a budget of nothing. `graph` and `options` outlive the task.
[[nodiscard]] Result<Task> ask(const CostGraph& graph, const PlanOptions& options, const char* name);

// The stream's plan: offsets within the budget, exact figures; no bound. E0302 with the exact figures where the stream
// does not fit or misses the deadline; `published` says what the method's own account leaves out ("": nothing).
[[nodiscard]] Result<Plan> answer(const Task& task, const std::vector<Event>& events,
                                  const std::string& published = "");

// The plan of a schedule: its stream as complete() of schedule.h gives it. E0302 as above.
[[nodiscard]] Result<Plan> plan_schedule(const Task& task, const std::vector<Action>& actions,
                                         const std::string& published = "");

// The plan of a policy: its stream is the simulator's. E0302 as above.
[[nodiscard]] Result<Plan> plan_policy(const Task& task, const Policy& policy);

// E0302: the method has no schedule for this budget.
[[nodiscard]] Failure no_schedule(const Task& task, std::string why);
// E0304: the method is not made for this task.
[[nodiscard]] Failure does_not_apply(const Task& task, std::string why);

}  // namespace pantoum::plan::baseline
