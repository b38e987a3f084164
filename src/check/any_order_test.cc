// Certificates for any order of first computations: what the boundaries must be, and the rows of ops that float.
#include <gtest/gtest.h>

#include "check/certificate.h"
#include "check/certificate_fixture.h"

namespace pantoum::check {
namespace {

using problem::Certificate;
using problem::CostGraph;
using problem::Rule;

// The step with an update that may run any time after f0: t6, t0 -> t7, which takes over t6's bytes.
CostGraph graph_with_update() {
  CostGraph graph = step_graph();
  graph.tensors.push_back({.id = 7, .bytes = 1});
  graph.tensors[6].next = 7;
  problem::Choice choice{.time_s = 1, .energy_j = 1, .overwrites = {{0, 0}}};
  choice.reads = {0, 1}, choice.writes = {0};
  graph.ops.push_back({.id = 5, .inputs = {6, 0}, .outputs = {7}, .recompute = false, .choices = {choice}});
  graph.order.push_back(5);
  return graph;
}

// Segment e ends with op e of the chain; the update is first computed in one of 1..5.
Certificate of_any_order(std::vector<Certificate::Row> rows) {
  Certificate certificate = asked(std::move(rows));
  certificate.order = {0, 1, 2, 3, 4, 5};
  certificate.boundaries = {1, 2, 3, 4, 5, 7};
  certificate.any_order = true;
  return certificate;
}

double proved(const Certificate& certificate, const CostGraph& graph = graph_with_update()) {
  const auto bound = check_certificate(graph, certificate);
  EXPECT_TRUE(bound) << to_text(bound.error());
  return bound.value_or(-1);
}

std::string refusal(const Certificate& certificate, const CostGraph& graph = graph_with_update()) {
  const auto bound = check_certificate(graph, certificate);
  return bound ? "accepted" : bound.error().code + " " + bound.error().message + " @ " + bound.error().where;
}

std::string row_refusal(Rule rule, std::vector<int64_t> of, const CostGraph& graph = graph_with_update()) {
  return refusal(of_any_order({{rule, std::move(of), 1.0}}), graph);
}

TEST(CertificateOfAnyOrder, PaysWhatFloatsByItsRow) {
  EXPECT_NEAR(proved(of_any_order({})), 5, 1e-9);
  EXPECT_NEAR(proved(of_any_order({{Rule::kOnce, {5}, 1}})), 6, 1e-9);
  Certificate one = of_any_order({});
  one.any_order = false;
  EXPECT_NEAR(proved(one), 6, 1e-9);
}

TEST(CertificateOfAnyOrder, ProvesOfTheChainWhatOneOrderDoes) {
  const std::vector<Certificate::Row> rows = {
      {Rule::kNeed, {3, 0}, 1}, {Rule::kCover, {2, -1, 0, 1, 0}, 1}, {Rule::kOnce, {5}, 1}};
  Certificate certificate = of_any_order(rows);
  certificate.question.budget = 250;  // the update may have come before: whether t6 or t7 is there, nobody tells
  EXPECT_NEAR(proved(certificate), 7, 1e-9);
}

TEST(CertificateOfAnyOrder, EndsSegmentsWithAChain) {
  Certificate certificate = of_any_order({});
  certificate.boundaries = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(refusal(certificate),
            "E0805 op 5 need not come after the one that ends the segment before @ x-certificate.boundaries");
  certificate.boundaries = {1, 6, 7};  // f0, the update
  EXPECT_NE(proved(certificate), -1);
}

TEST(CertificateOfAnyOrder, CountsNoReadThatAChoiceDoesWithout) {
  CostGraph graph = graph_with_update();
  graph.ops[1].choices.push_back(graph.ops[1].choices.front());
  graph.ops[1].choices.back().reads = {};
  EXPECT_EQ(refusal(of_any_order({}), graph),
            "E0805 op 1 need not come after the one that ends the segment before @ x-certificate.boundaries");
}

TEST(CertificateOfAnyOrder, HasRowsOfWhatFloatsAlone) {
  for (const auto& [rule, of] : std::vector<std::pair<Rule, std::vector<int64_t>>>{{Rule::kOnce, {5}},
                                                                                   {Rule::kSingle, {5}},
                                                                                   {Rule::kMade, {2, 7}},
                                                                                   {Rule::kWindow, {3, 5, 5, 0, 0}},
                                                                                   {Rule::kWindow, {2, 3, 5, 0, 1}},
                                                                                   {Rule::kDep, {3, 5, 0}},
                                                                                   {Rule::kMemory, {2}}})
    EXPECT_LE(proved(of_any_order({{rule, of, 0.25}})), 6) << "rule " << static_cast<int>(rule);
  EXPECT_EQ(row_refusal(Rule::kOnce, {1}), "E0805 it is known when op 1 is first computed @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kSingle, {1}), "E0805 it is known when op 1 is first computed @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kMade, {2, 1}), "E0805 it is known when tensor 1 is first made @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kWindow, {3, 5, 5, 2, 0}),
            "E0805 the path does not lead to tensor 2 @ x-certificate.rows[0]");
  EXPECT_EQ(row_refusal(Rule::kNeed, {5, 0}), "E0805 tensor 0 is not needed in segment 5 @ x-certificate.rows[0]");
  CostGraph again = graph_with_update();
  again.ops[5].recompute = true;
  EXPECT_EQ(row_refusal(Rule::kSingle, {5}, again), "E0805 op 5 may be recomputed @ x-certificate.rows[0]");
}

TEST(CertificateOfAnyOrder, KnowsNothingOfFlows) {
  const std::string refused = "E0805 it does not hold for any order @ x-certificate.rows[0]";
  EXPECT_EQ(row_refusal(Rule::kIssued, {1, 0}), refused);
  EXPECT_EQ(row_refusal(Rule::kFlight, {1, 0}), refused);
  EXPECT_EQ(row_refusal(Rule::kFlow, {0, 1, 0}), refused);
  EXPECT_EQ(row_refusal(Rule::kPath, {2, 3, 0, 2}), refused);
}

// A window cut: the update is first computed before segment 3, or t0 is there in 3..5.
TEST(CertificateOfAnyOrder, SumsAWindowCut) {
  Certificate certificate = of_any_order({{Rule::kOnce, {5}, 1}, {Rule::kWindow, {3, 5, 5, 0, 0}, 1}});
  EXPECT_NEAR(proved(certificate), 4, 1e-9);  // R of 1 and 2 is 1 J short, S[3,t0] costs nothing: 5 + 2 - 2 - 1
}

}  // namespace
}  // namespace pantoum::check
