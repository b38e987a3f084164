#include "plan/simulate/stage_run.h"

#include <algorithm>

#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kMostDepth = 1500;  // of a chain of recomputations: bounds the stack
constexpr int32_t kMostSteps = 256;

}  // namespace

StageRun::StageRun(const Model& model, const Valuation& valuation, const ScheduledPolicy& policy, Trial& trial)
    : model_(model),
      policy_(policy),
      trial_(trial),
      prices_(valuation.prices()),
      most_work_(64 * static_cast<int64_t>(model.ops.size()) + 10000) {
  for (const TensorIndex tensor : model.tensors.indices()) {
    if (model.tensors[tensor].ends_in_ram) finals_.push_back(tensor);
    if (model.tensors[tensor].ends_in_aux) stored_finals_.push_back(tensor);
  }
  pins_.assign(model.tensors.size(), 0);
}

void StageRun::recover() {
  std::fill(pins_.begin(), pins_.end(), uint16_t{0});
}

// ---- stages ---------------------------------------------------------------------------------------

bool StageRun::run(Stage stage, Bytes live, int64_t most_work) {
  states_ = trial_.states();
  stage_work_ = std::min(most_work, most_work_);
  cost_ = {};
  begin_ = live_ = peak_ = live;
  depth_ = 0;
  now_ = stage;
  if (stage == model_.end()) return finish();
  if (stage > 0) {
    if (!fetch()) return false;
    const OpIndex op = Model::op_of(stage);
    if (policy_.needs(op) && !first_computation(op)) return false;
  }
  evictions();
  return true;
}

bool StageRun::fetch() {
  for (const IntervalIndex interval : policy_.fetched(now_)) {
    const TensorIndex tensor = model_.intervals[interval].tensor;
    if (in_ram(tensor)) continue;
    int32_t steps = kMostSteps;
    if (in_storage(tensor)) {
      page_in(tensor);
    } else if (!policy_[interval].page && can_recompute(tensor, steps)) {
      ++pins_[tensor];
      if (!recompute(tensor)) return false;
      --pins_[tensor];
    } else {
      continue;
    }
    state(tensor).set(EntityState::kRetained);
  }
  return true;
}

bool StageRun::first_computation(OpIndex op) {
  const ChoiceModel& how = policy_.chosen(op);
  if (!require(how.reads)) return false;
  if (cost_.work > 0 && !model_.paging) evictions();  // what only recomputations read need not be there any more
  if (!compute(op, policy_.choice(op), true)) return false;
  for (const TensorIndex tensor : how.reads) {
    --pins_[tensor];
    if (in_ram(tensor)) state(tensor).set(EntityState::kRetained);
  }
  return true;
}

void StageRun::evictions() {
  for (const IntervalIndex interval : policy_.evicted(now_)) {
    const TensorIndex tensor = model_.intervals[interval].tensor;
    if (!in_ram(tensor) || model_.tensors[tensor].pinned || pins_[tensor] > 0) continue;
    if (policy_[interval].page && !in_storage(tensor)) page_out(tensor);
    release(tensor);
  }
}

bool StageRun::finish() {
  for (const TensorIndex tensor : stored_finals_)
    if (!finish_in_storage(tensor)) return false;
  if (!require(finals_)) return false;
  for (const TensorIndex tensor : finals_) --pins_[tensor];
  cost_.broken += homes_missed();
  return true;
}

bool StageRun::finish_in_storage(TensorIndex tensor) {
  if (in_storage(tensor)) return true;
  if (!model_.paging) return false;
  if (!require({tensor})) return false;
  --pins_[tensor];
  page_out(tensor);
  if (!model_.tensors[tensor].ends_in_ram && !model_.tensors[tensor].pinned) release(tensor);
  return true;
}

// Bytes of what does not end where the next step looks for it.
Bytes StageRun::homes_missed() {
  Bytes bytes = 0;
  for (const TensorIndex tensor : finals_) {
    const TensorIndex home = model_.tensors[tensor].home;
    if (!home.exists() || model_.tensors[tensor].bytes == 0 || model_.tensors[home].bytes == 0) continue;
    const EntityState at_end = state(tensor);
    if (!at_end.occupies(home) && !at_end.has(EntityState::kHomeFree)) bytes += model_.tensors[tensor].size;
  }
  return bytes;
}

// ---- tensors that are needed ----------------------------------------------------------------------

bool StageRun::require(const std::vector<TensorIndex>& reads) {
  for (const TensorIndex tensor : reads) ++pins_[tensor];
  for (const TensorIndex tensor : reads)
    if (!in_ram(tensor) && rather_recompute(tensor) && !recompute(tensor)) return false;
  for (const TensorIndex tensor : reads)
    if (!in_ram(tensor) && !page_in(tensor)) return false;
  return true;
}

bool StageRun::rather_recompute(TensorIndex tensor) {
  if (!in_storage(tensor)) return true;
  const TensorModel& entry = model_.tensors[tensor];
  const IntervalIndex interval = interval_before(tensor);
  if (!entry.producer.exists() || !model_.ops[entry.producer].recomputable) return false;
  if (!interval.exists() || policy_[interval].page) return false;
  const int32_t choice = maker_choice(entry.producer, tensor);
  const ChoiceModel& how = model_.ops[entry.producer].choices[static_cast<size_t>(choice)];
  if (model_.uses(Switch::kReadBack) && prices_(how.joules, how.seconds) >= prices_(entry.in_j, entry.in_s))
    return false;
  int32_t steps = kMostSteps;
  return can_recompute(tensor, steps);
}

// Is it in the past, and may it be computed once more?
bool StageRun::may_compute(OpIndex op) {
  const OpModel& entry = model_.ops[op];
  return entry.stage <= now_ && (entry.recomputable || !state(op).has(EntityState::kComputed));
}

// Can all that it takes still be had? Looks at no more than so many tensors: false where that is not enough.
bool StageRun::can_recompute(TensorIndex tensor, int32_t& steps) {
  const OpIndex op = model_.tensors[tensor].producer;
  if (!op.exists() || !may_compute(op)) return false;
  const int32_t choice = maker_choice(op, tensor);
  if (choice < 0) return false;
  for (const TensorIndex read : model_.ops[op].choices[static_cast<size_t>(choice)].reads)
    if (--steps < 0 || (!in_ram(read) && !in_storage(read) && !can_recompute(read, steps))) return false;
  return true;
}

// The op's own choice if it writes the tensor, else the first that does.
int32_t StageRun::maker_choice(OpIndex op, TensorIndex tensor) const {
  const std::vector<ChoiceModel>& choices = model_.ops[op].choices;
  const auto writes = [&](int32_t choice) {
    const std::vector<TensorIndex>& list = choices[static_cast<size_t>(choice)].writes;
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  const int32_t own = policy_.choice(op);
  if (writes(own)) return own;
  for (int32_t choice = 0; choice < static_cast<int32_t>(choices.size()); ++choice)
    if (writes(choice)) return choice;
  return -1;
}

bool StageRun::recompute(TensorIndex tensor) {
  const OpIndex op = model_.tensors[tensor].producer;
  if (!op.exists()) return false;
  const int32_t choice = maker_choice(op, tensor);
  if (choice < 0 || !may_compute(op)) return false;
  if (++cost_.work > stage_work_ || depth_ >= kMostDepth) return false;
  ++depth_;
  const ChoiceModel& how = model_.ops[op].choices[static_cast<size_t>(choice)];
  if (!require(how.reads) || !compute(op, choice, false)) return false;
  for (const TensorIndex read : how.reads) {
    --pins_[read];
    release_unless_retained(read);
  }
  --depth_;
  return true;
}

// ---- computing ------------------------------------------------------------------------------------

// An input that the op may overwrite: nobody asks for its bytes after it.
bool StageRun::dies(TensorIndex tensor, bool first) {
  const TensorModel& entry = model_.tensors[tensor];
  if (pins_[tensor] != 1) return false;
  if (!first) return !entry.pinned && !state(tensor).has(EntityState::kRetained);
  IntervalIndex next = interval_before(tensor);
  ++next;
  if (entry.pinned) return model_.intervals[next].to == model_.never();
  const IntervalPolicy& how = policy_[next];
  return how.evict == now_ && (!how.page || in_storage(tensor));
}

bool StageRun::compute(OpIndex op, int32_t choice, bool first) {
  const ChoiceModel& how = model_.ops[op].choices[static_cast<size_t>(choice)];
  if (log_) log_->push_back({Do::kCompute, op.value(), choice, std::vector<TensorIndex>(how.writes.size())});
  const Bytes fresh = place_outputs(how, first);
  raise_peak(live_ + fresh + how.workspace);
  tick(Tick::kCompute, op.value(), choice, fresh + how.workspace);
  live_ += fresh;
  cost_.joules += how.joules;
  cost_.compute += how.seconds;
  if (!model_.ops[op].recomputable) state(op).set(EntityState::kComputed);
  settle_outputs(how, first);
  return true;
}

// Where the outputs go: to where they are, over an input, or to the fresh bytes returned. What is written over waits for
// the end of its page_out.
Bytes StageRun::place_outputs(const ChoiceModel& how, bool first) {
  const auto overwrite = [&](TensorIndex tensor) {
    if (model_.async && in_storage(tensor)) tick(Tick::kOverwrite, tensor.value(), 0, 0);
  };
  Bytes fresh = 0;
  for (size_t write = 0; write < how.writes.size(); ++write) {
    const TensorIndex tensor = how.writes[write], source = how.over[write];
    if (in_ram(tensor)) {
      overwrite(tensor);
    } else if (source.exists() && in_ram(source) && dies(source, first)) {
      if (log_) log_->back().taken_over[write] = source;
      overwrite(source);
      take_over(tensor, source);
    } else {
      fresh += model_.tensors[tensor].size;
      state(tensor).set(EntityState::kInRam);
      begin_allocation(tensor);
    }
  }
  return fresh;
}

// The tensor takes the bytes of the source, and with them the home that the source occupies.
void StageRun::take_over(TensorIndex tensor, TensorIndex source) {
  EntityState& from = state(source);
  const bool at_home = from.has(EntityState::kHomeFree) && home_of(source) == model_.tensors[tensor].home;
  from.clear(EntityState::kInRam | EntityState::kRetained | EntityState::kHomeFree);
  EntityState& to = state(tensor);
  to.clear(EntityState::kHomeFree);
  to.set(EntityState::kInRam);
  from.hand_home_to(to);
  if (at_home) to.set(EntityState::kHomeFree);
}

void StageRun::settle_outputs(const ChoiceModel& how, bool first) {
  for (const TensorIndex tensor : how.writes) {
    if (first || retains(tensor)) state(tensor).set(EntityState::kRetained);
    if (!first) release_unless_retained(tensor);
  }
}

// ---- RAM ------------------------------------------------------------------------------------------

// Rematerialized now, is it retained?
bool StageRun::retains(TensorIndex tensor) const {
  const IntervalIndex interval = interval_before(tensor);
  return interval.exists() && now_ >= policy_[interval].retain && now_ < policy_[interval].until;
}

// The interval that the tensor is in when the stage begins; none: it is not made yet.
IntervalIndex StageRun::interval_before(TensorIndex tensor) const {
  const IndexRange<IntervalIndex> intervals = model_.tensors[tensor].intervals;
  if (intervals.empty()) return {};
  IntervalIndex interval = intervals.front();
  if (model_.intervals[interval].from >= now_) return {};
  const IntervalIndex last = intervals.back();
  while (interval < last && model_.intervals[interval].to < now_) ++interval;
  return interval;
}

TensorIndex StageRun::home_of(TensorIndex tensor) const {
  const TensorModel& entry = model_.tensors[tensor];
  if (entry.home.exists()) return entry.home;
  return entry.start == Home::kRam ? tensor : TensorIndex();
}

void StageRun::begin_allocation(TensorIndex tensor) {
  const TensorIndex home = home_of(tensor);
  const bool free = home.exists() && !state(home).has(EntityState::kHomeBusy);
  state(tensor).put(EntityState::kHomeFree, free);
}

void StageRun::release(TensorIndex tensor) {
  EntityState& released = state(tensor);
  const TensorIndex home = released.occupied();
  released.keep_only(EntityState::kInStorage | EntityState::kHomeBusy | EntityState::kComputed);
  if (home.exists()) state(home).clear(EntityState::kHomeBusy);
  tick(Tick::kFree, tensor.value(), 0, 0);
  live_ -= model_.tensors[tensor].size;
  log(Do::kFree, tensor);
}

void StageRun::release_unless_retained(TensorIndex tensor) {
  const EntityState now = state(tensor);
  if (now.has(EntityState::kRetained) || pins_[tensor] > 0) return;
  if (now.has(EntityState::kInRam) && !model_.tensors[tensor].pinned) release(tensor);
}

bool StageRun::page_in(TensorIndex tensor) {
  if (!in_storage(tensor)) return false;
  const TensorModel& entry = model_.tensors[tensor];
  raise_peak(live_ + entry.size);
  tick(Tick::kPageIn, tensor.value(), 0, entry.size);
  live_ += entry.size;
  state(tensor).set(EntityState::kInRam);
  begin_allocation(tensor);
  if (retains(tensor)) state(tensor).set(EntityState::kRetained);
  cost_.joules += entry.in_j;
  cost_.in += entry.in_s;
  cost_.traffic += static_cast<double>(entry.bytes);
  log(Do::kPageIn, tensor);
  return true;
}

void StageRun::page_out(TensorIndex tensor) {
  const TensorModel& entry = model_.tensors[tensor];
  tick(Tick::kPageOut, tensor.value(), 0, 0);
  state(tensor).set(EntityState::kInStorage);
  cost_.stored += entry.slot;
  cost_.joules += entry.out_j;
  cost_.out += entry.out_s;
  cost_.traffic += static_cast<double>(entry.bytes);
  log(Do::kPageOut, tensor);
}

}  // namespace pantoum::plan
