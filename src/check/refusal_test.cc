// Refusals: what proves that no plan answers a question, and what does not.
#include "check/claims.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/certificate_fixture.h"

namespace pantoum::check {
namespace {

using problem::Objective;
using problem::Refusal;

// 311 bytes are needed by g4 alone, whatever the order (check/least_costs.h).
Refusal of_ram() {
  return {.question = {.budget = 310}, .of = Objective::kRam, .least = 311, .any_order = true, .graph = step_graph()};
}

// 5 s of work, in any order.
Refusal of_time() {
  return {.question = {.budget = 600, .deadline = 4.5},
          .of = Objective::kTime,
          .least = 5,
          .any_order = true,
          .graph = step_graph()};
}

// By a certificate that says no more than the sum does; its bound is 0.
Refusal certified() {
  Refusal refusal = of_time();
  refusal.certificate = asked({{problem::Rule::kWork, {}, 1}});
  refusal.certificate->question = {.budget = 600, .objective = Objective::kTime};
  return refusal;
}

std::string verdict(const Refusal& refusal) {
  const auto proved = check_refusal(refusal);
  return proved ? "accepted" : proved.error().code + " @ " + proved.error().where;
}

TEST(CheckRefusal, AcceptsWhatTheCostGraphProves) {
  EXPECT_EQ(verdict(of_ram()), "accepted");
  EXPECT_EQ(check_refusal(of_ram()).value(), 311);
  EXPECT_EQ(verdict(of_time()), "accepted");
  Refusal energy = of_time();
  energy.question = {.budget = 600, .energy_limit = 7};
  energy.of = Objective::kEnergy;
  energy.least = 7.05;
  EXPECT_EQ(verdict(energy), "accepted");
}

TEST(CheckRefusal, RefusesAClaimOfMoreThanIsProved) {
  Refusal refusal = of_ram();
  refusal.least = 312;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved.least");
  refusal = of_time();
  refusal.least = std::nextafter(5, 6);
  EXPECT_EQ(verdict(refusal), "E0809 @ proved.least");
}

TEST(CheckRefusal, RefusesAProofThatLeavesTheQuestionOpen) {
  Refusal refusal = of_ram();
  refusal.question.budget = 311;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved");
  refusal = of_ram();
  refusal.least = 310;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved");
  refusal = of_time();
  refusal.question.deadline = 5;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved");
  refusal.question.deadline.reset();
  EXPECT_EQ(verdict(refusal), "E0809 @ proved") << "nobody asked for less time";
  refusal = of_time();
  refusal.of = Objective::kEnergy;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved");
}

TEST(CheckRefusal, RefusesAProofOfOneOrderWhereAnyMayBeChosen) {
  Refusal refusal = of_time();
  refusal.any_order = false;
  EXPECT_EQ(verdict(refusal), "E0809 @ proved.order");
  refusal.question.freedoms.reordering = false;
  EXPECT_EQ(verdict(refusal), "accepted") << "what holds of any order holds of the graph's";
  refusal = certified();
  EXPECT_EQ(verdict(refusal), "E0809 @ proved.order") << "the certificate is of one order";
  refusal.question.freedoms.reordering = refusal.any_order = false;
  EXPECT_EQ(verdict(refusal), "accepted");
}

TEST(CheckRefusal, RefusesACertificateOfAnotherQuestion) {
  Refusal good = certified();
  good.question.freedoms.reordering = good.any_order = false;
  ASSERT_EQ(verdict(good), "accepted");
  const auto with = [&](auto change) {
    Refusal refusal = good;
    change(refusal, *refusal.certificate);
    return verdict(refusal);
  };
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.budget = 599; }), "E0805 @ x-certificate.question.budget_bytes");
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.deadline = 4; }), "E0805 @ x-certificate.question.deadline_s");
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.deadline = 4.5; }), "accepted") << "the limit that was asked";
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.energy_limit = 9; }),
            "E0805 @ x-certificate.question.energy_limit_j");
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.freedoms.paging = false; }),
            "E0805 @ x-certificate.question.freedoms.paging");
  EXPECT_EQ(with([](Refusal&, auto& of) { of.question.objective = Objective::kEnergy; }),
            "E0805 @ certificate.question.objective");
  EXPECT_EQ(with([](Refusal&, auto& of) { of.bound = 6; }), "E0806 @ x-certificate.bound");
  EXPECT_EQ(with([](Refusal& refusal, auto&) { refusal.graph.order = {0, 1, 2, 4, 3}; }), "E0221 @ order");
  EXPECT_EQ(with([](Refusal& refusal, auto&) {  // another order of the same graph
              refusal.graph.ops.push_back({.id = 9, .choices = {{.time_s = 0, .energy_j = 0}}});
              refusal.graph.order = {9, 0, 1, 2, 3, 4};
              refusal.certificate->order = {0, 1, 2, 3, 4, 9};
              refusal.certificate->boundaries = {1, 2, 3, 4, 5, 6, 7};
            }),
            "E0809 @ certificate.order");
}

TEST(CheckRefusal, ChecksThePlanThatItKnows) {
  problem::Plan plan{.question = {.budget = 600}};
  plan.initial = {{6, 0}};
  plan.instructions = {{.what = problem::Do::kPageIn, .subject = 5, .at = {8}}};
  for (int64_t op = 0; op < 5; ++op)
    plan.instructions.push_back({.what = problem::Do::kCompute, .subject = op, .at = {100 * (op + 1)}});
  plan.storage = {{5, 0}};
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  Refusal refusal = of_ram();
  refusal.plan = plan;
  EXPECT_EQ(verdict(refusal), "accepted");
  refusal.plan->question.budget = 599;
  EXPECT_EQ(verdict(refusal), "E0802 @ plan: ");
  refusal = of_ram();
  refusal.plan = plan;
  refusal.plan->instructions.pop_back();
  EXPECT_EQ(verdict(refusal), "E0801 @ plan: end");
}

}  // namespace
}  // namespace pantoum::check
