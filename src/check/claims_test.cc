// Every claim of a plan, true and wrong by as little as can be.
#include "check/claims.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/certificate_fixture.h"
#include "check/least_costs.h"

namespace pantoum::check {
namespace {

using problem::Do;
using problem::Home;
using problem::Objective;
using problem::Plan;

problem::Instruction compute(int64_t op, std::vector<int64_t> at) {
  return {.what = Do::kCompute, .subject = op, .at = std::move(at)};
}

// The step of the fixture with everything kept: 5 J and 5 s of work, 3.1 J and 2.1 s to page t5 in.
Plan kept() {
  Plan plan{.question = {.budget = 600}, .graph = step_graph()};
  plan.initial = {{6, 0}};
  plan.instructions = {{.what = Do::kPageIn, .subject = 5, .at = {8}},
                       compute(0, {100}),
                       compute(1, {200}),
                       compute(2, {300}),
                       compute(3, {400}),
                       compute(4, {500})};
  plan.storage = {{5, 0}};
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  return plan;
}

std::string verdict(const Plan& plan) {
  const auto judged = judge(plan);
  return judged ? "accepted" : judged.error().code + " @ " + judged.error().where;
}

TEST(Judge, AcceptsAPlanThatClaimsNothing) {
  EXPECT_EQ(verdict(kept()), "accepted");
  const auto judged = judge(kept());
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->proved.certificates, 0);
  EXPECT_NEAR(judged->bound, 7.1, 1e-9) << "the cheapest choices, and the page-in that must happen";
  EXPECT_LE(judged->bound, judged->found.energy_j);
  EXPECT_LE(judged->found.energy.low, judged->found.energy_j);
  EXPECT_GE(judged->found.energy.high, judged->found.energy_j);
}

TEST(Judge, JudgesLimitsByTheUpperEnd) {
  Plan plan = kept();
  const Found found = judge(plan)->found;
  plan.question.deadline = found.time.high;
  plan.question.energy_limit = found.energy.high;
  EXPECT_EQ(verdict(plan), "accepted");
  plan.question.deadline = std::nextafter(found.time.high, 0);
  EXPECT_EQ(verdict(plan), "E0802 @ ");
  plan.question.deadline = found.time_s * (1 - 5e-10);  // the reference checker excuses that
  EXPECT_EQ(verdict(plan), "E0802 @ ");
  plan.question.deadline.reset();
  plan.question.energy_limit = std::nextafter(found.energy.high, 0);
  EXPECT_EQ(verdict(plan), "E0802 @ ");
  plan.question.energy_limit.reset();
  plan.question.budget = found.arena_bytes - 1;
  EXPECT_EQ(verdict(plan), "E0802 @ ");
}

TEST(Judge, TakesNoMoreThanRoundingForAPrediction) {
  const Found found = judge(kept())->found;
  const auto predict = [&](problem::Predicted predicted) {
    Plan plan = kept();
    plan.predicted = predicted;
    return verdict(plan);
  };
  const problem::Predicted right{found.peak_bytes, found.arena_bytes, found.time_s, found.energy_j};
  EXPECT_EQ(predict(right), "accepted");
  problem::Predicted wrong = right;
  wrong.peak_bytes += 1;
  EXPECT_EQ(predict(wrong), "E0803 @ predicted");
  wrong = right, wrong.arena_bytes -= 1;
  EXPECT_EQ(predict(wrong), "E0803 @ predicted");
  wrong = right, wrong.time_s *= 1 + 1e-8;
  EXPECT_EQ(predict(wrong), "E0803 @ predicted");
  wrong = right, wrong.energy_j *= 1 - 1e-8;
  EXPECT_EQ(predict(wrong), "E0803 @ predicted");
  wrong.energy_j = found.energy_j * (1 + 1e-10);
  EXPECT_EQ(predict(wrong), "accepted");
}

TEST(Judge, WantsAPlaceForWhatIsInStorage) {
  Plan plan = kept();
  plan.storage.clear();
  EXPECT_EQ(verdict(plan), "E0804 @ storage");
}

// Each bound that is not the objective's, too: nobody certifies these, so they follow from the costs or not at all.
TEST(Judge, RefusesBoundsThatNothingProves) {
  const auto asked = [](Objective objective) {
    Plan plan = kept();
    plan.question.objective = objective;
    return plan;
  };
  const auto claim = [&](problem::Bound bound, Objective objective) {
    Plan plan = asked(objective);
    plan.bound = bound;
    return verdict(plan);
  };
  for (const Objective objective : {Objective::kEnergy, Objective::kTime, Objective::kEdp}) {
    const Judgement judged = *judge(asked(objective));
    for (const bool any : {false, true}) {
      const auto& [energy, time, product, certificates] = judged.proved;
      EXPECT_EQ(claim({.energy_j = energy, .time_s = time, .edp_js = product, .any_order = any}, objective),
                "accepted");
      EXPECT_EQ(claim({.energy_j = std::nextafter(energy, 9), .any_order = any}, objective), "E0806 @ bound");
      EXPECT_EQ(claim({.time_s = std::nextafter(time, 9), .any_order = any}, objective), "E0806 @ bound");
      EXPECT_EQ(claim({.edp_js = std::nextafter(product, 99), .any_order = any}, objective), "E0806 @ bound");
    }
  }
}

TEST(Judge, RefusesAGapAndAStatusThatDoNotFollow) {
  Plan plan = kept();
  const double gap = judge(plan)->gap;
  plan.gap = gap;
  EXPECT_EQ(verdict(plan), "accepted");
  plan.gap = std::nextafter(gap, -1);
  EXPECT_EQ(verdict(plan), gap > 0 ? "E0808 @ solver.gap" : "accepted");
  plan = kept();
  plan.graph.ops[0].choices[0].energy_j = 1;
  plan.status = problem::Status::kOptimal;
  plan.instructions.insert(plan.instructions.begin() + 2, compute(0, {100}));  // once more, for nothing
  const double wasted = judge([&] {
                          Plan feasible = plan;
                          feasible.status = problem::Status::kFeasible;
                          return feasible;
                        }())
                            ->gap;
  EXPECT_GT(wasted, 0.05);
  plan.asked_gap = wasted;
  EXPECT_EQ(verdict(plan), "accepted");
  plan.asked_gap = std::nextafter(wasted, 0);
  EXPECT_EQ(verdict(plan), "E0808 @ status");
}

TEST(Judge, RefusesWhatTheQuestionForbids) {
  Plan plan = kept();
  plan.question.freedoms = {.paging = false, .recomputing = false, .in_place = false, .reordering = false};
  EXPECT_EQ(verdict(plan), "accepted") << "what starts in storage must be paged in";
  Plan paging = plan;
  paging.storage[0] = 16;
  paging.instructions.insert(paging.instructions.begin() + 3, {.what = Do::kPageOut, .subject = 0});
  EXPECT_EQ(verdict(paging), "E0807 @ instruction 3");
  paging.question.freedoms.paging = true;
  EXPECT_EQ(verdict(paging), "accepted");
  Plan recomputing = plan;
  recomputing.instructions.insert(recomputing.instructions.begin() + 2, compute(0, {100}));
  EXPECT_EQ(verdict(recomputing), "E0807 @ instruction 2");
  recomputing.question.freedoms.recomputing = true;
  EXPECT_EQ(verdict(recomputing), "accepted");
  Plan in_place = plan;
  in_place.graph.ops[4].choices[0].overwrites = {{0, 0}};  // t4 over t3
  in_place.instructions.back().at = {400};
  EXPECT_EQ(verdict(in_place), "E0807 @ instruction 5");
  in_place.graph.tensors[3].next = 4;  // an update
  EXPECT_EQ(verdict(in_place), "accepted");
  in_place.graph.tensors[3].next = -1;
  in_place.question.freedoms.in_place = true;
  EXPECT_EQ(verdict(in_place), "accepted");
  Plan reordered = plan;
  reordered.graph.ops.push_back({.id = 9, .inputs = {}, .outputs = {}, .choices = {{.time_s = 1, .energy_j = 1}}});
  reordered.graph.order.push_back(9);
  reordered.instructions.insert(reordered.instructions.begin(), compute(9, {}));
  EXPECT_EQ(verdict(reordered), "E0807 @ instructions");
  reordered.question.freedoms.reordering = true;
  EXPECT_EQ(verdict(reordered), "accepted");
  Plan numerics = plan;
  numerics.graph.ops[2].choices.push_back(numerics.graph.ops[2].choices[0]);
  numerics.graph.ops[2].choices[1].numerics = "other";
  numerics.instructions[3].choice = 1;
  EXPECT_EQ(verdict(numerics), "E0807 @ instruction 3");
  numerics.question.freedoms.numerics = true;
  EXPECT_EQ(verdict(numerics), "accepted");
}

// What must end in storage may go there early and come back, whatever else is not paged.
TEST(Judge, TakesDutiesForNoPaging) {
  Plan plan = kept();
  plan.graph.tensors[4].end = Home::kAux;
  plan.question.freedoms.paging = false;
  plan.storage[4] = 16;
  plan.instructions.push_back({.what = Do::kPageOut, .subject = 4});
  EXPECT_EQ(verdict(plan), "accepted");
  plan.instructions.push_back({.what = Do::kFree, .subject = 4});
  plan.instructions.push_back({.what = Do::kPageIn, .subject = 4, .at = {500}});
  EXPECT_EQ(verdict(plan), "accepted");
}

TEST(Judge, WantsACertificateOfThePlansQuestion) {
  Plan plan = kept();
  plan.certificate = asked({});
  EXPECT_EQ(verdict(plan), "E0805 @ x-certificate.question.budget_bytes");
  plan.certificate->question.budget = 600;
  EXPECT_EQ(verdict(plan), "accepted");
  plan.question.freedoms.paging = false;
  EXPECT_EQ(verdict(plan), "accepted") << "it holds for fewer freedoms";
  plan.question.freedoms.paging = true;
  plan.certificate->question.freedoms.paging = false;
  EXPECT_EQ(verdict(plan), "E0805 @ x-certificate.question.freedoms.paging");
  plan.certificate->question.freedoms = {.numerics = false};
  plan.question.freedoms.numerics = true;
  EXPECT_EQ(verdict(plan), "accepted") << "no op has a choice of another class";
  plan.graph.ops[2].choices.push_back(plan.graph.ops[2].choices[0]);
  plan.graph.ops[2].choices[1].numerics = "other";
  EXPECT_EQ(verdict(plan), "E0805 @ x-certificate.question.freedoms.numerics");
}

// 101 bytes at the start; op 3 reads two tensors, writes one, and t6 is pinned.
TEST(LeastCosts, AreReadOffTheCostGraph) {
  const LeastCosts least = least_costs(step_graph(), {});
  EXPECT_EQ(least.ram_bytes, 311) << "t1, t3, t5 and t4 while g4 runs, and t6";
  EXPECT_NEAR(least.energy_j, 7.1, 1e-12);
  EXPECT_NEAR(least.time_s, 5, 1e-12) << "transfers run beside";
  problem::CostGraph sync = step_graph();
  sync.device.pager.mode = problem::PagerMode::kSync;
  EXPECT_NEAR(least_costs(sync, {}).time_s, 7.1, 1e-12);
  sync.ops[4].optional = true;
  EXPECT_NEAR(least_costs(sync, {}).time_s, 4, 1e-12) << "what is not computed reads nothing";
}

TEST(LeastCosts, CountIdlePowerOverTheSecondsOfTheSameChoice) {
  problem::CostGraph graph = step_graph();
  graph.device.idle_w = 2;
  const double alone = least_costs(graph, {}).energy_j;
  EXPECT_NEAR(alone, 7.1 + 2 * 5, 1e-12);
  problem::Choice slow = graph.ops[2].choices.front();
  slow.time_s += 3, slow.energy_j -= 0.5;  // saves less than its seconds take
  graph.ops[2].choices.push_back(slow);
  EXPECT_NEAR(least_costs(graph, {}).energy_j, alone, 1e-12);
  graph.ops[2].choices.back().time_s -= 2.9;
  EXPECT_NEAR(least_costs(graph, {}).energy_j, alone - 0.3, 1e-12);
  graph.device.pager.mode = problem::PagerMode::kSync;
  EXPECT_NEAR(least_costs(graph, {}).energy_j, alone - 0.3 + 2 * 2.1, 1e-12) << "the engine waits";
}

// Energy with what must move, and time, of every combination of the ops' choices.
std::vector<std::pair<double, double>> all_sums(const problem::CostGraph& graph) {
  problem::CostGraph idle = graph;
  for (problem::Op& op : idle.ops) {
    op.choices.resize(1);
    op.choices.front().energy_j = op.choices.front().time_s = 0;
  }
  std::vector<std::pair<double, double>> sums{{least_costs(idle, {}).energy_j, 0}};
  for (const problem::Op& op : graph.ops) {
    std::vector<std::pair<double, double>> next;
    for (const auto& [energy, time] : sums)
      for (const problem::Choice& way : op.choices)
        next.emplace_back(energy + way.energy_j + graph.device.idle_w * way.time_s, time + way.time_s);
    sums = std::move(next);
  }
  return sums;
}

// Three ways of each op: every combination that keeps the limit takes at least what is read off.
TEST(LeastCosts, AreBoundsOfWhatKeepsALimit) {
  problem::CostGraph graph = step_graph();
  graph.device.idle_w = 0.5;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (int level = 1; level <= 2; ++level) {
      problem::Choice slower = graph.ops[op].choices.front();
      slower.time_s *= 1 + level * (0.3 + 0.1 * static_cast<double>(op));
      slower.energy_j *= 1 - 0.3 * level;
      graph.ops[op].choices.push_back(slower);
    }
  const LeastCosts any = least_costs(graph, {});
  const PricedCosts costs = priced_costs(graph, {});
  const auto sums = all_sums(graph);
  const auto least_of = [&](double limit, bool of_energy) {
    double least = HUGE_VAL;
    for (const auto& [energy, time] : sums)
      if ((of_energy ? time : energy) <= limit) least = std::min(least, of_energy ? energy : time);
    return least;
  };
  int raised = 0;
  for (double share = 1.0; share < 2.2; share += 0.05) {
    const double deadline = any.time_s * share, limit = any.energy_j * share;
    const double energy = costs.energy_within(deadline), time = costs.time_within(limit);
    EXPECT_LE(energy, least_of(deadline, true) * (1 + 1e-12)) << share;
    EXPECT_LE(time, least_of(limit, false) * (1 + 1e-12)) << share;
    raised += energy > 1.01 * any.energy_j ? 1 : 0;
    raised += time > 1.01 * any.time_s ? 1 : 0;
  }
  EXPECT_GT(raised, 5);
}

// Of choices far apart, and so near to each other that the lines through them are as good as flat or upright.
TEST(LeastCosts, AreBelowEveryProduct) {
  int near = 0, all = 0;
  for (double apart = 0.5; apart > 1e-16; apart /= 7) {
    for (const bool in_joules : {true, false}) {
      for (const double far : {1.3, 4.846, 1e3}) {
        Plan plan = kept();
        plan.question.objective = Objective::kEdp;
        for (size_t op = 0; op < plan.graph.ops.size(); op += 2) {
          problem::Choice other = plan.graph.ops[op].choices.front();
          (in_joules ? other.energy_j : other.time_s) *= 1 + apart * static_cast<double>(op + 1);
          (in_joules ? other.time_s : other.energy_j) /= far;
          plan.graph.ops[op].choices.push_back(other);
        }
        double least = HUGE_VAL;
        for (const auto& [energy, time] : all_sums(plan.graph)) least = std::min(least, energy * time);
        const auto proved = prove_bounds(plan);
        ASSERT_TRUE(proved) << to_text(proved.error());
        EXPECT_LE(proved->edp_js, least * (1 + 1e-14)) << apart << " " << far;
        near += proved->edp_js > 0.99 * least ? 1 : 0;
        ++all;
      }
    }
  }
  EXPECT_GT(near, all * 9 / 10);
}

TEST(LeastCosts, LeaveAPinnedTensorsBytesToItsSuccessor) {
  problem::CostGraph graph = step_graph();  // t6 is followed by t2, which f2 writes over it
  graph.tensors[6].bytes = 200;
  graph.tensors[6].next = 2;
  graph.ops[2].inputs.push_back(6);
  graph.ops[2].choices[0].reads = {0, 1};
  graph.ops[2].choices[0].overwrites = {{0, 1}};
  EXPECT_EQ(least_costs(graph, {}).ram_bytes, 400) << "f1: t0, t1 and t6, which f2 overwrites later";
  graph.tensors[2].pinned = true;
  EXPECT_EQ(least_costs(graph, {}).ram_bytes, 410) << "g4: t1, t3, t4, t5 and t2, which stays";
}

// An alignment of 2^52 bytes: sums of rounded sizes do not overflow.
TEST(LeastCosts, OfAHugeAlignmentAreNoSmallNumber) {
  problem::CostGraph graph = step_graph();
  graph.device.align_bytes = int64_t{1} << 52;
  for (int64_t id = 10; id < 10000; ++id)
    graph.tensors.push_back({.id = id, .bytes = 1, .start = Home::kRam, .pinned = true});
  ASSERT_TRUE(problem::validate(graph));
  EXPECT_GT(least_costs(graph, {}).ram_bytes, int64_t{1} << 60);
}

}  // namespace
}  // namespace pantoum::check
