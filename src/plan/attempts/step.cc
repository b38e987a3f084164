// Plans of a step where transfers take time of the threads that compute, which a plan's own time does not tell (semantics.md).
#include <algorithm>
#include <cmath>

#include "check/claims.h"
#include "check/replay.h"
#include "plan/attempts/attempts.h"
#include "plan/realize/predict.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

// The plan's instructions as an answer to the question, with these costs; none where they are no such plan. Nothing is
// proved of it yet.
std::optional<Plan> as_answer(const Plan& plan, const CostGraph& costs, const Question& question) {
  Plan made = plan;
  made.graph = costs;
  made.question = question;
  made.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  made.bound = {}, made.certificate.reset(), made.lines.clear();
  made.status = Status::kFeasible, made.gap = 1;
  const Result<check::Found> found = check::replay(made.graph, made);
  if (!found) return std::nullopt;
  made.predicted = {found->peak_bytes, found->arena_bytes, found->time_s, found->energy_j};
  return check::judge(made) ? std::optional(made) : std::nullopt;
}

// With the bound of another plan of the same costs, for which no deadline was asked: a bound of all plans is one of those
// in time. None: the plan is not in time, or the bound is of another order.
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

// A link on which a second of the engine that transfers take costs as much as one of the step.
Link priced(const Link& link, const StorageTimes::Engine& engine) {
  constexpr double kSlower = 4;    // that a small transfer may pass for, so that its joules are what it takes
  constexpr double kSmall = 4096;  // bytes: a block
  Link made = link;
  const double small_s = link.latency_s + kSmall / link.bytes_per_s;
  made.w = std::max(engine.per_byte * link.bytes_per_s, engine.fixed / (kSlower * small_s));
  if (made.w > 0) made.latency_s = std::max(link.latency_s, engine.fixed / made.w);
  return made;
}

// The graph with joules that are the seconds which its transfers take from the engine, and nothing else.
void price_transfers(const StorageTimes& storage, CostGraph& graph) {
  graph.device.pager = storage.pager;
  graph.device.pager.in = priced(storage.pager.in, storage.in);
  graph.device.pager.out = priced(storage.pager.out, storage.out);
  graph.device.idle_w = 0;
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

  // Nothing may be worse than the start, by a plan's own time.
  Result<void> plan_from_start() {
    const Step given = step_;
    const Result<void> found = plan_best_graph(step_, asked_, asked_.options, infeasible_);
    if (found || !asked_.by_time() || !asked_.options.question.deadline) return found;
    step_ = given;  // the start is late, which says nothing of others
    return plan_by_expected_time();
  }

  // Plans were made with transfers held back, so that steps hide few of them. Where the step waits for transfers all the
  // same, it is planned again with what they take then, from the plan that is there: the one that is expected to be worth
  // more is the answer.
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

  // The least time where transfers take the engine's as well: first the sum of both is planned, with seconds of the engine in
  // the place of joules, then the question that was asked, from that plan on. Of both plans the one whose step is expected to
  // be shorter is the answer, with the second's bound. Neither is asked for a deadline: the least time is what keeps one. Where
  // no plan of them does, the question is asked with it, of all graphs.
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

  // The graphs of plans that were found with other costs get their own back.
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
