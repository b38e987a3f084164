// Measures how long ops take inside a step. The seconds are kept in the store by kernel, operands and step.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cost/build_cost_graph.h"
#include "cost/profile_store.h"

namespace pantoum::cost {

struct StepLimits {
  const pt_pool* pool = nullptr;  // outlives the measuring
  Bytes memory = 0;               // the most that the step may take
  Seconds slice = 0.2;            // time limit of all rounds; the fewest that a median needs are run in any case
  Seconds expected = 0;           // of one round; a round that would end after the deadline does not begin
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
};

// Runs a step in RAM, round after round, and returns the median of each op's seconds by op id; 0 for optional ops.
// Ops run in the graph's order, each by its choice (`choices`, by op id). Each tensor is kept from its producer to its last reader, at
// the lowest free address, or over an input that it may replace. Parameters are the model's, and the learning rate is 0; inputs are
// as fill_operand makes them. None: there is no memory, no time for three rounds, or a kernel fails on such data.
[[nodiscard]] std::optional<std::vector<Seconds>> seconds_in_step(const ir::Graph& graph, const BuiltCostGraph& built,
                                                                  const std::vector<size_t>& choices,
                                                                  const StepLimits& limits);

// The measured seconds of one step's ops, by key.
class MeasuredStep {
 public:
  // `choices`, `keys`: by the cost graph's op id, how each op is computed and the key of that choice. Graph and costs outlive this
  // object.
  MeasuredStep(const ir::Graph& graph, const BuiltCostGraph& built, std::vector<size_t> choices,
               std::vector<OpKey> keys);

  // Calls `act` with every op that the step runs (not the optional ones), its choice and the key of the choice.
  template <typename Act>
  void each(const Act& act) const {
    for (const problem::Op& op : built_.graph.ops)
      if (!op.optional && !op.choices.empty())
        act(op, choices_[static_cast<size_t>(op.id)], keys_[static_cast<size_t>(op.id)]);
  }
  // The mean seconds of the ops that have this key; none: not known, or no op has it.
  [[nodiscard]] std::optional<Seconds> find(const OpKey& key) const;

  [[nodiscard]] bool is_found() const { return !found_.empty(); }

  // Takes the seconds of all ops from the store; false: it lacks some, and nothing is taken. Errors: the store's.
  [[nodiscard]] Result<bool> look_up(ProfileStore& store);
  // Runs the step (seconds_in_step). Of several runs the quickest counts as a whole, because the sum of each op's quickest seconds is
  // less than any step takes. False: it was not run.
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
