#include "plan/baselines/capuchin.h"

#include <algorithm>

#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

struct Swap {
  int32_t gap = 0;
  Seconds free_s = 0;
};

class Chooser {
 public:
  explicit Chooser(const Question& question)
      : question_(question),
        model_(question.model),
        simulator_(model_, {.question = {.budget = question.options.question.budget_bytes(),
                                         .objective = question.options.question.objective}}) {
    simulator_.reset(keep_all(model_, question.choices));
    measure();
  }

  Policy run() {
    swap_for_free();
    while (!done() && step()) {
    }
    return simulator_.policy();
  }

 private:
  [[nodiscard]] bool done() const {
    return question_.out_of_time() || (simulator_.outcome().sound && simulator_.outcome().excess == 0);
  }

  // When each stage ends, all in RAM; the gaps by falling free time.
  void measure() {
    const auto needed = needed_ops(model_, question_.choices);
    std::vector<Seconds> end(z(model_.end()) + 1, 0);
    for (int32_t stage = 1; stage <= model_.stages(); ++stage)
      end[z(stage)] = end[z(stage) - 1] + (needed[z(stage) - 1] ? question_.kernel(stage - 1).seconds : 0);
    end[z(model_.end())] = end[z(model_.stages())];
    for (int32_t gap = 0; gap < static_cast<int32_t>(model_.intervals.size()); ++gap) {
      const Interval& span = model_.intervals[z(gap)];
      const TensorModel& tensor = model_.tensors[z(span.tensor)];
      if (span.to > model_.end() || tensor.size == 0 || span.to <= span.from + 1) continue;
      swaps_.push_back({gap, end[z(span.to) - 1] - end[z(span.from)] - tensor.out_s - tensor.in_s});
    }
    std::stable_sort(swaps_.begin(), swaps_.end(), [](const Swap& a, const Swap& b) { return a.free_s > b.free_s; });
  }

  [[nodiscard]] bool kept_over_a_peak(int32_t gap) const {
    const Interval& span = model_.intervals[z(gap)];
    if (simulator_.policy().intervals[z(gap)].evict < span.to) return false;
    for (int32_t stage = span.from + 1; stage < span.to; ++stage)
      if (simulator_.peak(stage) > question_.options.question.budget_bytes()) return true;
    return false;
  }

  bool give_up(int32_t gap, bool page) {
    const Interval& span = model_.intervals[z(gap)];
    const IntervalPolicy to{.evict = span.from, .retain = page ? span.to : span.from, .fetch = span.to, .page = page};
    const Outcome before = simulator_.outcome(), after = simulator_.propose({{IntervalIndex(gap), to}});
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
      if (may_page(model_, swap.gap) && kept_over_a_peak(swap.gap)) give_up(swap.gap, true);
    }
  }

  // Seconds to have a dropped tensor again: its op, and the ops of what it reads and is dropped as well.
  [[nodiscard]] Seconds recompute_seconds(int32_t tensor, int32_t stage, int depth) const {
    const int32_t op = model_.tensors[z(tensor)].producer;
    if (op < 0 || depth > 64) return model_.tensors[z(tensor)].in_s;
    Seconds seconds = question_.kernel(op).seconds;
    for (const int32_t read : question_.kernel(op).reads)
      if (dropped_at(read, stage)) seconds += recompute_seconds(read, stage, depth + 1);
    return seconds;
  }
  [[nodiscard]] bool dropped_at(int32_t tensor, int32_t stage) const {
    const TensorModel& entry = model_.tensors[z(tensor)];
    for (int32_t gap = entry.intervals.front().value(); gap <= entry.intervals.back().value(); ++gap) {
      const Interval& span = model_.intervals[z(gap)];
      if (span.from < stage && stage <= span.to) return simulator_.policy().intervals[z(gap)].evict < stage;
    }
    return true;
  }

  // The best of all gaps that are left.
  bool step() {
    struct Offer {
      int32_t gap;
      bool page;
      double seconds_per_byte;
    };
    std::vector<Offer> offers;
    for (const Swap& swap : swaps_) {
      if (!kept_over_a_peak(swap.gap)) continue;
      const Interval& span = model_.intervals[z(swap.gap)];
      const auto bytes = static_cast<double>(model_.tensors[z(span.tensor)].size);
      const Seconds by_swap = std::max(0.0, -swap.free_s);
      const bool page = may_page(model_, swap.gap), drop = may_drop(model_, swap.gap);
      const Seconds by_compute = drop ? recompute_seconds(span.tensor, span.to, 0) : 0;
      if (!page && !drop) continue;
      const bool pages = page && (!drop || by_swap <= by_compute);
      offers.push_back({swap.gap, pages, (pages ? by_swap : by_compute) / bytes});
    }
    std::stable_sort(offers.begin(), offers.end(),
                     [](const Offer& a, const Offer& b) { return a.seconds_per_byte < b.seconds_per_byte; });
    return std::any_of(offers.begin(), offers.end(),
                       [&](const Offer& offer) { return give_up(offer.gap, offer.page); });
  }

  const Question& question_;
  const Model& model_;
  Simulator simulator_;
  std::vector<Swap> swaps_;
};

}  // namespace

Result<Plan> capuchin(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "capuchin"));
  const Policy policy = Chooser(question).run();
  const Policy ahead =
      prefetch(question.model,
               {.question = {.budget = options.question.budget_bytes(), .objective = options.question.objective}},
               policy, {.rounds = 0, .stop = [&] { return question.out_of_time(); }});
  Result<Plan> plan = plan_policy(question, ahead);
  return plan || ahead == policy ? plan : plan_policy(question, policy);
}

}  // namespace pantoum::plan::baseline
