#include "plan/realize/allocations.h"

#include <gtest/gtest.h>

#include "plan/planner.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kSeeds = 15;
#else
constexpr uint64_t kSeeds = 120;
#endif

// A program of a few large tensors beside sources that stay in RAM: they fit only where the sources leave room in one piece.
CostGraph evaluation_of(const CostGraph& training, Bytes budget) {
  CostGraph graph;
  graph.name = "evaluation";
  graph.device = training.device;
  graph.device.pager = {};
  Bytes kept = 0;
  for (const Tensor& tensor : training.tensors) {
    if (tensor.start != Home::kRam) continue;
    graph.tensors.push_back(
        {.id = tensor.id, .name = tensor.name, .bytes = tensor.bytes, .start = Home::kRam, .end = Home::kRam});
    kept += tensor.bytes + training.device.align_bytes;
  }
  int64_t next = 1'000'000;
  const Bytes large = std::max<Bytes>(1, (budget - kept - 2 * training.device.align_bytes) / 2);
  std::vector<int64_t> last;
  for (int op = 0; op < 2; ++op) {
    graph.tensors.push_back({.id = next, .name = "large " + std::to_string(op), .bytes = large});
    Choice choice{.time_s = 1, .energy_j = 1, .writes = {0}};
    if (!last.empty()) choice.reads = {0};
    graph.ops.push_back({.id = next,
                         .name = "op " + std::to_string(op),
                         .inputs = last,
                         .outputs = {next},
                         .recompute = true,
                         .choices = {choice}});
    graph.order.push_back(next);
    last = {next++};
  }
  return graph;
}

struct Fits {
  int plans = 0, with = 0, without = 0;
};

std::map<int64_t, Bytes> starts_of(const CostGraph& graph, const Plan& plan) {
  std::map<int64_t, Bytes> at;
  for (const Tensor& tensor : graph.tensors)
    if (const auto found = plan.initial.find(tensor.id); found != plan.initial.end()) at.insert(*found);
  return at;
}

// One placement serves both: the other program finds room where what it shares lies.
TEST(OtherProgram, HasRoomWhereTheFirstLeavesWhatBothHold) {
  Fits fits;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 6, .most_ops = 20, .empty_tensors = false});
    PlanOptions options{.effort = 1};
    const auto free = unplanned(graph, options);
    if (!free) continue;
    options.question.budget = std::max<Bytes>(1, free->predicted.peak_bytes * 9 / 10);
    const CostGraph other = evaluation_of(graph, *options.question.budget);
    ASSERT_TRUE(problem::validate(other)) << to_text(problem::validate(other).error());
    const auto alone = make_plan(graph, options);
    const auto others = make_plan(other, options);
    if (!alone || !others || starts_of(other, *alone).size() < 2) continue;
    const std::optional<OtherProgram> held = other_program(other, *others, options);
    ASSERT_TRUE(held);
    const std::vector<OtherProgram> all{*held};
    PlanOptions both = options;
    both.others = &all;
    const auto together = make_plan(graph, both);
    if (!together) continue;
    ++fits.plans;
    PlanOptions then = options;
    then.fixed_initial = starts_of(other, *alone);
    fits.without += make_plan(other, then).has_value();
    then.fixed_initial = starts_of(other, *together);
    fits.with += make_plan(other, then).has_value();
  }
  EXPECT_GT(fits.plans, static_cast<int>(kSeeds / 6));
  EXPECT_EQ(fits.with, fits.plans);
  EXPECT_LT(fits.without, fits.plans);
}

}  // namespace
}  // namespace pantoum::plan
