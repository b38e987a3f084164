// Small training steps for tests: a chain and a residual net, with their gradients, on a device with storage.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::plan {

class SampleGraph {
 public:
  SampleGraph() {
    graph_.name = "sample";
    graph_.device.name = "test";
    graph_.device.ram_bytes = 1 << 20;
    graph_.device.pager = {.mode = problem::PagerMode::kAsync,
                           .in = {.latency_s = 0.1, .bytes_per_s = 100, .w = 1},
                           .out = {.latency_s = 0.1, .bytes_per_s = 100, .w = 1}};
  }

  // One op with one output of `bytes`; seconds and joules alike.
  int64_t add(std::vector<int64_t> inputs, problem::Bytes bytes, double cost) {
    const auto id = static_cast<int64_t>(graph_.ops.size());
    graph_.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = bytes});
    problem::Choice choice{.time_s = cost, .energy_j = cost, .writes = {0}};
    for (size_t position = 0; position < inputs.size(); ++position) choice.reads.push_back(static_cast<int>(position));
    graph_.ops.push_back({.id = id, .inputs = std::move(inputs), .outputs = {id}, .choices = {std::move(choice)}});
    graph_.order.push_back(id);
    return id;
  }

  problem::CostGraph graph_;
};

// `length` layers, a loss, and a gradient op for each that reads the layer's output.
[[nodiscard]] inline problem::CostGraph sample_chain(int length, problem::Bytes bytes = 100) {
  SampleGraph sample;
  std::vector<int64_t> states{sample.add({}, bytes, 1)};
  for (int layer = 1; layer < length; ++layer) states.push_back(sample.add({states.back()}, bytes, 1 + layer % 3));
  int64_t gradient = sample.add({states.back()}, 4, 1);
  for (size_t layer = states.size(); layer-- > 0;) gradient = sample.add({gradient, states[layer]}, 10, 2);
  return sample.graph_;
}

[[nodiscard]] inline problem::CostGraph sample_residual(int blocks) {
  SampleGraph sample;
  std::vector<int64_t> states{sample.add({}, 100, 1)};
  for (int block = 0; block < blocks; ++block) {
    const int64_t conv = sample.add({states.back()}, 100 + 20 * (block % 3), 5);
    const int64_t sum = sample.add({conv, states.back()}, 100, 1);
    states.push_back(conv);
    states.push_back(sum);
  }
  int64_t gradient = sample.add({states.back()}, 100, 1);
  for (size_t at = states.size() - 1; at > 0; --at)
    gradient = sample.add({gradient, states[at], states[at - 1]}, 100, 4);
  return sample.graph_;
}

}  // namespace pantoum::plan
