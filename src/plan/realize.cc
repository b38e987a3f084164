#include "plan/realize.h"

#include <algorithm>
#include <utility>

#include "place/place.h"
#include "plan/predict.h"
#include "plan/stays.h"
#include "plan/storage_slots.h"

namespace pantoum::plan {
namespace {

constexpr double kPlacementShare = 0.1;  // of the time limit
constexpr double kMostSeconds = 2;
constexpr int64_t kSteps = 300'000, kQuickSteps = 10'000;  // nodes of the placement's search, in place of a clock
constexpr double kRoomy = 1.01;                            // an arena that exceeds the load by more is made smaller
constexpr double kQuickSeconds = 0.02;                     // where an arena is sought as small as can be found soon

place::PlaceOptions placing(const Model& model, const PlanOptions& options, Bytes room) {
  const bool quick = room == 0;
  return {.align = model.align,
          .capacity = room,
          .seconds = quick ? kQuickSeconds : std::min(kMostSeconds, options.time_limit * kPlacementShare),
          .steps = options.effort == 0 ? 0
                   : quick             ? kQuickSteps
                                       : kSteps};
}

}  // namespace

Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                 const PlanOptions& options, Bytes room) {
  const Stays stays = make_stays(model, events, options.fixed_initial);
  place::Shortfall shortfall;
  Result<place::Placement> placement = place::place(stays.stays, placing(model, options, room), &shortfall);
  if (!placement) {
    const Bytes nearest = shortfall.arena_bytes > 0 ? shortfall.arena_bytes : place::load_of(stays.stays, model.align);
    return {.plan = std::nullopt, .excess = nearest - room};
  }
  const Bytes load = place::load_of(stays.stays, model.align);
  if (room > 0 && static_cast<double>(placement->arena_bytes) > static_cast<double>(load) * kRoomy) {
    const Result<place::Placement> smaller = place::place(stays.stays, placing(model, options, 0));
    if (smaller && smaller->arena_bytes < placement->arena_bytes) placement = smaller;
  }
  Plan plan{.budget_bytes = options.ram,
            .deadline_s = options.deadline,
            .most_energy_j = options.most_energy,
            .objective = options.objective,
            .graph = graph};
  write_instructions(model, events, stays, *placement, plan);
  const std::optional<Predicted> predicted = predict(graph, plan);
  if (!predicted || (options.deadline && predicted->time_s > *options.deadline)) return {};
  if (options.most_energy && predicted->energy_j > *options.most_energy) return {};
  plan.predicted = *predicted;
  Result<std::map<int64_t, Bytes>> slots = storage_slots(model, plan);
  if (!slots) return {};
  plan.storage = std::move(*slots);
  return {.plan = std::move(plan)};
}

}  // namespace pantoum::plan
