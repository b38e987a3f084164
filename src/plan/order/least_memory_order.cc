#include "plan/order/least_memory_order.h"

#include <algorithm>
#include <tuple>

#include "plan/order/order_beam.h"
#include "plan/order/order_bound.h"
#include "plan/order/order_improvement.h"
#include "plan/order/order_profile.h"
#include "plan/simulate/order.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kStepsPerOp = 2000, kFewestSteps = 100'000, kMostSteps = 6'000'000;
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
        total_steps_(limits.steps > 0 ? limits.steps : steps_for(model_.ops.size())),
        steps_(total_steps_, limits_.stop) {
    for (const OpIndex op : model_.ops.indices()) best_.push_back(op);
  }

  MemoryOrder run() {
    found_ = first_ = judge(model_, choices_, question_);
    bound_ = order_bound(problem_, limits_.stop);
    if (worth_it()) search();
    const Bytes bound = first_.sound ? std::min(bound_, found_.peak) : bound_;
    return {.order = ids_of(best_), .peak_bytes = found_.peak, .bound_bytes = bound};
  }

  // After run(): the orders found that are clearly better than the first where a budget is given.
  [[nodiscard]] std::vector<std::vector<int64_t>> better_orders() {
    std::vector<std::vector<int64_t>> orders;
    if (!worth_it() || fits_at_first()) return orders;
    const bool smaller = lower(static_cast<double>(found_.peak), static_cast<double>(first_.peak));
    if (smaller || lower(found_.over, first_.over)) orders.push_back(ids_of(best_));
    if (found_.over == 0) return orders;
    const std::vector<OpIndex> order = fewest_over();
    const Judgement now = judge_order(order);
    const bool sound = now.sound && now.broken <= first_.broken;
    if (sound && lower(now.over, std::min(first_.over, found_.over))) orders.push_back(ids_of(order));
    return orders;
  }

 private:
  static int64_t steps_for(size_t ops) {
    return std::clamp(kStepsPerOp * static_cast<int64_t>(ops), kFewestSteps, kMostSteps);
  }

  // Is there anything to win?
  [[nodiscard]] bool worth_it() const {
    const bool may = question_.freedoms.reordering && first_.sound && !best_.empty();
    return may && (first_.peak > bound_ || first_.over > 0);
  }

  // Is the step within the budget, with room for offsets, as it is?
  [[nodiscard]] bool fits_at_first() const {
    return question_.budget && first_.peak + first_.peak / kRoom <= *question_.budget;
  }

  static bool lower(double now, double before) { return now < before * kClearly; }

  void search() {
    const int64_t half = steps_.left() / 2;
    OrderSteps for_beam(half, limits_.stop);
    widen(for_beam);
    steps_.take(half - std::max<int64_t>(0, for_beam.left()));
    const Bytes threshold = question_.budget ? question_.budget_bytes() : bound_;
    const std::vector<OpIndex> order = improve_order(problem_, beam_, OrderGoal::kPeak, bound_, threshold, steps_);
    take(order);
    if (order != beam_) take(beam_);
  }

  // Beams of growing width, until one is exact or no steps are left.
  void widen(OrderSteps& steps) {
    beam_ = best_;
    Bytes below = OrderProfile(problem_, best_, 0, steps).value().peak;
    for (size_t width = 1; width <= kWidest && below > bound_ && !steps.spent(); width *= 4) {
      const BeamResult result = beam_search(problem_, bound_, below, width, steps);
      if (!result.order.empty()) beam_ = result.order, below = result.peak;
      if (!result.exact) continue;
      if (problem_.every_order) bound_ = std::max(bound_, below);
      return;
    }
  }

  // From the order found, or the first where that has fewer bytes over the budget.
  [[nodiscard]] std::vector<OpIndex> fewest_over() {
    std::vector<OpIndex> from = best_;
    if (first_.over < found_.over) std::sort(from.begin(), from.end());  // ops are numbered in the first order
    OrderSteps steps(total_steps_ / 2, limits_.stop);
    return improve_order(problem_, from, OrderGoal::kFewestOver, bound_, question_.budget_bytes(), steps);
  }

  [[nodiscard]] Judgement judge_order(const std::vector<OpIndex>& order) const {
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

  [[nodiscard]] std::vector<int64_t> ids_of(const std::vector<OpIndex>& order) const {
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
  OrderSteps steps_;
  std::vector<OpIndex> best_, beam_;
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
  (void)orderer.run();
  for (std::vector<int64_t>& order : orderer.better_orders())
    if (order != orders.front()) orders.push_back(std::move(order));
  return orders;
}

}  // namespace pantoum::plan
