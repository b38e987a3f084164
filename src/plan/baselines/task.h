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

  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
  double left() const { return options.time_limit - elapsed(); }
  bool out_of_time() const { return options.stop.stop_requested() || left() <= 0; }
  const ChoiceModel& kernel(OpIndex op) const { return model.chosen(op, choices); }
  // What the simulator is asked: the budget and the objective, and no other limit.
  Limit limit() const {
    return {.question = {.budget = options.question.budget, .objective = options.question.objective}};
  }
  double price(const ChoiceModel& kernel) const {
    return options.question.objective == Objective::kEnergy ? kernel.joules : kernel.seconds;
  }
};

// E0300 a budget of nothing. `graph` and `options` outlive the task.
Result<Task> ask(const CostGraph& graph, const PlanOptions& options, const char* name);

// The stream's plan: offsets within the budget, exact figures; no bound. E0302 with the exact figures where the stream
// does not fit or misses the deadline; `published` says what the method's own account leaves out ("": nothing).
Result<Plan> answer(const Task& task, const std::vector<Event>& events, const std::string& published = "");

// The plan of a schedule: its stream as complete() of schedule.h gives it. E0302 as above.
Result<Plan> plan_schedule(const Task& task, const std::vector<Action>& actions, const std::string& published = "");

// The plan of a policy: its stream is the simulator's. E0302 as above.
Result<Plan> plan_policy(const Task& task, const Policy& policy);

// E0302: the method has no schedule for this budget.
Failure no_schedule(const Task& task, std::string why);
// E0304: the method is not made for this task.
Failure does_not_apply(const Task& task, std::string why);

// The ops that the choices need, by stage order.
std::vector<OpIndex> needed_in_order(const Task& task);

// Where forward ends and backward begins, on a graph that does not say: the stage whose end most op-made tensors cross, the
// first of those. A step makes activations until the loss and uses them up behind it. Reads by updates do not count (weight
// gradients pile up until then). 0: nothing crosses.
Stage find_forward_backward_boundary(const Task& task);

}  // namespace pantoum::plan::baseline
