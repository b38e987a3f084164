// Plans of devices with several engines: the checker accepts them, their figures are those of the replay, and a second engine is of use.
#include "plan/engine_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/round_up.h"
#include "check/claims.h"
#include "plan/earliest_finish.h"
#include "plan/realize/engine_run.h"
#include "plan/realize/realize.h"
#include "plan/stream_lists.h"
#include "testing/random_case.h"

namespace pantoum::plan {
namespace {

PlanOptions asked(const CostGraph& graph, Objective objective) {
  PlanOptions options;
  options.question.budget = Bytes{1} << 40;
  options.question.objective = objective;
  options.question.freedoms.numerics = true;
  options.effort = 1;
  if (const Result<Plan> all = unplanned(graph, options)) options.question.budget = all->predicted.arena_bytes;
  return options;
}

// The choices that the plan's computes take.
std::vector<const Choice*> choices_of(const Plan& plan) {
  std::map<int64_t, const problem::Op*> op_of;
  for (const problem::Op& op : plan.graph.ops) op_of[op.id] = &op;
  std::vector<const Choice*> choices;
  for (const Instruction& step : plan.instructions)
    if (step.what == Do::kCompute)
      choices.push_back(&op_of.at(step.subject)->choices[static_cast<size_t>(step.choice)]);
  return choices;
}

TEST(EnginePlans, AreAcceptedByTheChecker) {
  int planned = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.engines = true});
    for (const Objective objective : {Objective::kTime, Objective::kEnergy, Objective::kEdp}) {
      PlanOptions options = asked(graph, objective);
      problem::Freedoms& freedoms = options.question.freedoms;  // all of them, and each kind of less
      freedoms = {.paging = seed % 2 == 0,
                  .recomputing = seed % 3 > 0,
                  .in_place = seed % 5 > 0,
                  .reordering = seed % 7 > 0,
                  .numerics = seed % 4 > 0};
      if (seed % 3 == 0) *options.question.budget = *options.question.budget * 4 / 5;
      const Result<Plan> plan = make_plan(graph, options);
      if (!plan) {
        EXPECT_TRUE(plan.error().code == "E0301" || plan.error().code == "E0302") << seed << to_text(plan.error());
        continue;
      }
      const Result<check::Judgement> judged = check::judge(*plan);
      ASSERT_TRUE(judged.has_value()) << seed << to_text(judged.error());
      EXPECT_EQ(judged->found.arena_bytes, plan->predicted.arena_bytes) << seed;
      ++planned;
    }
  }
  EXPECT_GT(planned, 100);
}

TEST(EnginePlans, ThatStreamAreAcceptedByTheChecker) {
  int planned = 0, stream = 0;
  for (uint64_t seed = 0; seed < 256; ++seed) {
    CostGraph graph = check::random_cost_graph(seed, {.engines = seed % 2 == 1, .streams = true});
    if (seed % 6 == 5) {  // storage for a part of all tensors
      Bytes all = 0;
      for (const problem::Tensor& tensor : graph.tensors) all += tensor.bytes;
      graph.device.pager.capacity_bytes = all / (1 + static_cast<Bytes>(seed / 6 % 4));
    }
    PlanOptions options = asked(graph, seed % 3 == 0   ? Objective::kTime
                                       : seed % 3 == 1 ? Objective::kEnergy
                                                       : Objective::kEdp);
    options.question.freedoms = {.paging = seed % 8 > 0,
                                 .recomputing = seed % 3 > 0,
                                 .in_place = seed % 5 > 0,
                                 .reordering = seed % 7 > 0,
                                 .numerics = seed % 4 > 0,
                                 .one_slot = seed / 2 % 2 == 1};
    constexpr Bytes kShares[] = {1000, 150, 100, 80};
    *options.question.budget = std::max<Bytes>(1, *options.question.budget * kShares[seed / 8 % 4] / 100);
    const Result<Plan> plan = make_plan(graph, options);
    if (!plan) {
      EXPECT_TRUE(plan.error().code == "E0301" || plan.error().code == "E0302") << seed << to_text(plan.error());
      continue;
    }
    const Result<check::Judgement> judged = check::judge(*plan);
    ASSERT_TRUE(judged.has_value()) << seed << to_text(judged.error());
    EXPECT_EQ(judged->found.arena_bytes, plan->predicted.arena_bytes) << seed;
    for (const Choice* choice : choices_of(*plan)) {
      stream += choice->stream.any() ? 1 : 0;
    }
    ++planned;
  }
  RecordProperty("planned", planned);
  RecordProperty("stream", stream);
  EXPECT_GT(planned, 150);
  EXPECT_GT(stream, 80);
}

// Where RAM is plenty, what a naive executor finds a plan of, the planner does too.
TEST(EnginePlans, ThatStreamAreFoundWhereARandomOneIs) {
  int found = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.engines = seed % 2 == 1, .streams = true});
    const auto holds = [&](uint64_t number) {
      Plan plan = check::random_plan(graph, seed * 16 + number);
      plan.question.budget = Bytes{1} << 40;
      plan.question.freedoms.one_slot = false;
      plan.predicted = problem::kNothingPredicted;
      return check::replay(graph, plan).has_value();
    };
    if (!EngineModel(graph, {}).streams || (!holds(0) && !holds(1) && !holds(2))) continue;
    PlanOptions options;
    options.question.freedoms.numerics = true;
    options.effort = 1;
    const Result<Plan> plan = unplanned(graph, options);
    EXPECT_TRUE(plan.has_value()) << seed << to_text(plan.error());
    ++found;
  }
  EXPECT_GT(found, 150);
}

// Two plans of the planner's own clock and of the checker's agree on random lists, which wait for one another in every way.
TEST(EnginePlans, TakeWhatTheCheckerSays) {
  int valid = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.engines = true});
    Plan plan = check::random_plan(graph, seed);
    plan.question.budget = Bytes{1} << 40;
    plan.predicted = problem::kNothingPredicted;
    plan.question.freedoms.one_slot = false;
    const Result<check::Found> found = check::replay(graph, plan);
    if (!found) continue;
    const std::optional<Predicted> predicted = predict(graph, plan);
    ASSERT_TRUE(predicted.has_value()) << seed;
    EXPECT_EQ(predicted->arena_bytes, found->arena_bytes) << seed;
    EXPECT_EQ(predicted->peak_bytes, found->peak_bytes) << seed;
    EXPECT_DOUBLE_EQ(predicted->time_s, found->time_s) << seed;
    EXPECT_DOUBLE_EQ(predicted->energy_j, found->energy_j) << seed;
    ++valid;
  }
  EXPECT_GT(valid, 500);
}

TEST(EnginePlans, ThatStreamTakeWhatTheCheckerSays) {
  int valid = 0, stream = 0, in_place = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.engines = seed % 2 == 1, .streams = true});
    Plan plan = check::random_plan(graph, seed);
    plan.question.budget = Bytes{1} << 40;
    plan.predicted = problem::kNothingPredicted;
    const Result<check::Found> found = check::replay(graph, plan);
    if (!found) continue;
    problem::Freedoms used;
    const std::optional<Predicted> predicted = predict(graph, plan, {}, &used);
    ASSERT_TRUE(predicted.has_value()) << seed;
    EXPECT_EQ(predicted->arena_bytes, found->arena_bytes) << seed;
    EXPECT_EQ(predicted->peak_bytes, found->peak_bytes) << seed;
    EXPECT_DOUBLE_EQ(predicted->time_s, found->time_s) << seed;
    EXPECT_DOUBLE_EQ(predicted->energy_j, found->energy_j) << seed;
    EXPECT_EQ(used.paging, found->used.paging.has_value()) << seed;
    EXPECT_EQ(used.recomputing, found->used.recomputing.has_value()) << seed;
    EXPECT_EQ(used.in_place, found->used.in_place.has_value()) << seed;
    EXPECT_EQ(used.numerics, found->used.numerics.has_value()) << seed;
    for (const Choice* choice : choices_of(plan)) {
      stream += choice->stream.any() ? 1 : 0;
      in_place += choice->stream.in_place ? 1 : 0;
    }
    ++valid;
  }
  EXPECT_GT(valid, 1500);
  EXPECT_GT(stream, 1000);
  EXPECT_GT(in_place, 5);
}

// A run that begins where a list differs from the kept one finds what a run from the start finds.
TEST(EnginePlans, RunAListNearTheKeptOneAsFromItsStart) {
  int valid = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 20, .most_ops = 60, .engines = true});
    const PlanOptions options = asked(graph, Objective::kTime);
    const EngineModel model(graph, options.question);
    EngineRun near(model), anew(model);
    List now = earliest_finish(model);
    std::mt19937_64 random(seed);
    for (int step = 0; step < 200 && !now.empty(); ++step) {
      List next = now;
      const size_t at = random() % next.size();
      if (random() % 2 == 0) std::swap(next[at], next[at + (at + 1 < next.size() ? 1 : 0)]);
      if (random() % 8 == 0) next.insert(next.begin() + static_cast<std::ptrdiff_t>(at), next[random() % next.size()]);
      if (random() % 8 == 0) next.erase(next.begin() + static_cast<std::ptrdiff_t>(random() % next.size()));
      Entry& entry = next[random() % next.size()];
      if (entry.what == Do::kCompute)
        entry.way = static_cast<int32_t>(random() % model.ops[static_cast<size_t>(entry.subject)].ways.size());
      entry.offset = static_cast<Entry::Offset>(random() % Entry::kOffsets);
      const ListFigures one = near.run_near(next), other = anew.run(next);
      ASSERT_EQ(one.valid, other.valid) << seed << ", step " << step;
      if (!one.valid) continue;
      EXPECT_EQ(one.arena_bytes, other.arena_bytes) << seed << ", step " << step;
      EXPECT_EQ(one.seconds, other.seconds) << seed << ", step " << step;
      EXPECT_EQ(one.joules, other.joules) << seed << ", step " << step;
      if (random() % 2 == 0) near.keep(next), now = next;
      ++valid;
    }
  }
  EXPECT_GT(valid, 500);
}

// Lists that stream, changed at random: the run from the start, the one that begins where the list differs, and the checker find the same,
// and the run without offsets finds no more.
TEST(EnginePlans, ThatStreamRunRandomListsAsTheCheckerDoes) {
  int valid = 0, stream = 0;
  for (uint64_t seed = 0; seed < 160; ++seed) {
    const CostGraph graph =
        check::random_cost_graph(seed, {.least_ops = 4, .most_ops = 20, .engines = seed % 2 == 1, .streams = true});
    PlanOptions options = asked(graph, Objective::kTime);
    options.question.freedoms.one_slot = seed / 2 % 2 == 1;
    const EngineModel model(graph, options.question);
    if (!model.streams) continue;
    EngineRun near(model), anew(model);
    List now = StreamLists(model).leanest();
    std::mt19937_64 random(seed);
    for (int step = 0; step < 200 && !now.empty(); ++step) {
      List next = now;
      const auto any = [&] { return static_cast<std::ptrdiff_t>(random() % next.size()); };
      const size_t at = static_cast<size_t>(any());
      if (random() % 2 == 0) std::swap(next[at], next[at + (at + 1 < next.size() ? 1 : 0)]);
      if (random() % 6 == 0)
        next.insert(next.begin() + any(), {random() % 2 == 0 ? Do::kPageOut : Do::kPageIn,
                                           static_cast<int32_t>(random() % model.tensors.size()), 0});
      if (random() % 8 == 0) next.insert(next.begin() + static_cast<std::ptrdiff_t>(at), next[random() % next.size()]);
      if (random() % 8 == 0) next.erase(next.begin() + any());
      if (next.empty()) break;
      Entry& entry = next[random() % next.size()];
      if (entry.what == Do::kCompute) {
        const EngineModel::Op& op = model.ops[static_cast<size_t>(entry.subject)];
        const size_t way = random() % op.ways.size();
        if (op.ways[way].permitted) entry.way = static_cast<int32_t>(way);
      }
      entry.offset = static_cast<Entry::Offset>(random() % Entry::kOffsets);
      Plan plan{.question = options.question, .graph = graph};
      plan.predicted = problem::kNothingPredicted;
      plan.question.budget = Bytes{1} << 40;
      const ListFigures one = near.run_near(next), other = anew.run(next, &plan);
      ASSERT_EQ(one.valid, other.valid) << seed << ", step " << step;
      if (!one.valid) continue;
      EXPECT_EQ(one.arena_bytes, other.arena_bytes) << seed << ", step " << step;
      EXPECT_EQ(one.seconds, other.seconds) << seed << ", step " << step;
      EXPECT_EQ(one.joules, other.joules) << seed << ", step " << step;
      const Result<check::Found> found = check::replay(graph, plan);
      ASSERT_TRUE(found.has_value()) << seed << ", step " << step << to_text(found.error());
      EXPECT_EQ(found->arena_bytes, other.arena_bytes) << seed << ", step " << step;
      EXPECT_EQ(found->peak_bytes, other.peak_bytes) << seed << ", step " << step;
      constexpr double kRounding = 1e-12;  // sums in different orders
      EXPECT_NEAR(found->time_s, other.seconds, kRounding * other.seconds) << seed << ", step " << step;
      EXPECT_NEAR(found->energy_j, other.joules, kRounding * other.joules) << seed << ", step " << step;
      const ListFigures least = EngineRun(model).least(next);
      ASSERT_TRUE(least.valid) << seed << ", step " << step;
      EXPECT_LE(least.peak_bytes, other.peak_bytes) << seed << ", step " << step;
      EXPECT_LE(least.seconds, other.seconds * (1 + kRounding)) << seed << ", step " << step;
      EXPECT_LE(least.joules, other.joules * (1 + kRounding)) << seed << ", step " << step;
      for (const Choice* choice : choices_of(plan)) stream += choice->stream.any() ? 1 : 0;
      if (random() % 2 == 0) near.keep(next), now = next;
      ++valid;
    }
  }
  EXPECT_GT(valid, 1500);
  EXPECT_GT(stream, 2000);
}

// The plan of the graph with all choices on one engine.
Result<Plan> on_one_engine(CostGraph graph, const PlanOptions& options) {
  graph.device.engines.resize(1);
  for (problem::Op& op : graph.ops)
    for (Choice& choice : op.choices) choice.engines.clear();
  return make_plan(graph, options);
}

// A limit that the plan without it meets is no reason to find none: planned alone, and beside a plan of one engine.
TEST(EnginePlans, MeetLimitsThatAPlanWithoutThemMeets) {
  constexpr double kRounding = 1e-9;
  constexpr Objective kObjectives[] = {Objective::kTime, Objective::kEnergy, Objective::kEdp};
  int asked_for = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 6, .most_ops = 14, .engines = true});
    for (const bool beside : {false, true}) {
      const auto answer = [&](const PlanOptions& options) -> Result<Plan> {
        if (!beside) return make_plan(graph, options);
        PlanOptions without = options;
        without.question.deadline.reset();
        without.question.energy_limit.reset();
        PANTOUM_ASSIGN(const Plan one, on_one_engine(graph, without));
        return plan_beside_one_engine(graph, one, options);
      };
      for (const Objective objective : kObjectives) {
        const Result<Plan> known = answer(asked(graph, objective));
        if (!known) continue;
        for (const bool in_time : {true, false}) {
          PlanOptions options = asked(graph, objective);
          Question& question = options.question;
          (in_time ? question.deadline : question.energy_limit) =
              (in_time ? known->predicted.time_s : known->predicted.energy_j) * (1 + kRounding);
          const Result<Plan> plan = answer(options);
          ++asked_for;
          EXPECT_TRUE(plan.has_value()) << seed << " beside " << beside << " objective " << static_cast<int>(objective)
                                        << " in time " << in_time << ' ' << to_text(plan.error());
        }
      }
    }
  }
  EXPECT_GT(asked_for, 80);
}

// Two chains of three ops, which either engine runs in a second.
CostGraph two_chains() {
  CostGraph graph;
  graph.device.engines = {{.name = "cpu"}, {.name = "npu"}};
  graph.device.ram_bytes = 1000;
  for (int64_t op = 0; op < 6; ++op) {
    graph.tensors.push_back({.id = op, .bytes = 100});
    graph.ops.push_back({.id = op, .name = "op" + std::to_string(op), .outputs = {op}});
    if (op % 3 > 0) graph.ops.back().inputs = {op - 1};
    for (const char* engine : {"cpu", "npu"}) {
      Choice& choice = graph.ops.back().choices.emplace_back();
      choice.engines = {engine};
      choice.time_s = choice.energy_j = 1;
      if (op % 3 > 0) choice.reads = {0};
      choice.writes = {0};
    }
    graph.order.push_back(op);
  }
  return graph;
}

TEST(EnginePlans, RunChainsSideBySide) {
  const CostGraph graph = two_chains();
  PlanOptions options;
  options.question.budget = 1000;
  options.question.objective = Objective::kTime;
  options.effort = 1;
  const Result<Plan> plan = make_plan(graph, options);
  ASSERT_TRUE(plan.has_value()) << to_text(plan.error());
  EXPECT_DOUBLE_EQ(plan->predicted.time_s, 3);
  EXPECT_EQ(plan->status, Status::kOptimal);
  // In the RAM of one chain the second chain waits for the bytes of the first.
  options.question.budget = 200;
  const Result<Plan> tight = make_plan(graph, options);
  ASSERT_TRUE(tight.has_value()) << to_text(tight.error());
  EXPECT_LE(tight->predicted.arena_bytes, 200);
  EXPECT_GT(tight->predicted.time_s, 3);
}

TEST(EnginePlans, AreTheSameForTheSameEffort) {
  const CostGraph graph = check::random_cost_graph(7, {.least_ops = 8, .engines = true});
  const PlanOptions options = asked(graph, Objective::kTime);
  const Result<Plan> first = make_plan(graph, options), second = make_plan(graph, options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->predicted.time_s, second->predicted.time_s);
  EXPECT_EQ(first->instructions.size(), second->instructions.size());
}

// A search that takes no time left for time without end hangs here.
TEST(EnginePlans, ThatStreamEndWhereNoTimeIsLeft) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 10, .most_ops = 20, .streams = true});
    PlanOptions options = asked(graph, Objective::kTime);
    options.effort = 0;
    for (const Seconds limit : {0.0, 1e-9, 1e-4}) {
      options.time_limit = limit;
      planned += make_plan(graph, options) ? 1 : 0;
    }
  }
  EXPECT_GT(planned, 20);
}

// A program that shares its arena with another one finds tensors where that one has them.
TEST(EnginePlans, ThatStreamBeginWhereTheyAreTold) {
  int planned = 0, fixed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.streams = true});
    if (!problem::streams(graph)) continue;
    PlanOptions options = asked(graph, Objective::kTime);
    Bytes top = 2 * graph.device.align_bytes;
    for (auto tensor = graph.tensors.rbegin(); tensor != graph.tensors.rend(); ++tensor) {
      if (tensor->start != problem::Home::kRam || tensor->id % 3 == 2) continue;
      options.fixed_initial[tensor->id] = top;
      top += base::round_up(tensor->bytes, graph.device.align_bytes) + graph.device.align_bytes;
    }
    *options.question.budget = 2 * *options.question.budget + top;
    const Result<Plan> plan = make_plan(graph, options);
    if (!plan) continue;
    const Result<check::Judgement> judged = check::judge(*plan);
    ASSERT_TRUE(judged.has_value()) << seed << to_text(judged.error());
    for (const auto& [tensor, at] : options.fixed_initial) {
      EXPECT_EQ(plan->initial.at(tensor), at) << seed;
      ++fixed;
    }
    ++planned;
  }
  EXPECT_GT(planned, 50);
  EXPECT_GT(fixed, 50);
}

TEST(EnginePlans, ShareNoArenaWithOthers) {
  PlanOptions options;
  options.question.budget = 1000;
  options.fixed_initial = {{0, 0}};
  const Result<Plan> plan = make_plan(two_chains(), options);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, "E0304");
}

}  // namespace
}  // namespace pantoum::plan
