#include "check/certificate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/certificate_fixture.h"

namespace pantoum::check {
namespace {

using problem::Certificate;
using problem::CostGraph;
using problem::Rule;

double proved(const Certificate& certificate, const CostGraph& graph = step_graph()) {
  const auto bound = check_certificate(graph, certificate);
  EXPECT_TRUE(bound) << to_text(bound.error());
  return bound.value_or(-1);
}

std::string refusal(const Certificate& certificate, const CostGraph& graph = step_graph()) {
  const auto bound = check_certificate(graph, certificate);
  return bound ? "accepted" : bound.error().code + " " + bound.error().message + " @ " + bound.error().where;
}

std::string row_refusal(Rule rule, std::vector<int64_t> of) {
  return refusal(asked({{rule, std::move(of), 1.0}}));
}

void expect_just_below(double bound, double value) {
  EXPECT_LE(bound, value);
  EXPECT_NEAR(bound, value, 1e-12 * value);
}

TEST(CheckCertificate, CountsTheFirstComputations) {
  expect_just_below(proved(asked({})), 5);
}

TEST(CheckCertificate, ProvesThatATensorMustBeComputedAgain) {
  // t0 cannot stand beside t1 and t2 in 251 bytes with t6, and g3 reads it: f0 runs again.
  const std::vector<Certificate::Row> rows = {{Rule::kNeed, {3, 0}, 1}, {Rule::kCover, {2, -1, 0, 1, 0}, 1}};
  expect_just_below(proved(asked(rows)), 6);
  Certificate roomy = asked(rows);
  roomy.question.budget = 301;
  EXPECT_EQ(refusal(roomy), "E0805 the cover of 100 bytes does not exceed 100 @ x-certificate.rows[1]");
  Certificate kept = asked(rows);
  kept.question.freedoms.recomputing = false;
  expect_just_below(proved(kept), 6);  // 1 J at least: the multipliers are not the best for paging
  kept.rows = {{Rule::kNeed, {3, 0}, 7}, {Rule::kCover, {2, -1, 0, 1, 0}, 7}, {Rule::kStored, {3, 0}, 4}};
  expect_just_below(proved(kept), 12);  // out and in again
}

TEST(CheckCertificate, AcceptsEveryRule) {
  for (const auto& [rule, of] : std::vector<std::pair<Rule, std::vector<int64_t>>>{{Rule::kNeed, {3, 0}},
                                                                                   {Rule::kNeed, {4, 5}},
                                                                                   {Rule::kDep, {4, 1, 0}},
                                                                                   {Rule::kCarry, {2, 0}},
                                                                                   {Rule::kStored, {3, 0}},
                                                                                   {Rule::kMemory, {2}},
                                                                                   {Rule::kMoveIn, {}},
                                                                                   {Rule::kPath, {1, 3, 0, 1}},
                                                                                   {Rule::kPath, {2, 4, 1, 0, 0, 1}},
                                                                                   {Rule::kRounding, {2, -1, 100, 0}},
                                                                                   {Rule::kRounding, {3, 1, 0, 2}},
                                                                                   {Rule::kCover, {2, -1, 0, 1, 0}},
                                                                                   {Rule::kCover, {3, 1, 1, 1, 2}}}) {
    Certificate certificate = asked({{rule, of, 0.25}});
    certificate.question.deadline = 100;
    EXPECT_LE(proved(certificate), 12) << "rule " << static_cast<int>(rule);
  }
}

TEST(CheckCertificate, BoundsTimeByWorkAndByMoves) {
  Certificate certificate = asked({{Rule::kWork, {}, 1}});
  certificate.question.objective = problem::Objective::kTime;
  expect_just_below(proved(certificate), 5);
  certificate.rows = {{Rule::kMoveIn, {}, 1}, {Rule::kNeed, {4, 5}, 2.1}};  // only t5 in storage: it must be paged in
  EXPECT_LE(proved(certificate), 5);
  certificate.rows = {{Rule::kWork, {}, 2}};
  EXPECT_EQ(refusal(certificate), "E0805 the rows bound nothing: their sum is not finite @ x-certificate.rows");
  certificate.most_seconds = 7;  // 2 * 5 - 7
  expect_just_below(proved(certificate), 3);
  certificate.most_seconds = 4;  // whoever takes longer takes 4 s, not the 6 that the rows say
  expect_just_below(proved(certificate), 4);
}

// f0 is computed again in segment 3, or t0 is paged out and in.
Certificate told_apart() {
  Certificate certificate = asked({{Rule::kNeed, {3, 0}}, {Rule::kCover, {2, -1, 0, 1, 0}}, {Rule::kStored, {3, 0}}});
  certificate.cases.resize(3);
  certificate.cases[0].decision = {problem::Variable::kComputed, 3, 0};
  certificate.cases[1].parts = {{0, 7}, {1, 7}, {2, 4}};
  return certificate;
}

TEST(CheckCertificate, ProvesTheLeastOfItsCases) {
  Certificate certificate = told_apart();
  expect_just_below(proved(certificate), 6);
  certificate.cases[1].parts[0].multiplier = 0.5;
  expect_just_below(proved(certificate), 5.5);
  certificate = told_apart();
  certificate.cases[2].parts = {{0, 2}};  // 5 + 2, less the 2 that t0 kept would give; f0 is -1
  expect_just_below(proved(certificate), 4);
  certificate = told_apart();
  std::swap(certificate.cases[1], certificate.cases[2]);
  expect_just_below(proved(certificate), 5);
  certificate.bound = 6;
  EXPECT_TRUE(refusal(certificate).starts_with("E0806 the certificate claims 6 and its rows prove 5 @"));
}

TEST(CheckCertificate, CountsWhatIsDecidedAtItsCost) {
  const auto least = [](problem::Certificate::Decision decision, std::vector<problem::Certificate::Part> zero,
                        std::vector<problem::Certificate::Part> one) {
    Certificate certificate = asked({{Rule::kNeed, {3, 0}}, {Rule::kMemory, {2}}, {Rule::kStored, {3, 0}}});
    certificate.cases.resize(3);
    certificate.cases[0].decision = decision;
    certificate.cases[1].parts = std::move(zero), certificate.cases[2].parts = std::move(one);
    return proved(certificate);
  };
  // 50 bytes beside f2: t0 with its 100 does not stay.
  expect_just_below(least({problem::Variable::kInRam, 3, 0}, {{0, 1}}, {{1, 0.125}}), 6);
  expect_just_below(least({problem::Variable::kInRam, 3, 0}, {{0, 1}}, {{1, 0.01}}), 5.5);
  // Paged in, it was paged out: 3 J and 4.
  expect_just_below(least({problem::Variable::kPagedIn, 3, 0}, {}, {{2, 4}}), 5);
  expect_just_below(least({problem::Variable::kPagedIn, 3, 0}, {{0, 1}, {1, 0.01}}, {{2, 4}}), 5.5);
  expect_just_below(least({problem::Variable::kPagedOut, 0, 0}, {{0, 1}, {1, 0.01}, {2, 1}}, {}), 5.5);
}

TEST(CheckCertificate, RefusesCasesThatLeaveOutPlans) {
  Certificate certificate = told_apart();
  certificate.cases.pop_back();
  EXPECT_EQ(refusal(certificate), "E0805 a decision has no case of its second way @ x-certificate.cases");
  certificate = told_apart();
  certificate.cases.push_back({});
  EXPECT_EQ(refusal(certificate), "E0805 no decision leads to the case @ x-certificate.cases[3]");
  certificate = told_apart();
  certificate.cases[2].decision = {problem::Variable::kPagedOut, 0, 0};
  EXPECT_EQ(refusal(certificate), "E0805 a decision has no case of its second way @ x-certificate.cases");
}

TEST(CheckCertificate, RefusesDecisionsThatAreNone) {
  const auto undecided = [](problem::Certificate::Decision decision) {
    Certificate certificate = told_apart();
    certificate.cases[0].decision = decision;
    return refusal(certificate);
  };
  EXPECT_EQ(undecided({problem::Variable::kComputed, 3, 3}), "accepted");  // not claimed to prove much
  EXPECT_EQ(undecided({problem::Variable::kComputed, 2, 3}),
            "E0805 there is nothing to decide about op 3 in segment 2 @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kComputed, 3, 5}), "E0805 5 is no op @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kInRam, 6, 0}), "E0805 6 is no segment @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kInRam, -1, 0}), "E0805 -1 is no segment @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kInRam, 3, 7}), "E0805 7 is no tensor @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kInRam, 3, 6}),
            "E0805 there is nothing to decide about tensor 6 in segment 3 @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kPagedIn, 3, 6}),
            "E0805 there is nothing to decide about tensor 6 in segment 3 @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({problem::Variable::kPagedOut, 0, 5}),
            "E0805 there is nothing to decide about tensor 5 in segment 0 @ x-certificate.cases[0]");
  EXPECT_EQ(undecided({static_cast<problem::Variable>(4), 0, 0}),
            "E0805 there is nothing to decide about tensor 0 in segment 0 @ x-certificate.cases[0]");
}

// Each case would decide again what all above it decide: time grows with the square of a file's size.
TEST(CheckCertificate, RefusesCasesOfTooManyDecisions) {
  Certificate certificate = told_apart();
  constexpr size_t kDepth = 60000;
  certificate.cases.assign(kDepth, {.decision = problem::Certificate::Decision{problem::Variable::kPagedOut, 0, 0}});
  certificate.cases.resize(2 * kDepth + 1);
  EXPECT_EQ(refusal(certificate).substr(0, 51), "E0805 the cases have too many decisions to be check");
}

TEST(CheckCertificate, RefusesCasesWithRowsThatAreNone) {
  Certificate certificate = told_apart();
  certificate.cases[1].parts[1].row = 3;
  EXPECT_EQ(refusal(certificate), "E0805 3 is no row @ x-certificate.cases[1]");
  certificate.cases[1].parts[1] = {-1, 1};
  EXPECT_EQ(refusal(certificate), "E0805 -1 is no row @ x-certificate.cases[1]");
  certificate.cases[1].parts[1] = {1, -1};
  EXPECT_EQ(refusal(certificate), "E0805 the multiplier -1 is not positive, or too large @ x-certificate.rows[1]");
  certificate = told_apart();
  certificate.cases[0].parts = {{0, 1}};
  EXPECT_EQ(refusal(certificate), "E0805 a case that is decided further has no rows @ x-certificate.cases[0]");
  certificate = told_apart();
  certificate.rows[2].multiplier = 1;
  EXPECT_EQ(refusal(certificate), "E0805 rows of cases have their multipliers there @ x-certificate.rows");
  certificate = told_apart();
  certificate.rows[1].of.pop_back();
  EXPECT_EQ(refusal(certificate), "E0805 the tensor is missing @ x-certificate.rows[1]");
}

TEST(CheckCertificate, BoundsTimeByWhatEnergyMayBeSpent) {
  // t0 comes back by computing (1 J) or by paging (4 + 3 J): with 5.5 J and half of it in RAM at most, 2 * 0.5 s more.
  Certificate certificate = asked({{Rule::kWork, {}, 1}, {Rule::kSpend, {}, 0.5}});
  EXPECT_EQ(refusal(certificate), "E0805 there is no limit on energy @ x-certificate.rows[1]");
  certificate.question.objective = problem::Objective::kTime;
  certificate.question.energy_limit = 4;  // less than the first computations take: half of the joule that is missing
  expect_just_below(proved(certificate), 5.5);
  certificate.question.energy_limit = 5;
  expect_just_below(proved(certificate), 5);
  certificate.question.energy_limit = -1;
  EXPECT_EQ(refusal(certificate), "E0805 is no energy @ x-certificate.question.energy_limit_j");
}

TEST(CheckCertificate, CountsSecondsBesideJoules) {
  Certificate certificate = asked({{Rule::kWork, {}, 2}});
  certificate.second_price = 2;
  expect_just_below(proved(certificate), 15);  // 5 J, and 5 s at 2 W
  certificate.second_price = 1;                // more work than a second costs: of no use without a longest time
  EXPECT_EQ(refusal(certificate), "E0805 the rows bound nothing: their sum is not finite @ x-certificate.rows");
  certificate.question.objective = problem::Objective::kTime;
  EXPECT_EQ(refusal(certificate), "E0805 counts beside energy alone @ x-certificate.second_price_w");
  certificate.question.objective = problem::Objective::kEdp;
  certificate.second_price = 0;
  EXPECT_EQ(refusal(certificate), "E0805 is proved by lines @ x-certificate.question.objective");
}

TEST(CheckCertificate, BoundsTheRamThatAPlanNeeds) {
  // While f2 reads t1 and writes t2, t0 can be away; t6 is pinned.
  Certificate certificate = asked({{Rule::kMemory, {2}, 1}});
  certificate.question.objective = problem::Objective::kRam;
  certificate.question.budget = 1000;
  expect_just_below(proved(certificate), 201);
  certificate.rows.push_back({Rule::kNeed, {3, 0}, 100});  // and may not come back: 100 bytes more
  certificate.question.freedoms.paging = certificate.question.freedoms.recomputing = false;
  expect_just_below(proved(certificate), 301);
  certificate.question.budget = 250;  // who needs more than 250 needs 250
  EXPECT_LE(proved(certificate), 250);
}

TEST(CheckCertificate, RefusesRowsThatDoNotHold) {
  EXPECT_EQ(row_refusal(static_cast<Rule>(99), {}), "E0805 there is no rule 99 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {2, 0}), "E0805 tensor 0 is not needed in segment 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {1, 0, 3}),
            "E0805 the row has more numbers than its rule takes @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {1}), "E0805 the tensor is missing @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {6, 0}), "E0805 6 is no segment @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {1, 7}), "E0805 7 is no tensor @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {0, 6}),
            "E0805 tensor 6 is in RAM in segment 0 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kDep, {3, 1, 2}),
            "E0805 not every choice of op 1 reads tensor 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kDep, {0, 1, 0}),
            "E0805 tensor 0 is in RAM in segment 0 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kDep, {3, -1, 2}), "E0805 -1 is no op @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCarry, {5, 0}), "E0805 5 is no segment @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCarry, {0, 0}),
            "E0805 tensor 0 is in RAM in segment 0 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kStored, {4, 5}), "E0805 tensor 5 starts in storage @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kMemory, {5}), "E0805 5 is no segment @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kMoveOut, {}),
            "E0805 the pager has one channel: its moves are one row @ x-certificate.rows[0]");
}

TEST(CheckCertificate, RefusesFlowsThatCannotBe) {
  EXPECT_EQ(row_refusal(Rule::kIssued, {4, 5}), "E0805 tensor 5 starts in storage @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlight, {5}), "E0805 5 is no segment @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlight, {2, 0, 0}), "E0805 tensor 0 stands twice @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlight, {1, 3}), "E0805 tensor 3 is not made before segment 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlow, {2, 1, 0}), "E0805 1 is no segment of the boundary @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlow, {-1, 5, 0}), "E0805 5 is no segment of the boundary @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kFlow, {2, 2, 0}), "E0805 the boundary op would count twice @ x-certificate.rows[0]");
  CostGraph sync = step_graph();
  sync.device.pager.mode = problem::PagerMode::kSync;
  EXPECT_EQ(refusal(asked({{Rule::kFlow, {0, 2, 1}, 1}}), sync),
            "E0805 transfers of this pager are part of the work @ x-certificate.rows[0]");
}

// 3 s of work before segment 3; t5 is paged in behind it, which takes 2.1 s: it is needed in the segment after, and is
// neither in RAM nor computed.
TEST(CheckCertificate, BoundsTimeByTheFlowBehindWork) {
  Certificate certificate = asked({{Rule::kFlow, {2, 2, 1}, 1}, {Rule::kPath, {3, 4, 5, 0}, 2.1}});
  certificate.question.objective = problem::Objective::kTime;
  EXPECT_LE(proved(certificate), 3 + 2.1);
  certificate.rows.resize(1);
  expect_just_below(proved(certificate), 3);
}

TEST(CheckCertificate, RefusesPathsThatLeadNowhere) {
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 3, 1, 0}), "E0805 the path does not lead to tensor 1 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 4, 1, 0, 2, 0}),
            "E0805 the path does not lead to tensor 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {0, 3, 0, 0}),
            "E0805 tensor 0 is in RAM in segments 0 to 3 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 4, 1, 0, 0, 0, 6, 0}),
            "E0805 tensor 6 is in RAM in segments 2 to 4 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 4, 5, 1}), "E0805 tensor 5 starts in storage @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 4, 5, 0, 5, 0}),
            "E0805 the path does not lead to tensor 5 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {3, 2, 0, 0}), "E0805 2 is no last segment @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 3}), "E0805 the tensor is missing @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 3, 0, 3}), "E0805 3 is no mark of what is paged out @ x-certificate.rows[0]");
}

TEST(CheckCertificate, RefusesKnapsacksOfWhatIsNotThere) {
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, -1, 100, 0, 0}), "E0805 tensor 0 stands twice @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, -1, 100, 1}),
            "E0805 tensor 1 is no choice beside op 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, -1, 100, 6}),
            "E0805 tensor 6 is no choice beside op 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, -1, 100, 3}),
            "E0805 tensor 3 is not made before segment 3 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, -1, -5, 0}), "E0805 -5 is no divisor @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, 3, 100, 0}),
            "E0805 op 3 is not recomputed in segment 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kRounding, {2, 0, 100, 2}),
            "E0805 tensor 2 may come in segment 2 at no cost @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCover, {2, -1, 1, 1, 0}), "E0805 1 is no role of the op @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCover, {2, -1, 0, 0}),
            "E0805 the cover of 0 bytes does not exceed 50 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCover, {2, -1, 0, 2, 0}), "E0805 the tensor is missing @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kCover, {3, -1, 0, 1, 1, 5}),
            "E0805 10 bytes extend a cover whose heaviest has 100 @ x-certificate.rows[0]");
}

TEST(CheckCertificate, RefusesMultipliersThatAreNotPositive) {
  for (const double multiplier : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_TRUE(refusal(asked({{Rule::kMemory, {2}, multiplier}})).starts_with("E0805 the multiplier ")) << multiplier;
}

TEST(CheckCertificate, RefusesOrdersAndSegmentsThatAreNone) {
  Certificate certificate = asked({});
  certificate.order = {0, 1, 3, 2, 4};
  EXPECT_EQ(refusal(certificate), "E0805 op 3 stands before the op that makes its input 2 @ x-certificate.order");
  certificate.order = {0, 1, 2, 3, 3};
  EXPECT_EQ(refusal(certificate), "E0805 names op 3 twice, or there is none @ x-certificate.order");
  certificate.order = {0, 1, 2, 3};
  EXPECT_EQ(refusal(certificate), "E0805 lists 4 ops of 5 @ x-certificate.order");
  certificate = asked({});
  certificate.boundaries = {2, 5};
  EXPECT_EQ(refusal(certificate), "E0805 the last segment does not end with stage 6 @ x-certificate.boundaries");
  certificate.boundaries = {3, 3, 6};
  EXPECT_EQ(refusal(certificate), "E0805 stage 3 stands after 3 @ x-certificate.boundaries");
  certificate.boundaries = {2, 6};
  CostGraph graph = step_graph();
  graph.ops[1].optional = true;
  EXPECT_EQ(refusal(certificate, graph),
            "E0805 a segment ends with op 1, which may never be computed @ x-certificate.boundaries");
}

TEST(CheckCertificate, RefusesClaimsThatTheRowsDoNotProve) {
  Certificate certificate = asked({});
  certificate.bound = 5 * (1 + 1e-10);
  expect_just_below(proved(certificate), 5);
  certificate.bound = 5.001;
  EXPECT_TRUE(refusal(certificate).starts_with("E0806 the certificate claims 5.001 and its rows prove 5 @"));
}

TEST(CheckCertificate, CountsAnOutputInsideALargerInputOnce) {
  CostGraph graph = step_graph();
  graph.tensors[2].bytes = 60;
  graph.ops[2].choices[0].overwrites = {{0, 0}};
  const Certificate certificate = asked({{Rule::kCover, {2, -1, 0, 1, 0}, 1}});
  EXPECT_EQ(refusal(certificate, graph), "E0805 the cover of 100 bytes does not exceed 150 @ x-certificate.rows[0]");
  Certificate apart = certificate;
  apart.question.freedoms.in_place = false;
  EXPECT_GT(proved(apart, graph), 4.99);
}

}  // namespace
}  // namespace pantoum::check
