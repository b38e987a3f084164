#include "plan/realize/realize.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "place/place.h"
#include "plan/realize/allocations.h"
#include "plan/realize/predict.h"
#include "plan/realize/storage_slots.h"
#include "plan/realize/write_completion.h"

namespace pantoum::plan {
namespace {

constexpr double kPlacementShare = 0.1;  // of the time limit
constexpr double kMostSeconds = 2;
constexpr int64_t kSteps = 300'000, kQuickSteps = 10'000;  // nodes of the placement's search, in place of a clock
constexpr double kPatience[] = {1, 0.97, 0.9, 0.75};  // how full bytes being written out may keep the room, in turn
constexpr double kPatientShare = 0.1;                 // of the placement, for each of these
constexpr double kRoomy = 1.01;                       // an arena that exceeds the load by more is made smaller
constexpr double kQuickSeconds = 0.02;                // where an arena is sought as small as can be found soon

place::PlaceOptions placing(const Model& model, const PlanOptions& options, std::optional<Bytes> budget,
                            double share = 1) {
  const bool quick = !budget;
  return {.align = model.align,
          .budget = budget,
          .seconds = quick ? kQuickSeconds : share * std::min(kMostSeconds, options.time_limit * kPlacementShare),
          .steps = options.effort == 0 ? 0
                   : quick             ? kQuickSteps
                                       : static_cast<int64_t>(share * kSteps)};
}

struct Placed {
  Stays stays;
  place::Placement placement;
};

// Offsets within the room. Where they can be had, such that nothing takes bytes that are still being written out while
// others are free.
Result<Placed> placed(const Model& model, const std::vector<Event>& events, const PlanOptions& options,
                      std::optional<Bytes> budget, place::Shortfall& shortfall) {
  const auto attempt = [&](const std::vector<size_t>& until, double share) -> Result<Placed> {
    Placed made{.stays = make_stays(model, events, options.fixed_initial, until), .placement = {}};
    PANTOUM_ASSIGN(made.placement, place::place(made.stays.stays, placing(model, options, budget, share), &shortfall));
    return made;
  };
  if (!model.async || !model.uses(Switch::kWriteCompletion) || !budget) return attempt({}, 1);
  for (const double patience : kPatience) {
    const std::vector<size_t> until =
        landings(model, events, static_cast<Bytes>(patience * static_cast<double>(*budget)));
    if (until.empty()) return attempt({}, 1);
    Result<Placed> found = attempt(until, kPatientShare);
    if (found) return found;
  }
  return attempt({}, 1 - kPatientShare * std::size(kPatience));
}

}  // namespace

Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                 const PlanOptions& options, std::optional<Bytes> budget) {
  place::Shortfall shortfall;
  Result<Placed> found = placed(model, events, options, budget, shortfall);
  if (!found) {
    const Bytes nearest = shortfall.arena_bytes > 0
                              ? shortfall.arena_bytes
                              : place::load_of(make_stays(model, events, options.fixed_initial, {}).stays, model.align);
    return {.plan = std::nullopt, .excess = nearest - budget.value_or(0)};
  }
  const Stays& stays = found->stays;
  place::Placement& placement = found->placement;
  const Bytes load = place::load_of(stays.stays, model.align);
  if (model.uses(Switch::kSmallArena) && budget &&
      static_cast<double>(placement.arena_bytes) > static_cast<double>(load) * kRoomy) {
    Result<place::Placement> smaller = place::place(stays.stays, placing(model, options, {}));
    if (smaller && smaller->arena_bytes < placement.arena_bytes) placement = std::move(*smaller);
  }
  Plan plan{.question = options.question, .graph = graph};
  write_instructions(model, events, stays, placement, plan);
  const std::optional<Predicted> predicted = predict(graph, plan);
  if (!predicted) return {};
  if (options.question.deadline && predicted->time_s > *options.question.deadline)
    return {.plan = std::nullopt, .late = predicted->time_s - *options.question.deadline};
  if (options.question.energy_limit && predicted->energy_j > *options.question.energy_limit) return {};
  plan.predicted = *predicted;
  Result<std::map<int64_t, Bytes>> slots = storage_slots(model, plan);
  if (!slots) return {};
  plan.storage = std::move(*slots);
  return {.plan = std::move(plan)};
}

}  // namespace pantoum::plan
