// Plans a step on machines where transfers slow the computing threads down, which a plan's own time does not include (semantics.md).
#include <algorithm>

#include "check/claims.h"
#include "check/replay.h"
#include "plan/attempts/attempts.h"
#include "plan/realize/realize.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

// Evaluates the plan's instructions again with these costs, for this question. Returns nothing where they are no valid plan
// for it. The result has no bound yet.
std::optional<Plan> as_answer(const Plan& plan, const CostGraph& costs, const Question& question) {
  Plan made = without_proof(plan);
  made.graph = costs;
  made.question = question;
  made.predicted = problem::kNothingPredicted;
  const Result<check::Found> found = check::replay(made.graph, made);
  if (!found) return std::nullopt;
  made.predicted = {found->peak_bytes, found->arena_bytes, found->time_s, found->energy_j};
  return check::judge(made) ? std::optional(made) : std::nullopt;
}

// Gives the plan the bound of another plan of the same costs that was asked without a deadline: a bound of all plans also holds
// for those that meet the deadline. Returns nothing where the plan misses the deadline, or where the bound is of another order.
std::optional<Plan> with_bound_of(const Plan& bounded, const Plan& plan, std::optional<Seconds> deadline) {
  Question question = bounded.question;
  question.deadline = deadline;
  std::optional<Plan> made = as_answer(plan, bounded.graph, question);
  if (!made) return std::nullopt;
  made->asked_gap = bounded.asked_gap, made->bound = bounded.bound;
  made->certificate = bounded.certificate, made->lines = bounded.lines;
  const double value = value_of(*made), bound = bounded.bound.time_s.value_or(0);
  made->gap = value > 0 ? std::clamp((value - bound) / value, 0.0, 1.0) : 0;
  made->status = made->gap <= made->asked_gap ? Status::kOptimal : Status::kFeasible;
  return check::judge(*made) ? made : std::nullopt;
}

// Returns the link with its power set so that each joule stands for one second that a transfer takes from the engine.
Link priced(const Link& link, const StorageTimes::Engine& engine) {
  // A small transfer may count as so many times slower, so that its joules equal its seconds of the engine.
  constexpr double kSlower = 4;
  constexpr double kSmall = 4096;  // bytes: a block
  Link made = link;
  const double small_s = link.latency_s + kSmall / link.bytes_per_s;
  made.w = std::max(engine.per_byte * link.bytes_per_s, engine.fixed / (kSlower * small_s));
  if (made.w > 0) made.latency_s = std::max(link.latency_s, engine.fixed / made.w);
  return made;
}

// The graph whose joules are the seconds that transfers take from the engine; nothing else has joules.
void price_transfers(const StorageTimes& storage, CostGraph& graph) {
  graph.device.pager = storage.pager;
  graph.device.pager.in = priced(storage.pager.in, storage.in);
  graph.device.pager.out = priced(storage.pager.out, storage.out);
  graph.device.idle_w = 0;
  graph.device.engines = {{.name = graph.device.engines.front().name}};
  for (Op& op : graph.ops)
    for (Choice& choice : op.choices) choice.energy_j = 0;
}

class StepPlanner {
 public:
  StepPlanner(Step& step, const Asked& asked, Infeasible* infeasible)
      : step_(step), asked_(asked), infeasible_(infeasible), time_(asked.options.time_limit) {}

  Result<void> run() {
    PlanOptions options = asked_.options;
    if (!step_.storage || asked_.planner.name != kOwnPlanner)
      return plan_best_graph(step_, asked_, options, infeasible_);
    if (options.warm_start != nullptr) return plan_from_start();
    if (asked_.by_time()) return plan_by_expected_time();
    if (options.question.deadline) return plan_best_graph(step_, asked_, options, infeasible_);
    options.time_limit = time_.for_attempt(Attempt::kHeldBackTransfers);
    PANTOUM_TRY(plan_best_graph(step_, asked_, options, infeasible_));
    plan_as_waited_for();
    return {};
  }

 private:
  Plan& training_plan(Step& step) const { return step.programs.front().plan; }
  PlanOptions rest(const Plan* start = nullptr) const {
    PlanOptions options = asked_.options;
    options.time_limit = time_.rest(), options.warm_start = start;
    options.goes_on = options.goes_on || start != nullptr;
    return options;
  }

  std::optional<double> expected_value(const Plan& plan) const {
    const std::optional<Predicted> found = expected(*step_.storage, plan);
    if (!found) return std::nullopt;
    Plan as_expected = plan;
    as_expected.predicted = *found;
    return asked_.value_of(as_expected);
  }

  // Plans from the start. By a plan's own time, the answer may not be worse than the start.
  Result<void> plan_from_start() {
    const Step given = step_;
    const Result<void> found = plan_best_graph(step_, asked_, asked_.options, infeasible_);
    if (found || !asked_.by_time() || !asked_.options.question.deadline) return found;
    step_ = given;  // the start is late, which says nothing of others
    return plan_by_expected_time();
  }

  // The plans assume that steps hide few transfers. If the step still waits for transfers, it is planned again with the times
  // that they really take, starting from the current plan. The plan with the better expected value is the answer.
  void plan_as_waited_for() {
    constexpr double kLeastWait = 0.02;  // of the step
    const Plan first = training_plan(step_);
    if (asked_.options.stop.stop_requested()) return;
    const std::optional<Predicted> waiting = expected(*step_.storage, first, false);
    if (!waiting || waiting->time_s > first.predicted.time_s * (1 - kLeastWait)) return;
    Step again = step_;
    for (Program& program : again.programs) program.graph.device.pager = step_.storage->pager;
    Infeasible none;
    if (!plan_programs(again, asked_, rest(&first), nullptr, &none)) return;
    const std::optional<double> before = expected_value(first), after = expected_value(training_plan(again));
    if (before && after && *after <= *before) step_ = std::move(again);
  }

  // Minimizes the time of a step whose transfers also take time of the engine. The first search minimizes step time plus engine
  // time, with seconds of the engine in the place of joules. The second asks the question itself and starts from that plan. The
  // plan whose step is expected to be shorter is the answer, with the bound of the second. Neither search has the deadline, since
  // the shortest plan is the likeliest to meet it. If no plan meets it, all graphs are searched with the deadline.
  Result<void> plan_by_expected_time() {
    PlanOptions of_sum = rest();
    const std::optional<Seconds> deadline = of_sum.question.deadline;
    of_sum.question.objective = Objective::kWeighted;
    of_sum.question.weights = {.joule = 1, .second = 1};
    of_sum.question.deadline.reset();
    of_sum.time_limit = time_.for_attempt(Attempt::kSumWithEngine);
    Step made = step_;
    for (Program& program : made.programs) price_transfers(*step_.storage, program.graph);
    for (Candidate& each : made.candidates) price_transfers(*step_.storage, each.graph);
    Infeasible none;
    if (!plan_best_graph(made, asked_, of_sum, &none)) return plan_best_graph(step_, asked_, rest(), infeasible_);
    const Plan shortest = training_plan(made);
    take_back_costs(made);
    const CostGraph costs = made.programs.front().graph;
    const auto take = [&](const Plan& plan) {  // with the other programs beside it
      Step kept = made;
      if (!plan_programs(kept, asked_, rest(), &plan, &none)) return false;
      step_ = std::move(kept);
      return true;
    };
    PlanOptions without = rest(&shortest);
    without.question.deadline.reset();
    std::vector<std::optional<Plan>> answers;  // the best first
    bool whole = false;                        // the second plan is an answer as it is, with its other programs
    if (plan_programs(made, asked_, without, nullptr, &none)) {
      const Plan second = training_plan(made);
      const std::optional<Plan> other = with_bound_of(second, shortest, deadline);
      if (other && expected_value(*other) < expected_value(second)) answers.push_back(other);
      if (deadline) answers.push_back(with_bound_of(second, second, deadline));
      whole = !deadline;
    } else {
      answers.push_back(as_answer(shortest, costs, asked_.options.question));
    }
    for (const std::optional<Plan>& answer : answers)
      if (answer && take(*answer)) return {};
    if (!whole) return plan_best_graph(step_, asked_, rest(), infeasible_);
    step_ = std::move(made);
    return {};
  }

  // The graphs that were given other costs for planning get their own costs back.
  void take_back_costs(Step& made) const {
    for (size_t program = 0; program < made.programs.size(); ++program)
      made.programs[program].graph = step_.programs[program].graph;
    if (made.chosen) made.programs.front().graph = step_.candidates[*made.chosen].graph;
  }

  Step& step_;
  const Asked& asked_;
  Infeasible* const infeasible_;
  const TimeLimit time_;
};

}  // namespace

std::optional<Predicted> expected(const StorageTimes& storage, const Plan& plan, bool taken) {
  CostGraph graph = plan.graph;
  graph.device.pager = taken ? storage.delayed : storage.pager;
  EngineSeconds of_engine;
  if (taken) of_engine = [&](bool out, Bytes bytes) { return (out ? storage.out : storage.in).of(bytes); };
  return predict(graph, plan, of_engine);
}

void choose_storage_times(Step& step, const Asked& asked) {
  if (!step.storage) return;
  const Pager& truly = step.storage->pager;
  const auto same = [](const Link& a, const Link& b) {
    return a.latency_s == b.latency_s && a.bytes_per_s == b.bytes_per_s;
  };
  const Plan* start = asked.options.warm_start;
  const bool begun_with_them = start != nullptr && same(start->graph.device.pager.in, truly.in) &&
                               same(start->graph.device.pager.out, truly.out);
  if (!asked.by_time() && !begun_with_them) return;
  for (Program& program : step.programs) program.graph.device.pager = truly;
  for (Candidate& each : step.candidates) each.graph.device.pager = truly;
}

Result<void> plan_step(Step& step, const Asked& asked, Infeasible* infeasible) {
  const TimeLimit time(asked.options.time_limit);
  PANTOUM_TRY(StepPlanner(step, asked, infeasible).run());
  if (asked.options.effort == 0) step.programs.front().plan.solver_seconds = time.elapsed();
  return {};
}

}  // namespace pantoum::plan
