// Cuts from RAM: the memory rows of the boundaries, and the working sets of what is recomputed.
//
// A tensor i that was had before segment e is in RAM all through e when this is 1:
//
//   S[e+1,i] - R[e,o] - I[e,i], or 1 - R[e,o] - I[e,i] if the boundary op reads it (at the end: if it must end in RAM)
//
// So for an op p that is recomputed in e, the sum of m_i times these over the i that p does not touch, and W_p R[e,p],
// are at most the budget. Both kinds are knapsacks, and are rounded and covered (below).
#include "plan/bound/separator.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/bound/bounds.h"
#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

// ---- one knapsack ----
//
// Cuts from one knapsack: sum of w_i u_i <= capacity over indicators u_i that are 0 or 1 in every plan.
//
// Rounding (Chvatal-Gomory): sum of floor(w_i / d) u_i <= floor(capacity / d), for each weight and its half as d.
// Extended minimal covers: sum over C of u_i <= |C| - 1 where the weights of C exceed the capacity, extended by all
// that weigh at least as much as the heaviest of C.
// An item's terms may understate its indicator (a sum that is at most u_i).

constexpr double kSome = 1e-6;  // an indicator of no more is 0 at the point

struct KnapsackItem {
  TensorIndex tensor;  // none: the op
  Bytes weight = 0;
  std::vector<Term> terms;
  double value = 0;     // of the indicator at the point
  double constant = 0;  // the indicator is this and the terms
};

struct Knapsack {
  Segment segment = 0;
  OpIndex op;  // that is recomputed in it; none: the knapsack is of the boundary
  std::vector<KnapsackItem> items;
  Bytes capacity = 0;
};

struct KnapsackCuts {  // the kinds that are sought
  bool rounding = true, covers = true, extension = true;
};

// sum of factor_i u_i <= most, as a row; by how much it is violated comes with it.
struct Packing {
  std::vector<std::pair<size_t, double>> factors;  // item, factor
  double most = 0;
  double violation = 0;
  Rule rule = Rule::kRounding;
  std::vector<int64_t> of;
};

void measure(const Knapsack& knapsack, Packing& packing) {
  double sum = 0, largest = 1;
  for (const auto& [item, factor] : packing.factors) {
    sum += factor * knapsack.items[item].value;
    largest = std::max(largest, factor);
  }
  packing.violation = (sum - packing.most) / largest;
}

Row row_of(const Knapsack& knapsack, const Packing& packing) {
  Row row{.lower = -packing.most, .rule = packing.rule, .of = packing.of};
  for (const auto& [item, factor] : packing.factors) {
    row.lower += factor * knapsack.items[item].constant;
    for (const Term& term : knapsack.items[item].terms) row.terms.push_back({term.column, -factor * term.factor});
  }
  std::ranges::sort(row.terms, {}, &Term::column);
  size_t kept = 0;
  for (const Term& term : row.terms) {
    if (kept > 0 && row.terms[kept - 1].column == term.column)
      row.terms[kept - 1].factor += term.factor;
    else
      row.terms[kept++] = term;
  }
  row.terms.resize(kept);
  std::erase_if(row.terms, [](const Term& term) { return term.factor == 0; });
  return row;
}

Packing rounded(const Knapsack& knapsack, Bytes divisor) {
  const Bytes most = knapsack.capacity / divisor;
  Packing packing{.most = static_cast<double>(most), .of = {knapsack.segment, knapsack.op.value(), divisor}};
  for (size_t item = 0; item < knapsack.items.size(); ++item)
    if (const Bytes factor = knapsack.items[item].weight / divisor; factor > 0) {
      packing.factors.emplace_back(item, static_cast<double>(factor));
      if (knapsack.items[item].tensor.exists()) packing.of.push_back(knapsack.items[item].tensor.value());
    }
  measure(knapsack, packing);
  return packing;
}

// A minimal cover, items ascending; empty: all that is there fits. Items join in the order of what they lack of 1 per
// byte, until they exceed the capacity; then those that are not needed for that leave, the least first.
std::vector<size_t> minimal_cover(const Knapsack& knapsack) {
  const std::vector<KnapsackItem>& items = knapsack.items;
  std::vector<size_t> order;
  for (size_t item = 0; item < items.size(); ++item)
    if (items[item].value > kSome) order.push_back(item);
  const auto lack = [&](size_t item) { return (1 - items[item].value) / static_cast<double>(items[item].weight); };
  std::ranges::stable_sort(order, {}, lack);
  std::vector<size_t> chosen;
  Bytes weight = 0;
  for (const size_t item : order) {
    if (weight > knapsack.capacity) break;
    chosen.push_back(item);
    weight += items[item].weight;
  }
  if (weight <= knapsack.capacity) return {};
  std::ranges::stable_sort(chosen, {}, [&](size_t item) { return items[item].value; });
  std::erase_if(chosen, [&](size_t item) {
    if (weight - items[item].weight <= knapsack.capacity) return false;
    weight -= items[item].weight;
    return true;
  });
  std::ranges::sort(chosen);
  return chosen;
}

// A minimal cover as a row, with the heavier items where it is extended; without factors where there is none.
Packing cover(const Knapsack& knapsack, bool extended) {
  const std::vector<size_t> chosen = minimal_cover(knapsack);
  if (chosen.empty()) return {};
  Packing packing{.most = static_cast<double>(chosen.size()) - 1, .rule = Rule::kCover};
  packing.of = {knapsack.segment, knapsack.op.value(), 0, 0};
  const auto add = [&](size_t item) {
    packing.factors.emplace_back(item, 1);
    if (knapsack.items[item].tensor.exists()) packing.of.push_back(knapsack.items[item].tensor.value());
  };
  Bytes heaviest = 0;
  for (const size_t item : chosen) {
    heaviest = std::max(heaviest, knapsack.items[item].weight);
    add(item);
    ++packing.of[knapsack.items[item].tensor.exists() ? 3 : 2];
  }
  const std::set<size_t> members(chosen.begin(), chosen.end());
  for (size_t item = 0; item < knapsack.items.size(); ++item)
    if (extended && !members.contains(item) && knapsack.items[item].weight >= heaviest) {
      add(item);
      if (!knapsack.items[item].tensor.exists()) packing.of[2] = 2;
    }
  measure(knapsack, packing);
  return packing;
}

// The knapsack itself as a row.
Row knapsack_row(const Knapsack& knapsack) {
  Packing packing{.most = static_cast<double>(knapsack.capacity), .of = {knapsack.segment, knapsack.op.value(), 0}};
  for (size_t item = 0; item < knapsack.items.size(); ++item) {
    packing.factors.emplace_back(item, static_cast<double>(knapsack.items[item].weight));
    if (knapsack.items[item].tensor.exists()) packing.of.push_back(knapsack.items[item].tensor.value());
  }
  return row_of(knapsack, packing);
}

// Appends the violated cuts: the best rounding and the best cover.
void knapsack_cuts(const Knapsack& knapsack, const KnapsackCuts& kinds, double tolerance, std::vector<Row>& cuts) {
  if (knapsack.capacity < 0) return;
  std::set<Bytes> divisors;
  for (const KnapsackItem& item : knapsack.items) {
    if (!kinds.rounding) break;
    for (const Bytes divisor : {item.weight, item.weight / 2, item.weight / 3, item.weight / 2 + 1, item.weight + 1})
      if (divisor > 0 && item.value > kSome) divisors.insert(divisor);
  }
  Packing best;
  for (const Bytes divisor : divisors) {
    Packing packing = rounded(knapsack, divisor);
    if (packing.violation > best.violation) best = std::move(packing);
  }
  if (best.violation > tolerance) cuts.push_back(row_of(knapsack, best));
  if (!kinds.covers) return;
  const Packing other = cover(knapsack, kinds.extension);
  if (!other.factors.empty() && other.violation > tolerance) cuts.push_back(row_of(knapsack, other));
}

// ---- knapsacks of a point ----

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
  Knapsack at_boundary(Segment segment) const {
    const OpIndex op = relaxation_.boundary_op(segment);
    Knapsack knapsack{.segment = segment, .capacity = relaxation_.budget_beside(segment, op)};
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const ColumnIndex column = relaxation_.in_ram(segment + 1, tensor);
      if (!column.exists() || relaxation_.touches(op, tensor)) continue;
      knapsack.items.push_back({tensor, model_.tensors[tensor].size, {{column, 1}}, point_[column]});
    }
    return knapsack;
  }

  // Returns what is in RAM all through a segment: what is there after it or is read by its boundary op, and was
  // neither paged in nor recomputed in it.
  std::vector<KnapsackItem> in_ram_throughout(Segment segment) const {
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
