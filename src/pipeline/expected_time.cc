#include "pipeline/expected_time.h"

#include <algorithm>
#include <cmath>

#include "check/claims.h"
#include "check/replay.h"
#include "pipeline/best_plans.h"
#include "pipeline/plan_programs.h"
#include "pipeline/planners.h"
#include "plan/planner.h"
#include "plan/realize/predict.h"
#include "problem/objective_values.h"

namespace pantoum::pipeline {
namespace {

using problem::Bytes;
using problem::CostGraph;

// How a step runs by the true figures of the storage; `taken`: with what transfers take of the processor.
std::optional<problem::Predicted> expected(const Compiled& compiled, const problem::Plan& plan, bool taken) {
  CostGraph graph = plan.graph;
  if (compiled.waited_for) graph.device.pager = *compiled.waited_for;
  plan::EngineSeconds of_engine;
  if (taken && compiled.storage) {
    compiled.storage->delay(graph.device.pager);
    of_engine = [&](bool out, Bytes bytes) { return compiled.storage->taken(out, bytes); };
  }
  return plan::predict(graph, plan, of_engine);
}

std::optional<double> expected_value(const Compiled& compiled, const problem::Plan& plan, const PlanRequest& request) {
  const std::optional<problem::Predicted> found = expected(compiled, plan, true);
  if (!found) return std::nullopt;
  problem::Plan as_expected = plan;
  as_expected.predicted = *found;
  return value_of_plan(as_expected, request);
}

// Plans were made with transfers held back, so that steps hide few of them. Where the step waits for transfers all the
// same, it is planned again with what they take then, from the plan that is there: the one that is expected to be worth
// more is the answer.
void plan_as_waited_for(Compiled& compiled, const PlanRequest& request, plan::PlanOptions options) {
  constexpr double kLeastWait = 0.02;  // of the step
  const problem::Plan first = compiled.training().plan;
  if (options.stop.stop_requested()) return;
  const std::optional<problem::Predicted> waiting = expected(compiled, first, false);
  if (!waiting || waiting->time_s > first.predicted.time_s * (1 - kLeastWait)) return;
  Compiled again = compiled;
  for (Program& program : again.programs) program.cost.graph.device.pager = *compiled.waited_for;
  options.warm_start = &first, options.goes_on = true;
  plan::Infeasible none;
  if (!find_plans(again, request, options, nullptr, &none)) return;
  const std::optional<double> before = expected_value(compiled, first, request);
  const std::optional<double> after = expected_value(compiled, again.training().plan, request);
  if (before && after && *after <= *before) compiled = std::move(again);
}

// What a second of the engine that transfers take costs as much as one of the step.
problem::Link priced(const problem::Link& link, const cost::LinkSample& sample) {
  constexpr double kSlower = 4;    // that a small transfer may pass for, so that its joules are what it takes
  constexpr double kSmall = 4096;  // bytes: a block
  problem::Link made = link;
  const double small_s = link.latency_s + kSmall / link.bytes_per_s;
  made.w = std::max(sample.engine_s_per_byte * link.bytes_per_s, sample.engine_s / (kSlower * small_s));
  if (made.w > 0) made.latency_s = std::max(link.latency_s, sample.engine_s / made.w);
  return made;
}

// A step's joules are the seconds that its transfers take from the engine, and nothing else.
void price_transfers(const Compiled& compiled, CostGraph& graph) {
  graph.device.pager = *compiled.waited_for;
  graph.device.pager.in = priced(compiled.waited_for->in, compiled.storage->in);
  graph.device.pager.out = priced(compiled.waited_for->out, compiled.storage->out);
  graph.device.idle_w = 0;
  for (problem::Op& op : graph.ops)
    for (problem::Choice& choice : op.choices) choice.energy_j = 0;
}

// The costs of the program that was chosen among a step's graphs.
const CostGraph& true_costs(const Compiled& asked, const Compiled& chosen) {
  for (const Alternative& each : asked.alternatives)
    if (each.made_by == chosen.made_by && each.remakes == chosen.remakes) return each.program.cost.graph;
  return asked.programs.front().cost.graph;
}

// The plan's instructions as an answer to the question, with these costs; none where they are no such plan. Nothing is
// proved of it yet.
std::optional<problem::Plan> as_answer(const problem::Plan& plan, const CostGraph& costs,
                                       const problem::Question& asked) {
  problem::Plan made = plan;
  made.graph = costs;
  made.question = asked;
  made.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  made.bound = {}, made.certificate.reset(), made.lines.clear();
  made.status = problem::Status::kFeasible, made.gap = 1;
  const Result<check::Found> found = check::replay(made.graph, made);
  if (!found) return std::nullopt;
  made.predicted = {found->peak_bytes, found->arena_bytes, found->time_s, found->energy_j};
  return check::judge(made) ? std::optional(made) : std::nullopt;
}

// With the bound of another plan of the same costs, for which no deadline was asked: a bound of all plans is one of those
// in time. None: the plan is not in time, or the bound is of another order.
std::optional<problem::Plan> with_bound_of(const problem::Plan& bounded, const problem::Plan& plan,
                                           std::optional<problem::Seconds> deadline) {
  problem::Question question = bounded.question;
  question.deadline = deadline;
  std::optional<problem::Plan> made = as_answer(plan, bounded.graph, question);
  if (!made) return std::nullopt;
  made->asked_gap = bounded.asked_gap, made->bound = bounded.bound;
  made->certificate = bounded.certificate, made->lines = bounded.lines;
  const double value = problem::value_of(*made), bound = bounded.bound.time_s.value_or(0);
  made->gap = value > 0 ? std::clamp((value - bound) / value, 0.0, 1.0) : 0;
  made->status = made->gap <= made->asked_gap ? problem::Status::kOptimal : problem::Status::kFeasible;
  return check::judge(*made) ? made : std::nullopt;
}

// The graphs of the step whose plan was found with other costs get their own back.
void take_back_costs(Compiled& made, const Compiled& asked) {
  for (size_t program = 0; program < made.programs.size(); ++program)
    made.programs[program].cost.graph = program == 0 ? true_costs(asked, made) : asked.programs[program].cost.graph;
}

// The least time where transfers take the engine's as well, which a plan's time does not tell (semantics.md): first the sum
// of both is planned, with seconds of the engine in the place of joules, then the question that was asked, from that plan
// on. Of both plans the one whose step is expected to be shorter is the answer, with the second's bound. Neither is asked
// for a deadline: the least time is what keeps one. Where no plan of them does, the question is asked with it, of all graphs.
Result<void> plan_for_expected_time(Compiled& compiled, const PlanRequest& request, plan::PlanOptions options,
                                    plan::Infeasible* infeasible) {
  constexpr double kShareOfSum = 0.75;
  const Patience patience(options.time_limit);
  plan::PlanOptions of_sum = options;
  of_sum.question.objective = problem::Objective::kWeighted;
  of_sum.question.weights = {.joule = 1, .second = 1};
  of_sum.question.deadline.reset();
  of_sum.time_limit *= kShareOfSum;
  Compiled made = compiled;
  for (Program& program : made.programs) price_transfers(compiled, program.cost.graph);
  for (Alternative& each : made.alternatives) price_transfers(compiled, each.program.cost.graph);
  plan::Infeasible none;
  const bool begun = find_best_plans(made, request, of_sum, &none).has_value();
  options.time_limit = patience.next();
  if (!begun) return find_best_plans(compiled, request, options, infeasible);
  const problem::Plan shortest = made.training().plan;
  take_back_costs(made, compiled);
  const CostGraph costs = made.training().cost.graph;
  const auto take = [&](const problem::Plan& plan) {  // with the other programs beside it
    Compiled kept = made;
    options.time_limit = patience.next(), options.warm_start = nullptr;
    if (!find_plans(kept, request, options, &plan, &none)) return false;
    compiled = std::move(kept);
    return true;
  };
  const std::optional<problem::Seconds> deadline = options.question.deadline;
  plan::PlanOptions without = options;
  without.question.deadline.reset();
  without.warm_start = &shortest, without.goes_on = true;
  std::vector<std::optional<problem::Plan>> answers;  // the best first
  bool whole = false;                                 // with its other programs, the second is an answer as it is
  if (find_plans(made, request, without, nullptr, &none)) {
    const problem::Plan second = made.training().plan;
    const std::optional<problem::Plan> other = with_bound_of(second, shortest, deadline);
    if (other && expected_value(compiled, *other, request) < expected_value(compiled, second, request))
      answers.push_back(other);
    if (deadline) answers.push_back(with_bound_of(second, second, deadline));
    whole = !deadline;
  } else {
    answers.push_back(as_answer(shortest, costs, options.question));
  }
  for (const std::optional<problem::Plan>& answer : answers)
    if (answer && take(*answer)) return {};
  if (whole) {
    compiled = std::move(made);
    return {};
  }
  options.time_limit = patience.next(), options.warm_start = nullptr;
  return find_best_plans(compiled, request, options, infeasible);
}

bool is_by_time(const PlanRequest& request) {
  const problem::Question& question = request.options.question;
  return request.expression.empty() && question.objective == problem::Objective::kTime && !question.energy_limit;
}

Result<void> plan_from_given(Compiled& compiled, const PlanRequest& request, plan::PlanOptions options,
                             plan::Infeasible* infeasible) {
  const Patience patience(options.time_limit);
  const Compiled asked = compiled;
  const Result<void> found = find_best_plans(compiled, request, options, infeasible);
  if (found || !is_by_time(request) || !options.question.deadline) return found;
  compiled = asked;  // the start is late, which says nothing of others
  options.time_limit = patience.next(), options.warm_start = nullptr;
  return plan_for_expected_time(compiled, request, options, infeasible);
}

Result<void> find_plans_of(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                           plan::Infeasible* infeasible) {
  constexpr double kShareOfHeldBack = 0.75;  // of the time limit; the rest plans what waits for transfers again
  if (!compiled.waited_for || request.settings.planner != kOwnPlanner)
    return find_best_plans(compiled, request, options, infeasible);
  if (options.warm_start != nullptr)  // than which nothing may be worse, by a plan's own time
    return plan_from_given(compiled, request, options, infeasible);
  if (is_by_time(request)) return plan_for_expected_time(compiled, request, options, infeasible);
  if (options.question.deadline) return find_best_plans(compiled, request, options, infeasible);
  const Patience patience(options.time_limit);
  plan::PlanOptions part = options;
  part.time_limit = patience.next() * kShareOfHeldBack;
  PANTOUM_TRY(find_best_plans(compiled, request, part, infeasible));
  part.time_limit = patience.next();
  plan_as_waited_for(compiled, request, part);
  return {};
}

}  // namespace

problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan) {
  const std::optional<problem::Predicted> found = expected(compiled, plan, true);
  return found ? found->time_s : plan.predicted.time_s;
}

void choose_storage_costs(Compiled& compiled, const PlanRequest& request) {
  if (!compiled.waited_for) return;
  const plan::PlanOptions& options = request.options;
  const problem::Pager& truly = *compiled.waited_for;
  const auto same = [](const problem::Link& a, const problem::Link& b) {
    return a.latency_s == b.latency_s && a.bytes_per_s == b.bytes_per_s;
  };
  const bool begun_with_them = options.warm_start != nullptr &&
                               same(options.warm_start->graph.device.pager.in, truly.in) &&
                               same(options.warm_start->graph.device.pager.out, truly.out);
  if (!is_by_time(request) && !begun_with_them) return;
  for (Program& program : compiled.programs) program.cost.graph.device.pager = truly;
  for (Alternative& each : compiled.alternatives) each.program.cost.graph.device.pager = truly;
}

Result<void> find_plans_as_expected(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                                    plan::Infeasible* infeasible) {
  const Patience patience(options.time_limit);
  PANTOUM_TRY(find_plans_of(compiled, request, options, infeasible));
  if (options.effort == 0) compiled.training().plan.solver_seconds = options.time_limit - patience.left();
  return {};
}

}  // namespace pantoum::pipeline
