#include "plan/simulate/valuation.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

// Can a transfer run beside a compute?
bool overlaps(const Model& model) {
  return model.async && std::any_of(model.tensors.begin(), model.tensors.end(), [](const TensorModel& tensor) {
           return tensor.can_page || tensor.ends_in_aux || tensor.start == Home::kAux;
         });
}

}  // namespace

Valuation::Valuation(const Model& model, const Limit& limit)
    : model_(model),
      limit_(limit),
      budget_(limit.question.budget_bytes()),
      timed_(limit.clock || limit.question.deadline || limit.question.objective != Objective::kEnergy ||
             model.idle_w > 0),
      clocked_(timed_ && overlaps(model)) {
  double seconds = 0, joules = 0, bytes = 1;
  for (const OpModel& op : model.ops) seconds += op.choices.front().seconds, joules += op.choices.front().joules;
  prices_ = prices_of(limit.question.objective, joules, seconds);
  first_live_ = (model.staging + model.align - 1) / model.align * model.align;
  for (const TensorModel& tensor : model.tensors) {
    if (tensor.start == Home::kRam) first_live_ += tensor.size;
    if (tensor.start == Home::kAux) first_stored_ += tensor.slot;
    bytes += static_cast<double>(tensor.bytes);
  }
  tie_ = 1e-7 * seconds / bytes;
}

Outcome Valuation::outcome(const StageCost& totals, Seconds time) const {
  const Question& question = limit_.question;
  Outcome outcome{.sound = true, .excess = static_cast<double>(totals.over + totals.broken), .energy = totals.joules};
  const Bytes stored = first_stored_ + totals.stored;
  if (model_.capacity >= 0 && stored > model_.capacity) outcome.excess += static_cast<double>(stored - model_.capacity);
  if (timed_) {
    outcome.time = time;
    outcome.energy += model_.idle_w * outcome.time;
    if (question.deadline) outcome.time_excess = std::max(0.0, outcome.time - *question.deadline);
  }
  if (question.energy_limit) outcome.energy_excess = std::max(0.0, outcome.energy - *question.energy_limit);
  outcome.value = value_of(question.objective, outcome.energy, outcome.time);
  if (question.objective == Objective::kTime) outcome.value += tie_ * totals.traffic;
  return outcome;
}

}  // namespace pantoum::plan
