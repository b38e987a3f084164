#include "plan/finalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plan/bound/tolerances.h"
#include "plan/realize/other_program.h"
#include "plan/realize/predict.h"
#include "plan/solver.h"

namespace pantoum::plan {

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

// What is stated of the objective: what certificates prove of the plan's order, or of any, or else what can be read off
// the graph.
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

// As a share of the value, rounded up, as the checker has it. Of one that is hardly a number, nothing is proved.
double gap_of(const Plan& plan, double value, double bound) {
  constexpr double kLeast = 1e-290;
  const auto& [peak, arena, time, energy] = plan.predicted;
  const bool nothing = plan.question.objective == Objective::kEdp ? std::min(time, energy) == 0 : value == 0;
  if (nothing) return 0;
  if (!(value > kLeast)) return 1;
  constexpr double kRoundings = 4 * std::numeric_limits<double>::epsilon();
  return std::clamp((value - bound) / value * (1 + kRoundings), 0.0, 1.0);
}

// ---- what a plan makes use of, of what a question may forbid ----

class FreedomFinder {
 public:
  FreedomFinder(const CostGraph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    for (const Tensor& tensor : graph.tensors) tensors_.emplace(tensor.id, &tensor);
    for (const Op& op : graph.ops) ops_.emplace(op.id, &op);
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.end == Home::kAux) ends_in_storage_.insert(tensor.id);
      if (tensor.start == Home::kAux && tensor.next >= 0) ends_in_storage_.insert(tensor.next);
    }
  }

  // Those that are made use of.
  Freedoms run() {
    used_ = {.paging = false, .recomputing = false, .in_place = false, .reordering = false, .numerics = false};
    at_.insert(plan_.initial.begin(), plan_.initial.end());
    for (const Instruction& step : plan_.instructions) note(step);
    std::vector<int64_t> kept = graph_.order;
    std::erase_if(kept, [&](int64_t op) { return !computed_.contains(op); });
    used_.reordering = kept != first_;
    return used_;
  }

 private:
  void note(const Instruction& step) {
    if (step.what == Do::kCompute) return note_compute(step);
    // What must end in storage may go there early and come back; nothing else comes back that did not go or start there.
    if (step.what == Do::kPageOut && !ends_in_storage_.contains(step.subject)) used_.paging = true;
    if (step.what == Do::kPageIn) at_[step.subject] = step.at.front();
    if (step.what == Do::kFree) at_.erase(step.subject);
  }

  void note_compute(const Instruction& step) {
    const Op& op = *ops_.at(step.subject);
    const Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    if (choice.numerics != op.choices.front().numerics) used_.numerics = true;
    if (computed_.insert(op.id).second)
      first_.push_back(op.id);
    else
      used_.recomputing = true;
    std::unordered_set<int64_t> taken;
    for (size_t write = 0; write < choice.writes.size(); ++write) {
      const int64_t output = op.outputs[static_cast<size_t>(choice.writes[write])];
      if (!at_.contains(output)) note_takeover(op, choice, write, step.at[write], taken);
    }
    for (const int64_t source : taken) at_.erase(source);
    for (size_t write = 0; write < choice.writes.size(); ++write)
      at_[op.outputs[static_cast<size_t>(choice.writes[write])]] = step.at[write];
  }

  // The last pair of an output counts; bytes are shared only at the very offset of the source.
  void note_takeover(const Op& op, const Choice& choice, size_t write, Bytes at, std::unordered_set<int64_t>& taken) {
    const int64_t output = op.outputs[static_cast<size_t>(choice.writes[write])];
    int64_t source = -1;
    for (const auto& [out, in] : choice.overwrites)
      if (out == choice.writes[write]) source = op.inputs[static_cast<size_t>(in)];
    const auto held = at_.find(source);
    if (held == at_.end() || held->second != at) return;
    if (tensors_.at(output)->bytes == 0 || tensors_.at(source)->bytes == 0) return;
    taken.insert(source);
    if (tensors_.at(source)->next != output) used_.in_place = true;
  }

  const CostGraph& graph_;
  const Plan& plan_;
  std::unordered_map<int64_t, const Tensor*> tensors_;
  std::unordered_map<int64_t, const Op*> ops_;
  std::unordered_set<int64_t> ends_in_storage_, computed_;
  std::unordered_map<int64_t, Bytes> at_;  // of what is in RAM
  std::vector<int64_t> first_;             // op ids, as they are first computed
  Freedoms used_;
};

// Does what the other programs hold have room where this plan leaves what they share?
bool serves_others(const Plan& plan, const PlanOptions& options, Bytes align) {
  if (options.others == nullptr) return true;
  return std::all_of(options.others->begin(), options.others->end(), [&](const OtherProgram& other) {
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
  const Freedoms used = FreedomFinder(graph, plan).run();
  return (freedoms.paging || !used.paging) && (freedoms.recomputing || !used.recomputing) &&
         (freedoms.in_place || !used.in_place) && (freedoms.reordering || !used.reordering) &&
         (freedoms.numerics || !used.numerics);
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
