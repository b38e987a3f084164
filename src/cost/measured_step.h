// What the ops of a step take where they stand in it, measured once: kept in the store by kernel, operands and step.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/op_key.h"
#include "cost/step_bench.h"

namespace pantoum::cost {

class MeasuredStep {
 public:
  // How each op is computed, and the keys of these choices, by the cost graph's op id. Graph and costs outlive it.
  MeasuredStep(const ir::Graph& graph, const BuiltCostGraph& built, std::vector<size_t> choices,
               std::vector<OpKey> keys);

  // Every op that the step runs, its choice and that one's key: not the optional ones.
  template <typename Act>
  void each(const Act& act) const {
    for (const problem::Op& op : built_.graph.ops)
      if (!op.optional && !op.choices.empty())
        act(op, choices_[static_cast<size_t>(op.id)], keys_[static_cast<size_t>(op.id)]);
  }
  // The mean of the ops that have this key; none: not known, or no op has it.
  [[nodiscard]] std::optional<Seconds> find(const OpKey& key) const;

  [[nodiscard]] bool is_found() const { return !found_.empty(); }

  // Takes what the store has, of all ops or none; false: none. Errors: the store's.
  [[nodiscard]] Result<bool> look_up(ProfileStore& store);
  // Runs the step (seconds_in_step); of several runs the quickest counts: the sum of each op's quickest is less than any
  // step takes. False: it was not run.
  bool run(const StepLimits& limits);
  [[nodiscard]] Result<void> keep(ProfileStore& store) const;

 private:
  [[nodiscard]] OpKey in_step(OpKey key) const;
  [[nodiscard]] Seconds sum_of(const std::map<std::string, Seconds>& means) const;  // of all ops

  const ir::Graph& graph_;
  const BuiltCostGraph& built_;
  std::vector<size_t> choices_;
  std::vector<OpKey> keys_;
  std::string name_;
  std::map<std::string, Seconds> found_;  // by the key's text
};

}  // namespace pantoum::cost
