// Cuts from one knapsack: sum of w_i u_i <= capacity over indicators u_i that are 0 or 1 in every plan.
//
// Rounding (Chvatal-Gomory): sum of floor(w_i / d) u_i <= floor(capacity / d), for each weight and its half as d.
// Extended minimal covers: sum over C of u_i <= |C| - 1 where the weights of C exceed the capacity, extended by all
// that weigh at least as much as the heaviest of C.
// An item's terms may understate its indicator (a sum that is at most u_i).
#pragma once

#include <vector>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {

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

// The knapsack itself as a row.
[[nodiscard]] Row knapsack_row(const Knapsack& knapsack);
// Appends the violated cuts: the best rounding and the best cover.
void knapsack_cuts(const Knapsack& knapsack, const KnapsackCuts& kinds, double tolerance, std::vector<Row>& cuts);

}  // namespace pantoum::plan
