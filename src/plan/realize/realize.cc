#include "plan/realize/realize.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "place/place.h"
#include "plan/realize/allocations.h"
#include "plan/realize/predict.h"
#include "plan/realize/write_completion.h"
#include "plan/simulate/switches.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

constexpr double kMostSeconds = 20, kLeastSeconds = 0.01;
constexpr int64_t kSteps = 300'000, kQuickSteps = 10'000;  // nodes of the placement's search, in place of a clock
constexpr double kPatience[] = {1, 0.97, 0.9, 0.75};       // shares of the budget that bytes being written out may fill
constexpr double kMostArenaFactor = 1.01;                  // of the live bytes: a larger arena is made smaller
constexpr double kQuickSeconds = 0.02;                     // where an arena is sought as small as can be found soon

place::PlaceOptions placing(const Model& model, const PlanOptions& options, std::optional<Bytes> budget,
                            double share = 1) {
  const bool quick = !budget;
  return {.align = model.align,
          .budget = budget,
          .seconds = quick ? kQuickSeconds
                           : std::max(kLeastSeconds,
                                      share * std::min(kMostSeconds, options.time_limit * share_of(Attempt::kPlacing))),
          .steps = options.effort == 0 ? 0
                   : quick             ? kQuickSteps
                                       : static_cast<int64_t>(share * kSteps)};
}

struct Placed {
  Allocations allocations;
  place::Placement placement;
};

// By event, and one more for the end: the stage that it is of. What follows a first computation counts to the next stage.
std::vector<Stage> stages_of(const Model& model, const std::vector<Event>& events) {
  std::vector<Stage> stages(events.size() + 1, model.end());
  Indexed<OpIndex, char> computed(model.ops.size(), 0);
  size_t next = 0;
  for (size_t event = 0; event < events.size(); ++event) {
    if (events[event].what != Do::kCompute) continue;
    const OpIndex op(events[event].subject);
    if (std::exchange(computed[op], 1) != 0) continue;
    while (next <= event) stages[next++] = model.ops[op].stage;
  }
  return stages;
}

// Places the allocations of a stream, again and again with other ends of them.
class Placer {
 public:
  Placer(const Model& model, const std::vector<Event>& events, const PlanOptions& options, std::optional<Bytes> budget,
         double share)
      : model_(model), events_(events), options_(options), budget_(budget), share_(share) {}

  // Offsets within the budget. Where they can be had, such that nothing takes bytes before their write completion while
  // others are free.
  Result<Placed> run() {
    if (!model_.async || !model_.uses(Switch::kWriteCompletion) || !budget_) return attempt({}, 1);
    const double share = share_of(Attempt::kPlacingPatiently);
    for (const double patience : kPatience) {
      const auto patient_budget = static_cast<Bytes>(patience * static_cast<double>(*budget_));
      const std::vector<size_t> until = write_completions(model_, events_, patient_budget);
      if (until.empty()) return attempt({}, 1);
      Result<Placed> found = attempt(until, share);
      if (found) return found;
    }
    return attempt({}, 1 - share * std::size(kPatience));
  }

  // After run() found nothing: what the smallest arena found has, or else what every arena has, beyond the budget.
  Bytes excess() const {
    return (shortfall_.arena_bytes > 0 ? shortfall_.arena_bytes : live_bytes()) - budget_.value_or(0);
  }
  Indexed<Stage, Bytes> clashes() const {
    Indexed<Stage, Bytes> by_stage;
    if (shortfall_.clashes.empty()) return by_stage;
    const std::vector<Stage> stages = stages_of(model_, events_);
    by_stage.assign(static_cast<size_t>(model_.end()) + 1, 0);
    bool any = false;
    for (const place::Shortfall::Clash& clash : shortfall_.clashes) {
      if (event_at(clash.begin) == events_.size()) continue;  // of another program
      any = true;
      for (Stage stage = stages[event_at(clash.begin)]; stage <= stages[event_at(clash.end - 1)]; ++stage)
        by_stage[stage] += clash.bytes;
    }
    if (!any) by_stage.clear();
    return by_stage;
  }
  Bytes live_bytes() const { return place::peak_live_bytes(allocations({}).all, model_.align); }

 private:
  Allocations allocations(const std::vector<size_t>& until) const {
    return make_allocations(model_, events_, {options_.fixed_initial, options_.others}, until);
  }

  Result<Placed> attempt(const std::vector<size_t>& until, double share) {
    Placed made{.allocations = allocations(until), .placement = {}};
    const place::PlaceOptions how = placing(model_, options_, budget_, share * share_);
    PANTOUM_ASSIGN(made.placement, place::place(made.allocations.all, how, &shortfall_));
    return made;
  }

  // The event that runs then; those after the last one are the end.
  size_t event_at(int64_t time) const {
    return std::min(events_.size(), static_cast<size_t>(std::max<int64_t>(0, (time - 1) / 2)));
  }

  const Model& model_;
  const std::vector<Event>& events_;
  const PlanOptions& options_;
  const std::optional<Bytes> budget_;
  const double share_;
  place::Shortfall shortfall_;
};

// A smaller arena where this one exceeds the live bytes by much, and one can be found soon.
void shrink_arena(const Model& model, const PlanOptions& options, Placed& placed) {
  const std::vector<place::Allocation>& all = placed.allocations.all;
  const auto live_bytes = static_cast<double>(place::peak_live_bytes(all, model.align));
  if (!model.uses(Switch::kSmallArena) ||
      static_cast<double>(placed.placement.arena_bytes) <= live_bytes * kMostArenaFactor)
    return;
  Result<place::Placement> smaller = place::place(all, placing(model, options, {}));
  if (smaller && smaller->arena_bytes < placed.placement.arena_bytes) placed.placement = std::move(*smaller);
}

// A place in auxiliary storage for every tensor that is ever there: one slot each, in order of ids, aligned to the arena's and
// the storage's blocks. E0305 the storage's capacity does not hold them.
Result<std::map<int64_t, Bytes>> storage_slots(const Model& model, const Plan& plan) {
  std::set<int64_t> stored;
  for (const Instruction& instruction : plan.instructions)
    if (instruction.what == Do::kPageOut || instruction.what == Do::kPageIn) stored.insert(instruction.subject);
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  for (const TensorModel& tensor : model.tensors) {
    if (!stored.contains(tensor.id) && tensor.start != Home::kAux) continue;
    at[tensor.id] = top;
    top += tensor.slot;
  }
  if (model.capacity >= 0 && top > model.capacity)
    return fail("E0305", fmt::format("the plan needs {} bytes of storage and the device has {}", top, model.capacity),
                plan.graph.device.name);
  return at;
}

}  // namespace

Realized judged(const Model& model, const PlanOptions& options, Plan plan) {
  const std::optional<Predicted> predicted = predict(plan.graph, plan);
  if (!predicted) return {};
  const Question& asked = options.question;
  if (const Seconds most = upper_end(plan, predicted->time_s); asked.deadline && most > *asked.deadline)
    return {.plan = std::nullopt, .time_excess = most - *asked.deadline};
  if (asked.energy_limit && upper_end(plan, predicted->energy_j) > *asked.energy_limit) return {};
  plan.predicted = *predicted;
  Result<std::map<int64_t, Bytes>> slots = storage_slots(model, plan);
  if (!slots) return {};
  plan.storage = std::move(*slots);
  return {.plan = std::move(plan)};
}

Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                 const PlanOptions& options, std::optional<Bytes> budget, double share) {
  Placer placer(model, events, options, budget, share);
  Result<Placed> placed = placer.run();
  if (!placed)
    return {.plan = std::nullopt,
            .byte_excess = placer.excess(),
            .live_bytes = placer.live_bytes(),
            .clashes = placer.clashes()};
  if (budget) shrink_arena(model, options, *placed);
  Plan plan{.question = options.question, .graph = graph};
  write_instructions(model, events, placed->allocations, placed->placement, plan);
  return judged(model, options, std::move(plan));
}

}  // namespace pantoum::plan
