#include "report/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

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

// Ops of a second on two engines, a quarter of a second from one to the other; d takes the bytes of a, which c reads last; e takes both engines.
//
//   A   |  a  |...value....|hand-off|  c  |....gang.....|  e  |
//   B   |value|hand-off|  b  |....bytes...|hand-off|  d  |  e  |
problem::Plan two_engines(double launch_s) {
  problem::Plan plan{.question = {.budget = 100}};
  plan.graph.device.engines = {{.name = "A"}, {.name = "B", .launch_s = launch_s, .handoff_s = 0.25}};
  for (int64_t tensor = 0; tensor < 5; ++tensor) plan.graph.tensors.push_back({.id = tensor, .bytes = 10});
  const auto op = [&](int64_t id, std::vector<int64_t> inputs, std::vector<std::string> engines) {
    problem::Choice choice{.time_s = 1, .writes = {0}};
    choice.engines = std::move(engines);
    for (size_t input = 0; input < inputs.size(); ++input) choice.reads.push_back(static_cast<int>(input));
    plan.graph.ops.push_back({.id = id, .inputs = std::move(inputs), .outputs = {id}, .choices = {choice}});
    plan.graph.order.push_back(id);
  };
  op(0, {}, {"A"});
  op(1, {0}, {"B"});
  op(2, {0, 1}, {"A"});
  op(3, {}, {"B"});
  op(4, {}, {"A", "B"});
  plan.instructions = {
      {.what = Do::kCompute, .subject = 0, .at = {0}},  {.what = Do::kCompute, .subject = 1, .at = {10}},
      {.what = Do::kCompute, .subject = 2, .at = {20}}, {.what = Do::kFree, .subject = 0},
      {.what = Do::kCompute, .subject = 3, .at = {0}},  {.what = Do::kCompute, .subject = 4, .at = {30}}};
  plan.predicted = {-1, -1, std::nan(""), std::nan("")};
  return plan;
}

std::vector<std::tuple<size_t, Idle, double, double>> gaps_of(const problem::Plan& plan) {
  std::vector<check::Span> spans;
  const auto found = check::replay(plan.graph, plan, plan.question, &spans);
  EXPECT_TRUE(found) << found.error().message << " " << found.error().where;
  const Timeline timeline = timeline_of(plan, spans);
  std::vector<std::tuple<size_t, Idle, double, double>> gaps;
  for (const Gap& gap : timeline.gaps) gaps.emplace_back(gap.engine, gap.why, gap.begin_s, gap.end_s);
  std::ranges::sort(gaps);
  for (size_t engine = 0; engine < 2; ++engine) {  // it computes, or there is a reason
    double seconds = timeline.busy_s[engine];
    for (const double idle : timeline.idle_s(engine)) seconds += idle;
    EXPECT_DOUBLE_EQ(seconds, found->time_s);
  }
  return gaps;
}

TEST(Timeline, TellsWhyAnEngineComputesNothing) {
  EXPECT_EQ(gaps_of(two_engines(0)),
            (std::vector<std::tuple<size_t, Idle, double, double>>{{0, Idle::kGang, 3.5, 4.75},
                                                                   {0, Idle::kValue, 1, 2.25},
                                                                   {0, Idle::kHandOff, 2.25, 2.5},
                                                                   {1, Idle::kValue, 0, 1},
                                                                   {1, Idle::kBytes, 2.25, 3.5},
                                                                   {1, Idle::kHandOff, 1, 1.25},
                                                                   {1, Idle::kHandOff, 3.5, 3.75}}));
}

TEST(Timeline, TellsWhatAnIssuerThatLaunchesCosts) {
  const auto gaps = gaps_of(two_engines(0.5));
  EXPECT_NE(std::ranges::find(gaps, std::tuple<size_t, Idle, double, double>{1, Idle::kLaunch, 2.5, 4.25}), gaps.end());
}

}  // namespace
}  // namespace pantoum::report
