// How long the ops of a step take where they stand in it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "cost/build_cost_graph.h"
#include "cost/kernel_bench.h"

namespace pantoum::cost {

struct StepLimits {
  const pt_pool* pool = nullptr;  // outlives the bench
  Bytes memory = 0;               // that the step may take
  Seconds slice = 0.2;            // of all rounds but the fewest that a median needs
  Seconds expected = 0;           // of one round; none begins that would end after the deadline
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
};

// Runs a step in RAM, round after round: in the graph's order, every op by its choice (`choices`, by op id), every tensor
// kept from its producer to its last reader, at the lowest free address, or over an input that it may replace. Parameters
// are the model's, with a learning rate of 0; inputs as fill_operand makes them. By op, the median of its seconds; 0 for
// optional ops. None: no memory, no time for three rounds, or a kernel that fails on such data.
[[nodiscard]] std::optional<std::vector<Seconds>> seconds_in_step(const ir::Graph& graph, const BuiltCostGraph& built,
                                                                  const std::vector<size_t>& choices,
                                                                  const StepLimits& limits);

}  // namespace pantoum::cost
