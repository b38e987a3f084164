#include "check/replay.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pantoum::check {
namespace {

using problem::Choice;
using problem::CostGraph;
using problem::Do;
using problem::Home;
using problem::Plan;

// x, w in RAM; fc: x w -> y; dw: x y -> g; sgd: w g -> w' over w. 1 byte/s of storage, 1 s a compute.
CostGraph step_graph() {
  CostGraph graph;
  graph.device.align_bytes = 4;
  graph.device.pager.mode = problem::PagerMode::kAsync;
  graph.device.pager.in = graph.device.pager.out = {.latency_s = 0, .bytes_per_s = 1, .w = 2};
  graph.tensors = {{.id = 0, .name = "x", .bytes = 8, .start = Home::kRam},
                   {.id = 1, .name = "w", .bytes = 4, .start = Home::kRam, .pinned = true, .next = 4},
                   {.id = 2, .name = "y", .bytes = 8},
                   {.id = 3, .name = "g", .bytes = 4},
                   {.id = 4, .name = "w'", .bytes = 4}};
  Choice choice;
  choice.time_s = choice.energy_j = 1;
  choice.reads = {0, 1};
  choice.writes = {0};
  graph.ops = {{.id = 0, .name = "fc", .inputs = {0, 1}, .outputs = {2}, .choices = {choice}},
               {.id = 1, .name = "dw", .inputs = {0, 2}, .outputs = {3}, .choices = {choice}},
               {.id = 2, .name = "sgd", .inputs = {1, 3}, .outputs = {4}, .recompute = false, .choices = {choice}}};
  graph.ops[2].choices[0].overwrites = {{0, 0}};
  graph.order = {0, 1, 2};
  return graph;
}

// x [0, 8), w [8, 12), y [12, 20), g [20, 24)
Plan step_plan() {
  Plan plan;
  plan.graph = step_graph();
  plan.question.budget = 24;
  plan.initial = {{0, 0}, {1, 8}};
  plan.instructions = {{.what = Do::kCompute, .subject = 0, .at = {12}},
                       {.what = Do::kCompute, .subject = 1, .at = {20}},
                       {.what = Do::kFree, .subject = 2, .at = {}},
                       {.what = Do::kCompute, .subject = 2, .at = {8}}};
  plan.predicted = {.peak_bytes = 24, .arena_bytes = 24, .time_s = 3, .energy_j = 3};
  return plan;
}

// Pages y out and in again between its uses: the write ends at 1 + 8, the read at 17, dw at 18.
Plan paging_plan() {
  Plan plan = step_plan();
  plan.instructions.insert(plan.instructions.begin() + 1, {{.what = Do::kPageOut, .subject = 2, .at = {}},
                                                           {.what = Do::kFree, .subject = 2, .at = {}},
                                                           {.what = Do::kPageIn, .subject = 2, .at = {12}}});
  plan.predicted.time_s = 19;
  plan.predicted.energy_j = 3 + 16 * 2;
  return plan;
}

std::string verdict(const Plan& plan, const problem::Question& question) {
  const auto found = replay(plan.graph, plan, question);
  if (found) return "valid";
  return found.error().code + " " + found.error().message + " @ " + found.error().where;
}

std::string verdict(const Plan& plan) {
  return verdict(plan, plan.question);
}

TEST(Replay, FindsWhatAStepNeeds) {
  const auto found = replay(step_graph(), step_plan());
  ASSERT_TRUE(found.has_value()) << to_text(found.error());
  EXPECT_EQ(found->peak_bytes, 24);
  EXPECT_EQ(found->arena_bytes, 24);
  EXPECT_EQ(found->time_s, 3);
  EXPECT_EQ(found->counts.compute, 3);
  EXPECT_TRUE(found->keeps_order);
}

TEST(Replay, QueuesTransfersBesideComputes) {
  EXPECT_EQ(verdict(paging_plan()), "valid");
  Plan plan = paging_plan();
  plan.graph.device.pager.mode = problem::PagerMode::kSync;
  EXPECT_EQ(verdict(plan), "valid");  // nothing ran beside them
}

TEST(Replay, NamesTheInstructionAndTheRule) {
  Plan plan = step_plan();
  plan.instructions.erase(plan.instructions.begin() + 1);
  EXPECT_EQ(verdict(plan), "E0801 op 2 (sgd) needs tensor 3 (g), which is not in RAM @ instruction 2");
  plan = step_plan();
  plan.instructions[1].at = {16};
  EXPECT_EQ(verdict(plan), "E0801 [16, 20) overlaps a tensor in RAM at [12, 20) @ instruction 1");
  plan = step_plan();
  plan.instructions[1].at = {21};
  EXPECT_EQ(verdict(plan), "E0801 offset 21 is no multiple of 4 @ instruction 1");
  plan = step_plan();
  plan.instructions[2].subject = 1;
  EXPECT_EQ(verdict(plan), "E0801 tensor 1 (w) is freed and pinned @ instruction 2");
  plan = step_plan();
  plan.instructions[3].at = {12};
  EXPECT_EQ(verdict(plan), "E0801 tensor 4 (w') must end in RAM at 8, where the next step looks for it @ end");
  plan = step_plan();
  plan.instructions.pop_back();
  EXPECT_EQ(verdict(plan), "E0801 op 2 (sgd) is never computed @ end");
  plan = step_plan();
  plan.initial.erase(1);
  EXPECT_EQ(verdict(plan), "E0801 tensor 1 (w) starts in RAM and has no initial offset @ start");
}

// w, 4 bytes, is written out from 2 to 6 s; sgd overwrites it from 6 to 7 s, and not at 2 s.
TEST(Replay, OverwritesInPlaceBehindAPageOut) {
  Plan plan = step_plan();
  plan.instructions.insert(plan.instructions.end() - 1, {.what = Do::kPageOut, .subject = 1, .at = {}});
  plan.predicted.time_s = 7;
  plan.predicted.energy_j = 3 + 4 * 2;
  std::vector<Span> spans;
  const auto found = replay(plan.graph, plan, plan.question, &spans);
  ASSERT_TRUE(found) << to_text(found.error());
  EXPECT_EQ(spans.back().issue_s, 2);
  EXPECT_EQ(spans.back().begin_s, 6);
  for (const double bytes_per_s : {1e-3, 1.0, 1e9}) {  // how long the page_out takes is no matter of validity
    plan.graph.device.pager.out.bytes_per_s = bytes_per_s;
    plan.predicted = {.peak_bytes = 24, .arena_bytes = 24, .time_s = std::nan(""), .energy_j = std::nan("")};
    EXPECT_EQ(verdict(plan), "valid");
    EXPECT_EQ(replay(plan.graph, plan)->time_s, 3 + 4 / bytes_per_s);
  }
}

// y, 8 bytes, is written out from 1 to 9 s; fc makes it again where it is from 9 to 10 s.
TEST(Replay, RecomputesInPlaceBehindAPageOut) {
  Plan plan = step_plan();
  plan.instructions.insert(plan.instructions.begin() + 1, {{.what = Do::kPageOut, .subject = 2, .at = {}},
                                                           {.what = Do::kCompute, .subject = 0, .at = {12}}});
  plan.predicted.time_s = 12;
  plan.predicted.energy_j = 4 + 8 * 2;
  EXPECT_EQ(verdict(plan), "valid");
}

TEST(Replay, RefusesAGraphThatOverwritesWhatIsPinned) {
  Plan plan = step_plan();
  plan.graph.ops[0].choices[0].overwrites = {{0, 1}};
  EXPECT_EQ(verdict(plan).substr(0, 5), "E0221");
}

TEST(Replay, CountsPagingAgainstTheDeadlineAndTheBudget) {
  Plan plan = paging_plan();
  plan.question.deadline = 18.5;
  EXPECT_EQ(verdict(plan), "E0802 the step takes 19 s and the deadline is 18.5 s @ ");
  EXPECT_EQ(verdict(plan, {.budget = 24, .deadline = 19}), "valid");
  EXPECT_EQ(verdict(paging_plan(), {.budget = 23}), "E0802 the arena takes 24 bytes and the budget is 23 @ ");
}

TEST(Replay, RefutesPredictionsAndBounds) {
  Plan plan = step_plan();
  plan.predicted.energy_j = 3.1;
  EXPECT_EQ(verdict(plan), "E0803 the plan predicts energy_j 3.1, and the replay finds 3 @ predicted");
  plan = step_plan();
  plan.predicted.peak_bytes = 23;
  EXPECT_EQ(verdict(plan), "E0803 the plan predicts peak_bytes 23, and the replay finds 24 @ predicted");
  plan = step_plan();
  plan.bound.time_s = 3.5;
  EXPECT_EQ(verdict(plan), "E0803 the lower bound of 3.5 s is above the plan's own 3 s @ bound");
  plan = step_plan();
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  EXPECT_EQ(verdict(plan), "valid");
}

TEST(Replay, ChecksTheStorageTableWhenThereIsOne) {
  Plan plan = paging_plan();
  plan.instructions.insert(plan.instructions.begin(), {.what = Do::kPageOut, .subject = 0, .at = {}});
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  EXPECT_EQ(verdict(plan), "valid");
  plan.storage = {{2, 0}};
  EXPECT_EQ(verdict(plan), "E0804 tensor 0 is in storage and has no place there @ storage");
  plan.storage = {{0, 4}, {2, 0}};
  EXPECT_EQ(verdict(plan), "E0804 tensors 2 and 0 share bytes in storage @ storage");
  plan.storage = {{0, 8}, {2, 0}};
  EXPECT_EQ(verdict(plan), "valid");
  plan.graph.device.pager.capacity_bytes = 15;
  EXPECT_EQ(verdict(plan), "E0804 tensor 0 ends at byte 16 of a storage of 15 @ storage");
  plan.graph.device.pager.capacity_bytes = 16;
  plan.storage[99] = 0;
  EXPECT_EQ(verdict(plan), "E0804 there is no tensor 99 @ storage");
}

TEST(Replay, LetsASuccessorTakeItsPredecessorsPlaceInStorage) {
  CostGraph graph = step_graph();
  graph.tensors[1].start = Home::kAux;
  graph.tensors[1].pinned = false;
  Plan plan = step_plan();
  plan.graph = graph;
  plan.initial = {{0, 0}};
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  plan.instructions.insert(plan.instructions.begin(), {.what = Do::kPageIn, .subject = 1, .at = {8}});
  plan.instructions.push_back({.what = Do::kPageOut, .subject = 4, .at = {}});
  plan.storage = {{1, 0}, {4, 0}};
  EXPECT_EQ(verdict(plan), "valid");
  plan.instructions.push_back({.what = Do::kPageIn, .subject = 1, .at = {12}});  // the old value is gone by now
  EXPECT_EQ(verdict(plan), "E0804 tensors 1 and 4 share bytes in storage @ storage");
}

TEST(Replay, RefusesAGraphThatIsNone) {
  Plan plan = step_plan();
  plan.graph.order = {2, 1, 0};
  EXPECT_EQ(verdict(plan).substr(0, 5), "E0221");
}

}  // namespace
}  // namespace pantoum::check
