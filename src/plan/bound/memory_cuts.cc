#include "plan/bound/memory_cuts.h"

#include <algorithm>
#include <utility>

#include "plan/bound/bounds.h"
#include "plan/bound/knapsack_cuts.h"
#include "plan/bound/relaxation.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr double kRecomputed = 1e-3;  // an op whose R is less counts as not recomputed

class MemorySeparator {
 public:
  MemorySeparator(const Relaxation& relaxation, const Point& point, double tolerance)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        point_(point),
        tolerance_(tolerance),
        kinds_{.rounding = model_.uses(Switch::kRounding),
               .covers = model_.uses(Switch::kCovers),
               .extension = model_.uses(Switch::kCoverExtension)} {}

  std::vector<Row> run(const std::function<bool()>& stop) {
    const bool boundaries = model_.uses(Switch::kBoundaryCuts), recomputations = model_.uses(Switch::kRecomputeCuts);
    for (Segment segment = 0; segment < relaxation_.segments() && !stop(); ++segment) {
      if (boundaries && segment + 1 < relaxation_.segments())
        knapsack_cuts(at_boundary(segment), kinds_, tolerance_, cuts_);
      if (!recomputations) continue;
      const std::vector<KnapsackItem> items = in_ram_throughout(segment);
      for (const OpIndex op : model_.ops.indices())
        if (const ColumnIndex column = relaxation_.recomputed(segment, op);
            column.exists() && point_[column] >= kRecomputed)
          beside_recomputed(segment, op, column, items);
    }
    return std::move(cuts_);
  }

 private:
  [[nodiscard]] Knapsack at_boundary(Segment segment) const {
    const OpIndex op = relaxation_.boundary_op(segment);
    Knapsack knapsack{.segment = segment, .capacity = relaxation_.budget_beside(segment, op)};
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const ColumnIndex column = relaxation_.in_ram(segment + 1, tensor);
      if (!column.exists() || relaxation_.touches(op, tensor)) continue;
      knapsack.items.push_back({tensor, model_.tensors[tensor].size, {{column, 1}}, point_[column]});
    }
    return knapsack;
  }

  // What is in RAM all through a segment: what is there after it, or is read by its boundary op, and neither was paged
  // in nor recomputed in it.
  [[nodiscard]] std::vector<KnapsackItem> in_ram_throughout(Segment segment) const {
    std::vector<KnapsackItem> items;
    const bool last = segment + 1 == relaxation_.segments(), reads = model_.uses(Switch::kRetainedReads);
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      const bool before = relaxation_.definition_segment(tensor) < segment;
      if (entry.pinned || !before || relaxation_.available(segment, tensor)) continue;
      KnapsackItem item{.tensor = tensor, .weight = entry.size};
      const ColumnIndex after = last ? ColumnIndex() : relaxation_.in_ram(segment + 1, tensor);
      if (reads && relaxation_.read_at_boundary(segment, tensor))
        item.constant = 1;
      else if (after.exists())
        item.terms.push_back({after, 1});
      else
        continue;
      if (const ColumnIndex in = relaxation_.paged_in(segment, tensor); in.exists()) item.terms.push_back({in, -1});
      if (entry.producer.exists())
        if (const ColumnIndex made = relaxation_.recomputed(segment, entry.producer); made.exists())
          item.terms.push_back({made, -1});
      item.value = item.constant + sum_at(item.terms, point_);
      if (item.value > kSome) items.push_back(std::move(item));
    }
    return items;
  }

  // Cuts beside an op that is recomputed in the segment, as its `column` says; `items`: what is in RAM throughout.
  void beside_recomputed(Segment segment, OpIndex op, ColumnIndex column, const std::vector<KnapsackItem>& items) {
    const Bytes own = working_set(model_, model_.ops[op]);
    Knapsack knapsack{.segment = segment, .op = op, .capacity = relaxation_.budget_beside(segment, op) + own};
    double held = static_cast<double>(own) * point_[column];
    Bytes heaviest = own;
    for (const KnapsackItem& item : items) {
      if (relaxation_.touches(op, item.tensor)) continue;
      held += static_cast<double>(item.weight) * item.value;
      heaviest = std::max(heaviest, item.weight);
    }
    // A cover lacks less than its heaviest item, and rounding less than its divisor, of what the point holds.
    if (held <= static_cast<double>(knapsack.capacity - heaviest - 1)) return;
    for (const KnapsackItem& item : items)
      if (!relaxation_.touches(op, item.tensor)) knapsack.items.push_back(item);
    knapsack.items.push_back({TensorIndex(), own, {{column, 1}}, point_[column]});
    if (held > static_cast<double>(knapsack.capacity) * (1 + tolerance_)) cuts_.push_back(knapsack_row(knapsack));
    knapsack_cuts(knapsack, kinds_, tolerance_, cuts_);
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const Point& point_;
  const double tolerance_;
  const KnapsackCuts kinds_;
  std::vector<Row> cuts_;
};

}  // namespace

std::vector<Row> memory_cuts(const Relaxation& relaxation, const Point& point, double tolerance,
                             const std::function<bool()>& stop) {
  return MemorySeparator(relaxation, point, tolerance).run(stop);
}

}  // namespace pantoum::plan
