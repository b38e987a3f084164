// Rows of several engines, by hand: a fork and a join, whose ops either engine runs.
//
//        a (2 s cpu, 1 s npu)
//       / \           b: 3 s cpu or 4 s npu    c: 3 s cpu or 2 s npu
//      b   c
//       \ /           an npu takes 0.5 s to be launched and 0.25 s until another engine knows
//        d (1 s cpu)
#include <gtest/gtest.h>

#include "check/certificate.h"
#include "check/engine_facts.h"

namespace pantoum::check {
namespace {

CostGraph fork_and_join() {
  CostGraph graph;
  graph.name = "fork";
  graph.device.engines = {{.name = "cpu", .idle_w = 1},
                          {.name = "npu", .idle_w = 2, .launch_s = 0.5, .handoff_s = 0.25}};
  graph.device.idle_w = 1;
  const auto add = [&](const char* name, std::vector<int64_t> inputs, double cpu, double npu) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    graph.tensors.push_back({.id = id, .name = name, .bytes = 64});
    Op& op =
        graph.ops.emplace_back(Op{.id = id, .name = name, .inputs = std::move(inputs), .outputs = {id}, .choices = {}});
    for (const auto& [engine, seconds] : {std::pair{"cpu", cpu}, {"npu", npu}}) {
      if (seconds == 0) continue;
      Choice& choice = op.choices.emplace_back();
      choice.engines = {engine};
      choice.time_s = choice.energy_j = seconds;
      for (int read = 0; read < static_cast<int>(op.inputs.size()); ++read) choice.reads.push_back(read);
      choice.writes = {0};
    }
    graph.order.push_back(id);
  };
  add("a", {}, 2, 1);
  add("b", {0}, 3, 4);
  add("c", {0}, 3, 2);
  add("d", {1, 2}, 1, 0);
  return graph;
}

Certificate of_rows(std::vector<Certificate::Row> rows, Objective objective = Objective::kTime) {
  Certificate certificate;
  certificate.question = {.budget = 1000, .objective = objective};
  certificate.any_order = true;
  certificate.order = {0, 1, 2, 3};
  certificate.rows = std::move(rows);
  return certificate;
}

double proved_by(const Certificate& certificate) {
  const auto proved = check_certificate(fork_and_join(), certificate);
  EXPECT_TRUE(proved) << to_text(proved.error());
  return proved ? *proved : -1;
}

std::string refusal_of(const Certificate& certificate) {
  const auto proved = check_certificate(fork_and_join(), certificate);
  return proved ? "" : proved.error().message;
}

TEST(EngineRows, KnowHowEarlyAndLateOpsAre) {
  const EngineFacts facts(fork_and_join(), {});
  EXPECT_DOUBLE_EQ(facts.op(0).head, 0);
  EXPECT_DOUBLE_EQ(facts.op(1).head, 1.5);   // a on the npu, launched first, and b too
  EXPECT_DOUBLE_EQ(facts.op(3).head, 4.75);  // a on the npu, b on the cpu: a hand-off
  EXPECT_DOUBLE_EQ(facts.op(0).tail, 4);     // b and d on the cpu
  EXPECT_DOUBLE_EQ(facts.longest(), 5.75);
  EXPECT_EQ(facts.between(0, 3), (std::vector<int32_t>{1, 2}));
}

TEST(EngineRows, ProveLoadsAndRelays) {
  // Each engine half: the cpu runs d and launches what the npu runs.
  EXPECT_NEAR(proved_by(of_rows({{Rule::kLoad, {0, -1, -1}, 0.5}, {Rule::kLoad, {1, -1, -1}, 0.5}})),
              0.5 * (1.5 + 3 + 2.5 + 1), 1e-12);
  // Between a and d, behind a's head and before d's tail: the least of b and c, on both engines.
  EXPECT_NEAR(proved_by(of_rows({{Rule::kRelay, {0, 0, 3}, 0.5}, {Rule::kRelay, {0, 1, 3}, 0.5}})),
              1 + 0.5 * (3 + 2) + 1, 1e-12);
  EXPECT_NEAR(proved_by(of_rows({{Rule::kRelay, {0, -1, 1, -1, 3}, 1}})), 1 + 3 + 1, 1e-12);
  EXPECT_NEAR(proved_by(of_rows({{Rule::kRelay, {3}, 1}})), 5.75, 1e-12);
  // b and c begin no earlier than b's head and end no later than c's tail.
  EXPECT_NEAR(proved_by(of_rows({{Rule::kLoad, {0, 1, 2}, 0.5}, {Rule::kLoad, {1, 1, 2}, 0.5}})),
              1.5 + 0.5 * (3 + 2) + 1, 1e-12);
}

TEST(EngineRows, CountIdlePowerOfEnginesThatAreUsed) {
  Certificate certificate = of_rows({{Rule::kLoad, {0, -1, -1}, 0}}, Objective::kEnergy);
  // Nothing decided: of each op the cheapest joules with idle power while it runs.
  certificate.rows.front().multiplier = 1e-9;
  EXPECT_NEAR(proved_by(certificate), 3 + 6 + 6 + 2, 1e-6);
  // The npu is off: all on the cpu, which idles beside the device for as long as it runs all. It is on: one second of each.
  certificate.rows = {{Rule::kLoad, {0, -1, -1}}, {Rule::kRelay, {3}}};
  certificate.cases = {{.decision = Certificate::Decision{Variable::kUsed, 0, 0}, .parts = {}},
                       {.decision = {}, .parts = {}},
                       {.decision = Certificate::Decision{Variable::kUsed, 0, 1}, .parts = {}},
                       {.decision = {}, .parts = {{0, 2}}},
                       {.decision = {}, .parts = {{1, 4}}}};
  EXPECT_NEAR(proved_by(certificate), 9 + 2 * 9, 1e-9);
}

TEST(EngineRows, RefuseWhatIsNone) {
  EXPECT_EQ(refusal_of(of_rows({{Rule::kLoad, {2, -1, -1}, 1}})), "2 is no engine");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kLoad, {0, 4, -1}, 1}})), "4 is no op");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kLoad, {0, -1}, 1}})), "the op is missing");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kLoad, {0, 3, 0}, 1}})), "no op begins so late and ends so early");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kRelay, {1, -1, 2}, 1}})), "op 2 need not come behind op 1");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kRelay, {-1, 0, -1, 0, 3}, 1}})), "there are no ops behind the end");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kRelay, {0, 0}, 1}})), "the op is missing");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kNeed, {0, 0}, 1}})), "the rule is of one engine");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kSpend, {}, 1}})), "there is no limit on energy");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kMoveIn, {}, 1}})), "transfers of this pager are part of the issuer's load");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kRelay, {3}, -1}})), "the multiplier -1 is not positive, or too large");
  EXPECT_EQ(refusal_of(of_rows({{Rule::kRelay, {3}, 0.75}, {Rule::kRelay, {3}, 0.75}})),
            "the rows bound nothing: their sum is not finite");
  Certificate certificate = of_rows({{Rule::kRelay, {3}, 1}});
  certificate.order = {0, 2, 1, 3};
  EXPECT_EQ(refusal_of(certificate), "ops have another order than the graph's");
  certificate = of_rows({{Rule::kRelay, {3}, 1}});
  certificate.any_order = false;
  EXPECT_EQ(refusal_of(certificate), "a bound of several engines is one of any order");
  certificate = of_rows({{Rule::kRelay, {3}, 1}});
  certificate.bound = 5.8;
  EXPECT_EQ(refusal_of(certificate), "the certificate claims 5.8 and its rows prove 5.749999999999998");
}

// Who decides of an engine once more does not pay its idle power once more.
TEST(EngineRows, DecideOfAnEngineOnce) {
  Certificate certificate = of_rows({{Rule::kRelay, {3}}}, Objective::kEnergy);
  const Certificate::Case used{.decision = Certificate::Decision{Variable::kUsed, 0, 1}, .parts = {}};
  const Certificate::Case of_two{.decision = {}, .parts = {{0, 3}}}, of_three{.decision = {}, .parts = {{0, 5}}};
  certificate.cases = {used, of_two, used, of_two, of_three};
  EXPECT_EQ(refusal_of(certificate), "its rows bound nothing: their sum is not finite");
}

}  // namespace
}  // namespace pantoum::check
