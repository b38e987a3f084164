#include "plan/bound/memory_cuts.h"

#include <algorithm>

#include "plan/bound/bounds.h"
#include "plan/bound/knapsack_cuts.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

double value_of(const std::vector<Term>& terms, const std::vector<double>& point) {
  double sum = 0;
  for (const Term& term : terms) sum += term.factor * point[z(term.column)];
  return sum;
}

Knapsack at_boundary(const Relaxation& relaxation, const std::vector<double>& point, int32_t epoch) {
  const int32_t op = relaxation.boundary(epoch) - 1;
  Knapsack knapsack{.epoch = epoch, .capacity = relaxation.room_beside(epoch, op)};
  for (int32_t tensor = 0; tensor < static_cast<int32_t>(relaxation.model().tensors.size()); ++tensor) {
    const int32_t column = relaxation.in_ram(epoch + 1, tensor);
    if (column < 0 || relaxation.touches(op, tensor)) continue;
    knapsack.items.push_back({tensor, relaxation.model().tensors[z(tensor)].size, {{column, 1}}, point[z(column)]});
  }
  return knapsack;
}

// What stays in RAM all through an epoch: what is there after it, or is read by its boundary, and was not had again in
// it.
std::vector<KnapsackItem> staying(const Relaxation& relaxation, const std::vector<double>& point, int32_t epoch) {
  std::vector<KnapsackItem> items;
  const bool last = epoch + 1 == relaxation.epochs(), reads = relaxation.model().uses(Switch::kRetainedReads);
  for (int32_t tensor = 0; tensor < static_cast<int32_t>(relaxation.model().tensors.size()); ++tensor) {
    const TensorModel& entry = relaxation.model().tensors[z(tensor)];
    if (entry.pinned || relaxation.birth(tensor) >= epoch || relaxation.given(epoch, tensor)) continue;
    KnapsackItem item{.tensor = tensor, .weight = entry.size};
    const int32_t after = last ? -1 : relaxation.in_ram(epoch + 1, tensor);
    if (reads && relaxation.read_at_boundary(epoch, tensor))
      item.constant = 1;
    else if (after >= 0)
      item.terms.push_back({after, 1});
    else
      continue;
    if (const int32_t in = relaxation.paged_in(epoch, tensor); in >= 0) item.terms.push_back({in, -1});
    if (entry.producer >= 0)
      if (const int32_t made = relaxation.again(epoch, entry.producer); made >= 0) item.terms.push_back({made, -1});
    item.value = item.constant + value_of(item.terms, point);
    if (item.value > 1e-6) items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::vector<Row> memory_cuts(const Relaxation& relaxation, const std::vector<double>& point, double tolerance,
                             const std::function<bool()>& stop) {
  const Model& model = relaxation.model();
  const KnapsackCuts kinds{.rounding = model.uses(Switch::kRounding),
                           .covers = model.uses(Switch::kCovers),
                           .extension = model.uses(Switch::kCoverExtension)};
  std::vector<Row> cuts;
  for (int32_t epoch = 0; epoch < relaxation.epochs() && !stop(); ++epoch) {
    if (epoch + 1 < relaxation.epochs() && model.uses(Switch::kBoundaryCuts))
      knapsack_cuts(at_boundary(relaxation, point, epoch), kinds, tolerance, cuts);
    if (!model.uses(Switch::kRecomputeCuts)) continue;
    const auto items = staying(relaxation, point, epoch);
    for (int32_t op = 0; op < static_cast<int32_t>(model.ops.size()); ++op) {
      const int32_t again = relaxation.again(epoch, op);
      if (again < 0 || point[z(again)] < 1e-3) continue;
      const Bytes own = working_set(model, model.ops[z(op)]);
      Knapsack knapsack{.epoch = epoch, .op = op, .capacity = relaxation.room_beside(epoch, op) + own};
      double held = static_cast<double>(own) * point[z(again)];
      Bytes heaviest = own;
      for (const KnapsackItem& item : items) {
        if (relaxation.touches(op, item.tensor)) continue;
        held += static_cast<double>(item.weight) * item.value;
        heaviest = std::max(heaviest, item.weight);
      }
      // A cover lacks less than its heaviest item, and rounding less than its divisor, of what the point holds.
      if (held <= static_cast<double>(knapsack.capacity - heaviest - 1)) continue;
      for (const KnapsackItem& item : items)
        if (!relaxation.touches(op, item.tensor)) knapsack.items.push_back(item);
      knapsack.items.push_back({-1, own, {{again, 1}}, point[z(again)]});
      if (held > static_cast<double>(knapsack.capacity) * (1 + tolerance)) cuts.push_back(knapsack_row(knapsack));
      knapsack_cuts(knapsack, kinds, tolerance, cuts);
    }
  }
  return cuts;
}

}  // namespace pantoum::plan
