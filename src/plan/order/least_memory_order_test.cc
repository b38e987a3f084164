#include "plan/order/least_memory_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "plan/order/order_problem.h"
#include "plan/order/order_profile.h"
#include "plan/order/partial_step.h"
#include "plan/simulate/order.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/simulate.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

constexpr Bytes kNone = -1;
constexpr size_t kMostOrders = 3000;

// The peak of the graph's order as it stands; kNone: what must end somewhere does not.
Bytes peak_as_given(const CostGraph& graph) {
  const PlanOptions options{.question = {.freedoms = {.reordering = false}}};
  const Model model = make_model(graph, options);
  Simulator simulator(model, {.question = options.question});
  const Outcome& outcome = simulator.reset(keep_all(model, first_choices(model, Objective::kEnergy)));
  if (!outcome.sound || outcome.excess > 0) return kNone;
  Bytes peak = 0;
  for (Stage stage = 0; stage <= model.end(); ++stage) peak = std::max(peak, simulator.peak(stage));
  return peak;
}

// For every op those that make its inputs.
std::unordered_map<int64_t, std::vector<int64_t>> makers_of(const CostGraph& graph) {
  std::unordered_map<int64_t, int64_t> producer;
  for (const Op& op : graph.ops)
    for (const int64_t output : op.outputs) producer[output] = op.id;
  std::unordered_map<int64_t, std::vector<int64_t>> makers;
  for (const Op& op : graph.ops)
    for (const int64_t input : op.inputs)
      if (producer.contains(input)) makers[op.id].push_back(producer[input]);
  return makers;
}

bool is_topological(const CostGraph& graph, const std::vector<int64_t>& order) {
  const auto makers = makers_of(graph);
  std::unordered_map<int64_t, size_t> place;
  for (size_t at = 0; at < order.size(); ++at) place.emplace(order[at], at);
  if (place.size() != graph.ops.size() || order.size() != graph.ops.size()) return false;
  return std::all_of(makers.begin(), makers.end(), [&](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(),
                       [&](int64_t maker) { return place.contains(maker) && place[maker] < place[entry.first]; });
  });
}

// Every topological order, updates last or not. False: there are more than kMostOrders.
bool each_order(const CostGraph& graph, const std::function<void(const std::vector<int64_t>&)>& visit) {
  const auto makers = makers_of(graph);
  std::vector<int64_t> order;
  size_t visited = 0;
  const std::function<bool()> extend = [&] {
    if (order.size() == graph.ops.size()) return visit(order), ++visited <= kMostOrders;
    for (const Op& op : graph.ops) {
      const auto stands = [&](int64_t other) { return std::find(order.begin(), order.end(), other) != order.end(); };
      if (stands(op.id)) continue;
      if (makers.contains(op.id) && !std::all_of(makers.at(op.id).begin(), makers.at(op.id).end(), stands)) continue;
      order.push_back(op.id);
      const bool more = extend();
      order.pop_back();
      if (!more) return false;
    }
    return true;
  };
  return extend();
}

// The least peak of all orders; nothing: there are too many, or none is sound.
std::optional<Bytes> least_peak(const CostGraph& graph) {
  Bytes least = kNone;
  CostGraph reordered = graph;
  const bool all = each_order(graph, [&](const std::vector<int64_t>& order) {
    reordered.order = order;
    const Bytes peak = peak_as_given(reordered);
    if (peak != kNone && (least == kNone || peak < least)) least = peak;
  });
  return all && least != kNone ? std::optional(least) : std::nullopt;
}

CostGraph reordered(CostGraph graph, std::vector<int64_t> order) {
  graph.order = std::move(order);
  return graph;
}

TEST(LeastMemoryOrder, IsTheBestOfAllOrdersOfTinyGraphsAndTheBoundIsNoHigher) {
  int compared = 0, best = 0, proved = 0, better = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const CostGraph graph =
        check::random_cost_graph(seed, {.least_ops = 2, .most_ops = 5, .most_sources = 4, .pager = seed % 3 != 0});
    const std::optional<Bytes> least = least_peak(graph);
    if (!least) continue;
    const MemoryOrder found = least_memory_order(graph, {});
    SCOPED_TRACE(seed);
    ASSERT_TRUE(is_topological(graph, found.order));
    EXPECT_LE(found.bound_bytes, *least);
    if (peak_as_given(reordered(graph, found.order)) == kNone)
      continue;  // nor does the first: updates cannot stand last
    EXPECT_GE(found.peak_bytes, *least);
    ++compared;
    best += found.peak_bytes == *least ? 1 : 0;
    proved += found.bound_bytes == *least ? 1 : 0;
    better += peak_as_given(reordered(graph, updates_last(graph))) > *least ? 1 : 0;
  }
  RecordProperty("compared", compared);
  RecordProperty("best", best);
  RecordProperty("proved", proved);
  RecordProperty("better_than_the_first_order", better);
  EXPECT_GT(compared, 400);
  EXPECT_GT(better, 100);
  EXPECT_GE(best, compared * 98 / 100);
  EXPECT_GE(proved, compared * 9 / 10);
}

// Does every op write, by its own choice, what others read by theirs? Else the simulator makes it once more.
bool writes_all_reads(const Model& model, const OrderProblem& problem) {
  return std::all_of(problem.tensors.indices().begin(), problem.tensors.indices().end(), [&](TensorIndex tensor) {
    const OrderTensor& entry = problem.tensors[tensor];
    const bool duty = model.tensors[tensor].ends_in_ram || model.tensors[tensor].ends_in_aux;
    return entry.producer.exists() || !model.tensors[tensor].producer.exists() || (entry.readers.empty() && !duty);
  });
}

// Both count what the simulator counts, up to the end of the last op.
TEST(OrderProfile, HasTheSimulatorsLiveBytes) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const PlanOptions options;
    const Model model = make_model(graph, options);
    const Choices choices = first_choices(model, Objective::kEnergy);
    Simulator simulator(model, {.question = options.question});
    if (!simulator.reset(keep_all(model, choices)).sound) continue;
    const OrderProblem problem = make_order_problem(model, choices);
    if (!writes_all_reads(model, problem)) continue;
    ++compared;
    OrderSteps steps(1 << 20, {});
    std::vector<OpIndex> order;
    for (const OpIndex op : model.ops.indices()) order.push_back(op);
    const OrderProfile profile(problem, order, 0, steps);
    PartialStep step(problem);
    SCOPED_TRACE(seed);
    for (const OpIndex op : model.ops.indices()) {
      const Bytes exact = simulator.peak(model.ops[op].stage);
      EXPECT_EQ(std::max(profile.peak(base::position_of(op)), profile.live_before(base::position_of(op))), exact);
      const Bytes before = step.live();
      EXPECT_EQ(std::max(before, step.run(op)), exact);
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST(PartialStep, TakesBackWhatItRan) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const Model model = make_model(graph, {});
    const OrderProblem problem = make_order_problem(model, first_choices(model, Objective::kEnergy));
    PartialStep step(problem);
    std::vector<Bytes> first, second;
    for (const OpIndex op : model.ops.indices()) first.push_back(step.run(op));
    const OpSetHash all = step.hash();
    while (step.done() > 0) step.undo();
    EXPECT_EQ(step.live(), problem.opened_live);
    EXPECT_EQ(step.hash(), OpSetHash());
    for (const OpIndex op : model.ops.indices()) second.push_back(step.run(op));
    EXPECT_EQ(first, second);
    EXPECT_EQ(step.hash(), all);
  }
}

TEST(LeastMemoryOrder, IsValidDeterministicAndNoWorseThanTheFirst) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 10, .most_ops = 60});
    const Bytes first = peak_as_given(reordered(graph, updates_last(graph)));
    const Question question{.budget = std::max<Bytes>(1, first * 3 / 4)};
    const MemoryOrder found = least_memory_order(graph, question), again = least_memory_order(graph, question);
    SCOPED_TRACE(seed);
    ASSERT_TRUE(is_topological(graph, found.order));
    EXPECT_EQ(found.order, again.order);
    EXPECT_EQ(updates_last(reordered(graph, found.order)), found.order);  // the model takes it as it is
    EXPECT_LE(found.bound_bytes, found.peak_bytes);
    if (first == kNone) continue;
    EXPECT_LE(found.peak_bytes, first);
    EXPECT_EQ(found.peak_bytes, peak_as_given(reordered(graph, found.order)));
  }
}

// Ops that each read the tensors listed and write one of their own, of so many bytes.
CostGraph graph_of(const std::vector<std::pair<Bytes, std::vector<int64_t>>>& ops) {
  CostGraph graph{.name = "ops"};
  for (const auto& [bytes, inputs] : ops) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    graph.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = bytes});
    Op op{.id = id, .name = "o" + std::to_string(id), .inputs = inputs, .outputs = {id}};
    Choice choice;
    for (size_t input = 0; input < inputs.size(); ++input) choice.reads.push_back(static_cast<int>(input));
    choice.writes = {0};
    op.choices.push_back(choice);
    graph.ops.push_back(op);
    graph.order.push_back(id);
  }
  return graph;
}

// Two branches that are wide in the middle: one after the other, not side by side.
TEST(LeastMemoryOrder, RunsIndependentBranchesOneAfterTheOther) {
  const CostGraph graph =
      graph_of({{1, {}}, {100, {0}}, {100, {0}}, {100, {1}}, {100, {2}}, {1, {3}}, {1, {4}}, {1, {5, 6}}});
  const MemoryOrder found = least_memory_order(graph, {});
  EXPECT_EQ(peak_as_given(graph), 300);
  EXPECT_EQ(found.peak_bytes, 201);
  EXPECT_EQ(found.bound_bytes, 201);
  const auto orders = candidate_orders(graph, {});
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0], graph.order);
  EXPECT_EQ(orders[1], found.order);
}

TEST(CandidateOrders, AreThreeAtMostAndBetterThanTheFirst) {
  int several = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 20, .most_ops = 60});
    const Bytes peak = peak_as_given(reordered(graph, updates_last(graph)));
    if (peak <= 0) continue;
    const auto orders = candidate_orders(graph, {.question = {.budget = std::max<Bytes>(1, peak * 7 / 10)}});
    SCOPED_TRACE(seed);
    ASSERT_GE(orders.size(), 1u);
    ASSERT_LE(orders.size(), 3u);
    EXPECT_EQ(orders.front(), updates_last(graph));
    several += orders.size() > 1 ? 1 : 0;
    for (const std::vector<int64_t>& order : orders) {
      EXPECT_TRUE(is_topological(graph, order));
      EXPECT_NE(peak_as_given(reordered(graph, order)), kNone);
      EXPECT_EQ(std::count(orders.begin(), orders.end(), order), 1);
    }
    EXPECT_EQ(candidate_orders(graph, {.question = {.budget = 2 * peak}}).size(), 1u);
  }
  EXPECT_GT(several, 20);
}

TEST(CandidateOrders, AreTheGraphsAloneWhereItMayNotBeChangedOrNothingIsWon) {
  const CostGraph branches = graph_of({{1, {}}, {100, {0}}, {100, {0}}, {1, {1}}, {1, {2}}, {1, {3, 4}}});
  const PlanOptions fixed{.question = {.freedoms = {.reordering = false}}};
  EXPECT_EQ(candidate_orders(branches, fixed), std::vector<std::vector<int64_t>>{branches.order});
  EXPECT_EQ(least_memory_order(branches, fixed.question).order, branches.order);
  const CostGraph chain = graph_of({{1, {}}, {100, {0}}, {100, {1}}, {1, {2}}});
  EXPECT_EQ(candidate_orders(chain, {}), std::vector<std::vector<int64_t>>{chain.order});
}

// The same peak in every order; within the budget some orders stay longer.
TEST(LeastMemoryOrder, CountsTheBytesOverTheBudgetAtTheSamePeak) {
  const CostGraph graph =
      graph_of({{50, {}}, {50, {}}, {50, {}}, {300, {}}, {1, {3}}, {1, {0}}, {1, {1}}, {1, {2}}, {1, {4, 5, 6, 7}}});
  const Question question{.budget = 120};
  const MemoryOrder found = least_memory_order(graph, question);
  const std::vector<int64_t>& order = found.order;
  const auto place = [&](int64_t op) { return std::find(order.begin(), order.end(), op) - order.begin(); };
  for (const int64_t op : {0, 1, 2}) EXPECT_FALSE(place(op) < place(3) && place(3) < place(op + 5));
  EXPECT_GE(candidate_orders(graph, {.question = question}).size(), 2u);
}

TEST(LeastMemoryOrder, TakesWhatIsThereAtTheLimits) {
  const MemoryOrder nothing = least_memory_order(CostGraph{.name = "none"}, {});
  EXPECT_TRUE(nothing.order.empty());
  const CostGraph one = graph_of({{7, {}}});
  EXPECT_EQ(least_memory_order(one, {}).peak_bytes, 7);
  EXPECT_EQ(least_memory_order(one, {}).bound_bytes, 7);
  const CostGraph empty = graph_of({{0, {}}, {0, {0}}, {0, {0}}, {0, {1, 2}}});
  EXPECT_EQ(least_memory_order(empty, {.budget = 1}).peak_bytes, 0);
}

TEST(LeastMemoryOrder, EndsWithLongLinesAndManyParallelOps) {
  constexpr int64_t kOps = 5000;
  std::vector<std::pair<Bytes, std::vector<int64_t>>> line{{10, {}}}, parallel, fan{{10, {}}};
  for (int64_t op = 1; op < kOps; ++op) line.push_back({10 + op % 7, {op - 1}});
  for (int64_t op = 0; op < kOps; ++op) parallel.push_back({10 + op % 7, {}});
  for (int64_t op = 1; op < kOps; ++op) fan.push_back({10 + op % 7, {op % 2 == 1 ? 0 : op - 1}});
  for (const auto& ops : {line, parallel, fan}) {
    const CostGraph graph = graph_of(ops);
    const MemoryOrder found = least_memory_order(graph, {.budget = 20});
    EXPECT_TRUE(is_topological(graph, found.order));
    EXPECT_LE(found.bound_bytes, found.peak_bytes);
    EXPECT_LE(found.peak_bytes, peak_as_given(graph));
  }
}

// Beyond kMostBoundedOps the working sets alone count.
TEST(OrderBound, HoldsForGraphsOfAnySize) {
  std::vector<std::pair<Bytes, std::vector<int64_t>>> line{{10, {}}};
  for (int64_t op = 1; op < 9000; ++op) line.push_back({10 + op % 7, {op - 1}});
  const MemoryOrder found = least_memory_order(graph_of(line), {});
  EXPECT_EQ(found.bound_bytes, 31);  // 15 and 16
  EXPECT_EQ(found.peak_bytes, 31);
}

TEST(LeastMemoryOrder, StopsWhenItIsAskedTo) {
  std::stop_source stop;
  stop.request_stop();
  const CostGraph graph = check::random_cost_graph(5, {.least_ops = 200, .most_ops = 200});
  const MemoryOrder found = least_memory_order(graph, {}, {.stop = stop.get_token()});
  EXPECT_EQ(found.order, updates_last(graph));
  EXPECT_LE(found.bound_bytes, found.peak_bytes);
}

}  // namespace
}  // namespace pantoum::plan
