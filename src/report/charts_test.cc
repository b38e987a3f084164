#include "report/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sweep_rows.h"

namespace pantoum::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr problem::Bytes kKiB = 1024;

SweepRow planned(const char* planner, problem::Bytes ram, double joules) {
  SweepRow row{.planner = planner, .ram_bytes = ram * kKiB};
  row.found.energy_j = joules, row.found.time_s = joules / 10;
  row.bound.energy_j = joules * 0.9;
  return row;
}

SweepRow refused(const char* planner, problem::Bytes ram, problem::Bytes bound) {
  SweepRow row{.planner = planner, .ram_bytes = ram * kKiB, .status = SweepStatus::kInfeasible};
  row.none.min_ram_bound_bytes = bound * kKiB;
  return row;
}

Sweep two_planners() {
  Sweep sweep;
  sweep.head.name = "net", sweep.head.device = "board";
  sweep.head.budgets = {8 * kKiB, 16 * kKiB, 32 * kKiB};
  sweep.head.unplanned = {.peak_bytes = 40 * kKiB, .time_s = 0.2, .energy_j = 2};
  sweep.rows = {refused("a", 8, 12), planned("a", 16, 5),  planned("a", 32, 3),
                refused("b", 8, 12), refused("b", 16, 20), planned("b", 32, 3)};
  return sweep;
}

TEST(SweepChart, AValueHoldsUntilTheNextBudgetAndABoundFromTheOneBefore) {
  const Chart energy = sweep_charts(two_planners())[1];
  ASSERT_EQ(energy.series.size(), 4U);
  EXPECT_EQ(energy.series[0].shape, Shape::kSteps);
  EXPECT_TRUE(energy.series[0].marked);
  EXPECT_EQ(energy.series[1].shape, Shape::kStepsBack);
  EXPECT_TRUE(energy.series[1].dashed);
  EXPECT_EQ(energy.series[0].points.size(), 2U);
  EXPECT_DOUBLE_EQ(energy.series[0].points[0].x, 16);
  EXPECT_THAT(energy.y_label, HasSubstr("J"));
  EXPECT_THAT(energy.x_label, HasSubstr("KiB"));
}

TEST(SweepChart, BudgetsWithoutAPlanAreCrossesAndTheProvedOnesABand) {
  const Chart energy = sweep_charts(two_planners())[1];
  EXPECT_THAT(energy.series[0].none, ElementsAre(8));
  EXPECT_THAT(energy.series[2].none, ElementsAre(8, 16));
  ASSERT_EQ(energy.regions.size(), 1U);
  EXPECT_TRUE(energy.regions[0].hatched);
  EXPECT_DOUBLE_EQ(energy.regions[0].x_to, 16) << "not over a budget that has a plan";
}

TEST(SweepChart, PlannersThatFoundTheSameAreBothSeen) {
  const std::string svg = to_svg(two_planners());
  EXPECT_THAT(svg, HasSubstr("unplanned (40.00 KiB)"));
  const size_t first = svg.find("class='mark s0'"), second = svg.find("class='mark s1'");
  EXPECT_NE(first, std::string::npos);
  EXPECT_NE(second, std::string::npos);
}

TEST(SweepChart, ASweepWithoutAnyPlanIsDrawn) {
  Sweep sweep = two_planners();
  sweep.rows = {refused("a", 8, 12)};
  EXPECT_THAT(to_svg(sweep), HasSubstr("no plan"));
  sweep.rows.clear();
  EXPECT_THAT(to_svg(sweep), HasSubstr("</svg>"));
}

TEST(SweepRows, ASweepIsReadBackAndLaterRowsCount) {
  const std::string head =
      R"({"schema":"pantoum.sweep/1","version":"1","question":"q","name":"n","device":"d","time_source":"modelled","unplanned":{"peak_bytes":9,"time_s":1.0,"energy_j":2.0},"budgets":[1,2]})";
  const std::string row =
      R"({"planner":"a","ram_bytes":2,"status":"infeasible","min_ram_bytes":null,"min_ram_bound_bytes":3,"why":"x"})";
  const std::string later =
      R"({"planner":"a","ram_bytes":2,"status":"not_found","min_ram_bytes":null,"min_ram_bound_bytes":3,"why":"y"})";
  const auto sweep = parse_sweep(head + "\n" + row + "\n" + later + "\n{\"planner", "s");
  ASSERT_TRUE(sweep);
  ASSERT_EQ(sweep->rows.size(), 1U);
  EXPECT_EQ(sweep->rows[0].status, SweepStatus::kNotFound);
  EXPECT_EQ(sweep->head.question, "q");
  for (const std::string& bad : {std::string(), std::string("[]\n"), row + "\n", head + "\nnonsense\n"})
    EXPECT_EQ(parse_sweep(bad, "s").error().code, "E0281") << bad;
}

}  // namespace
}  // namespace pantoum::report
