// Every plan of a tiny graph of several engines: all lists, offsets, recomputations and transfers. Shares nothing with
// planner or checker; the rules are those of semantics.md. Tests only.
//
// A tensor is freed when its bytes are taken, which is never too early. Of two lists that leave the same in RAM and in
// storage, one that leaves every engine, channel, value and byte no later, at no more joules, is as good.
// Not searched: plans that store another tensor in what a smaller `next` leaves of the slot that it takes.
#pragma once

#include <cstdint>
#include <optional>

#include "problem/cost_graph.h"
#include "problem/plan.h"
#include "problem/question.h"

namespace pantoum::plan_test {

struct TinyEngineOptions {
  int ops = 5, engines = 2;
  bool paging = false;
  bool streams = false;  // choices that stream too; with paging
  // Tensors with a `next`, pairs in `overwrites`, storage that may be short of capacity and, with streams, choices that
  // write parts; with paging.
  bool updates = false;
};
// A graph whose seconds are whole ticks and whose sizes are whole units, as the search needs them; a hand-off, launches,
// gangs, idle power, workspace, streams turn up. The same seed, the same graph.
[[nodiscard]] problem::CostGraph tiny_engine_graph(uint64_t seed, const TinyEngineOptions& options);

struct EngineOptimum {
  double value = 0;    // of the question's objective, time or energy; `below` if no plan is better
  problem::Plan plan;  // of this value; no instructions if none is better
};
// The best of all plans that answer the question and are better than `below`. Nothing: there are more than `most_states`.
[[nodiscard]] std::optional<EngineOptimum> best_engine_plan(const problem::CostGraph& graph,
                                                            const problem::Question& question, double below,
                                                            int64_t most_states = 300'000);

}  // namespace pantoum::plan_test
