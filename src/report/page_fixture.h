// A step of four ops with a tensor that is paged and one that is computed again; for tests.
//
//   engine   |  a  |  b  |  a again  |  c  |
//   channel        |out x| in x|
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "report/explain.h"

namespace pantoum::report {

// Every name holds `name`.
inline problem::Plan returning_plan(const std::string& name = "") {
  using problem::Do;
  problem::Plan plan{.question = {.budget = 40}};
  problem::CostGraph& graph = plan.graph;
  graph.name = "net" + name;
  graph.device.name = "board" + name;
  graph.device.pager = {.mode = problem::PagerMode::kAsync, .in = {.bytes_per_s = 10}, .out = {.bytes_per_s = 10}};
  const auto tensor = [&](int64_t id, const char* text) {
    graph.tensors.push_back({.id = id, .name = text + name, .bytes = 10});
  };
  tensor(0, "w"), tensor(1, "x"), tensor(2, "y"), tensor(3, "grad.y"), tensor(4, "w'");
  graph.tensors[0].start = problem::Home::kRam, graph.tensors[0].next = 4, graph.tensors[0].pinned = true;
  const problem::Choice second{.time_s = 1, .energy_j = 2};
  graph.ops = {{.id = 0, .name = "net/conv_1" + name, .inputs = {0}, .outputs = {1}, .choices = {second}},
               {.id = 1, .name = "net/relu_7" + name, .inputs = {1}, .outputs = {2}, .choices = {second}},
               {.id = 2, .name = "net/relu_7.dx" + name, .inputs = {1, 2}, .outputs = {3}, .choices = {second}},
               {.id = 3, .name = "w.sgd" + name, .inputs = {0, 3, 2}, .outputs = {4}, .choices = {second}}};
  for (problem::Op& op : graph.ops) {
    for (size_t at = 0; at < op.inputs.size(); ++at) op.choices[0].reads.push_back(static_cast<int>(at));
    op.choices[0].writes = {0};
  }
  graph.ops[3].choices[0].overwrites = {{0, 0}};
  graph.order = {0, 1, 2, 3};
  plan.initial = {{0, 0}};
  plan.instructions = {{.what = Do::kCompute, .subject = 0, .at = {10}},
                       {.what = Do::kCompute, .subject = 1, .at = {20}},
                       {.what = Do::kPageOut, .subject = 2},
                       {.what = Do::kFree, .subject = 1},
                       {.what = Do::kFree, .subject = 2},
                       {.what = Do::kCompute, .subject = 0, .at = {10}},
                       {.what = Do::kPageIn, .subject = 2, .at = {20}},
                       {.what = Do::kCompute, .subject = 2, .at = {30}},
                       {.what = Do::kFree, .subject = 1},
                       {.what = Do::kCompute, .subject = 3, .at = {0}},
                       {.what = Do::kFree, .subject = 2},
                       {.what = Do::kFree, .subject = 3}};
  plan.predicted = {-1, -1, std::nan(""), std::nan("")};
  return plan;
}

inline CheckedPlan checked(problem::Plan plan) {
  Result<CheckedPlan> made = check_plan(std::move(plan));
  EXPECT_TRUE(made) << (made ? "" : made.error().message + " at " + made.error().where);
  return made ? *std::move(made) : CheckedPlan{};
}

}  // namespace pantoum::report
