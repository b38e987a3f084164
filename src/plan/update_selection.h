// Chooses what a training step updates: the items with the largest sum of contributions whose parts cost no more than a limit.
//
// A step is a graph of parts, each with a cost that adds up: ops with their joules or seconds, or tensors with the bytes that they hold. An item is
// a tensor that can be trained, or a share of one. It needs the part that updates it, and everything before that: the forward pass, and the gradients from the loss
// down to it. A part that several items need is paid for once. That is a knapsack problem with precedence constraints.
#pragma once

#include <optional>
#include <vector>

namespace pantoum::plan {

struct UpdateProblem {
  std::vector<double> cost;             // by part; finite, not negative
  std::vector<std::vector<int>> needs;  // by part: the parts directly before it; no cycle
  std::vector<int> always;              // parts of every step, whatever is updated
  std::vector<double> contribution;     // by item; finite, not negative
  std::vector<std::vector<int>> parts;  // by item
  std::vector<int> group = {};          // by item: of the items of a group, as shares of one tensor, at most one is chosen; empty: each is its own
};

struct UpdateSelection {
  std::vector<char> chosen;  // by item; an item without a contribution is never chosen
  double contribution = 0;   // the sum
  double cost = 0;           // of all parts that run, those of every step included
  bool optimal = false;      // no other selection within the limit contributes more (by a share of 1e-6)
};

// Returns the cost of a step that updates the chosen items.
[[nodiscard]] double cost_of_updates(const UpdateProblem& problem, const std::vector<char>& chosen);

// Returns the selection with the one item that costs least, of those that contribute something; nullopt: there is none.
[[nodiscard]] std::optional<UpdateSelection> cheapest_update(const UpdateProblem& problem);

// Returns a selection whose cost is at most `limit`, rounding included; it may be empty. nullopt: a step that updates nothing costs more. Solved as a
// mixed-integer program for at most `seconds`; if that ends early, the selection is the better one of the best that was found and a greedy one.
[[nodiscard]] std::optional<UpdateSelection> select_updates(const UpdateProblem& problem, double limit, double seconds);

}  // namespace pantoum::plan
