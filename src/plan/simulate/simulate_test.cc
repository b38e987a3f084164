#include "plan/simulate/simulate.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/simulate/plan_options.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

IntervalPolicy any_policy(const Model& model, IntervalIndex interval, std::mt19937& random) {
  const Interval& span = model.intervals[interval];
  const Stage last = std::min(span.to, model.end());
  const auto between = [&](Stage low, Stage high) {
    return low + static_cast<int32_t>(random() % static_cast<uint32_t>(std::max(1, high - low)));
  };
  IntervalPolicy policy = retained(span);
  if (random() % 3 == 0 || (!may_page(model, interval) && !may_drop(model, interval))) return policy;
  policy.page = may_page(model, interval) && (!may_drop(model, interval) || random() % 2 == 0);
  policy.evict = random() % 2 == 0 ? span.from : between(span.from, last);
  if (random() % 2 == 0) policy.retain = between(policy.evict + 1, last + 1);
  if (policy.retain < last && random() % 2 == 0) policy.until = between(policy.retain + 1, last + 1);
  if (random() % 8 == 0) policy.fetch = between(policy.evict + 1, last + 1);
  return policy;
}

void expect_same(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.sound, b.sound);
  if (!a.sound) return;
  EXPECT_NEAR(a.value, b.value, 1e-9 * (1 + b.value));
  EXPECT_NEAR(a.energy, b.energy, 1e-9 * (1 + b.energy));
  EXPECT_EQ(a.excess, b.excess);
  EXPECT_NEAR(a.time, b.time, 1e-9 * (1 + b.time));
}

// Random neighbours, some accepted: each is what a simulation from the start gives, and so are the live bytes.
void wander(const Model& model, const Limit& limit, uint32_t seed, int steps = 60) {
  std::mt19937 random(seed);
  Simulator walker(model, limit), fresh(model, limit);
  walker.reset(keep_all(model, first_choices(model, limit.question.objective)));
  for (int step = 0; step < steps; ++step) {
    if (random() % 8 == 0) {
      const OpIndex op(random() % model.ops.size());
      walker.propose_choice(op, static_cast<int32_t>(random() % model.ops[op].choices.size()));
    } else {
      std::vector<Simulator::Change> changes;
      for (size_t count = 1 + random() % 3; count > 0; --count) {
        const IntervalIndex interval(random() % model.intervals.size());
        bool known = false;
        for (const Simulator::Change& other : changes) known = known || other.interval == interval;
        if (!known) changes.push_back({interval, any_policy(model, interval, random)});
      }
      walker.propose(changes);
    }
    if (random() % 2 == 0)
      walker.accept();
    else
      walker.reject();
    fresh.reset(walker.policy());
    expect_same(walker.outcome(), fresh.outcome());
    for (Stage stage = 0; stage <= model.end() && fresh.outcome().sound; ++stage)
      ASSERT_EQ(walker.peak(stage), fresh.peak(stage));
  }
}

// Neighbours that are refused before their time is known would have cost too much.
TEST(Simulator, LosesNoNeighbourOfInterest) {
  int refused = 0, timed = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const Model model = make_model(graph, {.question = {.budget = 1}});
    if (model.intervals.empty()) continue;
    std::mt19937 random(static_cast<uint32_t>(seed));
    Simulator simulator(model, {.question = {.budget = 3000, .deadline = 1}});
    simulator.reset(keep_all(model, first_choices(model, Objective::kEnergy)));
    const Interest interest{{.byte_price = 1e-6, .second_price = 1}, simulator.outcome().value};
    for (int step = 0; step < 30; ++step) {
      const IntervalIndex interval(random() % model.intervals.size());
      const Simulator::Change change{interval, any_policy(model, interval, random)};
      const Outcome quick = simulator.propose({change}, interest);
      simulator.reject();
      const Outcome whole = simulator.propose({change});
      simulator.reject();
      if (!whole.sound) continue;
      ++(quick.sound ? timed : refused);
      if (quick.sound) expect_same(quick, whole);
      if (!quick.sound) {
        EXPECT_GT(interest.price(whole), interest.most);
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(timed, 100);
}

TEST(Simulator, GivesANeighbourWhatASimulationFromTheStartGives) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const Model model = make_model(graph, {.question = {.budget = 1}});
    if (model.intervals.empty()) continue;
    SCOPED_TRACE(seed);
    wander(model, {.question = {.budget = 3000}}, static_cast<uint32_t>(seed));
    wander(model, {.question = {.budget = 3000, .deadline = 1, .objective = Objective::kTime}},
           static_cast<uint32_t>(seed));
    Indexed<Stage, Bytes> reserve(static_cast<size_t>(model.end()) + 1, 0);
    for (const Stage stage : reserve.indices()) reserve[stage] = (stage * 37 + static_cast<Stage>(seed)) % 5 * 100;
    wander(model,
           {.question = {.budget = 3000}, .reserve = std::make_shared<const Indexed<Stage, Bytes>>(std::move(reserve))},
           static_cast<uint32_t>(seed));
  }
}

// Of long steps, in which transfers run beside compute, most stages of a neighbour are not run: what follows a change is
// as it was, sooner or later.
TEST(Simulator, TellsTheTimeOfNeighboursOfLongSteps) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CostGraph graph = check::random_cost_graph(seed, {.least_ops = 60, .most_ops = 150});
    Pager& pager = graph.device.pager;
    pager.mode = PagerMode::kAsync;
    for (Link* link : {&pager.in, &pager.out}) {
      link->latency_s *= static_cast<double>(1 + seed % 4) / 2;  // until the storage is always at work
      link->bytes_per_s *= 4 / static_cast<double>(1 + seed % 4);
    }
    const Model model = make_model(graph, {.question = {.budget = 1}});
    if (model.intervals.empty() || !model.async) continue;
    SCOPED_TRACE(seed);
    for (const Bytes budget : {6000, 12000, 100000})
      wander(model, {.question = {.budget = budget, .objective = Objective::kTime}}, static_cast<uint32_t>(seed), 400);
  }
}

// Bytes in reserve at a stage count as if they were taken there.
TEST(Simulator, CountsWhatIsInReserve) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const Model model = make_model(graph, {.question = {.budget = 1}});
    Simulator plain(model, {.question = {.budget = 3000}});
    const Policy keep = keep_all(model, first_choices(model, Objective::kEnergy));
    if (!plain.reset(keep).sound || plain.outcome().excess > 0) continue;
    Indexed<Stage, Bytes> reserve(static_cast<size_t>(model.end()) + 1, 0);
    double over = 0;
    for (const Stage stage : reserve.indices()) {
      reserve[stage] = stage % 2 * 2500;
      over += static_cast<double>(std::max<Bytes>(0, plain.peak(stage) + reserve[stage] - 3000));
    }
    Simulator reserved(model, {.question = {.budget = 3000},
                               .reserve = std::make_shared<const Indexed<Stage, Bytes>>(std::move(reserve))});
    EXPECT_EQ(reserved.reset(keep).excess, over) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pantoum::plan
