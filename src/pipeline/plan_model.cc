#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "artifact/compile_program.h"
#include "base/json_text.h"
#include "base/units.h"
#include "check/claims.h"
#include "check/replay.h"
#include "cost/profile_engines.h"
#include "pipeline/cluster_engines.h"
#include "pipeline/device_engine.h"
#include "pipeline/measure_machine.h"
#include "pipeline/pipeline.h"
#include "pipeline/request_json.h"
#include "pipeline/reserve.h"
#include "pipeline/slices.h"
#include "pipeline/training_data.h"
#include "plan/attempts/attempts.h"
#include "plan/engine_search.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "report/timeline.h"

namespace pantoum::pipeline {

namespace {

constexpr const char* kOption = "--finish-within";

// 0: not known.
Result<int64_t> steps_of(const PlanOptions& settings, int64_t batch) {
  if (settings.steps) return *settings.steps;
  if (!settings.epochs || !settings.samples || batch == 0) return 0;
  const int64_t steps = *settings.samples / batch;
  if (steps == 0)
    return fail("E0122", fmt::format("{} samples are less than a batch of {}", *settings.samples, batch), kOption,
                "give a smaller --batch");
  if (*settings.epochs > INT64_MAX / steps) return fail("E0122", "the training has too many steps", kOption);
  return *settings.epochs * steps;
}

}  // namespace

Result<double> step_deadline(const PlanOptions& settings, int64_t batch) {
  PANTOUM_ASSIGN(const int64_t steps, steps_of(settings, batch));
  if (steps == 0)
    return fail("E0122", "the number of steps is not known", kOption,
                "give --steps, or --epochs, --samples and --batch");
  return settings.finish_within->count() / static_cast<double>(steps);
}

namespace {

// A limit is kept rounding included (check/claims.h): a plan that takes just the time that was asked for does not miss it.
constexpr double kRounding = 1 + 1e-9;

using Clock = std::chrono::steady_clock;
using problem::Bytes;
using problem::CostGraph;

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
  graph.device.engines = given.device.engines;
  graph.device.costs_of = given.device.costs_of;
}

}  // namespace

plan::Infeasible with_reserve(plan::Infeasible known, Bytes reserve) {
  for (Bytes* bytes : {&known.min_ram_bytes, &known.min_ram_bound_bytes, &known.order_ram_bound_bytes})
    if (*bytes > 0) *bytes += reserve;
  return known;
}

namespace {

// A deadline is refused by times that are measured or modelled: which of the two decides what the refusal is worth.
Error with_source_of_times(Error error, const plan::Infeasible& infeasible, const problem::Device& device) {
  const bool by_time = infeasible.refusal && infeasible.refusal->of == problem::Objective::kTime;
  const std::string source = device.costs_of.empty() ? "modelled by profile " + device.name : device.costs_of;
  if (error.code == "E0301" && by_time) error.message += fmt::format(", by times that are {}", source);
  return error;
}

// Reports the answer as the last progress: earlier reports may be about another graph, and a quick answer has none.
void tell_of_answer(const plan::Asked& asked, const problem::Plan& plan, Clock::time_point begin) {
  if (!asked.options.progress) return;
  asked.options.progress({.elapsed = std::chrono::duration<double>(Clock::now() - begin).count(),
                          .best = asked.value_of(plan),
                          .bound = asked.formula ? 0 : bound_of(plan).value_or(0)});
}

// The storage as a step finds it; `pager`: where it was not measured as a waiting step finds it.
plan::StorageTimes storage_times(const Compiled& compiled, const problem::Pager& pager) {
  plan::StorageTimes times{.pager = compiled.waited_for.value_or(pager)};
  times.delayed = times.pager;
  compiled.storage->delay(times.delayed);
  const auto engine = [](const cost::LinkSample& link) {
    return plan::StorageTimes::Engine{link.engine_s, link.engine_s_per_byte};
  };
  times.in = engine(compiled.storage->in), times.out = engine(compiled.storage->out);
  return times;
}

// The step as the planner sees it: cost graphs.
plan::Step step_of(const Compiled& compiled) {
  plan::Step step{.worth = worth_of_another_graph(compiled)};
  for (const Program& program : compiled.programs)
    if (!(program.kind == kPredict) || compiled.gives_outputs_alone())
      step.programs.push_back({program.kind.backward, program.cost.graph, program.plan});
  for (const Alternative& each : compiled.alternatives)
    step.candidates.push_back({each.program.cost.graph, each.least, each.doubt, each.given});
  if (compiled.waited_for) step.storage = storage_times(compiled, *compiled.waited_for);
  return step;
}

// The step's plans, and the graph that they are of.
void take_plans(plan::Step& step, Compiled& compiled) {
  std::vector<Alternative> alternatives = std::exchange(compiled.alternatives, {});
  if (step.chosen) {
    Alternative& chosen = alternatives[*step.chosen];
    compiled.training() = std::move(chosen.program);
    compiled.made_by = std::move(chosen.made_by);
    compiled.remakes = chosen.remakes;
  }
  for (size_t program = 0; program < step.programs.size(); ++program) {
    compiled.programs[program].cost.graph = std::move(step.programs[program].graph);
    compiled.programs[program].plan = std::move(step.programs[program].plan);
  }
}

// Plans the outputs beside the step, whose plans stay as they are. What has no plan there is left out.
void plan_prediction(Compiled& compiled, plan::Step& step, const plan::PlanOptions& options) {
  if (compiled.gives_outputs_alone() || !(compiled.programs.back().kind == kPredict)) return;
  Program& prediction = compiled.programs.back();
  prediction.cost.graph.device.pager = step.programs.front().graph.device.pager;
  Result<problem::Plan> plan = plan::plan_beside(step, prediction.cost.graph, options);
  if (plan) {
    prediction.plan = *std::move(plan);
    return;
  }
  compiled.no_prediction = "the outputs do not fit the RAM beside what stays there between steps";
  compiled.planning_notes.push_back("predict gives nothing: " + compiled.no_prediction);
  compiled.programs.pop_back();
}

// ---- several engines ----------------------------------------------------------------------------

constexpr double kShareOnEngines = 0.5;  // of the time limit
// Of the plan of one engine: predicted steps of several were up to a tenth too short.
constexpr double kWorthSeveralEngines = 0.92;

constexpr double kShareOfMeasuringDevice = 0.4;  // of the time for several engines

// The training step's graph on the host's engines. Measures the OpenCL device among them for `seconds` at most; none: its times are assumed.
Result<cost::BuiltCostGraph> on_host_engines(Compiled& compiled, const PlanRequest& request, problem::Seconds hand_off,
                                             std::optional<problem::Seconds> seconds) {
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  PANTOUM_ASSIGN(const std::optional<DeviceAnswer> answer, ask_device(compiled, request, device, seconds));
  ClusterTimes clusters;
  if (seconds) {
    PANTOUM_ASSIGN(clusters, measure_clusters(compiled, request, device, *seconds));
  }
  cost::BuiltCostGraph built = compiled.training().cost;
  cost::add_engines(built, compiled.training().graph, device, request.engines, hand_off,
                    answer ? answer->ways : std::vector<cost::DeviceWay>(), clusters.seconds);
  if (!request.settings.gangs) PANTOUM_TRY(cost::take_out_gangs(built, request.settings.allow_numerics_change));
  return built;
}

std::string told(const cost::EngineOffer& offer, size_t ops) {
  if (offer.modelled > 0) return fmt::format("{} modelled", offer.engine);
  return fmt::format("{} measured for {} of {} ops", offer.engine, offer.measured, ops);
}

// E0117: an engine of which no time is known.
Result<cost::BuiltCostGraph> on_profile_engines(const Program& program, const PlanRequest& request,
                                                const cost::DeviceProfile& device) {
  PANTOUM_ASSIGN(const cost::EngineTimes times, engine_times_of(request, device));
  cost::BuiltCostGraph built = program.cost;
  const size_t ops = built.graph.ops.size();
  for (const cost::EngineOffer& offer :
       cost::add_profile_engines(built, program.graph, device, request.profile_engines, times)) {
    if (offer.measured + offer.modelled == 0)
      return fail("E0117", fmt::format("no time of this model's ops is known on engine '{}'", offer.engine),
                  "--engines",
                  times.has(offer.engine)
                      ? "the table has times of other ops or shapes (pantoum profile --export shows them)"
                      : "the profile gives it no flops_per_s: import a table with a column 'engine' (pantoum profile "
                        "--import), and name its store with --profile-store");
    built.graph.device.costs_of += "; " + told(offer, ops);
  }
  return built;
}

// The training step's graph on the engines that were asked for; `left`: the seconds that planning has.
Result<cost::BuiltCostGraph> on_engines(Compiled& compiled, const PlanRequest& request, problem::Seconds left) {
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  if (!device.host) return on_profile_engines(compiled.training(), request, device);
  PANTOUM_ASSIGN(const problem::Seconds hand_off, hand_off_of(request, *compiled.kernels->pool()));
  return on_host_engines(compiled, request, hand_off, kShareOfMeasuringDevice * left);
}

// Of the time limit: what planning with ops in slices has at least, where finding the slices took the rest.
constexpr double kLeastForSlices = 0.5;

Bytes widest_op(const plan::Step& step, const plan::PlanOptions& options) {
  Bytes widest = 0;
  for (const auto& program : step.programs)
    widest = std::max(widest, plan::least_working_set_bytes(program.graph, options));
  return widest;
}

bool has_limits(const plan::Asked& asked) {
  return asked.options.question.deadline || asked.options.question.energy_limit;
}

plan::Asked without_limits(plan::Asked asked) {
  asked.options.question.deadline.reset();
  asked.options.question.energy_limit.reset();
  return asked;
}

// The training step's graph on the engines that a given plan is of, with the engines of the plan's choices.
Result<void> take_engines_of(const CostGraph& given, const PlanRequest& request, Compiled& compiled) {
  Program& training = compiled.training();
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  if (!device.host) {
    (void)cost::take_profile_engines(training.cost, given);  // another step is told later
    return {};
  }
  PANTOUM_ASSIGN(cost::BuiltCostGraph built, on_host_engines(compiled, request, 0, std::nullopt));
  if (built.graph.ops.size() != given.ops.size()) return {};  // another step, which is told later
  for (size_t op = 0; op < given.ops.size(); ++op) {
    if (built.graph.ops[op].choices.size() != given.ops[op].choices.size()) return {};
    for (size_t choice = 0; choice < given.ops[op].choices.size(); ++choice)
      built.graph.ops[op].choices[choice].engines = given.ops[op].choices[choice].engines;
  }
  training.cost = std::move(built);
  return {};
}

bool uses_device(const problem::Plan& plan, const CostGraph& graph, const std::vector<cost::HostEngine>& engines) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : graph.ops) ops.emplace(op.id, &op);
  return std::ranges::any_of(plan.instructions, [&](const problem::Instruction& each) {
    if (each.what != problem::Do::kCompute) return false;
    const std::vector<std::string>& of = ops.at(each.subject)->choices[static_cast<size_t>(each.choice)].engines;
    return std::ranges::any_of(engines, [&](const cost::HostEngine& engine) {
      return engine.opencl && std::ranges::count(of, engine.name) > 0;
    });
  });
}

// Moves ops of the planned training step to other engines. The plan of one engine stays where that gains too little. Where it misses the limits of
// `asked`, only a plan that meets them takes its place: else E0302.
Result<void> plan_on_engines(Compiled& compiled, const PlanRequest& request, const plan::Asked& asked,
                             bool misses_limits, problem::Seconds left) {
  const Clock::time_point begin = Clock::now();
  PANTOUM_ASSIGN(cost::BuiltCostGraph built, on_engines(compiled, request, left));
  Program& training = compiled.training();
  plan::PlanOptions options = asked.options;
  options.question = training.plan.question;
  options.question.deadline = asked.options.question.deadline;
  options.question.energy_limit = asked.options.question.energy_limit;
  options.time_limit = std::max(0.0, left - std::chrono::duration<double>(Clock::now() - begin).count());
  PANTOUM_ASSIGN(problem::Plan plan, plan::plan_beside_one_engine(built.graph, training.plan, options));
  PANTOUM_ASSIGN(const Bytes largest, largest_arena_of(request.engines));
  if (plan.predicted.arena_bytes > largest && uses_device(plan, built.graph, request.engines)) {
    const std::string why =
        fmt::format("the OpenCL device allocates at most {} at a time, and the arena of a plan that uses it has {}",
                    base::show_bytes(largest), base::show_bytes(plan.predicted.arena_bytes));
    const std::string help = fmt::format("--ram {}B or less leaves room for a plan on the device", largest);
    if (misses_limits) return fail("E0413", why, "--engines", help);
    compiled.planning_notes.push_back(
        fmt::format("{}: every op takes all {} threads; {}", why, request.kernel_threads, help));
    return {};
  }
  const double one = asked.value_of(training.plan), several = asked.value_of(plan);
  const bool of_host = request.profile_engines.empty();
  const std::string many = of_host ? fmt::format("{} engines", request.engines.size())
                                   : fmt::format("engines {}", fmt::join(request.profile_engines, ", "));
  const std::string alone =
      of_host ? fmt::format("one engine of {} threads", request.kernel_threads) : "the processor alone";
  const double worth = of_host ? kWorthSeveralEngines : 1;  // a profile's times are no better on one engine
  if (!misses_limits && several >= worth * one) {
    plan::hold_for_both(training.plan, plan.bound);
    compiled.planning_notes.push_back(
        of_host ? fmt::format(
                      "no plan on {} was found that costs {:.0f}% less than one on all {} threads: every op takes all",
                      many, 100 * (1 - worth), request.kernel_threads)
                : fmt::format("no plan on {} was found that costs less than one on {}, which computes every op", many,
                              alone));
    return {};
  }
  compiled.planning_notes.push_back(
      misses_limits ? fmt::format("{} meet the limits, which no plan on {} was found to meet", many, alone)
                    : fmt::format("{}: {:.1f}% less {} than on {}", many, 100 * (1 - several / one),
                                  problem::name_of(options.question.objective), alone));
  plan.model = training.plan.model;
  if (!misses_limits) plan.one_engine = training.plan.predicted;
  training.plan = std::move(plan);
  training.cost = std::move(built);
  return {};
}

// Keeps model and request in a plan, so that it can be used again, with the graph that it is of: an alternative, or the
// compiled step's own.
void keep_request(problem::Plan& plan, const Compiled& compiled, PlanRequest request, const Alternative* of = nullptr) {
  // A plan names the kernels and the threads that it was made for: they may be others where it is run.
  request.settings.kernels = static_cast<Kernels>(request.kernels);
  if (request.device == "host" && request.settings.kernels == Kernels::automatic)
    request.settings.kernels = compiled.kernels->back_end() != nullptr ? Kernels::onednn : Kernels::portable;
  request.settings.threads = request.kernel_threads;
  request.rewrite.substitutions = of != nullptr ? of->made_by : compiled.made_by;
  request.rewrite.remake = of != nullptr ? of->remakes : compiled.remakes;
  request.rewrite.attention = compiled.attention;
  plan.model = model_json(compiled.model);
  plan.updates = compiled.model.updates ? base::ascii_json(updates_json(*compiled.model.updates)) : "";
  plan.request = request_json(request);
}

}  // namespace

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

Result<std::optional<problem::Seconds>> step_deadline_of(const PlanRequest& request,
                                                         const problem::Predicted& unplanned) {
  std::optional<double> deadline = request.options.question.deadline;
  const auto not_after = [&](double seconds) { deadline = std::min(deadline.value_or(seconds), seconds); };
  const PlanOptions& settings = request.settings;
  if (settings.deadline.seconds) deadline = settings.deadline.seconds->count() * kRounding;
  if (settings.deadline.relative) not_after(*settings.deadline.relative * unplanned.time_s * kRounding);
  if (settings.finish_within) {
    PANTOUM_ASSIGN(const double seconds, step_deadline(settings, request.batch));
    not_after(seconds);
  }
  return deadline;
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
  options.reserved = request.reserve;
  PANTOUM_ASSIGN(options.question.deadline, step_deadline_of(request, unplanned));
  return options;
}

int64_t batch_of(const Compiled& compiled) {
  const ir::Graph& graph = compiled.training().graph;
  if (graph.inputs.empty() || graph.value(graph.inputs.front()).type.shape.empty()) return 0;
  return graph.value(graph.inputs.front()).type.shape.front();
}

double worth_of_another_graph(const Compiled& compiled) {
  constexpr double kWorthByMeasuredTimes = 0.97;
  return compiled.measured.share > 0 ? kWorthByMeasuredTimes : 1;
}

problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan) {
  if (!compiled.storage) return plan.predicted.time_s;
  const auto found = plan::expected(storage_times(compiled, plan.graph.device.pager), plan);
  return found ? found->time_s : plan.predicted.time_s;
}

Result<void> plan_model(Compiled& compiled, const PlanRequest& original, const problem::Plan* reuse,
                        plan::Infeasible* infeasible, const Dump& dump) {
  const Clock::time_point begin = Clock::now();
  PlanRequest request = original;
  request.reserve += prefetch_bytes(original.settings.prefetch, compiled.training().graph);
  request.batch = batch_of(compiled);
  const bool of_engines = reuse != nullptr && problem::several_engines(reuse->graph.device);
  if (of_engines) PANTOUM_TRY(take_engines_of(reuse->graph, request, compiled));
  if (reuse != nullptr && problem::streams(reuse->graph))
    PANTOUM_TRY(take_slices(reuse->graph, compiled, request,
                            request.options.question.budget.value_or(reuse->graph.device.ram_bytes) - request.reserve));
  plan::Step step = step_of(compiled);
  PANTOUM_ASSIGN(plan::Asked asked, plan::asked_of(request.options, request.settings.planner, request.expression));
  const CostGraph& first = step.programs.front().graph;
  if (reuse != nullptr)
    take_costs_of(reuse->graph, step.programs.front().graph);
  else
    plan::choose_storage_times(step, asked);
  PANTOUM_ASSIGN(problem::UnplannedStep unplanned,
                 report::unplanned_step(first, request.options.question.freedoms.in_place));
  compiled.unplanned = unplanned.figures;
  problem::Predicted unplanned_as_waited_for = compiled.unplanned;
  if (compiled.waited_for && reuse == nullptr) {
    CostGraph graph = first;
    graph.device.pager = *compiled.waited_for;
    PANTOUM_ASSIGN(unplanned_as_waited_for, unplanned_step(graph, request));
  }
  // Keep, drop, recompute or page every tensor, inside the budget.
  PANTOUM_ASSIGN(asked.options, planner_options(first, request, compiled.unplanned));
  asked.options.time_limit = std::max(0.0, asked.options.time_limit - compiled.costing_s);
  const problem::Seconds whole_limit = asked.options.time_limit;
  const bool several = request.on_engines() && reuse == nullptr;
  if (several) asked.options.time_limit *= 1 - kShareOnEngines;
  std::optional<plan::Step> unlimited;
  if (several && has_limits(asked)) unlimited = step;
  plan::Infeasible none;
  std::optional<plan::Step> whole;     // before ops were offered in slices, with its graphs
  std::vector<Alternative> set_aside;  // of it
  if (reuse == nullptr && may_slice(compiled, request) && needs_slices(compiled, asked.options)) {
    whole = step;
    set_aside = std::exchange(compiled.alternatives, {});
    PANTOUM_TRY(offer_slices(compiled, request, asked.options.question.budget_bytes()));
    step = step_of(compiled);
    plan::choose_storage_times(step, asked);
    const double left = whole_limit - std::chrono::duration<double>(Clock::now() - begin).count();
    asked.options.time_limit = std::max(kLeastForSlices * whole_limit, left);
  }
  Result<void> found = reuse != nullptr ? plan::plan_programs(step, asked, asked.options, reuse, &none)
                                        : plan::plan_step(step, asked, &none);
  if (!found && whole && (found.error().code == "E0301" || found.error().code == "E0302")) {
    none.of_some_slices = true;
    plan::Infeasible of_whole;
    // Whole ops need as much as the widest of them, or more: asking for their least takes long.
    const bool may_be_less = !none.min_plan || none.min_ram_bytes > widest_op(*whole, asked.options);
    if (may_be_less && !plan::plan_step(*whole, asked, &of_whole) && of_whole.min_plan &&
        (!none.min_plan || of_whole.min_ram_bytes < none.min_ram_bytes)) {
      none.min_ram_bytes = of_whole.min_ram_bytes;
      none.min_plan = std::move(of_whole.min_plan);
      step.min_plan_of = whole->min_plan_of;
      compiled.alternatives = std::move(set_aside);
    }
    found = Failure(plan::infeasibility_report(step.programs.front().graph.name, asked.options, none));
  }
  const bool misses_limits = unlimited && !found;
  if (misses_limits) {  // several engines may meet what one misses
    step = *std::move(unlimited);
    none = {};
    found = plan::plan_step(step, without_limits(asked), &none);
  }
  if (none.min_plan)
    keep_request(*none.min_plan, compiled, request,
                 step.min_plan_of ? &compiled.alternatives[*step.min_plan_of] : nullptr);
  if (infeasible != nullptr) *infeasible = with_reserve(none, request.reserve);
  if (!found)
    return Failure(with_slices_told(with_source_of_times(found.error(), none, step.programs.front().graph.device),
                                    compiled, request, asked.options));
  plan_prediction(compiled, step, asked.options);
  take_plans(step, compiled);
  if (several) PANTOUM_TRY(plan_on_engines(compiled, request, asked, misses_limits, whole_limit * kShareOnEngines));
  Program& training = compiled.training();
  const bool as_waited_for = compiled.waited_for && reuse == nullptr &&
                             training.cost.graph.device.pager.in.latency_s == compiled.waited_for->in.latency_s;
  if (as_waited_for) compiled.unplanned = unplanned_as_waited_for;  // it is compared with the plan
  if (dump) dump("plan", base::ascii_json(problem::to_json(training.plan), 1));
  keep_request(training.plan, compiled, request);
  if (reuse != nullptr && reuse->unplanned)
    compiled.unplanned = reuse->unplanned->figures, unplanned = *reuse->unplanned;
  if (reuse != nullptr) training.plan.one_engine = reuse->one_engine;
  unplanned.figures = compiled.unplanned;
  training.plan.unplanned = std::move(unplanned);
  for (Program& program : compiled.programs) {
    const bool given = reuse != nullptr && &program == &training;  // it must hold; what it says of its bound is its own
    PANTOUM_ASSIGN(program.found, given ? check::replay(program.cost.graph, program.plan)
                                        : checked(program.cost.graph, program.plan, program.kind.words));
  }
  if (reuse == nullptr) tell_of_answer(asked, training.plan, begin);
  return {};
}

Result<PlannedGraph> plan_cost_graph(const CostGraph& graph, const PlanRequest& request, plan::Infeasible* infeasible) {
  const Clock::time_point begin = Clock::now();
  PlannedGraph planned;
  PANTOUM_ASSIGN(planned.unplanned, unplanned_step(graph, request));
  PANTOUM_ASSIGN(plan::PlanOptions options, planner_options(graph, request, planned.unplanned));
  PANTOUM_ASSIGN(const plan::Asked asked,
                 plan::asked_of(std::move(options), request.settings.planner, request.expression));
  plan::Infeasible none;
  Result<problem::Plan> plan = plan::make_plan(asked, graph, asked.options, &none);
  if (!plan) {
    PANTOUM_TRY(plan::check_infeasibility(none));
    Error error = with_source_of_times(std::move(plan).error(), none, graph.device);
    if (infeasible != nullptr) *infeasible = with_reserve(std::move(none), request.reserve);
    return Failure(std::move(error));
  }
  planned.plan = std::move(*plan);
  if (std::string warning = plan::warning_of_start(asked.options, {&graph}); !warning.empty())
    planned.warnings.push_back(std::move(warning));
  PANTOUM_ASSIGN(planned.found, checked(graph, planned.plan, "cost-graph"));
  tell_of_answer(asked, planned.plan, begin);
  return planned;
}

Result<std::vector<std::byte>> encode_programs(const Programs& programs) {
  std::vector<artifact::PlannedProgram> planned;
  for (const Program& program : programs) {
    const std::string name = program.kind.name;
    const bool is_step = &program == &programs.front() && !(program.kind == kPredict);
    planned.push_back({name, is_step ? "" : name + ".", program.graph, program.cost, program.plan});
  }
  PANTOUM_ASSIGN(const artifact::BinaryPlan binary, artifact::compile_programs(planned));
  return artifact::encode(binary);
}

}  // namespace pantoum::pipeline
