// For tests of certificates: a small step that cannot keep everything.
#pragma once

#include <utility>
#include <vector>

#include "problem/cost_graph.h"
#include "problem/plan.h"

namespace pantoum::check {

// f0 -> t0, f1: t0 -> t1, f2: t1 -> t2, g3: t2 t0 -> t3, g4: t3 t1 -> t4. 100 bytes and 1 J and 1 s each; 3 J and 3 s
// to page in, 4 out. t5 starts in storage and is read by g4, t6 is pinned.
inline problem::CostGraph step_graph() {
  problem::CostGraph graph;
  graph.device.pager.mode = problem::PagerMode::kAsync;
  graph.device.pager.in = {.latency_s = 2, .bytes_per_s = 100, .w = 1};
  graph.device.pager.out = {.latency_s = 3, .bytes_per_s = 100, .w = 1};
  for (int64_t id = 0; id < 5; ++id) graph.tensors.push_back({.id = id, .bytes = 100});
  graph.tensors.push_back({.id = 5, .bytes = 10, .start = problem::Home::kAux});
  graph.tensors.push_back({.id = 6, .bytes = 1, .start = problem::Home::kRam, .pinned = true});
  const std::vector<std::vector<int64_t>> inputs = {{6}, {0}, {1}, {2, 0}, {3, 1, 5}};
  for (int64_t id = 0; id < 5; ++id) {
    problem::Choice choice{.time_s = 1, .energy_j = 1, .writes = {0}};
    for (size_t read = 0; read < inputs[static_cast<size_t>(id)].size(); ++read)
      choice.reads.push_back(static_cast<int>(read));
    graph.ops.push_back({.id = id, .inputs = inputs[static_cast<size_t>(id)], .outputs = {id}, .choices = {choice}});
    graph.order.push_back(id);
  }
  return graph;
}

// Segment e ends with op e, the last one with the step.
inline problem::Certificate asked(std::vector<problem::Certificate::Row> rows) {
  return {
      .question = {.budget = 251}, .order = {0, 1, 2, 3, 4}, .boundaries = {1, 2, 3, 4, 5, 6}, .rows = std::move(rows)};
}

}  // namespace pantoum::check
