#include "plan/baselines/task.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/simulate/plan_options.h"
#include "plan/simulate/policy.h"
#include "testing/sample_graphs.h"

namespace pantoum::plan::baseline {
namespace {

std::string spelled(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    constexpr const char* kWords[] = {"c", "out", "in", "f"};
    text +=
        (text.empty() ? "" : " ") + std::string(kWords[static_cast<int>(event.what)]) + std::to_string(event.subject);
  }
  return text;
}

// 0 -> 1 -> 2, and 2 reads 0 as well.
CostGraph triangle() {
  SampleGraph sample;
  const int64_t a = sample.add({}, 100, 1), b = sample.add({a}, 100, 1);
  sample.add({a, b}, 100, 1);
  return sample.graph_;
}

std::string completed(const CostGraph& graph, const std::vector<Action>& actions) {
  const PlanOptions options{.question = {.budget = 1 << 20}};
  const Model model = make_model(graph, options);
  const auto events = complete(model, first_choices(model, Objective::kEnergy), actions);
  return events ? spelled(*events) : events.error().code;
}

TEST(Complete, FreesAfterTheLastRead) {
  EXPECT_EQ(completed(triangle(), {{Do::kCompute, 0}, {Do::kCompute, 1}, {Do::kCompute, 2}}), "c0 c1 c2 f2 f0 f1");
}

TEST(Complete, FreesBetweenTwoComputations) {
  EXPECT_EQ(completed(triangle(), {{Do::kCompute, 0}, {Do::kCompute, 1}, {Do::kCompute, 0}, {Do::kCompute, 2}}),
            "c0 c1 f0 c0 c2 f2 f0 f1");
}

TEST(Complete, FreesBetweenPageOutAndPageIn) {
  EXPECT_EQ(completed(triangle(),
                      {{Do::kCompute, 0}, {Do::kPageOut, 0}, {Do::kCompute, 1}, {Do::kPageIn, 0}, {Do::kCompute, 2}}),
            "c0 out0 c1 f0 in0 c2 f2 f0 f1");
}

TEST(Complete, LeavesOutWhatNobodyUses) {
  EXPECT_EQ(completed(triangle(), {{Do::kCompute, 0},
                                   {Do::kPageOut, 0},
                                   {Do::kCompute, 1},
                                   {Do::kCompute, 2},
                                   {Do::kPageIn, 0},
                                   {Do::kCompute, 1}}),
            "c0 c1 c2 f2 f0 f1");
}

TEST(Complete, RefusesToRunAnOpTwiceThatMayRunOnce) {
  CostGraph graph = triangle();
  graph.ops[0].recompute = false;
  EXPECT_EQ(completed(graph, {{Do::kCompute, 0}, {Do::kCompute, 1}, {Do::kCompute, 0}, {Do::kCompute, 2}}), "E0302");
}

TEST(Complete, TakesBytesOverWhereTheInputDies) {
  CostGraph graph = triangle();
  graph.ops[2].choices[0].overwrites = {{0, 1}};
  const PlanOptions options{.question = {.budget = 1 << 20}};
  const Model model = make_model(graph, options);
  const auto events = complete(model, {0, 0, 0}, {{Do::kCompute, 0}, {Do::kCompute, 1}, {Do::kCompute, 2}});
  ASSERT_TRUE(events);
  EXPECT_EQ(spelled(*events), "c0 c1 c2 f2 f0");
  EXPECT_EQ((*events)[2].taken_over, std::vector<TensorIndex>{TensorIndex(1)});
  EXPECT_EQ(peak_of(model, *events), 200);
}

}  // namespace
}  // namespace pantoum::plan::baseline
