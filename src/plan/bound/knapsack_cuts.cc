#include "plan/bound/knapsack_cuts.h"

#include <algorithm>
#include <set>

namespace pantoum::plan {
namespace {

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
  std::sort(row.terms.begin(), row.terms.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
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
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lack(a) < lack(b); });
  std::vector<size_t> chosen;
  Bytes weight = 0;
  for (const size_t item : order) {
    if (weight > knapsack.capacity) break;
    chosen.push_back(item);
    weight += items[item].weight;
  }
  if (weight <= knapsack.capacity) return {};
  std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) { return items[a].value < items[b].value; });
  std::erase_if(chosen, [&](size_t item) {
    if (weight - items[item].weight <= knapsack.capacity) return false;
    weight -= items[item].weight;
    return true;
  });
  std::sort(chosen.begin(), chosen.end());
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

}  // namespace

Row knapsack_row(const Knapsack& knapsack) {
  Packing packing{.most = static_cast<double>(knapsack.capacity), .of = {knapsack.segment, knapsack.op.value(), 0}};
  for (size_t item = 0; item < knapsack.items.size(); ++item) {
    packing.factors.emplace_back(item, static_cast<double>(knapsack.items[item].weight));
    if (knapsack.items[item].tensor.exists()) packing.of.push_back(knapsack.items[item].tensor.value());
  }
  return row_of(knapsack, packing);
}

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

}  // namespace pantoum::plan
