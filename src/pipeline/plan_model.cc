#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/units.h"
#include "check/claims.h"
#include "check/refusal.h"
#include "check/replay.h"
#include "pipeline/objective_search.h"
#include "pipeline/pipeline.h"
#include "pipeline/planners.h"
#include "pipeline/request_json.h"
#include "pipeline/step_deadline.h"
#include "plan/planner.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"

namespace pantoum::pipeline {
namespace {

using problem::Bytes;
using problem::CostGraph;

constexpr double kShareOfHeldBack = 0.75;  // of the time limit; the rest plans what waits for transfers again

// What is in RAM when a step starts, packed at the bottom of the arena: what is pinned first, then the batch. Training
// has more freedom without, but may scatter them so that the evaluation does not fit; packed, both have the rest of
// the arena in one piece.
std::map<int64_t, Bytes> pack_start(const CostGraph& graph) {
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  const Bytes align = std::max<Bytes>(1, graph.device.align_bytes);
  for (const bool pinned : {true, false}) {
    for (const problem::Tensor& tensor : graph.tensors) {
      if (tensor.start != problem::Home::kRam || tensor.pinned != pinned) continue;
      at[tensor.id] = top;
      top += (tensor.bytes + align - 1) / align * align;
    }
  }
  return at;
}

std::map<std::string, Bytes> by_name(const CostGraph& graph, const std::map<int64_t, Bytes>& at) {
  std::map<std::string, Bytes> named;
  for (const problem::Tensor& tensor : graph.tensors)
    if (const auto found = at.find(tensor.id); found != at.end()) named[tensor.name] = found->second;
  return named;
}

// The offsets that another program inherits from the training step.
std::map<int64_t, Bytes> inherited(const CostGraph& program, const std::map<std::string, Bytes>& named) {
  std::map<int64_t, Bytes> at;
  for (const problem::Tensor& tensor : program.tensors) {
    if (tensor.start != problem::Home::kRam) continue;
    if (const auto found = named.find(tensor.name); found != named.end()) at[tensor.id] = found->second;
  }
  return at;
}

// A plan of another graph, of the same structure and other sizes, is a start where it is a plan of this one too.
bool is_start(const problem::Plan& given, const CostGraph& graph, const problem::Question& question) {
  if (problem::structure_hash(given.graph) != problem::structure_hash(graph)) return false;
  problem::Plan start = given;
  start.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  start.bound = {};
  return check::replay(graph, start, question).has_value();
}

// By Pantoum's own planner, or by one of the literature's.
Result<problem::Plan> make_plan(const PlanRequest& request, const CostGraph& graph, plan::PlanOptions options,
                                plan::Infeasible* infeasible) {
  PANTOUM_ASSIGN(const std::vector<NamedPlanner> named, planners_named({request.planner}));
  if (options.warm_start != nullptr && !is_start(*options.warm_start, graph, options.question))
    options.warm_start = nullptr;
  const plan::PlanMaker& make = named.front().plan;
  if (request.expression.empty()) return make(graph, options, infeasible);
  PANTOUM_ASSIGN(const auto expression, ObjectiveExpression::parse(request.expression, "--objective"));
  return plan_by_slopes(expression, graph, options, infeasible, make);
}

Result<problem::Plan> training_plan(const PlanRequest& request, const CostGraph& graph,
                                    const plan::PlanOptions& options, const problem::Plan* reuse,
                                    plan::Infeasible* infeasible) {
  if (reuse == nullptr) return make_plan(request, graph, options, infeasible);
  if (problem::structure_hash(graph) != problem::structure_hash(reuse->graph))
    return fail("E0231", "the plan was made for another training step", "--plan",
                "plan again with the same model, batch, loss, optimizer, frozen parameters, device and threads");
  return *reuse;
}

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

// What is asked for all programs of a network together.
struct Question {
  Compiled& compiled;
  const PlanRequest& request;
  const plan::PlanOptions& options;
  Patience patience{options.time_limit};
};

// The training step's own programs first, because they keep its limits.
std::vector<Program*> others_in_order(Programs& programs) {
  std::vector<Program*> others;
  for (const bool backward : {true, false})
    for (size_t other = 1; other < programs.size(); ++other)
      if (programs[other].kind.backward == backward) others.push_back(&programs[other]);
  return others;
}

// Plans training with these options, or takes `reuse`; the others find parameters and batch where training leaves them.
Result<void> plan_all(const Question& asked, plan::PlanOptions options, const problem::Plan* reuse,
                      plan::Infeasible* infeasible) {
  Program& training = asked.compiled.training();
  options.time_limit = asked.patience.next();
  PANTOUM_ASSIGN(training.plan, training_plan(asked.request, training.cost.graph, options, reuse, infeasible));
  std::map<std::string, Bytes> places = by_name(training.cost.graph, training.plan.initial);
  options.warm_start = nullptr;
  options.question.budget = training.plan.question.budget_bytes();
  for (Program* program : others_in_order(asked.compiled.programs)) {
    if (!program->kind.backward) options.question.deadline.reset(), options.question.energy_limit.reset();
    options.time_limit = asked.patience.next();
    options.fixed_initial = inherited(program->cost.graph, places);
    plan::Infeasible none;
    Result<problem::Plan> plan = plan::make_plan(program->cost.graph, options, &none);
    if (!plan && infeasible != nullptr) infeasible->refusal = std::move(none.refusal);
    PANTOUM_ASSIGN(program->plan, std::move(plan));
    places.merge(by_name(program->cost.graph, program->plan.initial));  // the model's inputs
  }
  return {};
}

// The checker has the last word on what is proved impossible too.
Result<void> check_infeasibility(const plan::Infeasible& infeasible) {
  if (!infeasible.refusal) return {};
  if (const Result<double> proved = check::check_refusal(*infeasible.refusal); !proved)
    return fail("E0001", "the planner refused with a proof that the checker rejects: " + proved.error().message,
                proved.error().where,
                "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
  return {};
}

// The state lies as in the plan of the smallest budget, so that a budget that was once named is enough.
bool plan_from_least_budget(const Question& asked) {
  Program& training = asked.compiled.training();
  problem::Question question = asked.options.question;
  question.budget = question.budget_bytes();
  plan::PlanOptions options = asked.options;
  options.question.budget = 1;
  options.time_limit = asked.patience.next();
  plan::Infeasible least;
  if (plan::make_plan(training.cost.graph, options, &least)) return false;
  if (!least.min_plan || least.min_ram_bytes > *question.budget || least.without_limits) return false;
  if (!plan_all(asked, asked.options, &*least.min_plan, nullptr)) return false;
  training.plan.question.budget = question.budget;
  training.plan.question.deadline = question.deadline;
  training.plan.question.energy_limit = question.energy_limit;
  return true;
}

// A plan that was read from a file is the user's to mend, whatever is wrong with it.
Result<void> check_given(const CostGraph& graph, const problem::Plan& given) {
  if (problem::structure_hash(graph) != problem::structure_hash(given.graph)) return {};  // training_plan tells
  const Result<check::Found> found = check::replay(graph, given);
  if (found) return {};
  const Error& wrong = found.error();
  return fail(wrong.code, "the plan that was given is none: " + wrong.message, wrong.where, "plan again", wrong.notes);
}

// A plan of the same step keeps the seconds and joules that it was planned with: its prediction, bound and limits are of
// them, and what was measured since would refute them all.
void take_costs_of(const CostGraph& given, CostGraph& graph) {
  if (problem::structure_hash(graph) != problem::structure_hash(given)) return;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    for (size_t choice = 0; choice < graph.ops[op].choices.size(); ++choice) {
      const problem::Choice& from = given.ops[op].choices[choice];
      graph.ops[op].choices[choice].time_s = from.time_s;
      graph.ops[op].choices[choice].energy_j = from.energy_j;
    }
  }
  graph.device.pager.in = given.device.pager.in;
  graph.device.pager.out = given.device.pager.out;
  graph.device.idle_w = given.device.idle_w;
  graph.device.costs_of = given.device.costs_of;
}

// Training's state lies where training's plan is best, if the other programs fit as well; else packed; else as in the
// plan of the smallest budget.
Result<void> find_plans(const Question& asked, const problem::Plan* reuse, plan::Infeasible* infeasible) {
  if (reuse != nullptr) PANTOUM_TRY(check_given(asked.compiled.training().cost.graph, *reuse));
  plan::Infeasible answer;
  Result<void> all = plan_all(asked, asked.options, reuse, &answer);
  if (all || reuse != nullptr) return all;
  if (!answer.min_plan || !plan_all(asked, asked.options, &*answer.min_plan, nullptr)) {
    plan::PlanOptions packed = asked.options;
    packed.fixed_initial = pack_start(asked.compiled.training().cost.graph);
    plan::Infeasible packed_answer;
    Result<void> again = plan_all(asked, packed, nullptr, &packed_answer);
    if (again || asked.request.planner != kOwnPlanner) return again;
    if (asked.options.effort > 0 || !asked.patience.over()) all = std::move(again), answer = std::move(packed_answer);
    if (plan_from_least_budget(asked)) return {};
  }
  PANTOUM_TRY(check_infeasibility(answer));
  if (infeasible != nullptr) *infeasible = std::move(answer);
  return all;
}

// A deadline that is refused is refused by somebody's times: whose they are decides what the refusal is worth.
// The planner knows nothing of what was taken off the budget.
Error with_reserve(Error error, Bytes reserve) {
  const bool none_fits = error.code == "E0301" || error.code == "E0302";
  if (none_fits && reserve > 0)
    error.notes.push_back(fmt::format(
        "all these figures are of what the reserve (with batches made ahead) leaves: add {} to them for the whole RAM",
        base::show_bytes(reserve)));
  return error;
}

Error with_source_of_times(Error error, const plan::Infeasible& infeasible, const problem::Device& device) {
  const bool by_time = infeasible.refusal && infeasible.refusal->of == problem::Objective::kTime;
  const std::string source = device.costs_of.empty() ? "modelled by profile " + device.name : device.costs_of;
  if (error.code == "E0301" && by_time) error.message += fmt::format(", by times that are {}", source);
  return error;
}

// What a planned program is worth to the request.
double value_of_plan(const problem::Plan& plan, const PlanRequest& request) {
  if (request.expression.empty()) return problem::value_of(plan);
  const auto expression = ObjectiveExpression::parse(request.expression, "--objective");
  return expression ? expression->at(plan.predicted).value : problem::value_of(plan);
}

// The graph whose best plan in the budget costs least, among the first and those that cost less where RAM is unlimited.
Result<void> find_best_plans(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                             const problem::Plan* reuse, plan::Infeasible* infeasible) {
  if (reuse != nullptr || compiled.alternatives.empty())
    return find_plans({compiled, request, options}, reuse, infeasible);
  constexpr double kShareOfFirst = 0.6;
  plan::PlanOptions part = options;
  part.time_limit *= kShareOfFirst;
  Patience patience(options.time_limit);
  Result<void> answer = find_plans({compiled, request, part}, nullptr, infeasible);
  std::optional<double> best;
  if (answer) best = value_of_plan(compiled.training().plan, request);
  std::vector<Alternative> alternatives = std::move(compiled.alternatives);
  compiled.alternatives.clear();
  for (size_t at = 0; at < alternatives.size() && !options.stop.stop_requested(); ++at) {
    if (best && alternatives[at].least >= *best) continue;
    part.time_limit = patience.next() / static_cast<double>(alternatives.size() - at);
    Compiled other = compiled;
    other.training() = std::move(alternatives[at].program);
    other.made_by = std::move(alternatives[at].made_by);
    other.remakes = alternatives[at].remakes;
    plan::Infeasible none;
    Result<void> found = find_plans({other, request, part}, nullptr, &none);
    if (found) {
      const double value = value_of_plan(other.training().plan, request);
      if (best && !(value < *best)) continue;
      best = value;
      compiled = std::move(other);
    } else if (!best && says_less(found.error(), none, answer.error(), *infeasible)) {
      answer = std::move(found), *infeasible = std::move(none);
    }
  }
  return best ? Result<void>() : answer;
}

// A plan with transfers as a step finds them that waits for them; its bound is of others.
std::optional<problem::Plan> as_waited_for(const Compiled& compiled, const problem::Plan& plan) {
  problem::Plan waiting = plan;
  waiting.graph.device.pager = *compiled.waited_for;
  waiting.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  waiting.bound = {};
  const Result<check::Found> found = check::replay(waiting.graph, waiting);
  if (!found) return std::nullopt;
  waiting.predicted.time_s = found->time_s, waiting.predicted.energy_j = found->energy_j;
  return waiting;
}

// Its worth with what its transfers take of the processor, by the true figures of the storage.
std::optional<double> expected_value(const Compiled& compiled, const problem::Plan& plan, const PlanRequest& request) {
  std::optional<problem::Plan> waiting = as_waited_for(compiled, plan);
  if (!waiting) return std::nullopt;
  waiting->predicted.time_s += compiled.storage->taken_by(plan);
  return value_of_plan(*waiting, request);
}

// Plans were made with transfers held back, so that steps hide few of them. Where the step waits for transfers all the
// same, it is planned again with what they take then, from the plan that is there: the one that is expected to be worth
// more is the answer. Deadlines keep to the figures that are on the safe side.
void plan_as_waited_for(Compiled& compiled, const PlanRequest& request, plan::PlanOptions options) {
  constexpr double kLeastWait = 0.02;  // of the step
  const problem::Plan first = compiled.training().plan;
  if (!compiled.waited_for || options.question.deadline || options.stop.stop_requested()) return;
  const std::optional<problem::Plan> waiting = as_waited_for(compiled, first);
  if (!waiting || waiting->predicted.time_s > first.predicted.time_s * (1 - kLeastWait)) return;
  Compiled again = compiled;
  for (Program& program : again.programs) program.cost.graph.device.pager = *compiled.waited_for;
  options.warm_start = &first;
  plan::Infeasible none;
  if (!find_plans({again, request, options}, nullptr, &none)) return;
  const std::optional<double> before = expected_value(compiled, first, request);
  const std::optional<double> after = expected_value(compiled, again.training().plan, request);
  if (before && after && *after <= *before) compiled = std::move(again);
}

}  // namespace

problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan) {
  problem::Seconds seconds = plan.predicted.time_s;
  if (compiled.waited_for)
    if (const auto waiting = as_waited_for(compiled, plan)) seconds = waiting->predicted.time_s;
  return compiled.storage ? seconds + compiled.storage->taken_by(plan) : seconds;
}

Result<check::Found> checked(const CostGraph& graph, const problem::Plan& plan, const std::string& what) {
  problem::Plan whole = plan;
  whole.graph = graph;
  const Result<check::Judgement> judged = check::judge(whole);
  if (!judged)
    return fail(
        "E0001", fmt::format("the planner made a {} plan that the checker rejects: {}", what, judged.error().message),
        judged.error().where, "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
  return judged->found;
}

Result<problem::Predicted> unplanned_step(const CostGraph& graph, const PlanRequest& request) {
  const bool in_place = request.options.question.freedoms.in_place;
  PANTOUM_ASSIGN(const problem::Plan plan, plan::unplanned(graph, {.question = {.freedoms = {.in_place = in_place}}}));
  return plan.predicted;
}

Result<plan::PlanOptions> planner_options(const CostGraph& graph, const PlanRequest& request,
                                          const problem::Predicted& unplanned) {
  plan::PlanOptions options = request.options;
  if (!options.question.budget) options.question.budget = graph.device.ram_bytes;
  Bytes& budget = *options.question.budget;
  if (request.reserve >= budget)
    return fail("E0300", fmt::format("nothing is left of {} after the reserve", base::show_bytes(budget)), "--reserve",
                "give more --ram");
  budget -= request.reserve;
  std::optional<double>& deadline = options.question.deadline;
  const auto not_after = [&](double seconds) { deadline = std::min(deadline.value_or(seconds), seconds); };
  if (request.deadline.seconds) deadline = request.deadline.seconds;
  if (request.deadline.relative) not_after(*request.deadline.relative * unplanned.time_s);
  if (request.deadline.training) {
    PANTOUM_ASSIGN(const double seconds, step_deadline(*request.deadline.training, request.length));
    not_after(seconds);
  }
  return options;
}

int64_t batch_of(const Compiled& compiled) {
  const ir::Graph& graph = compiled.training().graph;
  if (graph.inputs.empty() || graph.value(graph.inputs.front()).type.shape.empty()) return 0;
  return graph.value(graph.inputs.front()).type.shape.front();
}

// A plan names the kernels that it was made for: "auto" may be others where it is run.
PlanRequest with_named_kernels(PlanRequest request, const host::KernelSet& kernels) {
  using Choice = host::KernelSet::Choice;
  if (request.device == "host" && request.kernels == Choice::kAuto)
    request.kernels = kernels.back_end() != nullptr ? Choice::kOneDnn : Choice::kPortable;
  return request;
}

Result<void> plan_model(Compiled& compiled, const PlanRequest& request, const problem::Plan* reuse,
                        plan::Infeasible* infeasible, const Dump& dump) {
  const CostGraph& first = compiled.training().cost.graph;
  if (reuse != nullptr) take_costs_of(reuse->graph, compiled.training().cost.graph);
  PANTOUM_ASSIGN(compiled.unplanned, unplanned_step(first, request));
  PlanRequest sized = request;
  sized.length.batch = batch_of(compiled);

  // Keep, drop, recompute or page every tensor, inside the budget.
  PANTOUM_ASSIGN(plan::PlanOptions options, planner_options(first, sized, compiled.unplanned));
  options.time_limit = std::max(0.0, options.time_limit - compiled.measuring_s);
  plan::Infeasible none;
  const bool plans_again = compiled.waited_for.has_value() && reuse == nullptr;
  const double limit = options.time_limit;
  if (plans_again) options.time_limit *= kShareOfHeldBack;
  const Result<void> found = find_best_plans(compiled, request, options, reuse, &none);
  options.time_limit = limit * (1 - kShareOfHeldBack);
  if (found && plans_again) plan_as_waited_for(compiled, request, options);
  if (infeasible != nullptr) *infeasible = none;
  Program& training = compiled.training();
  if (!found)
    return Failure(
        with_reserve(with_source_of_times(found.error(), none, training.cost.graph.device), request.reserve));
  if (dump) dump("plan", base::ascii_json(problem::to_json(training.plan), 1));
  training.plan.model = model_json(compiled.model);
  PlanRequest told = with_named_kernels(request, *compiled.kernels);
  told.rewrite.substitutions = compiled.made_by;
  told.rewrite.remake = compiled.remakes;
  told.rewrite.attention = compiled.attention;
  training.plan.request = request_json(told);
  for (Program& program : compiled.programs) {
    const bool given = reuse != nullptr && &program == &training;  // it must hold; what it says of its bound is its own
    PANTOUM_ASSIGN(program.found, given ? check::replay(program.cost.graph, program.plan)
                                        : checked(program.cost.graph, program.plan, program.kind.words));
  }
  return {};
}

Result<PlannedGraph> plan_cost_graph(const CostGraph& graph, const PlanRequest& request, plan::Infeasible* infeasible) {
  PlannedGraph planned;
  PANTOUM_ASSIGN(planned.unplanned, unplanned_step(graph, request));
  PANTOUM_ASSIGN(const plan::PlanOptions options, planner_options(graph, request, planned.unplanned));
  plan::Infeasible none;
  Result<problem::Plan> plan = make_plan(request, graph, options, &none);
  if (!plan) {
    PANTOUM_TRY(check_infeasibility(none));
    Error error = with_reserve(with_source_of_times(std::move(plan).error(), none, graph.device), request.reserve);
    if (infeasible != nullptr) *infeasible = std::move(none);
    return Failure(std::move(error));
  }
  planned.plan = std::move(*plan);
  PANTOUM_ASSIGN(planned.found, checked(graph, planned.plan, "cost-graph"));
  return planned;
}

}  // namespace pantoum::pipeline
