#include "plan/order/least_memory_order.h"

#include <algorithm>
#include <tuple>

#include "base/lists.h"
#include "plan/order/order_problem.h"
#include "plan/order/order_profile.h"
#include "plan/simulate/order.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kStepsPerOp = 4500, kFewestSteps = 100'000, kMostSteps = 15'000'000;
constexpr size_t kWidest = 4096;
constexpr Bytes kRoom = 20;         // offsets may take this part of the peak beyond it
constexpr double kClearly = 0.998;  // of a figure is clearly less than it

// What the simulator says of an order.
struct Judgement {
  bool sound = false;
  double broken = 0;  // bytes that do not end where the next step looks for them, and those beyond the storage
  Bytes peak = 0;
  double over = 0;  // bytes over the budget, summed over the stages
};

Judgement judge(const Model& model, const Choices& choices, const Question& question) {
  Judgement result;
  Question plenty = question;
  plenty.budget.reset();
  plenty.deadline.reset();
  plenty.energy_limit.reset();
  plenty.objective = Objective::kEnergy;
  Simulator simulator(model, {.question = plenty});
  const Outcome& outcome = simulator.reset(keep_all(model, choices));
  result.sound = outcome.sound;
  result.broken = outcome.excess;
  if (!result.sound) return result;
  for (Stage stage = 0; stage <= model.end(); ++stage) {
    result.peak = std::max(result.peak, simulator.peak(stage));
    result.over += static_cast<double>(std::max<Bytes>(0, simulator.peak(stage) - question.budget_bytes()));
  }
  return result;
}

class Orderer {
 public:
  Orderer(const CostGraph& graph, const Question& question, const OrderLimits& limits)
      : graph_(graph),
        question_(question),
        options_{.question = question},
        model_(make_model(graph, options_)),
        choices_(first_choices(model_, question.objective)),
        problem_(make_order_problem(model_, choices_)),
        limits_(limits),
        total_steps_(limits.steps > 0 ? limits.steps : steps_for(model_.ops.size())) {
    best_ = first_order();
  }

  MemoryOrder run() {
    start();
    if (worth_it()) search();
    const Bytes bound = first_.sound ? std::min(bound_, found_.peak) : bound_;
    return {.order = ids_of(best_), .peak_bytes = found_.peak, .bound_bytes = bound};
  }

  // The orders that are clearly better than the first.
  std::vector<std::vector<int64_t>> better_orders() {
    std::vector<std::vector<int64_t>> orders;
    start();
    if (!worth_it() || fits_at_first()) return orders;
    search();
    const std::vector<OpIndex> lean = improved(first_order(), OrderGoal::kFewestOver, threshold());
    const Judgement now = judge_order(lean);
    const bool sound = now.sound && now.broken <= first_.broken;
    if (sound && lower(now.over, first_.over)) orders.push_back(ids_of(lean));
    const bool fewer = lower(found_.over, orders.empty() ? first_.over : now.over);
    if (fewer || lower(static_cast<double>(found_.peak), static_cast<double>(first_.peak)))
      orders.push_back(ids_of(best_));
    return orders;
  }

 private:
  static int64_t steps_for(size_t ops) {
    return std::clamp(kStepsPerOp * static_cast<int64_t>(ops), kFewestSteps, kMostSteps);
  }

  void start() {
    found_ = first_ = judge(model_, choices_, question_);
    bound_ = order_bound(problem_, limits_.stop);
  }

  // Is there anything to win?
  bool worth_it() const {
    const bool may = question_.freedoms.reordering && first_.sound && !best_.empty();
    return may && (first_.peak > bound_ || first_.over > 0);
  }

  // Is the step within the budget, with room for offsets, as it is?
  bool fits_at_first() const { return question_.budget && first_.peak + first_.peak / kRoom <= *question_.budget; }

  static bool lower(double now, double before) { return now < before * kClearly; }

  // Searches from the first order by local search, and again from the order of a beam if that has a smaller peak. It
  // is easier to plan in an order near the first one.
  void search() {
    take(improved(best_, OrderGoal::kPeak, threshold()));
    OrderSteps steps(total_steps_ / 3, limits_.stop);
    const std::vector<OpIndex> order = widen(steps);
    if (order.empty()) return;
    take(order);
    take(improved(order, OrderGoal::kPeak, threshold()));
  }

  Bytes threshold() const { return question_.budget ? question_.budget_bytes() : bound_; }

  // Ops are numbered in it.
  std::vector<OpIndex> first_order() const {
    std::vector<OpIndex> order;
    for (const OpIndex op : model_.ops.indices()) order.push_back(op);
    return order;
  }

  std::vector<OpIndex> improved(const std::vector<OpIndex>& order, OrderGoal goal, Bytes threshold) const {
    OrderSteps steps(total_steps_ / 3, limits_.stop);
    return improve_order(problem_, order, goal, bound_, threshold, steps);
  }

  // Beams of growing width, until one is exact or no steps are left: an order of a smaller peak, or nothing.
  std::vector<OpIndex> widen(OrderSteps& steps) {
    std::vector<OpIndex> order;
    Bytes below = OrderProfile(problem_, best_, 0, steps).value().peak;
    for (size_t width = 1; width <= kWidest && below > bound_ && !steps.spent(); width *= 4) {
      BeamResult result = beam_search(problem_, bound_, below, width, steps);
      if (!result.order.empty()) order = std::move(result.order), below = result.peak;
      if (!result.exact) continue;
      if (problem_.every_order) bound_ = std::max(bound_, below);
      break;
    }
    return order;
  }

  Judgement judge_order(const std::vector<OpIndex>& order) const {
    CostGraph reordered = graph_;
    reordered.order = ids_of(order);
    const Model model = make_model(reordered, options_);
    return judge(model, first_choices(model, question_.objective), question_);
  }

  // Takes the order where the simulator says that it is better.
  void take(const std::vector<OpIndex>& order) {
    const Judgement now = judge_order(order);
    const auto key = [](const Judgement& of) { return std::tuple(of.broken, of.peak, of.over); };
    if (!now.sound || key(now) >= key(found_)) return;
    found_ = now;
    best_ = order;
  }

  std::vector<int64_t> ids_of(const std::vector<OpIndex>& order) const {
    std::vector<int64_t> ids;
    ids.reserve(order.size());
    for (const OpIndex op : order) ids.push_back(model_.ops[op].id);
    return ids;
  }

  const CostGraph& graph_;
  const Question question_;
  const PlanOptions options_;
  const Model model_;
  const Choices choices_;
  const OrderProblem problem_;
  const OrderLimits limits_;
  const int64_t total_steps_;
  std::vector<OpIndex> best_;
  Judgement first_, found_;
  Bytes bound_ = 0;
};

}  // namespace

MemoryOrder least_memory_order(const CostGraph& graph, const Question& question, const OrderLimits& limits) {
  return Orderer(graph, question, limits).run();
}

std::vector<std::vector<int64_t>> candidate_orders(const CostGraph& graph, const PlanOptions& options) {
  if (!options.question.freedoms.reordering) return {graph.order};
  std::vector<std::vector<int64_t>> orders{updates_last(graph)};
  Orderer orderer(graph, options.question, {.stop = options.stop});
  for (std::vector<int64_t>& order : orderer.better_orders())
    if (!base::contains(orders, order)) orders.push_back(std::move(order));
  return orders;
}

}  // namespace pantoum::plan
