#include "plan/simulate/simulate.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

constexpr int32_t kMostDepth = 1500;  // of a chain of recomputations: bounds the stack
constexpr int32_t kMostSteps = 256;

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

}  // namespace

Simulator::Simulator(const Model& model, const Limit& limit)
    : model_(model),
      limit_(limit),
      budget_(limit.question.budget_bytes()),
      timed_(limit.clock || limit.question.deadline || limit.question.objective != Objective::kEnergy ||
             model.idle_w > 0) {
  const size_t stages = z(model.end()) + 1, entities = model.tensors.size() + model.ops.size();
  moments_.resize(entities);
  watch_.resize(entities);
  words_.resize(entities);
  stamp_.assign(entities, 0);
  looked_.resize(stages);
  costs_.resize(stages);
  rises_.assign(stages, 0);
  nets_.assign(stages, 0);
  profile_.reset(static_cast<int32_t>(stages), budget_);
  if (timed_) {
    checkpoints_.resize(stages / kCheckpointEvery + 1);
    ticks_.resize(stages);
    ready_.resize(model.tensors.size());
    stored_.resize(model.tensors.size());
  }
  pins_.assign(model.tensors.size(), 0);
  most_work_ = 64 * static_cast<int64_t>(model.ops.size()) + 10000;
  for (const OpModel& op : model.ops) has_optional_ = has_optional_ || op.optional;
  set_constants();
}

void Simulator::set_constants() {
  double seconds = 0, joules = 0, bytes = 1;
  for (const OpModel& op : model_.ops) seconds += op.choices.front().seconds, joules += op.choices.front().joules;
  prices_ = prices_of(limit_.question.objective, joules, seconds);
  first_load_ = (model_.staging + model_.align - 1) / model_.align * model_.align;
  for (size_t at = 0; at < model_.tensors.size(); ++at) {
    const TensorModel& tensor = model_.tensors[at];
    if (tensor.ends_in_ram) finals_.emplace_back(at);
    if (tensor.ends_in_aux) stored_finals_.emplace_back(at);
    if (tensor.start == problem::Home::kRam) first_load_ += tensor.size;
    if (tensor.start == problem::Home::kAux) first_stored_ += tensor.slot;
    bytes += static_cast<double>(tensor.bytes);
  }
  tie_ = 1e-7 * seconds / bytes;
}

// Before the step.
Simulator::Word Simulator::first_word(int32_t entity) const {
  if (z(entity) >= model_.tensors.size()) return 0;
  const problem::Home start = model_.tensors[z(entity)].start;
  if (start == problem::Home::kAux) return kInAux;
  if (start != problem::Home::kRam) return 0;
  return kInRam | kKept | kHomeBusy | (static_cast<Word>(entity) + 1) << kHomeShift;
}

void Simulator::Cost::add(const Cost& other, int32_t sign) {
  joules += sign * other.joules;
  traffic += sign * other.traffic;
  broken += sign * other.broken;
  stored += sign * other.stored;
  work += sign * other.work;
  compute += sign * other.compute;
  in += sign * other.in;
  out += sign * other.out;
}

Outcome Simulator::outcome_of(const Cost& totals, Seconds time) const {
  Outcome outcome{.sound = true, .excess = static_cast<double>(totals.over + totals.broken), .energy = totals.joules};
  const Bytes stored = first_stored_ + totals.stored;
  if (model_.capacity >= 0 && stored > model_.capacity) outcome.excess += static_cast<double>(stored - model_.capacity);
  if (timed_) {
    outcome.time = time;
    outcome.energy += model_.idle_w * outcome.time;
    if (limit_.question.deadline) outcome.late = std::max(0.0, outcome.time - *limit_.question.deadline);
  }
  if (limit_.question.energy_limit) outcome.dear = std::max(0.0, outcome.energy - *limit_.question.energy_limit);
  outcome.value = value_of(limit_.question.objective, outcome.energy, outcome.time);
  if (limit_.question.objective == Objective::kTime) outcome.value += tie_ * totals.traffic;
  if (limit_.fewest) outcome.value = totals.traffic;
  return outcome;
}

// ---- stages ---------------------------------------------------------------------------------------

bool Simulator::stage(int32_t at) {
  if (at == model_.end()) return finish();
  if (at > 0) {
    fetch(at);
    if (needed_[z(at - 1)] && !first_computation(at - 1)) return false;
  }
  evictions(at);
  return true;
}

void Simulator::fetch(int32_t at) {
  for (const int32_t interval : fetched_[z(at)]) {
    const int32_t tensor = model_.intervals[z(interval)].tensor;
    if (has(tensor, kInRam) || !has(tensor, kInAux)) continue;
    page_in(tensor);
    flag(tensor, kKept, true);
  }
}

bool Simulator::first_computation(int32_t op) {
  const ChoiceModel& how = model_.ops[z(op)].choices[z(policy_.choices[z(op)])];
  if (!require(how.reads) || !compute(op, policy_.choices[z(op)], true)) return false;
  for (const int32_t tensor : how.reads) {
    --pins_[z(tensor)];
    if (has(tensor, kInRam)) flag(tensor, kKept, true);
  }
  return true;
}

void Simulator::evictions(int32_t at) {
  for (const int32_t interval : evicted_[z(at)]) {
    const int32_t tensor = model_.intervals[z(interval)].tensor;
    if (!has(tensor, kInRam) || model_.tensors[z(tensor)].pinned) continue;
    if (policy_.intervals[z(interval)].page && !has(tensor, kInAux)) page_out(tensor);
    release(tensor);
  }
}

bool Simulator::finish() {
  for (const int32_t tensor : stored_finals_)
    if (!finish_in_storage(tensor)) return false;
  if (!require(finals_)) return false;
  for (const int32_t tensor : finals_) --pins_[z(tensor)];
  cost_.broken += homes_missed();
  return true;
}

bool Simulator::finish_in_storage(int32_t tensor) {
  if (has(tensor, kInAux)) return true;
  if (!model_.paging) return false;
  if (!require({TensorIndex(tensor)})) return false;
  --pins_[z(tensor)];
  page_out(tensor);
  if (!model_.tensors[z(tensor)].ends_in_ram && !model_.tensors[z(tensor)].pinned) release(tensor);
  return true;
}

// Bytes of what does not end where the next step looks for it.
Bytes Simulator::homes_missed() {
  Bytes bytes = 0;
  for (const int32_t tensor : finals_) {
    const int32_t home = model_.tensors[z(tensor)].home;
    if (home < 0 || model_.tensors[z(tensor)].bytes == 0 || model_.tensors[z(home)].bytes == 0) continue;
    const bool there = (word(tensor) >> kHomeShift) == static_cast<Word>(home) + 1 || has(tensor, kHomeFree);
    if (!there) bytes += model_.tensors[z(tensor)].size;
  }
  return bytes;
}

// ---- tensors that are needed ----------------------------------------------------------------------

bool Simulator::require(const std::vector<TensorIndex>& reads) {
  for (const int32_t tensor : reads) ++pins_[z(tensor)];
  for (const int32_t tensor : reads)
    if (!has(tensor, kInRam) && rather_recompute(tensor) && !recompute(tensor)) return false;
  for (const int32_t tensor : reads)
    if (!has(tensor, kInRam) && !page_in(tensor)) return false;
  return true;
}

bool Simulator::rather_recompute(int32_t tensor) {
  if (!has(tensor, kInAux)) return true;
  const TensorModel& entry = model_.tensors[z(tensor)];
  const int32_t interval = interval_before(tensor);
  if (entry.producer < 0 || !model_.ops[z(entry.producer)].recomputable || interval < 0 ||
      policy_.intervals[z(interval)].page)
    return false;
  const ChoiceModel& how = model_.ops[z(entry.producer)].choices[z(maker_choice(entry.producer, tensor))];
  if (model_.uses(Switch::kReadBack) && prices_(how.joules, how.seconds) >= prices_(entry.in_j, entry.in_s))
    return false;
  int32_t steps = kMostSteps;
  return can_recompute(tensor, steps);
}

// Can all that it takes still be had? Looks at no more than so many tensors: false where that is not enough.
bool Simulator::can_recompute(int32_t tensor, int32_t& steps) {
  const int32_t op = model_.tensors[z(tensor)].producer;
  if (op < 0 || model_.ops[z(op)].stage > now_ || (!model_.ops[z(op)].recomputable && has(once_only(op), kComputed)))
    return false;
  const int32_t choice = maker_choice(op, tensor);
  if (choice < 0) return false;
  for (const int32_t read : model_.ops[z(op)].choices[z(choice)].reads)
    if (--steps < 0 || (!has(read, kInRam) && !has(read, kInAux) && !can_recompute(read, steps))) return false;
  return true;
}

// The op's own choice if it writes the tensor, else the first that does.
int32_t Simulator::maker_choice(int32_t op, int32_t tensor) const {
  const auto& choices = model_.ops[z(op)].choices;
  const auto writes = [&](int32_t choice) {
    const auto& list = choices[z(choice)].writes;
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  const int32_t own = policy_.choices[z(op)];
  if (writes(own)) return own;
  for (int32_t choice = 0; choice < static_cast<int32_t>(choices.size()); ++choice)
    if (writes(choice)) return choice;
  return -1;
}

bool Simulator::recompute(int32_t tensor) {
  const int32_t op = model_.tensors[z(tensor)].producer;
  if (op < 0) return false;
  const OpModel& made = model_.ops[z(op)];
  const int32_t choice = maker_choice(op, tensor);
  if (choice < 0 || made.stage > now_ || (!made.recomputable && has(once_only(op), kComputed))) return false;
  if (++cost_.work > most_work_ || depth_ >= kMostDepth) return false;
  ++depth_;
  const ChoiceModel& how = made.choices[z(choice)];
  if (!require(how.reads) || !compute(op, choice, false)) return false;
  for (const int32_t read : how.reads) {
    --pins_[z(read)];
    release_unless_kept(read);
  }
  --depth_;
  return true;
}

// An input that the op may overwrite: nobody asks for its bytes after it.
bool Simulator::dies(int32_t tensor, bool first) {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (pins_[z(tensor)] != 1) return false;
  if (!first) return !entry.pinned && !has(tensor, kKept);
  const int32_t next = interval_before(tensor) + 1;
  if (entry.pinned) return model_.intervals[z(next)].to == model_.never();
  const IntervalPolicy& how = policy_.intervals[z(next)];
  return how.evict == now_ && (!how.page || has(tensor, kInAux));
}

bool Simulator::compute(int32_t op, int32_t choice, bool first) {
  const ChoiceModel& how = model_.ops[z(op)].choices[z(choice)];
  Event event{.what = Do::kCompute, .subject = op, .choice = choice, .taken_over = {}};
  if (log_) event.taken_over.assign(how.writes.size(), {});
  Bytes fresh = 0;
  for (size_t write = 0; write < how.writes.size(); ++write) {
    const int32_t tensor = how.writes[write], source = how.over[write];
    if (has(tensor, kInRam)) continue;
    if (source >= 0 && has(source, kInRam) && dies(source, first)) {
      if (log_) event.taken_over[write] = how.over[write];
      take_over(tensor, source);
    } else {
      fresh += model_.tensors[z(tensor)].size;
      flag(tensor, kInRam, true);
      begin_stay(tensor);
    }
  }
  raise_peak(load_ + fresh + how.workspace);
  tick(Do::kCompute, op, choice, fresh + how.workspace);
  load_ += fresh;
  cost_.joules += how.joules;
  cost_.compute += how.seconds;
  if (!model_.ops[z(op)].recomputable) flag(once_only(op), kComputed, true);
  if (log_) log_->push_back(std::move(event));
  settle_outputs(how, first);
  return true;
}

// The tensor takes the bytes of the source, and with them the home that the source occupies.
void Simulator::take_over(int32_t tensor, int32_t source) {
  Word& from = word(source);
  const bool at_home = (from & kHomeFree) != 0 && home_of(source) == model_.tensors[z(tensor)].home;
  const Word held = from >> kHomeShift << kHomeShift;
  from = (from ^ held) & ~Word{kInRam | kKept | kHomeFree};
  Word& to = word(tensor);
  to = (to & ~Word{kHomeFree}) | kInRam | held;
  if (at_home) to |= kHomeFree;
}

void Simulator::settle_outputs(const ChoiceModel& how, bool first) {
  for (const int32_t tensor : how.writes) {
    if (first) {
      flag(tensor, kKept, true);
      continue;
    }
    if (keeps_again(tensor)) flag(tensor, kKept, true);
    release_unless_kept(tensor);
  }
}

// ---- RAM ------------------------------------------------------------------------------------------

// Had again now, is it kept?
bool Simulator::keeps_again(int32_t tensor) const {
  const int32_t interval = interval_before(tensor);
  return interval >= 0 && now_ >= policy_.intervals[z(interval)].retain && now_ < policy_.intervals[z(interval)].until;
}

// The interval that the tensor is in when the stage begins; -1: it is not made yet.
int32_t Simulator::interval_before(int32_t tensor) const {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (entry.intervals.empty()) return -1;
  int32_t interval = entry.intervals.front();
  if (model_.intervals[z(interval)].from >= now_) return -1;
  const int32_t last = entry.intervals.back();
  while (interval < last && model_.intervals[z(interval)].to < now_) ++interval;
  return interval;
}

int32_t Simulator::home_of(int32_t tensor) const {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (entry.home >= 0) return entry.home;
  return entry.start == problem::Home::kRam ? tensor : -1;
}

void Simulator::begin_stay(int32_t tensor) {
  const int32_t home = home_of(tensor);
  flag(tensor, kHomeFree, home >= 0 && !has(home, kHomeBusy));
}

void Simulator::release(int32_t tensor) {
  Word& state = word(tensor);
  const Word home = state >> kHomeShift;
  state &= kInAux | kHomeBusy | kComputed;
  if (home > 0) flag(static_cast<int32_t>(home) - 1, kHomeBusy, false);
  tick(Do::kFree, tensor, 0, 0);
  load_ -= model_.tensors[z(tensor)].size;
  if (log_) log_->push_back({.what = Do::kFree, .subject = tensor, .taken_over = {}});
}

void Simulator::release_unless_kept(int32_t tensor) {
  const bool stays = has(tensor, kKept) || pins_[z(tensor)] > 0 || model_.tensors[z(tensor)].pinned;
  if (has(tensor, kInRam) && !stays) release(tensor);
}

bool Simulator::page_in(int32_t tensor) {
  if (!has(tensor, kInAux)) return false;
  const TensorModel& entry = model_.tensors[z(tensor)];
  raise_peak(load_ + entry.size);
  tick(Do::kPageIn, tensor, 0, entry.size);
  load_ += entry.size;
  flag(tensor, kInRam, true);
  begin_stay(tensor);
  if (keeps_again(tensor)) flag(tensor, kKept, true);
  cost_.joules += entry.in_j;
  cost_.in += entry.in_s;
  cost_.traffic += static_cast<double>(entry.bytes);
  if (log_) log_->push_back({.what = Do::kPageIn, .subject = tensor, .taken_over = {}});
  return true;
}

void Simulator::page_out(int32_t tensor) {
  const TensorModel& entry = model_.tensors[z(tensor)];
  tick(Do::kPageOut, tensor, 0, 0);
  flag(tensor, kInAux, true);
  cost_.stored += entry.slot;
  cost_.joules += entry.out_j;
  cost_.out += entry.out_s;
  cost_.traffic += static_cast<double>(entry.bytes);
  if (log_) log_->push_back({.what = Do::kPageOut, .subject = tensor, .taken_over = {}});
}

}  // namespace pantoum::plan
