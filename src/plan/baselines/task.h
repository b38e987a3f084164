// What every method starts from and ends with: the question as a model, and a stream made into a judged plan.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "plan/baselines/baseline.h"
#include "plan/simulate/event.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan::baseline {

struct Question {
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
  [[nodiscard]] const ChoiceModel& kernel(int32_t op) const {
    return model.ops[static_cast<size_t>(op)].choices[static_cast<size_t>(choices[static_cast<size_t>(op)])];
  }
  [[nodiscard]] double price(const ChoiceModel& kernel) const {
    return options.question.objective == Objective::kEnergy ? kernel.joules : kernel.seconds;
  }
};

// E0300 a budget of nothing. `graph` and `options` outlive the question.
[[nodiscard]] Result<Question> ask(const CostGraph& graph, const PlanOptions& options, const char* name);

// The stream's plan: offsets within the budget, exact figures; no bound. E0302 with the exact figures where the stream
// does not fit or misses the deadline; `published` says what the method's own account leaves out ("": nothing),
// `excess` by how many bytes the arena is too large where only the offsets do not fit.
[[nodiscard]] Result<Plan> answer(const Question& question, const std::vector<Event>& events,
                                  const std::string& published = "", Bytes* excess = nullptr);

// The plan of a policy: its stream is the simulator's. E0302 as above.
[[nodiscard]] Result<Plan> plan_policy(const Question& question, const Policy& policy);

// E0302: the method has no schedule for this budget.
[[nodiscard]] Failure no_schedule(const Question& question, std::string why);
// E0304: the method is not made for this question.
[[nodiscard]] Failure does_not_apply(const Question& question, std::string why);

}  // namespace pantoum::plan::baseline
