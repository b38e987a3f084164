
#include <gtest/gtest.h>

#include "plan/realize/realize.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr Bytes kBytes = 100;

// Ops that read nothing and take 1 s each, and a pager that takes 1.5 s for a tensor.
CostGraph graph_of(int64_t ops) {
  CostGraph graph;
  graph.device.pager = {.mode = PagerMode::kAsync,
                        .block_bytes = 1,
                        .in = {.latency_s = 0, .bytes_per_s = kBytes / 1.5, .w = 1},
                        .out = {.latency_s = 0, .bytes_per_s = kBytes / 1.5, .w = 1}};
  for (int64_t id = 0; id < ops; ++id) {
    graph.tensors.push_back({.id = id, .bytes = kBytes});
    graph.ops.push_back({.id = id, .outputs = {id}, .choices = {{.time_s = 1, .energy_j = 1, .writes = {0}}}});
    graph.order.push_back(id);
  }
  return graph;
}

Event compute(int32_t op) {
  return {.what = Do::kCompute, .subject = op, .taken_over = {TensorIndex()}};
}

// Tensor 0 is written out and freed; tensors 1 and 2 are made; 0 is read back.
const std::vector<Event> kStream{compute(0),
                                 {.what = Do::kPageOut, .subject = 0, .taken_over = {}},
                                 {.what = Do::kFree, .subject = 0, .taken_over = {}},
                                 compute(1),
                                 {.what = Do::kFree, .subject = 1, .taken_over = {}},
                                 compute(2),
                                 {.what = Do::kFree, .subject = 2, .taken_over = {}},
                                 compute(3)};

TEST(WriteCompletions, AreWhereTheWriteHasEnded) {
  const CostGraph graph = graph_of(4);
  const Model model = make_model(graph, {.question = {.budget = 1}});
  // Written from 1 s to 2.5 s: the compute that begins at 2 s is too early, the next one at 3 s is not.
  EXPECT_EQ(write_completions(model, kStream, 10 * kBytes), (std::vector<size_t>{0, 1, 7, 3, 4, 5, 6, 7}));
}

TEST(WriteCompletions, AreWhereRamIsFullOtherwise) {
  const CostGraph graph = graph_of(4);
  const Model model = make_model(graph, {.question = {.budget = 1}});
  EXPECT_EQ(write_completions(model, kStream, kBytes), (std::vector<size_t>{0, 1, 3, 3, 4, 5, 6, 7}));
}

// Tensors 0 and 1 are written from 2 s to 3.5 s and 5 s, and 1 is freed. Op 2 overwrites 0 in place behind its write, so op 3
// begins at 4.5 s, before the other write has ended, and op 4 at 5.5 s.
TEST(WriteCompletions, AreLaterWhereAComputeInPlaceWaitsForAWrite) {
  const CostGraph graph = graph_of(6);
  const Model model = make_model(graph, {.question = {.budget = 1}});
  Event in_place = compute(2);
  in_place.taken_over.front() = TensorIndex(0);
  const std::vector<Event> stream{compute(0),
                                  compute(1),
                                  {.what = Do::kPageOut, .subject = 0, .taken_over = {}},
                                  {.what = Do::kPageOut, .subject = 1, .taken_over = {}},
                                  {.what = Do::kFree, .subject = 1, .taken_over = {}},
                                  in_place,
                                  compute(3),
                                  compute(4),
                                  compute(5)};
  EXPECT_EQ(write_completions(model, stream, 10 * kBytes)[4], 7);
}

TEST(WriteCompletions, AreNoneWherePagingBlocks) {
  CostGraph graph = graph_of(4);
  graph.device.pager.mode = PagerMode::kSync;
  EXPECT_TRUE(write_completions(make_model(graph, {.question = {.budget = 1}}), kStream, 10 * kBytes).empty());
}

TEST(WriteCompletions, SpareStallsAndGiveWayToTheBudget) {
  const CostGraph graph = graph_of(4);
  PlanOptions options{.question = {.budget = 2 * kBytes}, .effort = 1};
  const auto seconds = [&](Bytes budget) {
    const Realized realized = realize(graph, make_model(graph, options), kStream, options, budget);
    return realized.plan ? realized.plan->predicted.time_s : 0;
  };
  EXPECT_NEAR(seconds(2 * kBytes), 4, 1e-9);
  EXPECT_NEAR(seconds(kBytes), 5.5, 1e-9);  // the bytes of tensor 0 are all there are
  options.without.add(Switch::kWriteCompletion);
  EXPECT_NEAR(seconds(2 * kBytes), 5.5, 1e-9);
}

}  // namespace
}  // namespace pantoum::plan
