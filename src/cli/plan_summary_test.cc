#include "cli/plan_summary.h"
#include "plan/planner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pantoum::cli {
namespace {

problem::Plan some_plan() {
  problem::Plan plan;
  plan.question.budget = 65536;
  plan.graph.device.name = "m4";
  plan.graph.ops.resize(12);
  plan.bound = {.energy_j = 0.0036, .any_order = true};
  plan.gap = 0.1;
  return plan;
}

check::Found some_found() {
  check::Found found;
  found.arena_bytes = 49152, found.peak_bytes = 40960;
  found.time_s = 0.5, found.energy_j = 0.004;
  found.counts.recompute = 3, found.counts.page_out = 2, found.counts.page_in = 4;
  found.bytes_out = 2048, found.bytes_in = 4096;
  return found;
}

constexpr problem::Predicted kUnplanned{.peak_bytes = 98304, .arena_bytes = 98304, .time_s = 0.25, .energy_j = 0.002};

TEST(PlanSummary, TellsWhatAPlanTakes) {
  const problem::Plan plan = some_plan();
  EXPECT_EQ(to_text(PlanSummary{plan, some_found(), kUnplanned}),
            "plan     12 ops on m4: arena 48.0 KiB of 64.0 KiB (50% of the unplanned 96.0 KiB)\n"
            "         3 computed again; 2.0 KiB paged out in 2 transfers, 4.0 KiB in in 4\n"
            "         500.0 ms and 4.00 mJ a step (modelled), unplanned 250.0 ms and 2.00 mJ\n"
            "         the best possible plan takes 3.60 mJ or more (10% less), for any order\n");
}

// Whoever asks for time is not told joules that nobody measured; more RAM than the unplanned step has a reason.
TEST(PlanSummary, TellsTimeAloneAndWhyAPlanTakesMoreThanTheUnplannedStep) {
  problem::Plan plan = some_plan();
  plan.question.objective = problem::Objective::kTime;
  check::Found found = some_found();
  const auto says = [&](const char* words) {
    return to_text(PlanSummary{plan, found, kUnplanned}).find(words) != std::string::npos;
  };
  EXPECT_FALSE(says(" mJ a step"));
  EXPECT_TRUE(says("         500.0 ms a step (time modelled), unplanned 250.0 ms\n"));
  EXPECT_FALSE(says("more RAM than"));
  found.peak_bytes = found.arena_bytes = 2 * kUnplanned.peak_bytes, found.time_s = 0.2;
  EXPECT_TRUE(says("more RAM than the unplanned step: the plan takes 20% less time\n"));
  found.time_s = 0.25;
  EXPECT_TRUE(says("there is room, and less RAM would not cost less\n"));
  found.peak_bytes = kUnplanned.peak_bytes;
  EXPECT_TRUE(says("96.0 KiB of the arena, at the peak, lie between tensors\n"));
}

TEST(PlanSummary, TellsThatAPlanIsOptimalAndWhoseRamItMayTake) {
  problem::Plan plan = some_plan();
  plan.gap = 0;
  PlanSummary summary{plan, some_found(), kUnplanned};
  EXPECT_NE(to_text(summary).find("         proved optimal, for any order\n"), std::string::npos);
  EXPECT_EQ(to_text(summary).find("no --ram"), std::string::npos);
  summary.ram_of_profile = true;
  EXPECT_NE(to_text(summary).find("no --ram was given: 64.0 KiB is the RAM of the profile m4\n"), std::string::npos);
  summary.plan.graph.device.name = "host";
  EXPECT_NE(to_text(summary).find("of the profile host; this machine has "), std::string::npos);
}

TEST(PlanSummary, TellsHowMuchWasMeasured) {
  problem::Plan plan = some_plan();
  plan.graph.device.costs_of = "modelled by profile m4";
  EXPECT_EQ(to_json(PlanSummary{plan, some_found(), kUnplanned})["time_source"], "modelled");
  plan.graph.device.costs_of = "measured 83%, modelled by profile host 17%";
  EXPECT_EQ(to_json(PlanSummary{plan, some_found(), kUnplanned})["time_source"], plan.graph.device.costs_of);
  EXPECT_NE(to_text(PlanSummary{plan, some_found(), kUnplanned})
                .find("a step (time measured 83%, modelled by profile host 17%; energy modelled), unplanned"),
            std::string::npos);
}

TEST(PlanSummary, CountsMicroBatches) {
  const problem::Plan plan = some_plan();
  const std::string text = to_text(PlanSummary{plan, some_found(), kUnplanned, 4, some_found()});
  EXPECT_NE(text.find("and 500.0 ms and 4.00 mJ for each of 3 micro-batches before it\n"), std::string::npos) << text;
}

TEST(PlanSummary, HasTheSameFiguresForPrograms) {
  const problem::Plan plan = some_plan();
  const nlohmann::ordered_json json = to_json(PlanSummary{plan, some_found(), kUnplanned});
  EXPECT_EQ(json["status"], "feasible");
  EXPECT_EQ(json["budget_bytes"], 65536);
  EXPECT_EQ(json["unplanned_peak_bytes"], 98304);
  EXPECT_EQ(json["bound"]["order"], "any");
}

TEST(PlanSummary, OfAnInfeasibleQuestionHasWhatIsKnownAndProved) {
  plan::Infeasible infeasible;
  infeasible.min_ram_bytes = 2000, infeasible.min_ram_bound_bytes = 1500, infeasible.why = "too little";
  infeasible.time_s = plan::Infeasible::Least{.known = {}, .proved = 0.5};
  const nlohmann::ordered_json json = to_json(infeasible, true);
  EXPECT_EQ(json.dump(), R"({"status":"infeasible","min_ram_bytes":2000,"min_ram_bound_bytes":1500,"why":"too little",)"
                         R"("min_time_s":null,"min_time_bound_s":0.5})");
  infeasible.order_ram_bound_bytes = 1800, infeasible.time_s->of_order = 0.75;
  const nlohmann::ordered_json unknown = to_json(infeasible, false);
  EXPECT_EQ(unknown["status"], "unknown");
  EXPECT_EQ(unknown["min_ram_bound_bytes"], 1500) << "what is proved of one order is proved of no other";
  EXPECT_EQ(unknown["of_order"].dump(), R"({"order":"plan","min_ram_bound_bytes":1800,"min_time_bound_s":0.75})");
}

}  // namespace
}  // namespace pantoum::cli
