#include "plan/realize/reserve.h"

#include <algorithm>
#include <utility>

#include "plan/bound/bounds.h"
#include "plan/simulate/simulate.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr Bytes kMostPart = 8;      // of the budget, that is kept in reserve in a stage
constexpr Bytes kLeastPart = 1000;  // of the budget, by which it changes
constexpr Bytes kStep = 4;          // a part of what is in reserve, by which it gets less at the most
constexpr size_t kFewStages = 4;    // a part of the stages, at which clashes are local

}  // namespace

// The bytes that an op has to have in RAM are no reserve.
Reserve::Reserve(const Model& model, Bytes budget)
    : model_(model),
      budget_(budget),
      most_(static_cast<size_t>(model.end()) + 1, budget / kMostPart),
      now_(static_cast<size_t>(model.end()) + 1, 0) {
  for (const OpModel& op : model.ops)
    most_[op.stage] = std::clamp<Bytes>(budget - model.staging - working_set(model, op), 0, most_[op.stage]);
}

bool Reserve::clashes_at_few(const Realized& missed) const {
  if (missed.clashes.empty()) return false;
  const auto any = std::count_if(missed.clashes.begin(), missed.clashes.end(), [](Bytes bytes) { return bytes > 0; });
  return static_cast<size_t>(any) * kFewStages < missed.clashes.size();
}

bool Reserve::grow(const Realized& missed) {
  if (missed.byte_excess <= 0) return false;
  const Bytes lacked = std::max(missed.byte_excess, budget_ / kLeastPart);
  const Indexed<Stage, Bytes> before = now_;
  if (bytes_ == 0 && model_.uses(Switch::kReserveByStage) && clashes_at_few(missed)) {
    for (const Stage stage : now_.indices())
      now_[stage] = std::min(most_[stage], now_[stage] + std::min(lacked, missed.clashes[stage]));
  } else {
    too_little_ = std::max(too_little_, bytes_);
    Bytes next = bytes_ + lacked;
    if (enough_ > 0 && next >= enough_) next = (too_little_ + enough_) / 2;
    set_all(next);
  }
  publish();
  return now_ != before;
}

bool Reserve::shrink() {
  if (bytes_ == 0) return false;
  enough_ = enough_ == 0 ? bytes_ : std::min(enough_, bytes_);
  if (enough_ - too_little_ <= budget_ / kLeastPart) return false;
  set_all(std::max((too_little_ + enough_) / 2, enough_ - enough_ / kStep));
  publish();
  return true;
}

void Reserve::give_way(const Policy& best) {
  if (!by_stage_) return;
  Simulator simulator(model_, {.question = {.budget = budget_}});
  simulator.reset(best);
  for (const Stage stage : now_.indices()) {
    const Bytes over = simulator.peak(stage) + now_[stage] - budget_;
    if (over > 0) most_[stage] = now_[stage] = std::max<Bytes>(0, now_[stage] - over);
  }
  publish();
}

void Reserve::set_all(Bytes bytes) {
  bytes_ = bytes;
  for (const Stage stage : now_.indices()) now_[stage] = std::min(most_[stage], bytes);
}

void Reserve::publish() {
  by_stage_ = std::make_shared<const Indexed<Stage, Bytes>>(now_);
}

}  // namespace pantoum::plan
