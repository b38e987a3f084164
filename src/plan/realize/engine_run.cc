#include "plan/realize/engine_run.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"
#include "place/place.h"

namespace pantoum::plan {

namespace {

constexpr Seconds kNever = -1;  // of an access that was not

struct Held {
  Bytes at = 0, size = 0;
  Bytes behind = 0;  // the first aligned offset after its bytes
  Seconds ready = 0;
  size_t maker = 0;  // of the model's users
  bool held = false;
};

// Bytes that nobody holds, and their last access by one of the model's users.
struct GivenBack {
  Bytes at, size;
  size_t user;
  Seconds until;
};

struct Busy {  // bytes that nobody holds, and that are used until then
  Bytes from, to;
  Seconds until;
};

// What a run has come to between two entries.
struct Moment {
  std::vector<Held> blocks_;   // by tensor; the last: the staging buffer
  std::vector<Seconds> uses_;  // by tensor and user: its last access of the bytes that the tensor has now
  std::vector<int32_t> live_;  // tensors in RAM that have bytes, by offset
  std::vector<GivenBack> given_back_;
  size_t forget_above_ = 32;
  std::vector<Seconds> engine_free_, stored_, busy_there_;  // stored_ < 0: not there
  ListFigures figures_;
  Seconds now_ = 0, in_free_ = 0, out_free_ = 0;
  Engines used_ = 0;
  Bytes live_bytes_ = 0;
};

}  // namespace

class EngineRun::State : Moment {
 public:
  explicit State(const EngineModel& model)
      : model_(model),
        device_(model.graph->device),
        users_(model.users.size()),
        span_(std::max<size_t>(8, model.ops.size() / 12)) {
    blocks_.resize(model.tensors.size() + 1);
    for (const problem::Engine& engine : device_.engines) by_name_.emplace(engine.name, engine.idle_w);
    for (size_t op = 0; op < model.ops.size(); ++op) op_of_[model.graph->ops[op].id] = static_cast<int32_t>(op);
    for (size_t tensor = 0; tensor < model.tensors.size(); ++tensor)
      tensor_of_[model.graph->tensors[tensor].id] = static_cast<int32_t>(tensor);
    staging_at_ = model.starts != nullptr && model.staging > 0 ? model.starts->staging_at : 0;
    Bytes top = base::round_up(model.staging, model.align);
    initial_.assign(model.tensors.size(), -1);
    for (size_t tensor = 0; tensor < model.tensors.size(); ++tensor) {
      if (model.tensors[tensor].start != Home::kRam) continue;
      initial_[tensor] = model.starts != nullptr ? model.starts->initial.at(model.graph->tensors[tensor].id) : top;
      top = base::round_up(top + model.tensors[tensor].bytes, model.align);
    }
    for (const EngineModel::Tensor& tensor : model.tensors) {
      slot_of_.push_back(tensor.slot_of);
      heir_of_.push_back(tensor.slot_heir);
      shares_slots_ = shares_slots_ || tensor.slot_of >= 0;
      if (tensor.home >= 0) homes_.push_back(tensor.home);
    }
    std::ranges::sort(homes_, {}, [&](int32_t home) { return initial_[index(home)]; });
    homes_.erase(std::unique(homes_.begin(), homes_.end()), homes_.end());
  }

  // ---- lists ------------------------------------------------------------------------------------

  ListFigures run(const List& list, Plan* plan, std::vector<Seconds>* begins, std::vector<Seconds>* ends) {
    plan_ = plan;
    reset();
    if (!find_ends(list)) return {};
    begin_list();
    for (size_t at = 0; at < list.size(); ++at) {
      if (!pass(list[at], at)) return {};
      if (begins != nullptr) begins->push_back(begin_);
      if (ends != nullptr) ends->push_back(end_);
    }
    finish();
    figures_.valid = are_home();
    if (plan_ != nullptr) write_places(*plan_);
    return figures_;
  }

  ListFigures run_near(const List& list) {
    plan_ = nullptr;
    reset();
    first_fresh_ = fresh_.reached = 0;
    if (!find_ends(list)) return {};
    // The first moment comes after the start, when what is not used at all is freed.
    const bool begins_alike = kept_.reached > 0 && ends_.front() == kept_.ends.front() && slot_of_ == kept_.slot_of;
    first_fresh_ = begins_alike ? std::min(kept_.reached, same_as_kept(list) / span_ + 1) : 0;
    size_t at = 0;
    if (first_fresh_ > 0) {
      at = (first_fresh_ - 1) * span_;
      static_cast<Moment&>(*this) = kept_.moments[first_fresh_ - 1];
    } else {
      begin_list();
    }
    for (; at < list.size(); ++at) {
      if (const size_t moment = at / span_; at % span_ == 0 && moment >= first_fresh_) {
        fresh_.reached = moment + 1;
        fresh_.moments.resize(std::max(fresh_.moments.size(), fresh_.reached));
        fresh_.moments[moment] = *this;
      }
      if (!pass(list[at], at)) return {};
    }
    finish();
    figures_.valid = are_home();
    return figures_;
  }

  void keep(const List& list) {
    kept_.list = list;
    kept_.ends.swap(ends_);
    kept_.slot_of = slot_of_;
    kept_.moments.resize(std::max(kept_.moments.size(), fresh_.reached));
    for (size_t at = first_fresh_; at < fresh_.reached; ++at) std::swap(kept_.moments[at], fresh_.moments[at]);
    kept_.reached = std::max(first_fresh_, fresh_.reached);
  }

  // ---- offsets of a list at once ----------------------------------------------------------------

  std::optional<Bytes> place(List& list, double seconds, int64_t steps) {
    reset();
    if (!find_ends(list)) return std::nullopt;
    Stays stays{.entries = list.size(), .of = std::vector<size_t>(model_.tensors.size(), kNowhere)};
    stays.all.push_back({.end = stays.end(), .size = model_.staging, .fixed = staging_at_});
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      if (model_.tensors[tensor].start == Home::kRam) hold(static_cast<int32_t>(tensor), 0, stays);
    end_stays(0, stays);
    std::vector<std::array<size_t, 3>> wanted(list.size(), {kNowhere, kNowhere, kNowhere});
    for (size_t at = 0; at < list.size(); ++at) {
      const Entry& entry = list[at];
      if (entry.what == Do::kPageIn) wanted[at][0] = hold(entry.subject, at + 1, stays);
      if (entry.what == Do::kCompute) {
        const EngineModel::Way& way = model_.ops[index(entry.subject)].ways[index(entry.way)];
        for (size_t output = 0; output < way.writes.size(); ++output) {
          const size_t made = hold_output(way, way.writes[output], at + 1, stays);
          if (output < 2) wanted[at][output] = made;
        }
        if (way.workspace > 0) {
          wanted[at][2] = stays.all.size();
          stays.all.push_back(
              {.begin = static_cast<int64_t>(at) + 1, .end = static_cast<int64_t>(at) + 2, .size = way.workspace});
        }
      }
      end_stays(at + 1, stays);
    }
    place::Shortfall missing;
    const Bytes budget = model_.question.budget_bytes();
    const Result<place::Placement> placed = place::place(
        stays.all, {.align = model_.align, .budget = budget, .seconds = seconds, .steps = steps}, &missing);
    if (!placed) return std::max<Bytes>(model_.align, missing.arena_bytes - budget);
    for (size_t at = 0; at < list.size(); ++at)
      for (size_t each = 0; each < 3; ++each)
        list[at].wanted[each] = wanted[at][each] == kNowhere ? -1 : placed->at[wanted[at][each]];
    return 0;
  }

  // As run(), with ready_, maker_ and here_ in place of blocks.
  ListFigures least(const List& list, std::vector<Seconds>* begins, std::vector<Seconds>* ends) {
    reset_clocks();
    if (!find_ends(list)) return {};
    ready_.assign(model_.tensors.size(), 0);
    maker_.assign(model_.tensors.size(), 0);
    here_.assign(model_.tensors.size(), 0);
    live_bytes_ = model_.staging;
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      if (model_.tensors[tensor].start == Home::kRam) enter(static_cast<int32_t>(tensor));
    note_peak(0);
    leave_after(0);
    for (size_t at = 0; at < list.size(); ++at) {
      const Entry& entry = list[at];
      const Bytes before = figures_.peak_bytes;
      if (entry.what == Do::kCompute)
        pass_compute(model_.ops[index(entry.subject)].ways[index(entry.way)], ends_[at + 1]);
      else
        pass_transfer(entry.subject, entry.what == Do::kPageOut);
      if (figures_.peak_bytes > before) figures_.peak_at = at;
      if (begins != nullptr) begins->push_back(begin_);
      if (ends != nullptr) ends->push_back(end_);
      leave_after(at + 1);
    }
    finish();
    figures_.arena_bytes = figures_.peak_bytes;
    figures_.valid = true;
    return figures_;
  }

  // ---- plans ------------------------------------------------------------------------------------

  std::optional<Predicted> predict(const Plan& plan, Freedoms* used) {
    plan_ = nullptr;
    reset();
    find_slots(plan);
    if (model_.staging > 0) touch(plan.staging_at, model_.staging);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      if (model_.tensors[tensor].start == Home::kAux) store(static_cast<int32_t>(tensor), 0);
      if (model_.tensors[tensor].start != Home::kRam) continue;
      const auto at = plan.initial.find(model_.graph->tensors[tensor].id);
      if (at == plan.initial.end()) return std::nullopt;
      arrive(static_cast<int32_t>(tensor), at->second);
    }
    note_peak(0);
    Freedoms made_use{.paging = false, .recomputing = false, .in_place = false, .reordering = false};
    for (const Instruction& step : plan.instructions) {
      if (!issue(step, made_use)) return std::nullopt;
      forget();
    }
    finish();
    std::vector<int64_t> kept = model_.graph->order;
    std::erase_if(kept, [&](int64_t op) { return computed_[index(op_of_.at(op))] == 0; });
    made_use.reordering = kept != first_;
    made_use.one_slot = std::ranges::any_of(slot_of_, [](int32_t old) { return old >= 0; });
    if (used != nullptr) *used = made_use;
    return Predicted{.peak_bytes = figures_.peak_bytes,
                     .arena_bytes = figures_.arena_bytes,
                     .time_s = figures_.seconds,
                     .energy_j = figures_.joules};
  }

 private:
  static size_t index(int32_t number) { return static_cast<size_t>(number); }
  const EngineModel::Tensor& tensor(int32_t number) const { return model_.tensors[index(number)]; }

  void reset() {
    for (Held& block : blocks_) block.held = false;
    uses_.assign(blocks_.size() * users_, kNever);
    live_.clear();
    given_back_.clear();
    forget_above_ = 32;
    reset_clocks();
  }

  void reset_clocks() {
    engine_free_.assign(device_.engines.size(), 0);
    stored_.assign(blocks_.size(), -1);
    busy_there_.assign(blocks_.size(), 0);
    computed_.assign(model_.ops.size(), 0);
    first_.clear();
    figures_ = {};
    now_ = in_free_ = out_free_ = 0;
    used_ = 0;
    live_bytes_ = 0;
  }

  void begin_list() {
    hold_staging();
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      if (model_.tensors[tensor].start == Home::kRam) arrive(static_cast<int32_t>(tensor), initial_[tensor]);
    note_peak(0);
    free_after(0);
  }
  bool pass(const Entry& entry, size_t at) {
    offset_ = entry.offset;
    const bool ran = entry.what == Do::kCompute   ? compute(entry, ends_[at + 1])
                     : entry.what == Do::kPageOut ? list_page_out(entry.subject)
                                                  : list_page_in(entry);
    if (!ran) return false;
    free_after(at + 1);
    forget();
    return true;
  }

  // The number of entries before which this list and the kept one are in the same state.
  size_t same_as_kept(const List& list) const {
    const size_t most = std::min(list.size(), kept_.list.size());
    size_t same = 0;
    while (same < most && ends_[same] == kept_.ends[same] && list[same] == kept_.list[same]) ++same;
    while (same > 0 && ends_[same] != kept_.ends[same]) --same;
    return same;
  }

  // ---- when tensors leave RAM -------------------------------------------------------------------

  // Fills ends_: by entry (0: the start), which tensors are used there for the last time before they are made again.
  bool find_ends(const List& list) {
    if (shares_slots_) choose_slots(list);
    ends_.resize(list.size() + 1);
    for (std::vector<int32_t>& each : ends_) each.clear();
    last_use_.assign(blocks_.size(), kNowhere);
    std::fill(stored_.begin(), stored_.end(), -1);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      if (model_.tensors[tensor].start == Home::kRam) last_use_[tensor] = 0;
      if (model_.tensors[tensor].start == Home::kAux) stored_[tensor] = 0;
    }
    size_t in_order = 0;
    for (size_t at = 0; at < list.size(); ++at) {
      const Entry& entry = list[at];
      if (entry.what == Do::kPageOut) {
        if (last_use_[index(entry.subject)] == kNowhere || !takes_slot(entry.subject)) return false;
        use(entry.subject, at);
      } else if (entry.what == Do::kPageIn) {
        if (stored_[index(entry.subject)] < 0 || tensor(entry.subject).pinned) return false;
        make(entry.subject, at);
      } else {
        const EngineModel::Op& op = model_.ops[index(entry.subject)];
        const EngineModel::Way& way = op.ways[index(entry.way)];
        if (computed_[index(entry.subject)]++ != 0) {
          if (!op.again) return false;
        } else if (!model_.question.freedoms.reordering) {
          while (in_order < model_.order.size() && model_.order[in_order] != entry.subject) ++in_order;
          if (in_order == model_.order.size()) return false;
        }
        for (const int32_t read : way.reads) {
          if (last_use_[index(read)] == kNowhere) return false;
          use(read, at);
        }
        if (!streams(way, at)) return false;
        for (const int32_t written : way.writes) make(written, at);
      }
    }
    for (size_t op = 0; op < computed_.size(); ++op)
      if (computed_[op] == 0 && !model_.ops[op].optional) return false;
    for (size_t each = 0; each < model_.tensors.size(); ++each) {
      const EngineModel::Tensor& of = model_.tensors[each];
      if (of.ends_in_storage && stored_[each] < 0) return false;
      if (of.ends_in_ram && last_use_[each] == kNowhere) return false;
      if (!of.ends_in_ram && !of.pinned && last_use_[each] != kNowhere)
        ends_[last_use_[each]].push_back(static_cast<int32_t>(each));
    }
    computed_.assign(computed_.size(), 0);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      stored_[tensor] = model_.tensors[tensor].start == Home::kAux ? 0 : -1;
    return true;
  }

  // A tensor takes the slot that it may take where the list writes it in part, or where the storage has no room for all that the
  // list stores.
  void choose_slots(const List& list) {
    std::vector<char> is_there(model_.tensors.size(), 0), in_part(model_.tensors.size(), 0);
    for (size_t tensor = 0; tensor < is_there.size(); ++tensor)
      is_there[tensor] = model_.tensors[tensor].start == Home::kAux;
    for (const Entry& entry : list) {
      if (entry.what == Do::kPageOut) is_there[index(entry.subject)] = 1;
      if (entry.what != Do::kCompute) continue;
      const EngineModel::Way& way = model_.ops[index(entry.subject)].ways[index(entry.way)];
      for (const int32_t written : way.streams_out) {
        is_there[index(written)] = 1;
        if (way.in_part) in_part[index(written)] = 1;
      }
    }
    Bytes bytes = 0;
    for (size_t tensor = 0; tensor < is_there.size(); ++tensor)
      if (is_there[tensor] != 0) bytes += model_.tensors[tensor].slot;
    const Bytes capacity = device_.pager.capacity_bytes;
    for (size_t tensor = 0; tensor < is_there.size(); ++tensor) {
      const int32_t old = model_.tensors[tensor].slot_of;
      if (old < 0) continue;
      const bool takes = in_part[tensor] != 0 || (capacity >= 0 && bytes > capacity);
      slot_of_[tensor] = takes ? old : -1;
      heir_of_[index(old)] = takes ? static_cast<int32_t>(tensor) : -1;
    }
  }

  // In find_ends(): what is streamed in is in storage, and what is streamed out is nowhere and goes there.
  bool streams(const EngineModel::Way& way, size_t entry) {
    if (!way.possible) return false;
    for (const int32_t read : way.streams_in)
      if (stored_[index(read)] < 0) return false;
    for (const int32_t written : way.streams_out) {
      size_t& last = last_use_[index(written)];
      if (stored_[index(written)] >= 0 || !takes_slot(written)) return false;
      if (last == kNowhere) continue;
      if (tensor(written).pinned || last == entry + 1) return false;
      ends_[last].push_back(written);
      last = kNowhere;
    }
    return true;
  }
  // In find_ends(): the tensor is written to its slot. false: its heir has the slot.
  bool takes_slot(int32_t number) {
    const int32_t heir = heir_of_[index(number)], old = slot_of_[index(number)];
    if (heir >= 0 && stored_[index(heir)] >= 0) return false;
    stored_[index(number)] = 0;
    if (old >= 0) stored_[index(old)] = -1;
    return true;
  }

  // What a list holds in RAM, from the start (0) or an entry (its position + 1) on.
  struct Stays {
    size_t entries = 0;
    std::vector<size_t> of;  // by tensor: its allocation now, or kNowhere
    std::vector<place::Allocation> all = {};
    int64_t end() const { return static_cast<int64_t>(entries) + 2; }
  };

  size_t hold(int32_t number, size_t from, Stays& stays) const {
    const int32_t home = from == 0 ? number : tensor(number).home;
    stays.of[index(number)] = stays.all.size();
    place::Allocation made{.begin = static_cast<int64_t>(from), .end = stays.end(), .size = tensor(number).bytes};
    if (home >= 0) made.fixed = initial_[index(home)];
    stays.all.push_back(made);
    return stays.of[index(number)];
  }

  // An output takes over the bytes of an input, as output_at() has it, or has bytes of its own.
  size_t hold_output(const EngineModel::Way& way, int32_t written, size_t from, Stays& stays) const {
    if (stays.of[index(written)] != kNowhere && tensor(written).pinned) return stays.of[index(written)];
    size_t source = kNowhere;
    for (const auto& [out, in] : way.overwrites) {
      const size_t held = stays.of[index(in)];
      if (out != written || held == kNowhere || tensor(written).bytes == 0 || source != kNowhere) continue;
      const bool successor = tensor(in).next == written;
      const bool may = successor || (model_.question.freedoms.in_place && !tensor(in).pinned);
      const bool ends = (successor && tensor(in).pinned) || base::contains(ends_[from], in);
      const int32_t home = tensor(written).home;
      const bool there = home < 0 || stays.all[held].fixed == initial_[index(home)];
      if (!may || !ends || !there || tensor(in).bytes < tensor(written).bytes) continue;
      source = held;
      stays.of[index(in)] = kNowhere;
    }
    const size_t made = hold(written, from, stays);
    if (source == kNowhere) return made;
    place::Allocation& old = stays.all[source];
    old.end = static_cast<int64_t>(from);
    if (old.group < 0) old.group = static_cast<int32_t>(source);
    stays.all[made].group = old.group;
    return made;
  }

  void end_stays(size_t entry, Stays& stays) const {
    for (const int32_t number : ends_[entry])
      if (const size_t held = std::exchange(stays.of[index(number)], kNowhere); held != kNowhere)
        stays.all[held].end = static_cast<int64_t>(entry) + 1;
  }

  void use(int32_t number, size_t entry) { last_use_[index(number)] = entry + 1; }
  void make(int32_t number, size_t entry) {
    size_t& last = last_use_[index(number)];
    if (last != kNowhere && !tensor(number).pinned && last != entry + 1) ends_[last].push_back(number);
    last = entry + 1;
  }

  void free_after(size_t entry) {
    for (const int32_t number : ends_[entry]) {
      if (!blocks_[index(number)].held) continue;  // an output has its bytes
      release(number);
      if (plan_ != nullptr)
        plan_->instructions.push_back(
            {.what = Do::kFree, .subject = model_.graph->tensors[index(number)].id, .at = {}});
    }
  }

  // ---- what a list takes at least ---------------------------------------------------------------

  void enter(int32_t number) {
    if (std::exchange(here_[index(number)], 1) == 0) live_bytes_ += tensor(number).bytes;
  }
  void leave(int32_t number) {
    if (std::exchange(here_[index(number)], 0) != 0) live_bytes_ -= tensor(number).bytes;
  }
  void leave_after(size_t entry) {
    for (const int32_t number : ends_[entry]) leave(number);
  }

  void pass_compute(const EngineModel::Way& way, const std::vector<int32_t>& dying) {
    Seconds begin = hand_over(way);
    for (const int32_t read : way.reads)
      begin = std::max(begin, known(maker_[index(read)], ready_[index(read)], way.user));
    if (way.streams()) begin = std::max(begin, streams_ready(way));
    const Seconds end = begin + way.seconds;
    begin_ = begin, end_ = end;
    if (way.streams()) settle_streams(way, end);
    for (const int32_t written : way.writes) {
      for (const auto& [out, in] : way.overwrites) {
        if (out != written || here_[index(written)] != 0 || here_[index(in)] == 0) continue;
        const bool successor = tensor(in).next == written;
        if (successor || (model_.question.freedoms.in_place && !tensor(in).pinned && base::contains(dying, in)))
          leave(in);
      }
      enter(written);
      ready_[index(written)] = end;
      maker_[index(written)] = way.user;
    }
    note_peak(way.workspace);
    keep_engines(way.engines, end);
    figures_.joules += way.joules;
  }

  void pass_transfer(int32_t number, bool out) {
    const Bytes size = tensor(number).bytes;
    if (out) {
      const Seconds slot_free = take_slot(number);
      store(number, transfer(true, size, std::max(ready_[index(number)], slot_free)));
      return;
    }
    enter(number);
    note_peak(0);
    maker_[index(number)] = 0;
    const Seconds end = ready_[index(number)] = transfer(false, size, stored_[index(number)]);
    busy_there_[index(number)] = std::max(busy_there_[index(number)], end);
  }

  // ---- bytes ------------------------------------------------------------------------------------

  // When `user` knows of an access by `by` that ends at `until`.
  Seconds known(size_t by, Seconds until, size_t user) const { return until + model_.hand_overs[by * users_ + user]; }

  Seconds given_back(Bytes at, Bytes size, size_t user) const {
    Seconds wait = 0;
    if (size == 0) return wait;
    for (const GivenBack& each : given_back_)
      if (each.at < at + size && at < each.at + each.size) wait = std::max(wait, known(each.user, each.until, user));
    return wait;
  }

  Seconds* uses(int32_t number) { return &uses_[index(number) * users_]; }
  void note_use(int32_t number, size_t user, Seconds until) {
    Seconds& last = uses(number)[user];
    last = std::max(last, until);
  }
  Seconds free_from(int32_t number, size_t user) {
    Seconds wait = 0;
    for (size_t by = 0; by < users_; ++by)
      if (const Seconds until = uses(number)[by]; until >= 0) wait = std::max(wait, known(by, until, user));
    return wait;
  }
  // Gives back the bytes of a tensor that is held no longer. An access that everybody knows of before another one is not kept.
  void give_back(int32_t number) {
    const Held& block = blocks_[index(number)];
    const Seconds latest = *std::max_element(uses(number), uses(number) + users_);
    for (size_t by = 0; by < users_; ++by)
      if (const Seconds until = uses(number)[by];
          until >= 0 && (until == latest || until + model_.longest_hand_off > latest))
        given_back_.push_back({block.at, block.size, by, until});
  }

  void touch(Bytes at, Bytes size) {
    live_bytes_ += size;
    figures_.arena_bytes = std::max(figures_.arena_bytes, at + size);
  }

  void note_peak(Bytes workspace) { figures_.peak_bytes = std::max(figures_.peak_bytes, live_bytes_ + workspace); }

  void arrive(int32_t number, Bytes at) {
    Held& block = blocks_[index(number)];
    block.at = at;
    block.size = tensor(number).bytes;
    block.behind = base::round_up(at + block.size, model_.align);
    block.ready = 0;
    block.maker = 0;
    std::fill_n(uses(number), users_, kNever);
    block.held = true;
    touch(at, block.size);
    if (block.size == 0) return;
    const auto behind =
        std::ranges::upper_bound(live_, at, {}, [&](int32_t other) { return blocks_[index(other)].at; });
    live_.insert(behind, number);
  }

  void hold_staging() {
    if (model_.staging == 0) return;
    touch(staging_at_, model_.staging);
    blocks_.back().at = staging_at_;
    blocks_.back().size = model_.staging;
    blocks_.back().behind = base::round_up(staging_at_ + model_.staging, model_.align);
    live_.push_back(static_cast<int32_t>(blocks_.size() - 1));
  }

  void release(int32_t number) {
    Held& block = blocks_[index(number)];
    block.held = false;
    live_bytes_ -= block.size;
    if (block.size == 0) return;
    live_.erase(std::ranges::find(live_, number));
    give_back(number);
  }

  void forget() {
    if (given_back_.size() <= forget_above_) return;
    std::erase_if(given_back_, [&](const GivenBack& each) { return each.until + model_.longest_hand_off <= now_; });
    forget_above_ = std::max<size_t>(32, 2 * given_back_.size());
  }

  // ---- offsets ----------------------------------------------------------------------------------

  struct Offer {
    Bytes at = -1;
    Seconds wait = 0;
    Bytes gap = 0;
  };

  // The offset of the entry's kind for `user`, who cannot begin before `begin`.
  Bytes place(Bytes size, size_t user, Seconds begin, Bytes wanted) {
    if (size == 0) return 0;
    const Bytes budget = model_.question.budget_bytes();
    if (wanted >= 0 && wanted + size <= budget && is_free(wanted, size)) return wanted;
    busy_.clear();
    for (const GivenBack& each : given_back_)
      if (const Seconds until = known(each.user, each.until, user); until > begin)
        busy_.push_back({each.at, each.at + each.size, until});
    for (const bool spare_homes : {true, false}) {
      Offer best;
      Bytes from = 0;
      size_t home = 0, live = 0;
      while (true) {
        const Bytes next_live = live < live_.size() ? blocks_[index(live_[live])].at : budget;
        while (spare_homes && home < homes_.size() && initial_[index(homes_[home])] < from) ++home;
        const bool at_home = spare_homes && home < homes_.size() && initial_[index(homes_[home])] < next_live;
        const Bytes to = at_home ? initial_[index(homes_[home])] : next_live;
        offer(from, to, size, begin, best);
        if (at_home) {
          from = std::max(from, base::round_up(to + tensor(homes_[home]).bytes, model_.align));
          ++home;
          continue;
        }
        if (live == live_.size()) break;
        const Held& block = blocks_[index(live_[live++])];
        from = std::max(from, block.behind);
      }
      if (best.at >= 0) return best.at;
    }
    Bytes top = 0;  // over the budget: the search goes back from there
    for (const int32_t number : live_) top = std::max(top, blocks_[index(number)].behind);
    return top;
  }

  // The gap's begin, places in it behind bytes that are still in use, and its end.
  void offer(Bytes from, Bytes to, Bytes size, Seconds begin, Offer& best) const {
    constexpr int kPlaces = 4;
    if (from + size > to) return;
    if (offset_ == Entry::Offset::kHighestOfAll) {
      best = {(to - size) / model_.align * model_.align, 0, 0};
      return;
    }
    const bool any_wait = offset_ == Entry::Offset::kTightestOfAll || offset_ == Entry::Offset::kLowestOfAll;
    const bool lowest = offset_ == Entry::Offset::kLowest || offset_ == Entry::Offset::kLowestOfAll;
    Bytes at = from;
    for (int place = 0; place < kPlaces && at + size <= to; ++place) {
      Seconds wait = begin;
      Bytes behind = at;
      for (const Busy& each : busy_) {
        if (any_wait) break;
        if (each.from >= at + size || at >= each.to) continue;
        wait = std::max(wait, each.until);
        behind = std::max(behind, each.to);
      }
      const Offer made{at, wait, lowest ? 0 : to - from};
      if (best.at < 0 || made.wait < best.wait || (made.wait == best.wait && made.gap < best.gap)) best = made;
      if (wait <= begin) return;
      at = base::round_up(behind, model_.align);
    }
  }

  // ---- computes ---------------------------------------------------------------------------------

  Seconds hand_over(const EngineModel::Way& way) {
    now_ += way.launch;
    Seconds begin = now_;
    for (Engines left = way.engines; left != 0; left &= left - 1)
      begin = std::max(begin, engine_free_[static_cast<size_t>(std::countr_zero(left))]);
    return begin;
  }

  void keep_engines(Engines who, Seconds end) {
    used_ |= who;
    for (Engines left = who; left != 0; left &= left - 1)
      engine_free_[static_cast<size_t>(std::countr_zero(left))] = end;
    if ((who & 1) != 0) now_ = end;
    figures_.seconds = std::max(figures_.seconds, end);
  }

  bool compute(const Entry& entry, const std::vector<int32_t>& dying) {
    const EngineModel::Way& way = model_.ops[index(entry.subject)].ways[index(entry.way)];
    Seconds begin = hand_over(way);
    for (const int32_t read : way.reads) {
      const Held& block = blocks_[index(read)];
      if (!block.held) return false;
      begin = std::max(begin, known(block.maker, block.ready, way.user));
    }
    if (way.streams()) begin = std::max(begin, streams_ready(way));
    places_.clear();
    taken_.clear();
    for (const int32_t written : way.writes) {
      const Bytes wanted = places_.size() < 2 ? entry.wanted[places_.size()] : -1;
      const Bytes at = output_at(way, written, wanted, dying, begin);
      places_.push_back(at);
    }
    Bytes workspace_at = -1;
    if (way.workspace > 0) {
      workspace_at = place(way.workspace, way.user, begin, entry.wanted[2]);
      begin = std::max(begin, given_back(workspace_at, way.workspace, way.user));
    }
    end_compute(way, begin, workspace_at);
    if (plan_ != nullptr)
      plan_->instructions.push_back({.what = Do::kCompute,
                                     .subject = model_.graph->ops[index(entry.subject)].id,
                                     .choice = entry.way,
                                     .at = places_,
                                     .workspace_at = workspace_at});
    return true;
  }

  // Places an output, and holds it: at its home, if it has one that is free. `begin` is raised to when its bytes are free.
  Bytes output_at(const EngineModel::Way& way, int32_t written, Bytes wanted, const std::vector<int32_t>& dying,
                  Seconds& begin) {
    Held& own = blocks_[index(written)];
    if (own.held) {  // pinned: computed again where it is
      begin = std::max({begin, free_from(written, way.user), given_back(own.at, own.size, way.user)});
      return own.at;
    }
    const EngineModel::Tensor& of = tensor(written);
    const Bytes home = of.home >= 0 ? initial_[index(of.home)] : -1;
    for (const auto& [out, in] : way.overwrites) {
      if (out != written || of.bytes == 0) continue;
      const Held& source = blocks_[index(in)];
      const bool successor = tensor(in).next == written;
      const bool may = successor || (model_.question.freedoms.in_place && !tensor(in).pinned);
      const bool ends = successor && tensor(in).pinned ? true : base::contains(dying, in);
      if (!source.held || !may || !ends || source.size < of.bytes || (home >= 0 && source.at != home)) continue;
      const Seconds free_s = std::max({begin, free_from(in, way.user), given_back(source.at, of.bytes, way.user)});
      if (free_s > begin && home < 0 && wanted < 0 && is_free_before(free_s, of.bytes, way.user, begin)) continue;
      begin = free_s;
      const Bytes at = source.at;
      take(in);
      arrive(written, at);
      return at;
    }
    const Bytes at = home >= 0 && is_free(home, of.bytes) ? home : place(of.bytes, way.user, begin, wanted);
    begin = std::max(begin, given_back(at, of.bytes, way.user));
    arrive(written, at);
    return at;
  }

  // Are there bytes that nobody waits for as long as for those of an input? Where waits count.
  bool is_free_before(Seconds free_s, Bytes size, size_t user, Seconds begin) {
    if (offset_ != Entry::Offset::kTightest && offset_ != Entry::Offset::kLowest) return false;
    const Bytes at = place(size, user, begin, -1);
    return at + size <= model_.question.budget_bytes() && std::max(begin, given_back(at, size, user)) < free_s;
  }

  // An output takes over the source's bytes. Other outputs and the workspace keep off what it leaves of them: the op reads it.
  void take(int32_t source) {
    Held& block = blocks_[index(source)];
    block.held = false;
    live_bytes_ -= block.size;
    taken_.push_back(source);
  }

  bool is_free(Bytes at, Bytes size) const {
    return size == 0 || std::ranges::none_of(live_, [&](int32_t other) {
             const Held& block = blocks_[index(other)];
             return block.at < at + size && at < block.at + block.size;
           });
  }

  void end_compute(const EngineModel::Way& way, Seconds begin, Bytes workspace_at) {
    const Seconds end = begin + way.seconds;
    begin_ = begin, end_ = end;
    if (way.streams()) settle_streams(way, end);
    for (const int32_t read : way.reads) note_use(read, way.user, end);
    for (const int32_t source : taken_) {
      live_.erase(std::ranges::find(live_, source));
      give_back(source);
    }
    for (const int32_t written : way.writes) {
      Held& block = blocks_[index(written)];
      block.ready = end;
      block.maker = way.user;
      std::fill_n(uses(written), users_, kNever);
      note_use(written, way.user, end);
    }
    note_peak(way.workspace);
    if (way.workspace > 0) {
      figures_.arena_bytes = std::max(figures_.arena_bytes, workspace_at + way.workspace);
      given_back_.push_back({workspace_at, way.workspace, way.user, end});
    }
    keep_engines(way.engines, end);
    figures_.joules += way.joules;
  }

  // ---- streams ----------------------------------------------------------------------------------

  // When what is streamed in is in storage, and the slots of what is streamed out and the channels are free. The slots are taken.
  Seconds streams_ready(const EngineModel::Way& way) {
    Seconds ready = 0;
    for (const int32_t read : way.streams_in) ready = std::max(ready, stored_[index(read)]);
    for (const int32_t written : way.streams_out) ready = std::max(ready, take_slot(written));
    if (way.moves_in) ready = std::max(ready, in_free_);
    if (way.moves_out) ready = std::max(ready, out_free_);
    return ready;
  }

  void settle_streams(const EngineModel::Way& way, Seconds end) {
    for (const int32_t read : way.streams_in) busy_there_[index(read)] = std::max(busy_there_[index(read)], end);
    for (const int32_t written : way.streams_out) store(written, end);
    if (way.moves_in) in_free_ = end;
    if (way.moves_out) out_free_ = end;
  }

  // The tensor is written to its slot, which a tensor whose next it is may lose. Returns when the slot is free.
  Seconds take_slot(int32_t number) {
    Seconds free_s = stored_[index(number)] < 0 ? 0 : busy_there_[index(number)];
    const int32_t old = slot_of_[index(number)];
    if (old < 0 || stored_[index(old)] < 0) return free_s;
    free_s = std::max(free_s, busy_there_[index(old)]);
    stored_[index(old)] = -1;
    return free_s;
  }

  // ---- transfers --------------------------------------------------------------------------------

  Seconds transfer(bool out, Bytes size, Seconds earliest) {
    const Pager& pager = device_.pager;
    const Link& link = out ? pager.out : pager.in;
    const Seconds seconds = problem::transfer_seconds(pager, link, size);
    Seconds& free_from = out && pager.full_duplex ? out_free_ : in_free_;
    begin_ = std::max({earliest, now_, free_from});
    const Seconds end = end_ = begin_ + seconds;
    free_from = end;
    figures_.joules += seconds * link.w;
    figures_.seconds = std::max(figures_.seconds, end);
    if (pager.mode == PagerMode::kSync) now_ = end;
    return end;
  }

  void store(int32_t number, Seconds from) { stored_[index(number)] = busy_there_[index(number)] = from; }

  void page_out(int32_t number) {
    Held& block = blocks_[index(number)];
    const Seconds slot_free = take_slot(number);
    const Seconds end = transfer(true, block.size, std::max(block.ready, slot_free));
    note_use(number, 0, end);
    store(number, end);
  }

  void page_in(int32_t number, Bytes at) {
    const Seconds wait = given_back(at, tensor(number).bytes, 0);
    arrive(number, at);
    note_peak(0);
    Held& block = blocks_[index(number)];
    block.ready = transfer(false, block.size, std::max(wait, stored_[index(number)]));
    note_use(number, 0, block.ready);
    busy_there_[index(number)] = std::max(busy_there_[index(number)], block.ready);
  }

  bool list_page_out(int32_t number) {
    if (device_.pager.mode == PagerMode::kNone || !blocks_[index(number)].held) return false;
    page_out(number);
    if (plan_ != nullptr)
      plan_->instructions.push_back(
          {.what = Do::kPageOut, .subject = model_.graph->tensors[index(number)].id, .at = {}});
    return true;
  }

  bool list_page_in(const Entry& entry) {
    const int32_t number = entry.subject;
    if (device_.pager.mode == PagerMode::kNone || blocks_[index(number)].held) return false;
    const EngineModel::Tensor& of = tensor(number);
    const Bytes home = of.home >= 0 ? initial_[index(of.home)] : -1;
    const Bytes at = home >= 0 && is_free(home, of.bytes) ? home : place(of.bytes, 0, now_, entry.wanted[0]);
    page_in(number, at);
    if (plan_ != nullptr)
      plan_->instructions.push_back(
          {.what = Do::kPageIn, .subject = model_.graph->tensors[index(number)].id, .at = {at}});
    return true;
  }

  // ---- a plan's instructions --------------------------------------------------------------------

  bool issue(const Instruction& step, Freedoms& used) {
    if (step.what == Do::kCompute) return issue_compute(step, used);
    const auto known_tensor = tensor_of_.find(step.subject);
    if (known_tensor == tensor_of_.end()) return false;
    const int32_t number = known_tensor->second;
    const bool held = blocks_[index(number)].held;
    if (step.what == Do::kPageIn) {
      if (held || stored_[index(number)] < 0 || step.at.empty()) return false;
      page_in(number, step.at.front());
      return true;
    }
    if (!held) return false;
    if (step.what == Do::kPageOut) {
      page_out(number);
      if (!tensor(number).ends_in_storage) used.paging = true;
    } else {
      release(number);
    }
    return true;
  }

  // Whose slots the plan's tensors take.
  void find_slots(const Plan& plan) {
    std::ranges::fill(slot_of_, -1);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      const int32_t heir = model_.tensors[tensor].next;
      if (heir < 0 || model_.tensors[tensor].bytes == 0) continue;
      const auto old = plan.storage.find(model_.graph->tensors[tensor].id);
      const auto taker = plan.storage.find(model_.graph->tensors[index(heir)].id);
      const bool shared = old != plan.storage.end() && taker != plan.storage.end() && old->second == taker->second;
      if (shared) slot_of_[index(heir)] = static_cast<int32_t>(tensor);
    }
  }

  bool issue_compute(const Instruction& step, Freedoms& used) {
    const auto known_op = op_of_.find(step.subject);
    if (known_op == op_of_.end()) return false;
    const EngineModel::Op& op = model_.ops[index(known_op->second)];
    if (step.choice < 0 || index(step.choice) >= op.ways.size()) return false;
    const EngineModel::Way& way = op.ways[index(step.choice)];
    if (step.at.size() != way.writes.size()) return false;
    const problem::Op& of = model_.graph->ops[index(known_op->second)];
    if (of.choices[index(step.choice)].numerics != of.choices.front().numerics) used.numerics = true;
    if (computed_[index(known_op->second)]++ != 0)
      used.recomputing = true;
    else
      first_.push_back(step.subject);
    Seconds begin = hand_over(way);
    for (const int32_t read : way.reads) {
      const Held& block = blocks_[index(read)];
      if (!block.held) return false;
      begin = std::max(begin, known(block.maker, block.ready, way.user));
    }
    for (const int32_t read : way.streams_in)
      if (stored_[index(read)] < 0) return false;
    for (const int32_t written : way.streams_out)
      if (!tensor(written).ends_in_storage) used.paging = true;
    if (way.streams()) begin = std::max(begin, streams_ready(way));
    taken_.clear();
    for (size_t output = 0; output < way.writes.size(); ++output)
      issue_output(way, way.writes[output], step.at[output], begin, used);
    if (way.workspace > 0) begin = std::max(begin, given_back(step.workspace_at, way.workspace, way.user));
    end_compute(way, begin, step.workspace_at);
    return true;
  }

  void issue_output(const EngineModel::Way& way, int32_t written, Bytes at, Seconds& begin, Freedoms& used) {
    Held& own = blocks_[index(written)];
    if (own.held) {
      begin = std::max({begin, free_from(written, way.user), given_back(own.at, own.size, way.user)});
      return;
    }
    for (const auto& [out, in] : way.overwrites) {
      const Held& source = blocks_[index(in)];
      if (out != written || !source.held || source.at != at || source.size == 0 || tensor(written).bytes == 0) continue;
      if (tensor(in).next != written) used.in_place = true;
      begin = std::max(begin, free_from(in, way.user));
      take(in);
      break;
    }
    begin = std::max(begin, given_back(at, tensor(written).bytes, way.user));
    arrive(written, at);
  }

  // ---- the end ----------------------------------------------------------------------------------

  void finish() {
    Watts watts = 0;
    for (const auto& [name, idle] : by_name_)
      for (size_t engine = 0; engine < device_.engines.size(); ++engine)
        if (device_.engines[engine].name == name && (used_ >> engine & 1) != 0) watts += idle;
    figures_.joules += (device_.idle_w + watts) * figures_.seconds;
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      const int32_t of = slot_of_[tensor] >= 0 ? slot_of_[tensor] : static_cast<int32_t>(tensor);
      if (stored_[tensor] >= 0) figures_.storage_bytes += this->tensor(of).slot;
    }
  }

  // Are those that have to end where a tensor started there?
  bool are_home() const {
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      if (const int32_t home = model_.tensors[tensor].home;
          home >= 0 && (!blocks_[tensor].held || blocks_[tensor].at != initial_[index(home)]))
        return false;
    return true;
  }

  void write_places(Plan& plan) const {
    if (model_.staging > 0) plan.staging_at = staging_at_;
    Bytes top = 0;
    const Bytes capacity = device_.pager.capacity_bytes, block = std::max<Bytes>(1, device_.pager.block_bytes);
    const auto store_at_top = [&](size_t tensor) {
      const Bytes slot = model_.tensors[tensor].slot;
      plan.storage[model_.graph->tensors[tensor].id] = top;
      if (slot > 0 || capacity < 0 || top + block <= capacity) top += std::max(slot, block);
    };
    // Those without bytes come last, each where no other one begins, if there is room: an op may read one and write another.
    for (const bool empty : {false, true}) {
      for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
        const EngineModel::Tensor& of = model_.tensors[tensor];
        if ((of.slot == 0) != empty) continue;
        if (initial_[tensor] >= 0) plan.initial[model_.graph->tensors[tensor].id] = initial_[tensor];
        const int32_t heir = heir_of_[tensor];
        const bool lost = heir >= 0 && stored_[index(heir)] >= 0;
        if ((stored_[tensor] < 0 && !lost) || slot_of_[tensor] >= 0) continue;
        if (lost) plan.storage[model_.graph->tensors[index(heir)].id] = top;
        store_at_top(tensor);
      }
      for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {  // whose old one was never in storage
        if ((model_.tensors[tensor].slot == 0) != empty || stored_[tensor] < 0) continue;
        if (!plan.storage.contains(model_.graph->tensors[tensor].id)) store_at_top(tensor);
      }
    }
  }

  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  const EngineModel& model_;
  const problem::Device& device_;
  const size_t users_;
  std::map<std::string, Watts> by_name_;  // engines; summed in this order, as the checker does
  std::unordered_map<int64_t, int32_t> op_of_, tensor_of_;
  std::vector<Bytes> initial_;    // by tensor: where it starts in a list's arena; -1: not in RAM
  std::vector<int32_t> homes_;    // tensors whose first place is needed at the end, by offset
  std::vector<int32_t> slot_of_;  // by tensor: whose slot it takes; -1: it has its own
  std::vector<int32_t> heir_of_;  // by tensor: who takes its slot; -1: nobody
  bool shares_slots_ = false;     // lists may have tensors in one slot
  Bytes staging_at_ = 0;
  Plan* plan_ = nullptr;
  Entry::Offset offset_ = Entry::Offset::kTightest;  // of the entry that runs
  std::vector<std::vector<int32_t>> ends_;           // by entry + 1
  std::vector<size_t> last_use_;                     // by tensor: entry + 1
  std::vector<Busy> busy_;                           // for the engines that ask, after they could begin
  std::vector<Seconds> ready_;                       // by tensor, in least(): as those of blocks
  std::vector<size_t> maker_;
  std::vector<char> here_;
  std::vector<int> computed_;
  std::vector<int64_t> first_;
  std::vector<Bytes> places_;
  std::vector<int32_t> taken_;
  Seconds begin_ = 0, end_ = 0;  // of the last entry
  // Where the kept list and the one that run_near() ran last came by.
  struct Passed {
    List list;
    std::vector<std::vector<int32_t>> ends;
    std::vector<int32_t> slot_of;
    std::vector<Moment> moments;  // before every span_ entries
    size_t reached = 0;           // moments
  } kept_, fresh_;                // fresh_: moments alone
  size_t first_fresh_ = 0;        // moments before it are those of the kept list
  const size_t span_;
};

EngineRun::EngineRun(const EngineModel& model) : state_(std::make_unique<State>(model)) {}
EngineRun::~EngineRun() = default;

ListFigures EngineRun::run(const List& list, Plan* plan, std::vector<Seconds>* begins, std::vector<Seconds>* ends) {
  return state_->run(list, plan, begins, ends);
}

ListFigures EngineRun::run_near(const List& list) {
  return state_->run_near(list);
}
void EngineRun::keep(const List& list) {
  state_->keep(list);
}

std::optional<Bytes> EngineRun::place(List& list, double seconds, int64_t steps) {
  return state_->place(list, seconds, steps);
}

ListFigures EngineRun::least(const List& list, std::vector<Seconds>* begins, std::vector<Seconds>* ends) {
  return state_->least(list, begins, ends);
}

std::optional<Predicted> EngineRun::predict(const Plan& plan, Freedoms* used) {
  return state_->predict(plan, used);
}

}  // namespace pantoum::plan
