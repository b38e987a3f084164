// Bytes that the search leaves to the offsets: the part of the budget, by stage, that live bytes may not use.
//
//   budget |.................   in reserve: as many bytes as the smallest arena lacked
//          |  __..._________    live bytes
//          |_/   \_/
//          +---------------> stage
#pragma once

#include <algorithm>
#include <memory>

#include "plan/bound/bounds.h"
#include "plan/realize/realize.h"
#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

class Reserve {
 public:
  // Makes the reserve of a question with so many bytes of budget; nothing is in reserve. Keeps `model` by reference.
  // Bytes that an op has to have in RAM cannot be reserved.
  Reserve(const Model& model, Bytes budget)
      : model_(model),
        budget_(budget),
        most_(position_of(model.end()) + 1, budget / kMostPart),
        now_(position_of(model.end()) + 1, 0) {
    for (const OpModel& op : model.ops)
      most_[op.stage] = std::clamp<Bytes>(budget - model.staging - working_set(model, op), 0, most_[op.stage]);
  }

  // Returns the reserve as Limit::reserve has it; null: none.
  std::shared_ptr<const Indexed<Stage, Bytes>> by_stage() const { return by_stage_; }

  // After a policy missed the budget: keeps as many bytes more as it lacked, at the stages where the offsets that
  // came nearest clash, or at all stages if they clash at many. False: nothing is known of what it lacked, or no more
  // can be kept.
  bool grow(const Realized& missed) {
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

  // After a policy that has offsets: halfway to what was too little. False: that is no matter.
  bool shrink() {
    if (bytes_ == 0) return false;
    enough_ = enough_ == 0 ? bytes_ : std::min(enough_, bytes_);
    if (enough_ - too_little_ <= budget_ / kLeastPart) return false;
    set_all(std::max((too_little_ + enough_) / 2, enough_ - enough_ / kStep));
    publish();
    return true;
  }

  // After the search found no policy: keeps less at the stages at which the best policy has too many bytes.
  void give_way(const Policy& best) {
    if (!by_stage_) return;
    Simulator simulator(model_, {.question = {.budget = budget_}});
    simulator.reset(best);
    for (const Stage stage : now_.indices()) {
      const Bytes over = simulator.peak(stage) + now_[stage] - budget_;
      if (over > 0) most_[stage] = now_[stage] = std::max<Bytes>(0, now_[stage] - over);
    }
    publish();
  }

 private:
  static constexpr Bytes kMostPart = 8;      // of the budget, that is kept in reserve in a stage
  static constexpr Bytes kLeastPart = 1000;  // of the budget, by which it changes
  static constexpr Bytes kStep = 4;          // a part of what is in reserve, by which it gets less at the most
  static constexpr size_t kFewStages = 4;    // a part of the stages, at which clashes are local

  bool clashes_at_few(const Realized& missed) const {
    if (missed.clashes.empty()) return false;
    const auto any = std::ranges::count_if(missed.clashes, [](Bytes bytes) { return bytes > 0; });
    return position_of(any) * kFewStages < missed.clashes.size();
  }

  void set_all(Bytes bytes) {
    bytes_ = bytes;
    for (const Stage stage : now_.indices()) now_[stage] = std::min(most_[stage], bytes);
  }

  void publish() { by_stage_ = std::make_shared<const Indexed<Stage, Bytes>>(now_); }

  const Model& model_;
  const Bytes budget_;
  Indexed<Stage, Bytes> most_, now_;
  Bytes bytes_ = 0;                    // where it is the same at all stages
  Bytes too_little_ = 0, enough_ = 0;  // of these; 0: not known
  std::shared_ptr<const Indexed<Stage, Bytes>> by_stage_;
};

}  // namespace pantoum::plan
