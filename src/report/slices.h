// What the ops of a step need in RAM, whole and in slices, and what their other choices would cost.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "problem/plan.h"

namespace pantoum::report {

// A way to compute an op, as a graph's choice offers it.
struct Way {
  size_t choice = 0;
  problem::Bytes needs = 0;  // RAM while it runs, at least: its workspace, and what it reads and writes whole
  problem::ChoiceCosts costs;
  double value = 0;  // of the objective, of this op alone
};

struct WidestOp {
  int64_t op = -1;  // none
  problem::Bytes bytes = 0;
};

// The RAM that single ops need.
class OpNeeds {
 public:
  // Keeps `graph` by reference. `question`: whether outputs may take the place of inputs, and what choices are compared by.
  OpNeeds(const problem::CostGraph& graph, const problem::Question& question);

  [[nodiscard]] Way way(const problem::Op& op, size_t choice) const;
  // The way of those that stream nothing and have no slices that needs the least RAM; none: there is no such choice.
  [[nodiscard]] std::optional<Way> whole(const problem::Op& op) const;
  // The ways that no other beats in both RAM and value, the most RAM first.
  [[nodiscard]] std::vector<Way> best(const problem::Op& op) const;
  // The op whose whole form needs the most RAM.
  [[nodiscard]] WidestOp widest_whole() const;
  // The op whose leanest choice needs the most RAM: no plan takes less. None where no choice has slices.
  [[nodiscard]] WidestOp widest() const;
  // How many ops need more than the budget as a whole.
  [[nodiscard]] int64_t beyond(problem::Bytes budget) const;
  // Bytes of what the choice streams, each tensor once.
  [[nodiscard]] problem::Bytes streamed_once(const problem::Op& op, const problem::Choice& choice) const;

 private:
  [[nodiscard]] problem::Bytes bytes_of(int64_t tensor) const { return bytes_.at(tensor); }
  [[nodiscard]] problem::Bytes needed(const problem::Op& op, const problem::Choice& choice) const;

  const problem::CostGraph& graph_;
  const problem::Question& question_;
  problem::Watts idle_w_ = 0;
  std::unordered_map<int64_t, problem::Bytes> bytes_;  // whole units of RAM
};

// "3 x 8 slices"; "whole", "slices" where the file does not tell how many.
[[nodiscard]] std::string slices_text(const problem::Choice& choice);
// Is the op computed in slices, or does it stream?
[[nodiscard]] bool is_sliced(const problem::Choice& choice);

// What `inspect` and `explain` tell of the ops of a step in a budget.
struct SliceNeeds {
  problem::Bytes budget = 0;
  int64_t beyond = 0;      // ops that exceed the budget as a whole
  WidestOp whole, sliced;  // the widest as a whole; the widest in its leanest slices
};
[[nodiscard]] SliceNeeds slice_needs(const OpNeeds& needs, problem::Bytes budget);

[[nodiscard]] nlohmann::ordered_json to_json(const SliceNeeds& needs, const class Names& names);
// The ways of `op`, with `taken` marked; none: no plan says.
[[nodiscard]] nlohmann::ordered_json ways_json(const OpNeeds& needs, const problem::Op& op,
                                               std::optional<size_t> taken);
// A line of text for each way within the budget, and for the one that needs the least beyond it; in the same order.
[[nodiscard]] std::vector<std::string> ways_text(const OpNeeds& needs, const problem::Op& op,
                                                 std::optional<size_t> taken, problem::Bytes budget);
[[nodiscard]] std::string to_text(const SliceNeeds& needs, const Names& names);

}  // namespace pantoum::report
