#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/units.h"
#include "check/certificate.h"
#include "pipeline/pipeline.h"
#include "pipeline/planners.h"
#include "problem/plan_json.h"

#include <nlohmann/json.hpp>

namespace pantoum::pipeline {
namespace {

using problem::Bytes;
using problem::CostGraph;

// What is in RAM when a step starts, packed at the bottom of the arena: what is pinned first, then the batch. Training
// has more freedom without, but may scatter them so that the evaluation finds no room; packed, both have the rest of
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

// By Pantoum's own planner, or by one of the literature's.
Result<problem::Plan> make_plan(const std::string& planner, const CostGraph& graph, const plan::PlanOptions& options,
                                plan::Infeasible* infeasible) {
  PANTOUM_ASSIGN(const std::vector<NamedPlanner> named, planners_named({planner}));
  return named.front().plan(graph, options, infeasible);
}

Result<problem::Plan> training_plan(const std::string& planner, const CostGraph& graph,
                                    const plan::PlanOptions& options, const problem::Plan* reuse,
                                    plan::Infeasible* infeasible) {
  if (reuse == nullptr) return make_plan(planner, graph, options, infeasible);
  if (problem::structure_hash(graph) != problem::structure_hash(reuse->graph))
    return fail("E0231", "the plan was made for another training step", "--plan",
                "plan again with the same model, batch, loss, optimizer, frozen parameters and device");
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

// The evaluation, the step of a micro-batch and the backbone find parameters and batch where training leaves them.
Result<void> plan_all(const Compiled& compiled, const std::string& planner, plan::PlanOptions options,
                      const Patience& patience, const problem::Plan* reuse, plan::Infeasible* infeasible,
                      Planned& planned) {
  options.time_limit = patience.next();
  PANTOUM_ASSIGN(planned.training, training_plan(planner, compiled.training_cost.graph, options, reuse, infeasible));
  std::map<std::string, Bytes> places = by_name(compiled.training_cost.graph, planned.training.initial);
  options.warm_start = nullptr;
  options.question.budget = planned.training.question.budget_bytes();
  if (compiled.accumulation) {
    options.time_limit = patience.next();
    options.fixed_initial = inherited(compiled.accumulation_cost.graph, places);
    PANTOUM_ASSIGN(planned.accumulation, plan::make_plan(compiled.accumulation_cost.graph, options));
  }
  options.time_limit = patience.next();
  options.question.deadline.reset();
  options.question.energy_limit.reset();
  options.fixed_initial = inherited(compiled.evaluation_cost.graph, places);
  PANTOUM_ASSIGN(planned.evaluation, plan::make_plan(compiled.evaluation_cost.graph, options));
  if (!compiled.features) return {};
  places.merge(by_name(compiled.evaluation_cost.graph, planned.evaluation.initial));  // the model's inputs
  options.time_limit = patience.next();
  options.fixed_initial = inherited(compiled.features_cost.graph, places);
  PANTOUM_ASSIGN(planned.features, plan::make_plan(compiled.features_cost.graph, options));
  return {};
}

// The checker has the last word on what is proved impossible too.
Result<void> checked_refusal(const CostGraph& graph, const problem::Certificate& certificate) {
  if (const Result<double> proved = check::check_certificate(graph, certificate); !proved)
    return fail("E0001",
                "the planner proved a least RAM with a certificate that the checker rejects: " + proved.error().message,
                proved.error().where,
                "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
  return {};
}

// Training's state lies where training's plan is best, if the evaluation fits as well; else packed; else as in the plan
// of the smallest budget, so that a budget that was once named is enough.
Result<void> find_plans(const Compiled& compiled, const std::string& planner, const plan::PlanOptions& options,
                        const problem::Plan* reuse, plan::Infeasible* infeasible, Planned& planned) {
  const CostGraph& graph = compiled.training_cost.graph;
  const Patience patience(options.time_limit);
  plan::Infeasible answer;
  Result<void> all = plan_all(compiled, planner, options, patience, reuse, &answer, planned);
  if (all || reuse != nullptr) return all;
  if (!answer.min_plan || !plan_all(compiled, planner, options, patience, &*answer.min_plan, nullptr, planned)) {
    plan::PlanOptions packed = options;
    packed.fixed_initial = pack_start(graph);
    plan::Infeasible packed_answer;
    Result<void> again = plan_all(compiled, planner, packed, patience, nullptr, &packed_answer, planned);
    if (again || planner != "pantoum") return again;
    if (options.effort > 0 || !patience.over()) all = std::move(again), answer = std::move(packed_answer);
    plan::PlanOptions nothing = options;
    nothing.question.budget = 1;
    nothing.time_limit = patience.next();
    plan::Infeasible least;
    if (!plan::make_plan(graph, nothing, &least) && least.min_plan &&
        least.min_ram_bytes <= options.question.budget_bytes() && !least.without_limits &&
        plan_all(compiled, planner, options, patience, &*least.min_plan, nullptr, planned)) {
      planned.training.question.budget = options.question.budget_bytes();
      planned.training.question.deadline = options.question.deadline;
      planned.training.question.energy_limit = options.question.energy_limit;
      return {};
    }
  }
  if (answer.ram_certificate) PANTOUM_TRY(checked_refusal(graph, *answer.ram_certificate));
  if (infeasible != nullptr) *infeasible = std::move(answer);
  return all;
}

}  // namespace

Result<check::Found> checked(const CostGraph& graph, const problem::Plan& plan, const std::string& what) {
  Result<check::Found> found = check::replay(graph, plan);
  if (!found)
    return fail(
        "E0001", fmt::format("the planner made a {} plan that the checker rejects: {}", what, found.error().message),
        found.error().where, "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
  return found;
}

Result<plan::PlanOptions> planner_options(const CostGraph& graph, const PlanRequest& request,
                                          const problem::Plan& unlimited) {
  plan::PlanOptions options = request.options;
  if (!options.question.budget) options.question.budget = graph.device.ram_bytes;
  Bytes& budget = *options.question.budget;
  if (request.reserve >= budget)
    return fail("E0300", fmt::format("nothing is left of {} after the reserve", base::show_bytes(budget)), "--reserve",
                "give more --ram");
  budget -= request.reserve;
  if (request.deadline.seconds) options.question.deadline = request.deadline.seconds;
  if (request.deadline.relative) {
    const double seconds = *request.deadline.relative * unlimited.predicted.time_s;
    options.question.deadline = std::min(options.question.deadline.value_or(seconds), seconds);
  }
  return options;
}

int64_t batch_of(const Compiled& compiled) {
  const ir::Graph& graph = compiled.training;
  if (graph.inputs.empty() || graph.value(graph.inputs.front()).type.shape.empty()) return 0;
  return graph.value(graph.inputs.front()).type.shape.front();
}

Result<Planned> plan_model(const Compiled& compiled, const PlanRequest& request, const problem::Plan* reuse,
                           plan::Infeasible* infeasible, const Dump& dump) {
  const CostGraph& graph = compiled.training_cost.graph;
  const CostGraph& evaluation = compiled.evaluation_cost.graph;
  Planned planned;

  // What the step takes when nothing is planned: the figure that budgets are compared with.
  PANTOUM_ASSIGN(
      const problem::Plan unlimited,
      plan::unplanned(graph, {.question = {.freedoms = {.in_place = request.options.question.freedoms.in_place}}}));
  planned.unplanned_peak_bytes = unlimited.predicted.peak_bytes;
  planned.unplanned_time_s = unlimited.predicted.time_s;
  planned.unplanned_energy_j = unlimited.predicted.energy_j;

  // Keep, drop, recompute or page every tensor, inside the budget.
  PANTOUM_ASSIGN(plan::PlanOptions options, planner_options(graph, request, unlimited));
  PANTOUM_TRY(find_plans(compiled, request.planner, options, reuse, infeasible, planned));
  if (dump) dump("plan", problem::to_json(planned.training).dump(1));
  PANTOUM_ASSIGN(planned.found, checked(graph, planned.training, "training"));
  PANTOUM_ASSIGN(planned.evaluation_found, checked(evaluation, planned.evaluation, "evaluation"));
  if (planned.features) PANTOUM_TRY(checked(compiled.features_cost.graph, *planned.features, "features"));
  if (planned.accumulation) {
    PANTOUM_ASSIGN(planned.accumulation_found,
                   checked(compiled.accumulation_cost.graph, *planned.accumulation, "micro-batch"));
  }
  return planned;
}

Result<PlannedGraph> plan_cost_graph(const CostGraph& graph, const PlanRequest& request, plan::Infeasible* infeasible) {
  PANTOUM_ASSIGN(
      const problem::Plan unlimited,
      plan::unplanned(graph, {.question = {.freedoms = {.in_place = request.options.question.freedoms.in_place}}}));
  PlannedGraph planned;
  planned.unplanned_peak_bytes = unlimited.predicted.peak_bytes;
  planned.unplanned_time_s = unlimited.predicted.time_s;
  planned.unplanned_energy_j = unlimited.predicted.energy_j;
  PANTOUM_ASSIGN(const plan::PlanOptions options, planner_options(graph, request, unlimited));
  Result<problem::Plan> plan = make_plan(request.planner, graph, options, infeasible);
  if (!plan && infeasible != nullptr && infeasible->ram_certificate)
    PANTOUM_TRY(checked_refusal(graph, *infeasible->ram_certificate));
  PANTOUM_ASSIGN(planned.plan, std::move(plan));
  PANTOUM_ASSIGN(planned.found, checked(graph, planned.plan, "cost-graph"));
  return planned;
}

}  // namespace pantoum::pipeline
