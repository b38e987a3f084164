#include <gtest/gtest.h>

#include "check/certificate.h"
#include "check/certificate_fixture.h"

namespace pantoum::check {
namespace {

using problem::Certificate;
using problem::Rule;

problem::Plan whole_plan() {
  problem::Plan plan{.question = {.budget = 251}};
  for (const int64_t op : {0, 1, 0, 2, 3, 4})
    plan.instructions.push_back({.what = problem::Do::kCompute, .subject = op});
  plan.graph = step_graph();
  plan.bound = {.energy_j = 4.9};
  plan.certificate = asked({});
  return plan;
}

std::string bound_refusal(const problem::Plan& plan, double value = 6) {
  const auto bound = check_bound(plan, value);
  return bound ? "accepted" : bound.error().code + " " + bound.error().message + " @ " + bound.error().where;
}

TEST(CheckBound, AcceptsACertificateOfThePlansQuestion) {
  EXPECT_EQ(bound_refusal(whole_plan()), "accepted");
  problem::Plan tighter = whole_plan();
  tighter.question.budget = 240;
  EXPECT_EQ(bound_refusal(tighter), "accepted");
}

TEST(CheckBound, RefusesACertificateOfAnotherQuestion) {
  problem::Plan plan = whole_plan();
  plan.question.budget = 252;
  EXPECT_EQ(bound_refusal(plan),
            "E0805 is for 251 bytes, and the plan's budget is 252 @ x-certificate.question.budget_bytes");
  plan = whole_plan();
  plan.certificate->question.deadline = 10;
  EXPECT_EQ(bound_refusal(plan),
            "E0805 is for plans within 10 s, and the plan need not be @ x-certificate.question.deadline_s");
  plan.question.deadline = 9;
  EXPECT_EQ(bound_refusal(plan), "accepted");
  plan.question.objective = problem::Objective::kTime;
  EXPECT_EQ(bound_refusal(plan), "E0805 bounds another objective than the plan's @ x-certificate.question.objective");
  plan = whole_plan();
  plan.instructions.erase(plan.instructions.begin());
  EXPECT_EQ(bound_refusal(plan), "E0805 the plan computes op 0 first in another order @ x-certificate.order");
  plan.certificate.reset();
  EXPECT_EQ(bound_refusal(plan), "E0805 the plan has none @ x-certificate");
}

// 5 J, 5 s, and energy + time >= 13: the least product is at 5 times 8.
problem::Plan lined_plan() {
  problem::Plan plan = whole_plan();
  plan.question.objective = problem::Objective::kEdp;
  plan.certificate.reset();
  plan.bound = {.edp_js = 24.9};
  plan.lines = {asked({}), asked({{Rule::kWork, {}, 1}}), asked({{Rule::kWork, {}, 1}})};
  plan.lines[1].question.objective = problem::Objective::kTime;
  plan.lines[2].second_price = 1;
  return plan;
}

TEST(CheckBound, ProvesAProductByItsLines) {
  EXPECT_EQ(bound_refusal(lined_plan(), 40), "accepted");
  EXPECT_NEAR(check_bound(lined_plan(), 40).value(), 25, 1e-7);
  EXPECT_TRUE(bound_refusal(lined_plan(), 24).starts_with("E0806 a bound of 24.99999"));
  problem::Plan plan = lined_plan();
  plan.bound.edp_js = 26;
  EXPECT_TRUE(
      bound_refusal(plan, 40).starts_with("E0806 the plan claims a bound of 26, and its certificate proves 24.99"));
  plan = lined_plan();
  plan.lines[0].rows = {{Rule::kNeed, {3, 0}, 1}, {Rule::kCover, {2, -1, 0, 1, 0}, 1}};  // 6 J
  EXPECT_NEAR(check_bound(plan, 40).value(), 30, 1e-7);
  // 5 J and 5 s and energy + 0.5 * time >= 9: 5 J takes 8 s, 5 s take 6.5 J.
  plan = lined_plan();
  plan.lines[2].rows = {{Rule::kWork, {}, 0.5}, {Rule::kNeed, {3, 0}, 1}, {Rule::kCover, {2, -1, 0, 1, 0}, 1}};
  plan.lines[2].second_price = 0.5;  // 6 J + 0.5 * 5 s: 5 J takes 7 s, 5 s take 6 J
  EXPECT_NEAR(check_bound(plan, 40).value(), 30, 1e-7);
  plan.lines[0].question.budget = 1;
  EXPECT_TRUE(bound_refusal(plan, 40).starts_with("E0805 is for 1 bytes, and the plan's budget is 251 @"));
  plan.lines.clear();
  EXPECT_EQ(bound_refusal(plan, 40), "E0805 the plan has none @ x-certificate");
}

TEST(CheckBound, RefusesACertificateOfALimitThatThePlanNeedNotKeep) {
  problem::Plan plan = whole_plan();
  plan.certificate->question.energy_limit = 7;
  EXPECT_EQ(bound_refusal(plan),
            "E0805 is for plans of at most 7 J, and the plan need not be @ x-certificate.question.energy_limit_j");
  plan.question.energy_limit = 6.5;
  EXPECT_EQ(bound_refusal(plan), "accepted");
}

TEST(CheckBound, RefusesACertificateOfFewerFreedomsThanThePlanHas) {
  using problem::Freedoms;
  const std::pair<bool Freedoms::*, const char*> all[] = {{&Freedoms::paging, "page"},
                                                          {&Freedoms::recomputing, "recompute"},
                                                          {&Freedoms::in_place, "compute in place"},
                                                          {&Freedoms::reordering, "reorder"},
                                                          {&Freedoms::numerics, "change numerics"}};
  for (const auto& [freedom, does] : all) {
    problem::Plan plan = whole_plan();
    plan.graph.ops[0].choices.push_back(plan.graph.ops[0].choices[0]);
    plan.graph.ops[0].choices[1].numerics = "other";  // else there is nothing to be free of
    plan.question.freedoms.*freedom = true;
    plan.certificate->question.freedoms.*freedom = false;
    EXPECT_TRUE(bound_refusal(plan).starts_with(std::string("E0805 is for plans that may not ") + does +
                                                ", and the plan may @ x-certificate.question.freedoms."))
        << bound_refusal(plan);
    plan.question.freedoms.*freedom = false;
    EXPECT_EQ(bound_refusal(plan), "accepted");
    plan.certificate->question.freedoms.*freedom = true;  // more than the plan has: its bound holds for fewer
    EXPECT_EQ(bound_refusal(plan), "accepted");
    problem::Plan lined = lined_plan();
    lined.graph = plan.graph;
    lined.question.freedoms.*freedom = true;
    for (Certificate& line : lined.lines) line.question.freedoms.*freedom = true;
    EXPECT_EQ(bound_refusal(lined, 40), "accepted");
    lined.lines.back().question.freedoms.*freedom = false;
    EXPECT_TRUE(bound_refusal(lined, 40).ends_with(" 2")) << bound_refusal(lined, 40);
  }
}

TEST(CheckBound, RefusesBoundsThatAreTooHigh) {
  problem::Plan plan = whole_plan();
  EXPECT_TRUE(bound_refusal(plan, 4.5).starts_with("E0806 a bound of 5 is proved, and the plan takes 4.5 @"));
  plan.bound.energy_j = 5.1;
  EXPECT_TRUE(bound_refusal(plan).starts_with("E0806 the plan claims a bound of 5.1, and its certificate proves 5 @"));
  plan.bound = {.energy_j = 4.9, .any_order = true};
  EXPECT_EQ(bound_refusal(plan),
            "E0806 the bound is claimed for any order, and the certificate proves it for one @ bound.order");
}

}  // namespace
}  // namespace pantoum::check
