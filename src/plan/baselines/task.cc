#include "plan/baselines/task.h"

#include <fmt/format.h>

#include "plan/baselines/schedule.h"
#include "plan/realize/realize.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {

Result<Question> ask(const CostGraph& graph, const PlanOptions& options, const char* name) {
  if (options.question.budget_bytes() <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const auto begin = std::chrono::steady_clock::now();
  Question question{graph, options, name, make_model(graph, options), {}, begin};
  question.choices = first_choices(question.model, options.question.objective);
  return question;
}

Result<Plan> answer(const Question& question, const std::vector<Event>& events, const std::string& published,
                    Bytes* excess) {
  const PlanOptions& options = question.options;
  const Bytes peak = peak_of(question.model, events);
  Realized realized;
  if (peak <= options.question.budget_bytes())
    realized = realize(question.graph, question.model, events, options, options.question.budget_bytes());
  if (realized.plan) {
    Plan plan = std::move(*realized.plan);
    plan.method = question.name;
    plan.solver_seconds = options.effort > 0 ? 0 : question.elapsed();
    return plan;
  }
  if (excess != nullptr) *excess = realized.excess;
  std::string why = fmt::format("its schedule needs {} bytes of RAM", peak);
  if (peak <= options.question.budget_bytes()) {
    why =
        realized.excess > 0
            ? fmt::format("its schedule needs an arena of {} bytes", options.question.budget_bytes() + realized.excess)
            : "its schedule misses the deadline, takes more energy than it may, or more storage than there is";
  }
  Failure failure = no_schedule(question, std::move(why));
  if (!published.empty()) failure.value().notes.push_back(published);
  return failure;
}

Result<Plan> plan_policy(const Question& question, const Policy& policy) {
  const PlanOptions& options = question.options;
  Simulator simulator(question.model, {.question = {.budget = options.question.budget_bytes(),
                                                    .objective = options.question.objective}});
  if (!simulator.reset(policy).sound) return no_schedule(question, "what it gives up cannot be had again");
  return answer(question, simulator.events());
}

Failure no_schedule(const Question& question, std::string why) {
  return fail(
      "E0302",
      fmt::format("{} has no plan for {} bytes: {}", question.name, question.options.question.budget_bytes(), why),
      question.graph.name, "give more --ram, or use --planner pantoum");
}

Failure does_not_apply(const Question& question, std::string why) {
  return fail("E0304", fmt::format("{} does not apply: {}", question.name, why), question.graph.name,
              "use another --planner; pantoum takes every graph");
}

}  // namespace pantoum::plan::baseline
