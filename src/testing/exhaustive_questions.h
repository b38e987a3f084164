// What the tests against exhaustive search and against random plans share. Tests only.
#pragma once

#include <cstdint>
#include <string>

#include "plan/simulate/plan_options.h"
#include "problem/cost_graph.h"
#include "testing/all_cases.h"

namespace pantoum::plan {

using problem::CostGraph;
using problem::Objective;

#ifdef PANTOUM_SANITIZER
inline constexpr bool kFew = true;  // questions: what holds of each is tested, shares of them are not
#else
inline constexpr bool kFew = false;
#endif
inline const uint64_t kScale = kFew ? 150 : all_cases() ? 1 : 3;  // one question of so many is asked

inline constexpr double kRounding = 1e-9;

// No deadline: does the search know what a plan costs, and not only a lower bound of it?
inline bool exact(const CostGraph& graph, Objective objective = Objective::kEnergy) {
  if (graph.device.pager.mode != problem::PagerMode::kAsync) return true;
  return objective == Objective::kEnergy && graph.device.idle_w == 0;
}

inline problem::Question question_for(Bytes ram, Objective objective = Objective::kEnergy) {
  return {.budget = ram, .objective = objective, .freedoms = {.reordering = false}};
}

inline std::string told(uint64_t seed, const PlanOptions& options) {
  return "seed " + std::to_string(seed) + ", " + std::to_string(options.question.budget_bytes()) + " bytes";
}

inline PlanOptions options_for(Bytes ram) {
  return {.question = question_for(ram), .effort = 1, .threads = 1};
}

}  // namespace pantoum::plan
