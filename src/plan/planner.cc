#include "plan/planner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plan/bound/bounds.h"
#include "plan/bound/row.h"
#include "plan/engine_search.h"
#include "plan/order/least_memory_order.h"
#include "plan/realize/allocations.h"
#include "plan/realize/realize.h"
#include "plan/simulate/order.h"
#include "plan/solver.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr Seconds kAnyPlan = 3;      // for orders in which no plan is found, however short the limit
constexpr int64_t kProbeEffort = 8;  // the part of the effort, for a short plan in one order

CostGraph in_order(const CostGraph& graph, std::vector<int64_t> order) {
  CostGraph ordered = graph;
  ordered.order = std::move(order);
  return ordered;
}

// The graph with its updates behind the readers of what they update, unless another order was asked to be kept.
CostGraph reordered(const CostGraph& graph, const PlanOptions& options) {
  return options.question.freedoms.reordering ? in_order(graph, updates_last(graph)) : graph;
}

// The order to plan in, and what a short search found in any of those that were looked at.
struct OrderChoice {
  CostGraph graph;
  std::optional<Plan> plan;
};

// Chooses the order in which a short search finds the best plan, or the order that needs least RAM if no search finds
// a plan.
OrderChoice choose_order(const CostGraph& graph, const PlanOptions& options, const TimeLimit& time) {
  const bool goes_on = options.goes_on && options.warm_start != nullptr && !options.without.has(Switch::kWarmStart);
  if (goes_on && options.question.freedoms.reordering)
    return {.graph = in_order(graph, order_of(*options.warm_start, graph)), .plan = std::nullopt};
  std::vector<std::vector<int64_t>> orders = candidate_orders(graph, options);
  OrderChoice chosen{.graph = in_order(graph, orders.back()), .plan = std::nullopt};
  if (orders.size() == 1) return chosen;
  PlanOptions probe = options;
  probe.time_limit = time.for_attempt(Attempt::kTryOrder);
  if (options.effort > 0) probe.effort = std::max<int64_t>(1, options.effort / kProbeEffort);
  for (std::vector<int64_t>& order : orders) {
    const Seconds most = chosen.plan ? time.for_attempt(Attempt::kTryOrders) : std::max(kAnyPlan, time.limit());
    if (options.effort == 0 && time.elapsed() > most) break;
    CostGraph ordered = in_order(graph, std::move(order));
    std::optional<Plan> found = Solver(ordered, probe).solve();
    if (found && (!chosen.plan || value_of(*found) < value_of(*chosen.plan)))
      chosen = {.graph = std::move(ordered), .plan = std::move(found)};
  }
  return chosen;
}

// Returns the graph in the order that needs least RAM. That order does not depend on the budget, so that there is a
// plan for a budget that an earlier answer named.
CostGraph in_least_order(const CostGraph& graph, PlanOptions options) {
  options.question.budget = 1;
  return in_order(graph, candidate_orders(graph, options).back());
}

// Do the first bounds prove that no plan meets the question?
bool out_of_reach(const Question& question, const WorkingSet& least, const Bounds& bounds) {
  return question.budget_bytes() < least.bytes || (question.deadline && bounds.time > *question.deadline) ||
         (question.energy_limit && bounds.energy > *question.energy_limit);
}

Result<Plan> plan_of(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible);

// If no plan in time was found, seeks one for its time alone, with the whole time limit again.
std::optional<Plan> plan_in_time(const CostGraph& graph, const PlanOptions& options) {
  if (!options.question.deadline || options.stop.stop_requested()) return std::nullopt;
  PlanOptions own = options;
  own.question.objective = Objective::kTime;
  own.question.deadline.reset();
  own.warm_start = nullptr;
  Result<Plan> plan = plan_of(graph, own, nullptr);
  if (!plan || !answers(*plan, graph, options)) return std::nullopt;
  plan->question = options.question;
  return std::move(*plan);
}

Result<Plan> plan_of(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  if (options.question.budget_bytes() <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  if (problem::has_queues(graph)) return plan_for_engines(graph, options, infeasible, plan_of);
  const TimeLimit time(options.time_limit);
  PlanOptions rest = options;
  if (rest.warm_start != nullptr && structure_hash(rest.warm_start->graph) != structure_hash(graph))
    rest.warm_start = nullptr;
  OrderChoice chosen = choose_order(graph, rest, time);
  rest.time_limit = time.left();
  Solver solver(chosen.graph, rest);
  const WorkingSet least = least_ram(solver.instance().model);
  std::optional<Plan> best;
  const bool too_late = options.effort == 0 && chosen.plan && rest.time_limit <= 0;
  const bool in_reach = !out_of_reach(options.question, least, solver.instance().bounds);
  if (!too_late && in_reach) best = solver.solve_and_prove();
  keep_better(best, std::move(chosen.plan));
  keep_better_warm_start(best, graph, options);
  if (!best && in_reach) best = plan_in_time(graph, options);
  if (!best) {
    Infeasible known;
    best = plan_after_all(in_least_order(graph, options), graph, options, time, known);
    if (!best) {
      Error error = infeasibility_report(graph.name, options, known);
      if (infeasible != nullptr) *infeasible = std::move(known);
      return Failure(std::move(error));
    }
    best->question = options.question;
  }
  solver.prove_for(value_of(*best));
  finalize(*best, graph, solver, options);
  return std::move(*best);
}

// The plan of the weighted graph, as one of the graph itself: the same instructions, their energy in joules.
void unweighted(Plan& plan, const CostGraph& graph, const Question& asked) {
  plan.graph = graph;
  plan.question.objective = asked.objective;
  plan.question.weights = asked.weights;
  plan.bound.weighted = std::exchange(plan.bound.energy_j, std::nullopt);
  if (const std::optional<Predicted> predicted = predict(graph, plan)) plan.predicted = *predicted;
}

void unweighted(Infeasible& known, const CostGraph& graph, const Question& asked) {
  if (known.min_plan) unweighted(*known.min_plan, graph, asked);
  if (!known.refusal) return;
  known.refusal->plan.reset();  // it is told of the weighted graph
  known.refusal->graph = graph;
  known.refusal->question.objective = asked.objective;
  known.refusal->question.weights = asked.weights;
}

}  // namespace

Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& asked_options, Infeasible* infeasible,
                               const PlanMaker& make) {
  if (asked_options.question.objective != Objective::kWeighted) return make(graph, asked_options, infeasible);
  PlanOptions options = asked_options;
  const Question asked = options.question;
  if (asked.energy_limit)
    return fail("E0117", "a limit on the energy beside a weighted objective", "--energy-limit",
                "minimise the time with --energy-limit, or leave the limit out");
  options.question.objective = Objective::kEnergy;
  options.question.weights = {};
  const CostGraph weighted = problem::weighted_graph(graph, asked.weights);
  if (const Result<void> valid = problem::validate(weighted); !valid)
    return fail("E0117", "by the objective's weights " + valid.error().message, "--objective",
                "give smaller weights, whose ratio says as much", {"at " + valid.error().where});
  Infeasible known;
  Result<Plan> plan = make(weighted, options, &known);
  if (plan) {
    unweighted(*plan, graph, asked);
  } else if (infeasible != nullptr) {
    unweighted(known, graph, asked);
    *infeasible = std::move(known);
  }
  return plan;
}

Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  return weighted_or_plain(graph, options, infeasible, plan_of);
}

Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options) {
  if (problem::has_queues(graph)) return unplanned_on_engines(graph, options);
  PlanOptions all = options;
  all.question.budget.reset();
  all.effort = 1;
  all.warm_start = nullptr;
  all.question.objective = Objective::kEnergy;  // there is nothing to choose by
  const CostGraph ordered = reordered(graph, all);
  Solver solver(ordered, all);
  std::optional<Plan> plan = solver.keep_everything();
  if (!plan)
    return fail("E0306", "the step cannot be run even with all its tensors in RAM", graph.name,
                "check 'end', 'next' and 'recompute' in the cost graph");
  plan->question.budget = plan->predicted.arena_bytes;
  finalize(*plan, graph, solver, all);
  return std::move(*plan);
}

namespace {

// Does the plan first compute its ops in the model's order, for which alone certificates of one order hold?
bool keeps_order(const Plan& plan, const Model& model) {
  std::map<int64_t, int32_t> stages;
  for (const OpModel& op : model.ops) stages.emplace(op.id, op.stage);
  std::set<int64_t> computed;
  int32_t last = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.what != Do::kCompute || !computed.insert(instruction.subject).second) continue;
    const int32_t stage = stages.at(instruction.subject);
    if (stage < last) return false;
    last = stage;
  }
  return true;
}

// Returns the proof that a plan states of its objective: from certificates of the plan's order or of any order, or
// else from the graph's costs.
Prover::Proof stated_of(const Plan& plan, double value, const Solver& solver) {
  const Prover& proved = solver.proved();
  const Bounds derived = solver.instance().limited;
  const Objective objective = plan.question.objective;
  const double least =
      objective == Objective::kEdp ? derived.product : value_of(objective, derived.energy, derived.time);
  Prover::Proof proof = keeps_order(plan, solver.instance().model) ? proved.proof(value) : proved.any_order_proof();
  const bool certified = (proof.certificate || !proof.lines.empty()) && proof.bound > least;
  return certified ? proof : Prover::Proof{.bound = least, .bounds = derived, .any_order = true};
}

// Returns the gap as a share of the value, rounded up as the checker does. Nothing is proved of a value that is
// hardly a number.
double gap_of(const Plan& plan, double value, double bound) {
  constexpr double kLeast = 1e-290;
  const auto& [peak, arena, time, energy] = plan.predicted;
  const bool nothing = plan.question.objective == Objective::kEdp ? std::min(time, energy) == 0 : value == 0;
  if (nothing) return 0;
  if (!(value > kLeast)) return 1;
  constexpr double kRoundings = 4 * std::numeric_limits<double>::epsilon();
  return std::clamp((value - bound) / value * (1 + kRoundings), 0.0, 1.0);
}

// Does what the other programs hold have room where this plan leaves what they share?
bool serves_others(const Plan& plan, const PlanOptions& options, Bytes align) {
  if (options.others == nullptr) return true;
  return std::ranges::all_of(*options.others, [&](const OtherProgram& other) {
    return offsets_beside(other, plan.initial, align, options.question.budget_bytes()).has_value();
  });
}

}  // namespace

void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options) {
  plan.graph = original;
  plan.method = "policies with thresholds: greedy, annealing, exchanges; linear relaxation with cuts, branch and bound";
  const Prover& proved = solver.proved();
  const double value = upper_end(plan, upper_end(plan, value_of(plan)));  // of a product of two
  Prover::Proof stated = stated_of(plan, value, solver);
  plan.solver_seconds = options.effort > 0 ? 0 : solver.instance().elapsed();
  plan.bound = {.energy_j = stated.bounds.energy, .time_s = stated.bounds.time, .any_order = stated.any_order};
  if (plan.question.objective == Objective::kEdp) plan.bound.edp_js = stated.bound;
  plan.certificate = std::move(stated.certificate);
  plan.lines = std::move(stated.lines);
  plan.separators = proved.separators();
  plan.gap = gap_of(plan, value, stated.bound);
  plan.asked_gap = options.gap;
  plan.status = plan.gap <= options.gap ? Status::kOptimal : Status::kFeasible;
}

void keep_better(std::optional<Plan>& best, std::optional<Plan> plan) {
  if (plan && (!best || value_of(*plan) < value_of(*best))) best = std::move(plan);
}

Plan without_proof(Plan plan) {
  plan.bound = {};
  plan.certificate.reset();
  plan.lines.clear();
  plan.separators.clear();
  plan.gap = 1;
  plan.status = Status::kFeasible;
  return plan;
}

bool keeps_freedoms(const CostGraph& graph, const Plan& plan, const Freedoms& freedoms) {
  Freedoms used;
  (void)predict(graph, plan, {}, &used);
  return (freedoms.paging || !used.paging) && (freedoms.recomputing || !used.recomputing) &&
         (freedoms.in_place || !used.in_place) && (freedoms.reordering || !used.reordering) &&
         (freedoms.numerics || !used.numerics) && (freedoms.one_slot || !used.one_slot);
}

bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options) {
  if (structure_hash(other.graph) != structure_hash(graph) ||
      other.predicted.arena_bytes > options.question.budget_bytes())
    return false;
  for (const auto& [tensor, at] : options.fixed_initial)
    if (const auto own = other.initial.find(tensor); own == other.initial.end() || own->second != at) return false;
  const std::optional<Predicted> now = predict(graph, other);
  return now && now->arena_bytes <= options.question.budget_bytes() &&
         (!options.question.deadline || upper_end(other, now->time_s) <= *options.question.deadline) &&
         (!options.question.energy_limit || upper_end(other, now->energy_j) <= *options.question.energy_limit) &&
         keeps_freedoms(graph, other, options.question.freedoms);
}

void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options) {
  if (options.warm_start == nullptr || !answers(*options.warm_start, graph, options)) return;
  Plan warm = *options.warm_start;
  warm.graph = graph;
  warm.predicted = *predict(graph, warm);
  warm.question = options.question;
  const double most = best ? value_of(*best) : std::numeric_limits<double>::infinity();
  const bool serves = serves_others(warm, options, std::max<Bytes>(1, graph.device.align_bytes));
  if (serves ? value_of(warm) <= most : value_of(warm) < most) best = std::move(warm);
}

}  // namespace pantoum::plan
