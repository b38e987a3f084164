// A step for tests that is small and yet presses: a chain forward and back, where every gradient reads two activations.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::plan_test {

// 2 * length - 1 ops, one tensor each. Sizes and costs vary a little; a workspace of up to twice `workspace` bytes;
// the pager is asynchronous, with one channel.
inline problem::CostGraph chain(int64_t length, problem::Bytes workspace = 0) {
  problem::CostGraph graph;
  graph.device.align_bytes = 4;
  graph.device.pager = {.mode = problem::PagerMode::kAsync,
                        .in = {.latency_s = 0.01, .bytes_per_s = 1000, .w = 5},
                        .out = {.latency_s = 0.01, .bytes_per_s = 1000, .w = 6}};
  const auto add = [&](std::vector<int64_t> inputs, double joules) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    graph.tensors.push_back({.id = id, .bytes = 90 + 7 * (id % 5)});
    problem::Choice choice{
        .time_s = joules / 100, .energy_j = joules, .workspace_bytes = workspace * (id % 3), .writes = {0}};
    for (size_t position = 0; position < inputs.size(); ++position) choice.reads.push_back(static_cast<int>(position));
    graph.ops.push_back({.id = id, .inputs = std::move(inputs), .outputs = {id}, .choices = {choice}});
    graph.order.push_back(id);
    return id;
  };
  for (int64_t at = 0; at < length; ++at)
    add(at == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{at - 1}, 1 + static_cast<double>(at % 3) / 2);
  int64_t gradient = length - 1;
  for (int64_t at = length - 1; at > 0; --at) gradient = add({gradient, at, at - 1}, 2);
  return graph;
}

}  // namespace pantoum::plan_test
