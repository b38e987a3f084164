// Capuchin (Peng, Shi, Dai, Jin, Ma, Xiong, Yang, Qian, ASPLOS 2020): swap what is free, then what costs least.
//
// A candidate is a tensor between two accesses (an interval of the model) that spans a moment over the budget.
//   free time FT = time between the accesses - seconds to write it - seconds to read it
// 1. Intervals are swapped in falling order of FT as long as FT >= 0: their transfers hide behind compute.
// 2. Then, one by one, the interval with the most bytes saved per second of overhead (the paper's MSPS): swapping costs
//    -FT, recomputing the seconds of the tensor and of its dropped ancestors; the cheaper of the two is done.
// Until the step fits. Times come from the cost graph in the place of the measured first iteration; in-triggers are
// moved ahead where that shortens the step and RAM allows it, in the place of the feedback. Energy plays no part.
#include <algorithm>
#include <functional>

#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"
#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {
namespace {

struct Swap {
  IntervalIndex interval;
  Seconds free_s = 0;
};

class Chooser {
 public:
  explicit Chooser(const Task& task) : task_(task), model_(task.model), simulator_(model_, task.limit()) {
    simulator_.reset(keep_all(model_, task.choices));
    measure();
  }

  Policy run() {
    swap_for_free();
    while (!done() && step()) {
    }
    return simulator_.policy();
  }

 private:
  bool done() const { return task_.out_of_time() || (simulator_.outcome().sound && simulator_.outcome().excess == 0); }

  // When each stage ends, all in RAM; the intervals by falling free time.
  void measure() {
    const auto needed = needed_ops(model_, task_.choices);
    Indexed<Stage, Seconds> end(model_.ops.size() + 2, 0);
    for (const OpIndex op : model_.ops.indices()) {
      const Stage stage = model_.ops[op].stage;
      end[stage] = end[stage - 1] + (needed[op] ? task_.kernel(op).seconds : 0);
    }
    end[model_.end()] = end[model_.stages()];
    for (const IntervalIndex interval : model_.intervals.indices()) {
      const Interval& span = model_.intervals[interval];
      const TensorModel& tensor = model_.tensors[span.tensor];
      if (span.to > model_.end() || tensor.size == 0 || span.to <= span.from + 1) continue;
      swaps_.push_back({interval, end[span.to - 1] - end[span.from] - tensor.out_s - tensor.in_s});
    }
    std::ranges::stable_sort(swaps_, std::greater{}, &Swap::free_s);
  }

  bool retained_over_a_peak(IntervalIndex interval) const {
    const Interval& span = model_.intervals[interval];
    if (simulator_.policy().intervals[interval].evict < span.to) return false;
    for (Stage stage = span.from + 1; stage < span.to; ++stage)
      if (simulator_.peak(stage) > task_.options.question.budget_bytes()) return true;
    return false;
  }

  bool evict(IntervalIndex interval, bool page) {
    const Interval& span = model_.intervals[interval];
    const IntervalPolicy to{.evict = span.from, .retain = page ? span.to : span.from, .fetch = span.to, .page = page};
    const Outcome before = simulator_.outcome(), after = simulator_.propose({{interval, to}});
    if (after.sound && after.excess < before.excess) {
      simulator_.accept();
      return true;
    }
    simulator_.reject();
    return false;
  }

  void swap_for_free() {
    for (const Swap& swap : swaps_) {
      if (swap.free_s < 0 || done()) return;
      if (may_page(model_, swap.interval) && retained_over_a_peak(swap.interval)) evict(swap.interval, true);
    }
  }

  // Seconds to rematerialize a dropped tensor: its op, and the ops of what it reads and is dropped as well.
  Seconds recompute_seconds(TensorIndex tensor, Stage stage, int depth) const {
    const OpIndex op = model_.tensors[tensor].producer;
    if (!op.exists() || depth > 64) return model_.tensors[tensor].in_s;
    Seconds seconds = task_.kernel(op).seconds;
    for (const TensorIndex read : task_.kernel(op).reads)
      if (dropped_at(read, stage)) seconds += recompute_seconds(read, stage, depth + 1);
    return seconds;
  }
  bool dropped_at(TensorIndex tensor, Stage stage) const {
    const TensorModel& entry = model_.tensors[tensor];
    for (const IntervalIndex interval : entry.intervals) {
      const Interval& span = model_.intervals[interval];
      if (span.from < stage && stage <= span.to) return simulator_.policy().intervals[interval].evict < stage;
    }
    return true;
  }

  // The best of all intervals that are left.
  bool step() {
    struct Offer {
      IntervalIndex interval;
      bool page;
      double seconds_per_byte;
    };
    std::vector<Offer> offers;
    for (const Swap& swap : swaps_) {
      if (!retained_over_a_peak(swap.interval)) continue;
      const Interval& span = model_.intervals[swap.interval];
      const auto bytes = static_cast<double>(model_.tensors[span.tensor].size);
      const Seconds by_swap = std::max(0.0, -swap.free_s);
      const bool page = may_page(model_, swap.interval), drop = may_drop(model_, swap.interval);
      const Seconds by_compute = drop ? recompute_seconds(span.tensor, span.to, 0) : 0;
      if (!page && !drop) continue;
      const bool pages = page && (!drop || by_swap <= by_compute);
      offers.push_back({swap.interval, pages, (pages ? by_swap : by_compute) / bytes});
    }
    std::ranges::stable_sort(offers, {}, &Offer::seconds_per_byte);
    return std::ranges::any_of(offers, [&](const Offer& offer) { return evict(offer.interval, offer.page); });
  }

  const Task& task_;
  const Model& model_;
  Simulator simulator_;
  std::vector<Swap> swaps_;
};

}  // namespace

Result<Plan> capuchin(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "capuchin"));
  const Policy policy = Chooser(task).run();
  const Policy ahead =
      prefetch(task.model, task.limit(), policy, {.rounds = 0, .stop = [&] { return task.out_of_time(); }});
  Result<Plan> plan = plan_policy(task, ahead);
  return plan || ahead == policy ? plan : plan_policy(task, policy);
}

}  // namespace pantoum::plan::baseline
