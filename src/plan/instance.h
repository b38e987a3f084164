// A question made ready for the solver: its model, its first bounds, and the clock that began with it.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "plan/bound/bounds.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"
#include "plan/turns.h"

namespace pantoum::plan {

// Not changed once it is made, so that search and proof may read it side by side; `turns` and `doing` are theirs.
struct Instance {
  using Clock = std::chrono::steady_clock;
  using Until = std::optional<Clock::time_point>;

  // Keeps `graph` by reference. `until`: the latest end; nothing: no clock, or only the options' own.
  Instance(const CostGraph& graph, const PlanOptions& options, Until until = {});
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] Objective objective() const { return options.question.objective; }
  [[nodiscard]] bool by_clock() const { return options.effort == 0; }
  [[nodiscard]] Seconds elapsed() const;
  [[nodiscard]] bool stopped() const;  // from outside, or at `until`
  [[nodiscard]] Seconds seconds_left_to_prove() const;
  [[nodiscard]] int thread_count() const;

  const CostGraph& graph;
  PlanOptions options;
  Clock::time_point begin;
  Until until;
  Model model;
  Bounds bounds;               // of any order
  Bounds limited;              // of any order, of plans that keep the question's limits
  Joules stage_priced_energy;  // of plans of the model's order
  mutable Turns turns;         // with one thread for both
  struct Doing {               // what search and proof are at, for whoever waits
    std::atomic<const char*> search = "", proof = "";
  };
  mutable Doing doing;
};

inline constexpr Seconds kReserve = 0.05;  // at the end of the time limit

}  // namespace pantoum::plan
