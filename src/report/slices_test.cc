#include "report/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/planner.h"
#include "report/names.h"
#include "report/report.h"

namespace pantoum::report {
namespace {

using problem::Bytes;
using problem::Choice;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr Bytes kBlock = 64, kTensor = 16 * kBlock;

// The more buffers, the fewer transfers.
Choice in_slices(std::vector<int> in, int buffers) {
  Choice choice{.algorithm = "slices", .time_s = 1e-3, .energy_j = 1e-5, .workspace_bytes = buffers * kBlock};
  const auto inputs = static_cast<int64_t>(in.size());
  choice.stream.in = std::move(in), choice.stream.out = {0};
  choice.stream.bytes_in = inputs * kTensor, choice.stream.transfers_in = inputs * (16 / buffers);
  choice.stream.bytes_out = kTensor, choice.stream.transfers_out = 16 / buffers;
  choice.slices = {2, 8 / buffers};
  return choice;
}

// A product, its gradient and the update of a parameter in storage: each as a whole, or in slices of one, two or four blocks.
problem::CostGraph graph_in_slices() {
  problem::CostGraph graph{.name = "net"};
  graph.device.name = "board", graph.device.ram_bytes = 8 * kTensor, graph.device.align_bytes = 4;
  const problem::Link link{.latency_s = 1e-5, .bytes_per_s = 4e6, .w = 0.3};
  graph.device.pager = {
      .mode = problem::PagerMode::kSync, .block_bytes = kBlock, .capacity_bytes = 8 * kTensor, .in = link, .out = link};
  for (const char* name : {"w", "y", "g", "w'"})
    graph.tensors.push_back({.id = static_cast<int64_t>(graph.tensors.size()), .name = name, .bytes = kTensor});
  graph.tensors[0].start = problem::Home::kAux, graph.tensors[0].next = 3;
  const Choice whole{.algorithm = "whole", .time_s = 1e-3, .energy_j = 1e-5};
  graph.ops = {{.id = 0, .name = "forward", .inputs = {0}, .outputs = {1}, .choices = {whole}},
               {.id = 1, .name = "gradient", .inputs = {1, 0}, .outputs = {2}, .choices = {whole}},
               {.id = 2, .name = "update", .inputs = {0, 2}, .outputs = {3}, .recompute = false, .choices = {whole}}};
  for (problem::Op& op : graph.ops) {
    std::vector<int> all;
    for (size_t at = 0; at < op.inputs.size(); ++at) all.push_back(static_cast<int>(at));
    for (const int buffers : {1, 2, 4}) op.choices.push_back(in_slices(all, buffers));
    for (Choice& choice : op.choices) choice.reads = all, choice.writes = {0};
  }
  for (Choice& choice : graph.ops[2].choices) choice.overwrites = {{0, 0}};
  graph.order = {0, 1, 2};
  return graph;
}

CheckedPlan planned(Bytes ram) {
  plan::PlanOptions options{.effort = 1};
  options.question.budget = ram;
  options.question.freedoms.in_place = true;
  Result<problem::Plan> plan = plan::make_plan(graph_in_slices(), options);
  EXPECT_TRUE(plan) << (plan ? "" : to_text(plan.error()));
  if (!plan) return {};
  plan->graph = graph_in_slices();
  Result<CheckedPlan> made = check_plan(*std::move(plan));
  EXPECT_TRUE(made) << (made ? "" : to_text(made.error()));
  return made ? *std::move(made) : CheckedPlan{};
}

TEST(OpNeeds, CountWhatIsWholeInRamOnceAndTheWorkspace) {
  const problem::CostGraph graph = graph_in_slices();
  problem::Question question{.freedoms = {.in_place = true}};
  const OpNeeds needs(graph, question);
  EXPECT_EQ(needs.way(graph.ops[0], 0).needs, 2 * kTensor);
  EXPECT_EQ(needs.way(graph.ops[1], 0).needs, 3 * kTensor);
  EXPECT_EQ(needs.way(graph.ops[2], 0).needs, 2 * kTensor) << "the result takes the parameter's place";
  EXPECT_EQ(needs.way(graph.ops[2], 2).needs, 2 * kBlock) << "what is streamed takes no RAM of its own";
  question.freedoms.in_place = false;
  EXPECT_EQ(needs.way(graph.ops[2], 0).needs, 3 * kTensor);
}

TEST(OpNeeds, TellWhichOpForcesSlicesAndWhichSetsTheLeastRam) {
  problem::CostGraph graph = graph_in_slices();
  graph.ops[0].choices.erase(graph.ops[0].choices.begin() + 1, graph.ops[0].choices.begin() + 3);
  const problem::Question question{.freedoms = {.in_place = true}};
  const OpNeeds needs(graph, question);
  const SliceNeeds found = slice_needs(needs, 2 * kTensor);
  EXPECT_EQ(std::pair(found.whole.op, found.whole.bytes), std::pair(int64_t{1}, 3 * kTensor));
  EXPECT_EQ(std::pair(found.sliced.op, found.sliced.bytes), std::pair(int64_t{0}, 4 * kBlock));
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(slice_needs(needs, 2 * kTensor - 1).beyond, 3);
  for (problem::Op& op : graph.ops) op.choices.resize(1);
  EXPECT_EQ(slice_needs(needs, kBlock).sliced.op, -1) << "no op has slices";
}

TEST(OpNeeds, WaysThatAnotherBeatsAreLeftOut) {
  problem::CostGraph graph = graph_in_slices();
  Choice worse = in_slices({0}, 4);
  worse.reads = {0}, worse.writes = {0}, worse.workspace_bytes *= 2;
  graph.ops[0].choices.push_back(worse);
  const problem::Question question;
  std::vector<size_t> choices;
  for (const Way& way : OpNeeds(graph, question).best(graph.ops[0])) choices.push_back(way.choice);
  EXPECT_THAT(choices, ElementsAre(0, 3, 2, 1));
  EXPECT_EQ(slices_text(graph.ops[0].choices[1]), "2 x 8 slices");
  EXPECT_EQ(slices_text(graph.ops[0].choices[0]), "whole");
}

TEST(ExplainedSlices, SayWhatTheyMoveBesideTheWholeAndWhatMoreRamWouldBuy) {
  const CheckedPlan made = planned(2 * kBlock);
  const Explanation why = explain(made, {});
  ASSERT_EQ(why.streamed.size(), 3U);
  double share = 0;
  for (const Streamed& entry : why.streamed) {
    EXPECT_THAT(entry.slices, ElementsAre(2, 4));
    EXPECT_EQ(entry.needs_bytes, 2 * kBlock);
    EXPECT_EQ(entry.bytes_in + entry.bytes_out, entry.once_bytes);
    ASSERT_TRUE(entry.next);
    EXPECT_EQ(entry.next->more_bytes, 2 * kBlock);
    EXPECT_EQ(entry.next->less_moved, 0);
    EXPECT_GT(entry.next->saves_j, 0);  // fewer transfers
    share += entry.moved_share;
  }
  EXPECT_NEAR(share, 1, 1e-12);
  ASSERT_TRUE(why.slices);
  EXPECT_EQ(why.slices->whole.op, 1);
  const Json json = to_json(why);
  EXPECT_EQ(json["slices"]["widest_whole"]["name"], "gradient");
  ASSERT_EQ(json["slices"]["ways"].size(), 4U);
  EXPECT_EQ(json["slices"]["ways"][2]["taken"], true);
  const std::string text = to_text(why);
  EXPECT_THAT(text, HasSubstr("op gradient needs the most RAM as a whole: 3.0 KiB"));
  EXPECT_THAT(text, HasSubstr("2 x 4 slices"));
}

TEST(ReportedSlices, AreMarkedAndTheStorageIsDrawn) {
  const CheckedPlan made = planned(2 * kBlock);
  const Result<Json> report = report_json({.plan = made, .version = "1", .plan_file = "p"});
  ASSERT_TRUE(report);
  const Json& computes = (*report)["schedule"]["computes"];
  EXPECT_THAT(computes["slices"], ElementsAre(1, 1, 1));
  const Json& storage = (*report)["costs"]["storage"];
  double moving = 0, step = made.found.time_s;
  for (const auto& [key, seconds] : storage.items()) moving += seconds.get<double>();
  for (size_t at = 0; at < 3; ++at) step -= 1e-3;
  EXPECT_NEAR(moving, step, 1e-9) << "what is not computing is moving";
  const std::string page = to_html(*report);
  for (const char* part : {"Computed in slices", "The storage during a step", "from storage"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace pantoum::report
