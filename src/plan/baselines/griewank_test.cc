#include "plan/baselines/griewank.h"

#include <gtest/gtest.h>

#include <map>
#include <queue>

#include "check/replay.h"
#include "plan/baselines/methods.h"
#include "plan/simulate/plan_options.h"
#include "testing/sample_graphs.h"

namespace pantoum::plan::baseline {
namespace {

// The fewest forward evaluations that reverse `length` steps with `slots` checkpoints beside state 0, by search over
// all schedules: what is stored (bits), which state is at hand, how many steps are left.
int64_t by_search(int length, int slots) {
  using State = std::tuple<unsigned, int, int>;  // stored, at hand, left
  using Entry = std::pair<int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::map<State, int64_t> seen;
  const auto push = [&](int64_t cost, State state) {
    const auto [at, fresh] = seen.emplace(state, cost);
    if (fresh || cost < at->second) at->second = cost, queue.emplace(cost, state);
  };
  push(0, {1U, 0, length});
  while (!queue.empty()) {
    const auto [cost, state] = queue.top();
    queue.pop();
    if (cost > seen[state]) continue;
    const auto [stored, hand, left] = state;
    if (left == 0) return cost;
    if (hand == left - 1) push(cost, {stored, hand, left - 1});                  // the step: its state is at hand
    if (hand < left - 1 && hand >= 0) push(cost + 1, {stored, hand + 1, left});  // advance
    for (int at = 0; at < length; ++at) {
      const unsigned bit = 1U << at;
      if (stored & bit) push(cost, {stored, at, left});                       // restore
      if ((stored & bit) && at > 0) push(cost, {stored & ~bit, hand, left});  // forget
    }
    if (__builtin_popcount(stored) < slots + 1) push(cost, {stored | (1U << hand), hand, left});  // store
  }
  return -1;
}

TEST(Revolve, IsOptimalOnShortChains) {
  const Revolve table(9, 4);
  for (int length = 1; length <= 9; ++length)
    for (int slots = 0; slots <= 4; ++slots)
      EXPECT_EQ(table.evaluations(length, slots), by_search(length, slots))
          << length << " steps, " << slots << " slots";
}

TEST(Griewank, ComputesAsOftenAsItsTableSays) {
  constexpr int kLayers = 8;  // states 0..8 with the loss; steps 9 (empty) down to 0
  const CostGraph graph = sample_chain(kLayers);
  int plans = 0;
  for (Bytes ram = 250; ram <= 1000; ram += 50) {
    const auto plan = griewank(graph, {.question = {.budget = ram}});
    if (!plan) continue;
    const auto found = check::replay(graph, *plan);
    ASSERT_TRUE(found) << to_text(found.error());
    ++plans;
    bool known = false;  // some number of slots explains it
    const Revolve table(kLayers + 2, kLayers + 1);
    for (int slots = 0; slots <= kLayers + 1; ++slots)
      known = known || found->counts.recompute <= table.evaluations(kLayers + 2, slots) - kLayers;
    EXPECT_TRUE(known) << ram;
  }
  EXPECT_GT(plans, 5);
}

}  // namespace
}  // namespace pantoum::plan::baseline
