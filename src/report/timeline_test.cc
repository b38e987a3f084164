#include "report/timeline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pantoum::report {
namespace {

using problem::Do;

// Three ops of a second each; every tensor crosses the channel in a second.
//
//   engine   |  a  |  b  |.....|  c  |.....
//   channel        |out x|in x |     |out z|
problem::Plan three_ops() {
  problem::Plan plan{.question = {.budget = 100}};
  plan.graph.device.pager = {.mode = problem::PagerMode::kAsync, .in = {.bytes_per_s = 10}, .out = {.bytes_per_s = 10}};
  for (int64_t tensor = 0; tensor < 3; ++tensor) plan.graph.tensors.push_back({.id = tensor, .bytes = 10});
  plan.graph.tensors[2].end = problem::Home::kAux;
  const problem::Choice second{.time_s = 1, .writes = {0}};
  plan.graph.ops = {{.id = 0, .outputs = {0}, .choices = {second}},
                    {.id = 1, .outputs = {1}, .choices = {second}},
                    {.id = 2, .inputs = {0}, .outputs = {2}, .choices = {second}}};
  plan.graph.ops[2].choices[0].reads = {0};
  plan.graph.order = {0, 1, 2};
  plan.instructions = {{.what = Do::kCompute, .subject = 0, .at = {0}},
                       {.what = Do::kPageOut, .subject = 0},
                       {.what = Do::kCompute, .subject = 1, .at = {10}},
                       {.what = Do::kFree, .subject = 0},
                       {.what = Do::kPageIn, .subject = 0, .at = {20}},
                       {.what = Do::kCompute, .subject = 2, .at = {30}},
                       {.what = Do::kPageOut, .subject = 2}};
  plan.predicted = {-1, -1, std::nan(""), std::nan("")};
  return plan;
}

Timeline timeline(const problem::Plan& plan) {
  std::vector<check::Span> spans;
  const auto found = check::replay(plan.graph, plan, plan.question, &spans);
  EXPECT_TRUE(found) << found.error().message;
  const Timeline timeline = timeline_of(plan, spans);
  EXPECT_DOUBLE_EQ(timeline.compute_s + timeline.stall_s, found->time_s);
  return timeline;
}

TEST(Timeline, TellsWhatHidesATransferAndWhatWaitsForIt) {
  const Timeline found = timeline(three_ops());
  ASSERT_EQ(found.transfers.size(), 3U);
  const Transfer &out = found.transfers[0], &in = found.transfers[1], &last = found.transfers[2];
  ASSERT_EQ(out.computes.size(), 1U);
  EXPECT_EQ(out.computes[0].instruction, 2U);
  EXPECT_DOUBLE_EQ(out.hidden_s, 1);
  EXPECT_DOUBLE_EQ(out.stall_s, 0);
  EXPECT_DOUBLE_EQ(in.hidden_s, 0);
  EXPECT_DOUBLE_EQ(in.stall_s, 1);
  EXPECT_DOUBLE_EQ(last.stall_s, 1);  // nothing follows it, and the step ends with it
  EXPECT_DOUBLE_EQ(found.stall_s, 2);
}

TEST(Timeline, HidesNothingBehindAPagerThatBlocks) {
  problem::Plan plan = three_ops();
  plan.graph.device.pager.mode = problem::PagerMode::kSync;
  const Timeline found = timeline(plan);
  for (const Transfer& one : found.transfers) {
    EXPECT_DOUBLE_EQ(one.stall_s, 1);
    EXPECT_TRUE(one.computes.empty());
  }
}

}  // namespace
}  // namespace pantoum::report
