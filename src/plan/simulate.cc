#include "plan/simulate.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

constexpr int32_t kMostDepth = 1500;  // of a chain of recomputations: bounds the stack

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void insert_sorted(std::vector<int32_t>& list, int32_t value) {
  list.insert(std::lower_bound(list.begin(), list.end(), value), value);
}
void erase_sorted(std::vector<int32_t>& list, int32_t value) {
  list.erase(std::lower_bound(list.begin(), list.end(), value));
}

}  // namespace

Simulator::Simulator(const Model& model, const Limit& limit)
    : model_(model),
      limit_(limit),
      timed_(limit.deadline > 0 || limit.objective == Objective::kTime || model.idle_w > 0) {
  const size_t stages = z(model.end()) + 1;
  costs_.resize(stages);
  trial_costs_.resize(stages);
  checkpoints_.resize(stages / kCheckpointEvery + 1);
  trial_checkpoints_.resize(checkpoints_.size());
  pins_.assign(model.tensors.size(), 0);
  most_work_ = 64 * static_cast<int64_t>(model.ops.size()) + 10000;
  for (size_t tensor = 0; tensor < model.tensors.size(); ++tensor)
    if (model.tensors[tensor].ends_in_ram) finals_.push_back(static_cast<int32_t>(tensor));
  double seconds = 0, bytes = 1;
  for (const OpModel& op : model.ops) seconds += op.choices.front().seconds;
  for (const TensorModel& tensor : model.tensors) bytes += static_cast<double>(tensor.bytes);
  tie_ = 1e-7 * seconds / bytes;
}

Simulator::State Simulator::initial_state() const {
  State state;
  const size_t count = model_.tensors.size();
  state.flags.assign(count, 0);
  state.home_held.assign(count, -1);
  state.home_busy.assign(count, 0);
  state.gap.assign(count, -1);
  state.computed.assign(model_.ops.size(), 0);
  state.load = (model_.staging + model_.align - 1) / model_.align * model_.align;
  for (size_t tensor = 0; tensor < count; ++tensor) {
    const TensorModel& entry = model_.tensors[tensor];
    if (entry.start == cost::Home::kAux) state.flags[tensor] = kInAux;
    if (entry.start != cost::Home::kRam) continue;
    state.flags[tensor] = kInRam | kKept;
    state.home_held[tensor] = static_cast<int32_t>(tensor);
    state.home_busy[tensor] = 1;
    state.load += entry.size;
  }
  if (timed_) state.clock.ready.assign(count, 0), state.clock.stored.assign(count, 0);
  return state;
}

const Outcome& Simulator::reset(Policy policy) {
  policy_ = std::move(policy);
  undo_.clear();
  undo_op_ = -1;
  needed_ = needed_ops(model_, policy_.choices);
  index_policy();
  checkpoints_[0] = initial_state();
  trial_outcome_ = run(0, model_.end(), true);
  accept();
  return outcome_;
}

void Simulator::index_policy() {
  evicted_.assign(z(model_.never()), {});
  fetched_.assign(z(model_.never()), {});
  for (size_t gap = 0; gap < policy_.gaps.size(); ++gap) {
    const GapPolicy& how = policy_.gaps[gap];
    if (how.evict < model_.gaps[gap].to) evicted_[z(how.evict)].push_back(static_cast<int32_t>(gap));
    if (how.fetch < model_.gaps[gap].to) fetched_[z(how.fetch)].push_back(static_cast<int32_t>(gap));
  }
}

void Simulator::set_gap(int32_t gap, const GapPolicy& to) {
  GapPolicy& how = policy_.gaps[z(gap)];
  const int32_t use = model_.gaps[z(gap)].to;
  if (how.evict < use) erase_sorted(evicted_[z(how.evict)], gap);
  if (how.fetch < use) erase_sorted(fetched_[z(how.fetch)], gap);
  how = to;
  if (how.evict < use) insert_sorted(evicted_[z(how.evict)], gap);
  if (how.fetch < use) insert_sorted(fetched_[z(how.fetch)], gap);
}

Outcome Simulator::propose(const std::vector<Change>& changes) {
  int32_t first = model_.end(), last = 0;
  undo_.clear();
  for (const Change& change : changes) {
    const GapPolicy old = policy_.gaps[z(change.gap)];
    if (old == change.to) continue;
    const bool gives_up = old.evict != change.to.evict || old.page != change.to.page;
    int32_t from = model_.end();
    if (gives_up) from = std::min(old.evict, change.to.evict);
    if (old.again != change.to.again) from = std::min({from, old.again, change.to.again});
    if (old.fetch != change.to.fetch) from = std::min({from, old.fetch, change.to.fetch});
    first = std::min(first, from);
    last = std::max(last, std::min(model_.gaps[z(change.gap)].to, model_.end()));
    undo_.emplace_back(change.gap, old);
    set_gap(change.gap, change.to);
  }
  if (undo_.empty()) {
    trial_first_ = trial_stop_ = 0;
    trial_totals_ = totals_;
    return trial_outcome_ = outcome_;
  }
  return trial_outcome_ = run(first, last, false);
}

Outcome Simulator::propose_choice(int32_t op, int32_t choice) {
  undo_.clear();
  undo_op_ = op;
  undo_choice_ = policy_.choices[z(op)];
  policy_.choices[z(op)] = choice;
  needed_ = needed_ops(model_, policy_.choices);
  return trial_outcome_ = run(0, model_.end(), false);
}

void Simulator::accept() {
  for (int32_t at = trial_first_; at < trial_stop_; ++at) costs_[z(at)] = trial_costs_[z(at)];
  for (int32_t point = trial_first_ / kCheckpointEvery + 1; point * kCheckpointEvery < trial_stop_; ++point)
    std::swap(checkpoints_[z(point)], trial_checkpoints_[z(point)]);
  totals_ = trial_totals_;
  outcome_ = trial_outcome_;
  undo_.clear();
  undo_op_ = -1;
}

void Simulator::reject() {
  for (size_t change = undo_.size(); change-- > 0;) set_gap(undo_[change].first, undo_[change].second);
  undo_.clear();
  if (undo_op_ < 0) return;
  policy_.choices[z(undo_op_)] = undo_choice_;
  needed_ = needed_ops(model_, policy_.choices);
  undo_op_ = -1;
}

std::vector<Event> Simulator::events() {
  std::vector<Event> log;
  const Totals totals = totals_;
  log_ = &log;
  (void)run(0, model_.end(), true);
  log_ = nullptr;
  totals_ = totals;
  return log;
}

// Simulates from stage `first` on, at least through `last`, until the state is the accepted run's again. `whole`: all
// of it.
Outcome Simulator::run(int32_t first, int32_t last, bool whole) {
  if (!outcome_.sound) {  // its checkpoints are not whole
    whole = true;
    first = 0;
  }
  const int32_t point = first / kCheckpointEvery;
  state_ = checkpoints_[z(point)];
  work_ = 0;
  depth_ = 0;
  trial_first_ = first;
  int32_t at = point * kCheckpointEvery;
  bool sound = true;
  for (; at <= model_.end(); ++at) {
    if (at > first && at % kCheckpointEvery == 0) trial_checkpoints_[z(at / kCheckpointEvery)] = state_;
    sound = stage(at);
    if (!sound) break;
    cost_.hash = state_.hash;
    if (at >= first) trial_costs_[z(at)] = cost_;
    const bool met = at >= last && !whole && !timed_ && costs_[z(at)].hash == state_.hash;
    if (met) {
      ++at;
      break;
    }
  }
  trial_stop_ = std::min(at, model_.end() + 1);
  if (!sound) {
    std::fill(pins_.begin(), pins_.end(), uint16_t{0});
    return {};
  }
  trial_totals_ = totals_of_trial(whole);
  return outcome_of(trial_totals_);
}

Simulator::Totals Simulator::totals_of_trial(bool whole) const {
  Totals totals = whole ? Totals{} : totals_;
  const auto add = [&](const StageCost& cost, double sign) {
    totals.joules += sign * cost.joules;
    totals.traffic += sign * cost.traffic;
    totals.over += sign * (static_cast<double>(std::max<Bytes>(0, cost.peak - limit_.ram)) + cost.broken);
    totals.stored += sign > 0 ? cost.stored : -cost.stored;
  };
  for (int32_t at = whole ? 0 : trial_first_; at < trial_stop_; ++at) {
    if (!whole) add(costs_[z(at)], -1);
    add(at < trial_first_ ? costs_[z(at)] : trial_costs_[z(at)], 1);
  }
  return totals;
}

Outcome Simulator::outcome_of(const Totals& totals) const {
  Outcome outcome{.sound = true, .excess = totals.over, .energy = totals.joules};
  Bytes stored = totals.stored;
  for (const TensorModel& tensor : model_.tensors)
    if (model_.capacity >= 0 && tensor.start == cost::Home::kAux) stored += tensor.slot;
  if (model_.capacity >= 0 && stored > model_.capacity) outcome.excess += static_cast<double>(stored - model_.capacity);
  if (timed_) {
    outcome.time = state_.clock.end;
    outcome.energy += model_.idle_w * outcome.time;
    if (limit_.deadline > 0) outcome.late = std::max(0.0, outcome.time - limit_.deadline);
  }
  outcome.value = limit_.objective == Objective::kEnergy ? outcome.energy : outcome.time + tie_ * totals.traffic;
  return outcome;
}

// ---- stages ---------------------------------------------------------------------------------------

bool Simulator::stage(int32_t at) {
  now_ = at;
  cost_ = {};
  raise_peak(state_.load);
  if (at == model_.end()) return finish();
  if (at > 0) {
    fetch(at);
    if (needed_[z(at - 1)] && !first_computation(at - 1)) return false;
  }
  for (const NextGap& next : model_.entered[z(at)]) state_.gap[z(next.tensor)] = next.gap;
  evictions(at);
  return true;
}

void Simulator::fetch(int32_t at) {
  for (const int32_t gap : fetched_[z(at)]) {
    const int32_t tensor = model_.gaps[z(gap)].tensor;
    if (state_.gap[z(tensor)] != gap || has(tensor, kInRam) || !has(tensor, kInAux)) continue;
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
  for (const int32_t gap : evicted_[z(at)]) {
    const int32_t tensor = model_.gaps[z(gap)].tensor;
    if (state_.gap[z(tensor)] != gap || !has(tensor, kInRam) || model_.tensors[z(tensor)].pinned) continue;
    if (policy_.gaps[z(gap)].page && !has(tensor, kInAux)) page_out(tensor);
    release(tensor);
  }
}

bool Simulator::finish() {
  for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
    if (model_.tensors[tensor].ends_in_aux && !finish_in_storage(static_cast<int32_t>(tensor))) return false;
  if (!require(finals_)) return false;
  for (const int32_t tensor : finals_) --pins_[z(tensor)];
  cost_.broken += homes_missed();
  return true;
}

bool Simulator::finish_in_storage(int32_t tensor) {
  if (has(tensor, kInAux)) return true;
  if (!model_.paging) return false;
  if (!require({tensor})) return false;
  --pins_[z(tensor)];
  page_out(tensor);
  if (!model_.tensors[z(tensor)].ends_in_ram && !model_.tensors[z(tensor)].pinned) release(tensor);
  return true;
}

// Bytes of what does not end where the next step looks for it.
double Simulator::homes_missed() const {
  double bytes = 0;
  for (const int32_t tensor : finals_) {
    const int32_t home = model_.tensors[z(tensor)].home;
    if (home < 0 || model_.tensors[z(tensor)].bytes == 0 || model_.tensors[z(home)].bytes == 0) continue;
    const bool there = state_.home_held[z(tensor)] == home || has(tensor, kHomeFree);
    if (!there) bytes += static_cast<double>(model_.tensors[z(tensor)].size);
  }
  return bytes;
}

// ---- tensors that are needed ----------------------------------------------------------------------

bool Simulator::require(const std::vector<int32_t>& reads) {
  for (const int32_t tensor : reads) ++pins_[z(tensor)];
  for (const int32_t tensor : reads)
    if (!has(tensor, kInRam) && rather_recompute(tensor) && !recompute(tensor)) return false;
  for (const int32_t tensor : reads)
    if (!has(tensor, kInRam) && !page_in(tensor)) return false;
  return true;
}

bool Simulator::rather_recompute(int32_t tensor) const {
  if (!has(tensor, kInAux)) return true;
  const TensorModel& entry = model_.tensors[z(tensor)];
  const int32_t gap = state_.gap[z(tensor)];
  if (entry.producer < 0 || !model_.ops[z(entry.producer)].again || gap < 0 || policy_.gaps[z(gap)].page) return false;
  const ChoiceModel& how = model_.ops[z(entry.producer)].choices[z(maker_choice(entry.producer, tensor))];
  return limit_.objective == Objective::kEnergy ? how.joules < entry.in_j : how.seconds < entry.in_s;
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
  if (choice < 0 || made.stage > now_ || (!made.again && state_.computed[z(op)])) return false;
  if (++work_ > most_work_ || depth_ >= kMostDepth) return false;
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
bool Simulator::dies(int32_t tensor, bool first) const {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (pins_[z(tensor)] != 1) return false;
  if (!first) return !entry.pinned && !has(tensor, kKept);
  const int32_t next = state_.gap[z(tensor)] + 1;
  if (entry.pinned) return model_.gaps[z(next)].to == model_.never();
  const GapPolicy& how = policy_.gaps[z(next)];
  return how.evict == now_ && (!how.page || has(tensor, kInAux));
}

bool Simulator::compute(int32_t op, int32_t choice, bool first) {
  const ChoiceModel& how = model_.ops[z(op)].choices[z(choice)];
  Event event{.what = Do::kCompute, .subject = op, .choice = choice, .taken_over = {}};
  if (log_) event.taken_over.assign(how.writes.size(), -1);
  Bytes fresh = 0;
  Seconds begin = 0;
  if (timed_)
    for (const int32_t tensor : how.reads) begin = std::max(begin, state_.clock.ready[z(tensor)]);
  for (size_t write = 0; write < how.writes.size(); ++write) {
    const int32_t tensor = how.writes[write], source = how.over[write];
    if (has(tensor, kInRam)) continue;
    if (source >= 0 && has(source, kInRam) && dies(source, first)) {
      if (log_) event.taken_over[write] = source;
      flag(source, kInRam | kKept, false);
      const bool at_home = has(source, kHomeFree) && home_of(source) == model_.tensors[z(tensor)].home;
      flag(source, kHomeFree, false);
      const int32_t held = state_.home_held[z(source)];
      if (held >= 0) {
        state_.home_held[z(source)] = -1;
        state_.home_held[z(tensor)] = held;
        state_.hash ^= mix(mix(static_cast<uint64_t>(source) << 20) + static_cast<uint64_t>(held)) ^
                       mix(mix(static_cast<uint64_t>(tensor) << 20) + static_cast<uint64_t>(held));
      }
      flag(tensor, kInRam, true);
      flag(tensor, kHomeFree, at_home);
    } else {
      fresh += model_.tensors[z(tensor)].size;
      flag(tensor, kInRam, true);
      begin_stay(tensor);
    }
  }
  raise_peak(state_.load + fresh + how.workspace);
  if (timed_) {
    begin = std::max({begin, state_.clock.now, wait_for_room(fresh + how.workspace)});
    state_.clock.now = begin + how.seconds;
    state_.clock.end = std::max(state_.clock.end, state_.clock.now);
    for (const int32_t tensor : how.writes) state_.clock.ready[z(tensor)] = state_.clock.now;
  }
  state_.load += fresh;
  cost_.joules += how.joules;
  cost_.computes += 1;
  if (!state_.computed[z(op)]) {
    state_.computed[z(op)] = 1;
    state_.hash ^= mix((static_cast<uint64_t>(op) << 8) + 77);
  }
  if (log_) log_->push_back(std::move(event));
  settle_outputs(how, first);
  return true;
}

void Simulator::settle_outputs(const ChoiceModel& how, bool first) {
  for (const int32_t tensor : how.writes) {
    if (first) {
      flag(tensor, kKept, true);
      continue;
    }
    const int32_t gap = state_.gap[z(tensor)];
    if (gap >= 0 && now_ >= policy_.gaps[z(gap)].again) flag(tensor, kKept, true);
    release_unless_kept(tensor);
  }
}

// ---- RAM ------------------------------------------------------------------------------------------

void Simulator::flag(int32_t tensor, uint8_t bit, bool on) {
  uint8_t& flags = state_.flags[z(tensor)];
  const uint8_t changed = static_cast<uint8_t>((on ? ~flags : flags) & bit);
  if (changed == 0) return;
  const uint8_t then = static_cast<uint8_t>(flags ^ changed);
  const auto key = [&](uint8_t value) { return value ? mix((static_cast<uint64_t>(tensor) << 8) + value) : 0; };
  state_.hash ^= key(flags) ^ key(then);
  flags = then;
}

int32_t Simulator::home_of(int32_t tensor) const {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (entry.home >= 0) return entry.home;
  return entry.start == cost::Home::kRam ? tensor : -1;
}

void Simulator::begin_stay(int32_t tensor) {
  const int32_t home = home_of(tensor);
  flag(tensor, kHomeFree, home >= 0 && !state_.home_busy[z(home)]);
}

void Simulator::release(int32_t tensor) {
  flag(tensor, kInRam | kKept | kHomeFree, false);
  state_.load -= model_.tensors[z(tensor)].size;
  if (const int32_t home = state_.home_held[z(tensor)]; home >= 0) {
    state_.home_held[z(tensor)] = -1;
    state_.home_busy[z(home)] = 0;
    state_.hash ^= mix(mix(static_cast<uint64_t>(tensor) << 20) + static_cast<uint64_t>(home));
  }
  if (timed_ && model_.async && state_.clock.stored[z(tensor)] > state_.clock.now) {
    state_.clock.flights.emplace_back(state_.clock.stored[z(tensor)], model_.tensors[z(tensor)].size);
    state_.clock.flying += model_.tensors[z(tensor)].size;
  }
  if (log_) log_->push_back({.what = Do::kFree, .subject = tensor, .taken_over = {}});
}

void Simulator::release_unless_kept(int32_t tensor) {
  const bool stays = has(tensor, kKept) || pins_[z(tensor)] > 0 || model_.tensors[z(tensor)].pinned;
  if (has(tensor, kInRam) && !stays) release(tensor);
}

bool Simulator::page_in(int32_t tensor) {
  if (!has(tensor, kInAux)) return false;
  const TensorModel& entry = model_.tensors[z(tensor)];
  raise_peak(state_.load + entry.size);
  if (timed_) {
    const Seconds wait = std::max(wait_for_room(entry.size), state_.clock.stored[z(tensor)]);
    state_.clock.ready[z(tensor)] = channel(false, wait, entry.in_s);
  }
  state_.load += entry.size;
  flag(tensor, kInRam, true);
  begin_stay(tensor);
  if (state_.gap[z(tensor)] >= 0 && now_ >= policy_.gaps[z(state_.gap[z(tensor)])].again) flag(tensor, kKept, true);
  cost_.joules += entry.in_j;
  cost_.traffic += static_cast<double>(entry.bytes);
  if (log_) log_->push_back({.what = Do::kPageIn, .subject = tensor, .taken_over = {}});
  return true;
}

void Simulator::page_out(int32_t tensor) {
  const TensorModel& entry = model_.tensors[z(tensor)];
  if (timed_) state_.clock.stored[z(tensor)] = channel(true, state_.clock.ready[z(tensor)], entry.out_s);
  flag(tensor, kInAux, true);
  cost_.stored += entry.slot;
  cost_.joules += entry.out_j;
  cost_.traffic += static_cast<double>(entry.bytes);
  if (log_) log_->push_back({.what = Do::kPageOut, .subject = tensor, .taken_over = {}});
}

// ---- time -----------------------------------------------------------------------------------------

// When `size` more bytes can be had: writes in flight end in the order of their queue.
Seconds Simulator::wait_for_room(Bytes size) {
  Clock& clock = state_.clock;
  Seconds wait = 0;
  size_t done = 0;
  while (done < clock.flights.size()) {
    const bool over = clock.flights[done].first <= clock.now;
    if (!over && state_.load + clock.flying + size <= limit_.ram) break;
    wait = clock.flights[done].first;
    clock.flying -= clock.flights[done].second;
    ++done;
  }
  clock.flights.erase(clock.flights.begin(), clock.flights.begin() + static_cast<std::ptrdiff_t>(done));
  return wait;
}

Seconds Simulator::channel(bool out, Seconds earliest, Seconds seconds) {
  Clock& clock = state_.clock;
  Seconds& free_from = out && model_.full_duplex ? clock.out_free : clock.in_free;
  const Seconds end = std::max({earliest, clock.now, free_from}) + seconds;
  free_from = end;
  clock.end = std::max(clock.end, end);
  if (!model_.async) clock.now = end;
  return end;
}

}  // namespace pantoum::plan
