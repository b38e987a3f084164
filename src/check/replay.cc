#include "check/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::check {
namespace {

// ---- the arena: who holds which bytes, and until when bytes given back are still in use ----

// The largest offset of a byte in RAM or storage: what a double holds, as JSON has it.
constexpr int64_t kLargestOffset = int64_t{1} << 53;

// A set of engines, a bit each in the order of the device. The pager is none of them.
using Engines = uint64_t;
constexpr Engines kPager = 0;

struct Use {  // the last access of some bytes by these engines, or by the pager
  Engines who = kPager;
  double until = 0;
};

// From when on engines know that something has ended, and when it did: a hand-off lies between.
struct Ended {
  double known_s = 0, ended_s = 0;

  void wait_for(const Ended& other) {
    if (other.known_s > known_s) *this = other;
  }
};

// The begin of a compute, as the waits that are looked at so far have it.
struct Begin {
  Ended at;
  Wait why = Wait::kIssuer;

  void wait_for(const Ended& other, Wait what) {
    if (other.known_s <= at.known_s) return;
    at = other;
    why = what;
  }
};

struct Block {  // a tensor's allocation
  int64_t at = 0, size = 0;
  double ready_s = 0;      // the bytes are valid from then on
  Engines maker = kPager;  // who made them valid
  std::vector<Use> uses = {};
  bool held = false;

  void use(Engines who, double until) {
    for (Use& each : uses)
      if (each.who == who) {
        each.until = std::max(each.until, until);
        return;
      }
    uses.push_back({who, until});
  }
};

// Seconds until engines know that others have ended: none on the same engines, none to and from the pager.
class HandOffs {
 public:
  explicit HandOffs(const Device& device) {
    for (const problem::Engine& engine : device.engines) seconds_.push_back(engine.handoff_s);
  }
  double between(Engines before, Engines after) const {
    double longest = 0;
    if (before == kPager || after == kPager) return 0;
    for (Engines apart = before ^ after; apart != 0; apart &= apart - 1)
      longest = std::max(longest, seconds_[static_cast<size_t>(std::countr_zero(apart))]);
    return longest;
  }
  double longest() const { return seconds_.size() < 2 ? 0 : std::ranges::max(seconds_); }

 private:
  std::vector<double> seconds_;  // by engine
};

bool overlap(int64_t at, int64_t size, int64_t other_at, int64_t other_size) {
  return size > 0 && other_size > 0 && at < other_at + other_size && other_at < at + size;
}

// Zero-sized blocks touch nothing. Rules of semantics.md; errors are E0801 without a place.
class Arena {
 public:
  Arena(size_t tensors, const Device& device, const Rounded& rounded)
      : blocks_(tensors + 1),
        align_(std::max<int64_t>(1, device.align_bytes)),
        hand_offs_(device),
        longest_(hand_offs_.longest()),
        rounded_(rounded) {}

  static constexpr int64_t kNobody = -1;

  // Checks that [at, at + size) is free, but for the block of `allowed`, and says from which second `who` may write it.
  Result<Ended> claim(int64_t at, int64_t size, Engines who, int64_t allowed = kNobody) {
    if (at < 0 || at > kLargestOffset) return fail("E0801", fmt::format("offset {} is no byte offset", at));
    if (at % align_ != 0) return fail("E0801", fmt::format("offset {} is no multiple of {}", at, align_));
    if (size > 0) {
      auto next = holder_at_.lower_bound(at + size);  // the first block that begins behind
      while (next != holder_at_.begin()) {
        --next;
        const Block& other = blocks_[next->second];
        if (!overlap(at, size, other.at, other.size)) break;
        if (static_cast<int64_t>(next->second) == allowed) continue;
        return fail("E0801", fmt::format("[{}, {}) overlaps {} at [{}, {})", at, at + size,
                                         next->second == staging() ? "the staging buffer" : "a tensor in RAM", other.at,
                                         other.at + other.size));
      }
    }
    top_ = std::max(top_, at + size);
    return given_back(at, size, who);
  }

  // From which second `who` may write the bytes, for all who had them and gave them back.
  Ended given_back(int64_t at, int64_t size, Engines who) const {
    Ended wait;
    for (const InUse& used : in_use_)
      if (overlap(at, size, used.at, used.size)) wait.wait_for(known(used.use, who));
    return wait;
  }

  // The same, for those who have used the tensor's bytes since it has them.
  Ended free_from(size_t tensor, Engines who) const {
    Ended wait;
    for (const Use& use : blocks_[tensor].uses) wait.wait_for(known(use, who));
    return wait;
  }

  Ended valid_from(size_t tensor, Engines who) const {
    return known({blocks_[tensor].maker, blocks_[tensor].ready_s}, who);
  }

  Block& hold(size_t tensor, int64_t at, int64_t size) {
    blocks_[tensor] = Block{.at = at, .size = size, .held = true};
    if (size > 0) holder_at_[at] = tensor;
    bytes_held_ += size;
    return blocks_[tensor];
  }

  // its bytes are still in use until its uses end
  void release(size_t tensor) {
    Block& block = blocks_[tensor];
    if (block.size > 0) holder_at_.erase(block.at);
    bytes_held_ -= block.size;
    block.held = false;
    for (const Use& use : block.uses) use_until(block.at, block.size, use);
  }

  // bytes in use that belong to nobody: a workspace
  void use_until(int64_t at, int64_t size, Use use) {
    if (size > 0) in_use_.push_back({at, size, use});
  }

  // what everybody knows by `now` to have ended can delay nobody any more
  void forget(double now) {
    if (in_use_.size() <= forget_above_) return;
    std::erase_if(in_use_, [&](const InUse& used) { return rounded_.sum(used.use.until, longest_) <= now; });
    forget_above_ = std::max<size_t>(64, 2 * in_use_.size());
  }

  Block& block(size_t tensor) { return blocks_[tensor]; }
  bool holds(size_t tensor) const { return blocks_[tensor].held; }
  int64_t at(size_t tensor) const { return blocks_[tensor].at; }
  size_t staging() const { return blocks_.size() - 1; }  // the pager's buffer stands behind the tensors
  int64_t bytes_held() const { return bytes_held_; }
  int64_t top() const { return top_; }  // largest offset + size that was ever claimed

 private:
  struct InUse {
    int64_t at, size;
    Use use;
  };

  Ended known(const Use& use, Engines who) const {
    return {longest_ > 0 ? rounded_.sum(use.until, hand_offs_.between(use.who, who)) : use.until, use.until};
  }

  std::vector<Block> blocks_;            // by tensor
  std::map<int64_t, size_t> holder_at_;  // offset -> tensor, of blocks that are not empty; they never overlap
  std::vector<InUse> in_use_;
  size_t forget_above_ = 64;
  int64_t align_, bytes_held_ = 0, top_ = 0;
  const HandOffs hand_offs_;
  const double longest_;
  const Rounded rounded_;
};

// ---- the table of offsets in auxiliary storage ----

struct StorageUse {            // of one tensor, by index of instructions
  bool ever = false;           // was it ever in auxiliary storage
  int64_t first_out = -1;      // its first page_out; -1: none
  int64_t last_transfer = -1;  // its last page_in or page_out; -1: none
  double first_out_begin_s = 0, last_transfer_end_s = 0;
};

struct Slot {
  const Tensor* tensor;
  const StorageUse* use;
  int64_t at;
};

bool follows(const Slot& old, const Slot& successor) {
  const bool ended = old.use->last_transfer < successor.use->first_out &&
                     old.use->last_transfer_end_s <= successor.use->first_out_begin_s;
  return old.tensor->next == successor.tensor->id && old.at == successor.at && successor.use->first_out >= 0 && ended;
}

Result<void> check_apart(std::vector<Slot>& slots) {
  std::ranges::sort(slots, {}, &Slot::at);
  std::vector<Slot> reaching;  // slots that may reach into the next ones
  for (const Slot& slot : slots) {
    std::erase_if(reaching, [&](const Slot& other) { return other.at + other.tensor->bytes <= slot.at; });
    for (const Slot& other : reaching)
      if (!follows(other, slot) && !follows(slot, other))
        return fail("E0804", fmt::format("tensors {} and {} share bytes in storage", other.tensor->id, slot.tensor->id),
                    "storage");
    reaching.push_back(slot);
  }
  return {};
}

// E0804 unless every tensor that is ever in storage has a place within the capacity and no two share bytes. A tensor
// and its `next` may have the same place when nothing of the former moves any more once the latter is first written.
Result<void> check_storage(const CostGraph& graph, const std::map<int64_t, int64_t>& storage,
                           const std::vector<StorageUse>& uses) {
  std::unordered_set<int64_t> known;
  std::vector<Slot> slots;
  const int64_t capacity = graph.device.pager.capacity_bytes;
  for (size_t index = 0; index < graph.tensors.size(); ++index) {
    const Tensor& tensor = graph.tensors[index];
    known.insert(tensor.id);
    if (!uses[index].ever) continue;
    const auto place = storage.find(tensor.id);
    if (place == storage.end())
      return fail("E0804", fmt::format("tensor {} is in storage and has no place there", tensor.id), "storage");
    if (place->second < 0 || place->second > kLargestOffset)
      return fail("E0804", fmt::format("tensor {} has an impossible place in storage, {}", tensor.id, place->second),
                  "storage");
    if (capacity >= 0 && place->second + tensor.bytes > capacity)
      return fail("E0804",
                  fmt::format("tensor {} ends at byte {} of a storage of {}", tensor.id, place->second + tensor.bytes,
                              capacity),
                  "storage");
    if (tensor.bytes > 0) slots.push_back({&tensor, &uses[index], place->second});
  }
  for (const auto& [id, at] : storage)
    if (!known.contains(id)) return fail("E0804", fmt::format("there is no tensor {}", id), "storage");
  return check_apart(slots);
}

// Slots of tensors that are in storage at one time, on a device of several engines: whole blocks that no two share.
class Slots {
 public:
  Slots(const CostGraph& graph, const std::map<int64_t, int64_t>& storage, bool one_slot)
      : graph_(graph), storage_(storage), one_slot_(one_slot) {}

  // The tensor gets its slot. Returns the tensor that loses it: the one whose `next` it is.
  Result<std::optional<size_t>> take(size_t index) {
    PANTOUM_ASSIGN(const Slot slot, slot_of(index));
    std::optional<size_t> lost;
    if (slot.size == 0) return lost;
    auto next = taken_.lower_bound(slot.at + slot.size);  // the first slot that begins behind
    while (next != taken_.begin()) {
      --next;
      const auto [at, other] = *next;
      if (at + whole_blocks(other) <= slot.at) break;
      if (other == index) continue;
      const Tensor &old = graph_.tensors[other], &heir = graph_.tensors[index];
      if (old.next != heir.id || at != slot.at || heir.bytes > old.bytes)
        return fail("E0804", fmt::format("tensors {} and {} share bytes in storage", old.id, heir.id), "storage");
      if (!one_slot_)
        return fail("E0804",
                    fmt::format("tensor {} takes over the slot of tensor {} in storage, and the question does not "
                                "allow one_slot",
                                heir.id, old.id),
                    "storage");
      lost = other;
    }
    if (lost) taken_.erase(slot.at);
    taken_[slot.at] = index;
    return lost;
  }

 private:
  struct Slot {
    int64_t at, size;
  };

  int64_t whole_blocks(size_t index) const {
    return base::round_up(graph_.tensors[index].bytes, std::max<int64_t>(1, graph_.device.pager.block_bytes));
  }

  Result<Slot> slot_of(size_t index) const {
    const int64_t id = graph_.tensors[index].id, capacity = graph_.device.pager.capacity_bytes;
    const auto place = storage_.find(id);
    if (place == storage_.end())
      return fail("E0804", fmt::format("tensor {} is in storage and has no place there", id), "storage");
    const Slot slot{place->second, whole_blocks(index)};
    if (slot.at < 0 || slot.at > kLargestOffset || slot.at % std::max<int64_t>(1, graph_.device.pager.block_bytes) != 0)
      return fail("E0804", fmt::format("tensor {} is stored at {}, which begins no block", id, slot.at), "storage");
    if (capacity >= 0 && slot.at + slot.size > capacity)
      return fail("E0804",
                  fmt::format("tensor {} ends at byte {} of a storage of {}", id, slot.at + slot.size, capacity),
                  "storage");
    return slot;
  }

  const CostGraph& graph_;
  const std::map<int64_t, int64_t>& storage_;
  const bool one_slot_;
  std::map<int64_t, size_t> taken_;  // offset -> tensor, of slots that are not empty; they never overlap
};

// ---- the replay ----

Failure broken(std::string rule) {
  return fail("E0801", std::move(rule));
}

// One replay of one plan. Tensors and ops are known by their index in the graph.
class Replay {
 public:
  Replay(const CostGraph& graph, const Plan& plan, std::vector<Span>* spans, Rounding rounding)
      : graph_(graph),
        plan_(plan),
        spans_(spans),
        rounded_(rounding),
        extended_(problem::has_queues(graph)),
        arena_(graph.tensors.size(), graph.device, rounded_),
        slots_(graph, plan.storage, plan.question.freedoms.one_slot) {
    in_storage_.assign(graph.tensors.size(), false);
    stored_s_.assign(graph.tensors.size(), 0);
    stored_busy_s_.assign(graph.tensors.size(), 0);
    for (size_t engine = 0; engine < graph.device.engines.size(); ++engine)
      engine_of_[graph.device.engines[engine].name] = engine;
    engine_free_s_.assign(graph.device.engines.size(), 0);
    computed_.assign(graph.ops.size(), false);
    uses_.resize(graph.tensors.size());
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) tensor_of_[graph.tensors[tensor].id] = tensor;
    for (size_t op = 0; op < graph.ops.size(); ++op) op_of_[graph.ops[op].id] = op;
    must_end_in_storage_.assign(graph.tensors.size(), false);
    for (size_t index = 0; index < graph.tensors.size(); ++index) {
      if (tensor(index).end == Home::kAux) must_end_in_storage_[index] = true;
      if (tensor(index).start == Home::kAux && tensor(index).next >= 0)
        must_end_in_storage_[index_of(tensor(index).next)] = true;
    }
  }

  Result<Found> run() {
    PANTOUM_TRY(at_place(start(), "start"));
    for (size_t step = 0; step < plan_.instructions.size(); ++step) {
      index_ = static_cast<int64_t>(step);
      span_ = {now_s_, now_s_, now_s_};
      PANTOUM_TRY(at_place(issue(plan_.instructions[step]), fmt::format("instruction {}", step)));
      if (spans_ != nullptr) spans_->push_back(span_);
      arena_.forget(now_s_);
    }
    PANTOUM_TRY(at_place(finish(), "end"));
    if (!extended_ && !plan_.storage.empty() && rounded_.nearest())
      PANTOUM_TRY(check_storage(graph_, plan_.storage, uses_));
    found_.arena_bytes = arena_.top();
    found_.time_s = end_s_;
    add_joules(rounded_.product(idle_watts(), end_s_));
    found_.keeps_order = keeps_order();
    for (const StorageUse& use : uses_) found_.uses_storage = found_.uses_storage || use.ever;
    return found_;
  }

 private:
  struct Range {
    int64_t at, size;
  };

  static Result<void> at_place(Result<void> result, std::string place) {
    if (result) return result;
    Error error = std::move(result).error();
    error.where = std::move(place);
    return Failure(std::move(error));
  }

  // ---- names ------------------------------------------------------------------------------------

  std::string named(size_t tensor) const {
    const std::string& name = graph_.tensors[tensor].name;
    return fmt::format("tensor {}{}", graph_.tensors[tensor].id, name.empty() ? "" : " (" + name + ")");
  }
  static std::string named(const Op& op) {
    return fmt::format("op {}{}", op.id, op.name.empty() ? "" : " (" + op.name + ")");
  }
  const Tensor& tensor(size_t index) const { return graph_.tensors[index]; }
  size_t index_of(int64_t id) const { return tensor_of_.at(id); }

  // ---- start and end ----------------------------------------------------------------------------

  Result<void> start() {
    if (const int64_t bytes = graph_.device.pager.staging_bytes; bytes > 0) {
      if (plan_.staging_at < 0)
        return broken(fmt::format("the pager stages {} bytes and the plan places no staging buffer", bytes));
      PANTOUM_TRY(arena_.claim(plan_.staging_at, bytes, kPager));
      arena_.hold(arena_.staging(), plan_.staging_at, bytes);
    }
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      if (tensor(index).start == Home::kAux) PANTOUM_TRY(start_in_storage(index));
      if (tensor(index).start != Home::kRam) continue;
      const auto place = plan_.initial.find(tensor(index).id);
      if (place == plan_.initial.end()) return broken(named(index) + " starts in RAM and has no initial offset");
      PANTOUM_TRY(arena_.claim(place->second, tensor(index).bytes, kPager));
      arena_.hold(index, place->second, tensor(index).bytes);
    }
    note_peak(0);
    return {};
  }

  Result<void> finish() const {
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      if (!computed_[op] && !graph_.ops[op].optional) return broken(named(graph_.ops[op]) + " is never computed");
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      if (tensor(index).end == Home::kRam && !arena_.holds(index)) return broken(named(index) + " must end in RAM");
      if (tensor(index).end == Home::kAux && !in_storage_[index]) return broken(named(index) + " must end in storage");
      PANTOUM_TRY(successor_in_place(index));
    }
    return {};
  }

  // The step ends where the next one starts.
  Result<void> successor_in_place(size_t index) const {
    const Tensor& old = tensor(index);
    if (old.next < 0 && old.end != Home::kRam) return {};
    const size_t successor = old.next < 0 ? index : index_of(old.next);
    if (old.start == Home::kRam) {
      const int64_t at = plan_.initial.at(old.id);
      if (!arena_.holds(successor) || arena_.at(successor) != at)
        return broken(fmt::format("{} must end in RAM at {}, where the next step looks for it", named(successor), at));
    }
    if (old.start == Home::kAux && !in_storage_[successor])
      return broken(named(successor) + " must end in storage, where the next step looks for it");
    return {};
  }

  bool keeps_order() const {
    size_t next = 0;
    for (const int64_t id : graph_.order) {
      if (!computed_[op_of_.at(id)]) continue;
      if (next >= first_computed_.size() || first_computed_[next] != id) return false;
      ++next;
    }
    return next == first_computed_.size();
  }

  // ---- instructions -----------------------------------------------------------------------------

  Result<void> issue(const Instruction& step) {
    if (step.what == Do::kCompute) return compute(step);
    const auto known = tensor_of_.find(step.subject);
    if (known == tensor_of_.end()) return broken(fmt::format("there is no tensor {}", step.subject));
    switch (step.what) {
      case Do::kPageOut:
        return page_out(known->second);
      case Do::kPageIn:
        return page_in(known->second, step);
      default:
        return free(known->second);
    }
  }

  Result<void> compute(const Instruction& step) {
    const auto known = op_of_.find(step.subject);
    if (known == op_of_.end()) return broken(fmt::format("there is no op {}", step.subject));
    const Op& op = graph_.ops[known->second];
    if (step.choice < 0 || static_cast<size_t>(step.choice) >= op.choices.size())
      return broken(fmt::format("{} has no choice {}", named(op), step.choice));
    const Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    const bool recomputed = computed_[known->second];
    if (recomputed && !op.recompute) return broken(named(op) + " may not be recomputed");
    const std::vector<int> writes = choice.whole_writes();
    if (step.at.size() != writes.size())
      return broken(fmt::format("{} writes {} tensors in RAM and the step has {} offsets", named(op), writes.size(),
                                step.at.size()));
    const Engines who = engines_of(choice);
    Begin begin = hand_over(who);
    PANTOUM_TRY(wait_for_inputs(op, choice, who, begin));
    PANTOUM_TRY(wait_for_streams(op, choice, begin));
    std::vector<size_t> taken_over;
    PANTOUM_TRY(claim_outputs(op, choice, writes, step, who, begin, taken_over));
    PANTOUM_ASSIGN(const double seconds, run_seconds(choice));
    const double end = rounded_.sum(begin.at.known_s, seconds);
    for (const int position : choice.reads) {
      const size_t input = index_of(op.input(position));
      if (tensor(input).start != Home::kRom && choice.reads_whole(position)) arena_.block(input).use(who, end);
    }
    for (const size_t source : taken_over) arena_.release(source);
    hold_outputs(op, choice, writes, step, who, end);
    settle_streams(op, choice, end);
    keep_engines(who, end);
    end_s_ = std::max(end_s_, end);
    span_.begin_s = begin.at.known_s, span_.end_s = end;
    span_.why = begin.why, span_.ended_s = begin.at.ended_s;
    add_joules(choice.energy_j);
    if (recomputed) note(found_.used.recomputing);
    if (choice.numerics != op.choices.front().numerics) note(found_.used.numerics);
    found_.counts.compute += 1;
    found_.counts.recompute += recomputed ? 1 : 0;
    if (!recomputed) first_computed_.push_back(op.id);
    computed_[known->second] = true;
    return {};
  }

  // ---- engines ----------------------------------------------------------------------------------

  static constexpr Engines kIssuer = 1;

  Engines engines_of(const Choice& choice) const {
    Engines who = choice.engines.empty() ? kIssuer : 0;
    for (const std::string& name : choice.engines) who |= Engines{1} << engine_of_.at(name);
    return who;
  }

  template <class Visit>
  static void for_each_engine(Engines who, const Visit& visit) {
    for (; who != 0; who &= who - 1) visit(static_cast<size_t>(std::countr_zero(who)));
  }

  // The issuer hands an op over. Returns the second from which all of its engines are free for it.
  Begin hand_over(Engines who) {
    double launch = 0;
    for_each_engine(who, [&](size_t engine) { launch = std::max(launch, graph_.device.engines[engine].launch_s); });
    now_s_ = rounded_.sum(now_s_, launch);
    Begin begin{.at = {now_s_, now_s_}};
    for_each_engine(who, [&](size_t engine) {
      begin.wait_for({engine_free_s_[engine], engine_free_s_[engine]}, Wait::kEngines);
    });
    return begin;
  }

  // The issuer waits only for the ops that it takes part in.
  void keep_engines(Engines who, double end) {
    used_ |= who;
    for_each_engine(who, [&](size_t engine) { engine_free_s_[engine] = end; });
    if ((who & kIssuer) != 0) now_s_ = end;
  }

  // Of the device and of the engines that the plan uses.
  double idle_watts() const {
    double watts = 0;
    for (const auto& [name, engine] : engine_of_)
      if ((used_ >> engine & 1) != 0) watts += graph_.device.engines[engine].idle_w;
    return graph_.device.idle_w + watts;
  }

  Result<void> wait_for_inputs(const Op& op, const Choice& choice, Engines who, Begin& begin) {
    for (const int position : choice.reads) {
      const size_t input = index_of(op.input(position));
      if (tensor(input).start == Home::kRom || !choice.reads_whole(position)) continue;
      if (!arena_.holds(input)) return broken(fmt::format("{} needs {}, which is not in RAM", named(op), named(input)));
      begin.wait_for(arena_.valid_from(input, who), Wait::kValue);
    }
    return {};
  }

  // ---- streams ----------------------------------------------------------------------------------

  // What is streamed in is in storage, and what is streamed out is nowhere; the slots of both are free for it.
  Result<void> wait_for_streams(const Op& op, const Choice& choice, Begin& begin) {
    if (choice.stream.any() && graph_.device.pager.mode == PagerMode::kNone)
      return broken(named(op) + " streams, and the device has no auxiliary storage");
    for (const int position : choice.stream.in) {
      const size_t input = index_of(op.input(position));
      if (tensor(input).start == Home::kRom)
        return broken(fmt::format("{} streams {}, which is read in place", named(op), named(input)));
      if (!in_storage_[input])
        return broken(fmt::format("{} streams {}, which is not in storage", named(op), named(input)));
      begin.wait_for({stored_s_[input], stored_s_[input]}, Wait::kValue);
    }
    for_each_channel(choice.stream, [&](double& free_s) { begin.wait_for({free_s, free_s}, Wait::kEngines); });
    std::vector<size_t> written;
    for (const int position : choice.stream.out) {
      const size_t output = index_of(op.output(position));
      if (arena_.holds(output)) return broken(fmt::format("{} streams {}, which is in RAM", named(op), named(output)));
      if (in_storage_[output])
        return broken(fmt::format("{} streams {}, which is in storage already", named(op), named(output)));
      PANTOUM_TRY(check_shared_slots(op, choice, position));
      PANTOUM_ASSIGN(const double slot_free, take_slot(output, written));
      begin.wait_for({slot_free, slot_free}, Wait::kBytes);
      if (!must_end_in_storage_[output]) note(found_.used.paging);
      written.push_back(output);
    }
    return {};
  }

  // An op that reads a slot and writes it has the pair in `overwrites`; one that writes parts has the slot of what it leaves.
  Result<void> check_shared_slots(const Op& op, const Choice& choice, int position) const {
    const auto slot_of = [&](int64_t id) {
      const auto place = plan_.storage.find(id);
      return place == plan_.storage.end() ? -1 : place->second;
    };
    const int64_t output = op.output(position);
    const auto overwrites = [&](int64_t source) {
      return std::ranges::any_of(choice.overwrites, [&](const auto& pair) {
        return op.output(pair.first) == output && op.input(pair.second) == source;
      });
    };
    for (const int in : choice.stream.in)
      if (slot_of(op.input(in)) == slot_of(output) && !overwrites(op.input(in)))
        return broken(
            fmt::format("{} reads tensor {} in storage where it writes tensor {}, and its choice does not "
                        "overwrite",
                        named(op), op.input(in), output));
    if (!choice.stream.in_place) return {};
    for (const auto& [out, in] : choice.overwrites)
      if (out == position && slot_of(op.input(in)) != slot_of(output))
        return broken(fmt::format("{} writes parts of tensor {}, which has to have the slot of tensor {}", named(op),
                                  output, op.input(in)));
    return {};
  }

  // A choice that streams runs so long, its transfers included; their bytes and joules are added.
  Result<double> run_seconds(const Choice& choice) {
    const Stream& stream = choice.stream;
    if (!stream.any()) return choice.time_s;
    const Pager& pager = graph_.device.pager;
    const auto moving = [&](const Link& link, int64_t bytes, int64_t transfers) {
      if (bytes == 0) return 0.0;
      const double seconds = rounded_.sum(rounded_.product(static_cast<double>(transfers), link.latency_s),
                                          rounded_.quotient(bytes, link.bytes_per_s));
      add_joules(rounded_.product(seconds, link.w));
      return seconds;
    };
    const double in = moving(pager.in, stream.bytes_in, stream.transfers_in);
    const double out = moving(pager.out, stream.bytes_out, stream.transfers_out);
    PANTOUM_TRY(count_moved(stream.bytes_in, found_.bytes_in));
    PANTOUM_TRY(count_moved(stream.bytes_out, found_.bytes_out));
    found_.streamed_in += stream.bytes_in;
    found_.streamed_out += stream.bytes_out;
    found_.counts.streams += 1;
    const bool beside = pager.mode == PagerMode::kAsync && stream.async_s;
    return beside ? *stream.async_s : rounded_.sum(choice.time_s, rounded_.sum(in, out));
  }

  static Result<void> count_moved(int64_t moved, int64_t& bytes) {
    if (__builtin_add_overflow(bytes, moved, &bytes)) return broken("more than 2^63 bytes are transferred");
    return {};
  }

  // The channels on which a choice moves bytes are kept to its end.
  template <class Visit>
  void for_each_channel(const Stream& stream, const Visit& visit) {
    const bool two = graph_.device.pager.full_duplex;
    if (!stream.in.empty() || (!two && !stream.out.empty())) visit(in_free_s_);
    if (two && !stream.out.empty()) visit(out_free_s_);
  }

  void settle_streams(const Op& op, const Choice& choice, double end) {
    for (const int position : choice.stream.in) {
      double& busy = stored_busy_s_[index_of(op.input(position))];
      busy = std::max(busy, end);
    }
    for (const int position : choice.stream.out) store(index_of(op.output(position)), end);
    for_each_channel(choice.stream, [&](double& free_s) { free_s = end; });
  }

  // ---- outputs ----------------------------------------------------------------------------------

  // Outputs, then the workspace; `taken_over` are the inputs whose bytes an output takes.
  Result<void> claim_outputs(const Op& op, const Choice& choice, const std::vector<int>& writes,
                             const Instruction& step, Engines who, Begin& begin, std::vector<size_t>& taken_over) {
    std::vector<Range> taken;
    for (size_t output = 0; output < writes.size(); ++output) {
      const int position = writes[output];
      const size_t index = index_of(op.output(position));
      const Range range{step.at[output], tensor(index).bytes};
      if (arena_.holds(index)) {
        PANTOUM_TRY(rewrite(index, range, who, begin));
      } else {
        PANTOUM_TRY(claim_output(op, choice, position, range, who, begin, taken_over));
        PANTOUM_TRY(apart(range, taken, "two outputs overlap"));
      }
      taken.push_back(range);
    }
    if (choice.workspace_bytes == 0) return {};
    if (step.workspace_at < 0)
      return broken(
          fmt::format("{} needs {} bytes of workspace and the step places none", named(op), choice.workspace_bytes));
    const Range workspace{step.workspace_at, choice.workspace_bytes};
    PANTOUM_ASSIGN(const Ended given_back, arena_.claim(workspace.at, workspace.size, who));
    begin.wait_for(given_back, Wait::kBytes);
    return apart(workspace, taken, "the workspace overlaps an output");
  }

  // Recomputed where it is: the same bits. It waits for a page_out of them, too.
  Result<void> rewrite(size_t index, Range range, Engines who, Begin& begin) {
    const Block& block = arena_.block(index);
    if (block.at != range.at) return broken(fmt::format("{} is in RAM already, at {}", named(index), block.at));
    begin.wait_for(arena_.free_from(index, who), Wait::kBytes);
    begin.wait_for(arena_.given_back(range.at, range.size, who), Wait::kBytes);
    return {};
  }

  Result<void> claim_output(const Op& op, const Choice& choice, int position, Range range, Engines who, Begin& begin,
                            std::vector<size_t>& taken_over) {
    int64_t allowed = Arena::kNobody;
    for (const auto& [out, in] : pairs_of(choice, position)) {
      const size_t source = index_of(op.input(in));
      if (!arena_.holds(source)) return broken(named(source) + " is not in RAM and cannot be overwritten");
      const Block& block = arena_.block(source);
      if (!overlap(range.at, range.size, block.at, block.size)) continue;
      if (block.at != range.at || block.size < range.size)
        return broken(fmt::format("{} may be taken over only at its offset, {}, and by no more than its {} bytes",
                                  named(source), block.at, block.size));
      allowed = static_cast<int64_t>(source);
      if (!base::contains(taken_over, source)) taken_over.push_back(source);
      if (tensor(source).next != op.output(position)) note(found_.used.in_place);
      begin.wait_for(arena_.free_from(source, who), Wait::kBytes);
      break;
    }
    PANTOUM_ASSIGN(const Ended given_back, arena_.claim(range.at, range.size, who, allowed));
    begin.wait_for(given_back, Wait::kBytes);
    return {};
  }

  // The pairs that name the output: all of them where there are several engines, else the last.
  std::vector<std::pair<int, int>> pairs_of(const Choice& choice, int position) const {
    std::vector<std::pair<int, int>> pairs;
    for (const auto& pair : choice.overwrites)
      if (pair.first == position) pairs.push_back(pair);
    if (!extended_ && pairs.size() > 1) pairs = {pairs.back()};
    return pairs;
  }

  static Result<void> apart(Range range, const std::vector<Range>& taken, const char* rule) {
    for (const Range& other : taken)
      if (range.at + range.size > other.at && other.at + other.size > range.at) return broken(rule);
    return {};
  }

  void hold_outputs(const Op& op, const Choice& choice, const std::vector<int>& writes, const Instruction& step,
                    Engines who, double end) {
    for (size_t output = 0; output < writes.size(); ++output) {
      const size_t index = index_of(op.output(writes[output]));
      Block& block =
          arena_.holds(index) ? arena_.block(index) : arena_.hold(index, step.at[output], tensor(index).bytes);
      block.ready_s = end;
      block.maker = who;
      block.uses = {{who, end}};
    }
    note_peak(choice.workspace_bytes);
    if (choice.workspace_bytes > 0) arena_.use_until(step.workspace_at, choice.workspace_bytes, {who, end});
  }

  Result<void> page_out(size_t index) {
    if (!arena_.holds(index)) return broken(named(index) + " is paged out and not in RAM");
    Block& block = arena_.block(index);
    PANTOUM_ASSIGN(const double slot_free, take_slot(index));
    PANTOUM_ASSIGN(const double end, transfer(index, true, block.size, std::max(block.ready_s, slot_free)));
    block.use(kPager, end);
    store(index, end);
    if (!must_end_in_storage_[index]) note(found_.used.paging);  // what must, may come back too
    found_.counts.page_out += 1;
    return {};
  }

  Result<void> page_in(size_t index, const Instruction& step) {
    if (!in_storage_[index]) return broken(named(index) + " is paged in and not in storage");
    if (arena_.holds(index)) return broken(named(index) + " is paged in and in RAM already");
    if (step.at.size() != 1) return broken("a page_in has one offset");
    const int64_t size = tensor(index).bytes;
    PANTOUM_ASSIGN(const Ended given_back, arena_.claim(step.at.front(), size, kPager));
    Block& block = arena_.hold(index, step.at.front(), size);
    note_peak(0);
    PANTOUM_ASSIGN(const double end, transfer(index, false, size, std::max(given_back.known_s, stored_s_[index])));
    block.ready_s = end;
    block.use(kPager, end);
    stored_busy_s_[index] = std::max(stored_busy_s_[index], end);
    found_.counts.page_in += 1;
    return {};
  }

  Result<void> free(size_t index) {
    if (!arena_.holds(index)) return broken(named(index) + " is freed and not in RAM");
    if (tensor(index).pinned) return broken(named(index) + " is freed and pinned");
    arena_.release(index);  // whoever takes the bytes waits for a page_out of them: they stay busy
    found_.counts.free += 1;
    return {};
  }

  // Queues one transfer on its channel; returns the second at which it ends.
  Result<double> transfer(size_t index, bool out, int64_t size, double earliest) {
    const Pager& pager = graph_.device.pager;
    if (pager.mode == PagerMode::kNone) return broken("the device has no auxiliary storage");
    const Link& link = out ? pager.out : pager.in;
    const int64_t block = std::max<int64_t>(1, pager.block_bytes);
    const int64_t moved = (size / block + (size % block > 0 ? 1 : 0)) * block;
    const double seconds = rounded_.sum(link.latency_s, rounded_.quotient(moved, link.bytes_per_s));
    double& channel_free = pager.full_duplex && out ? out_free_s_ : in_free_s_;
    const double begin = std::max({earliest, now_s_, channel_free});
    const double end = rounded_.sum(begin, seconds);
    channel_free = end;
    span_.begin_s = begin;
    span_.end_s = end;
    add_joules(rounded_.product(seconds, link.w));
    PANTOUM_TRY(count_moved(moved, out ? found_.bytes_out : found_.bytes_in));
    end_s_ = std::max(end_s_, end);
    if (pager.mode == PagerMode::kSync) now_s_ = end;
    StorageUse& use = uses_[index];
    if (out && use.first_out < 0) {
      use.first_out = index_;
      use.first_out_begin_s = begin;
    }
    use.last_transfer = index_;
    use.last_transfer_end_s = std::max(use.last_transfer_end_s, end);
    return end;
  }

  // ---- state ------------------------------------------------------------------------------------

  Result<void> start_in_storage(size_t index) {
    if (extended_ && graph_.device.pager.mode == PagerMode::kNone)
      return broken(named(index) + " starts in storage, and the device has no auxiliary storage");
    PANTOUM_TRY(take_slot(index));
    store(index, 0);
    return {};
  }

  // The tensor is written to its slot. Returns the second from which that may be; a tensor whose `next` it is may lose
  // the slot to it. `beside`: what the same op has written before, which loses nothing.
  Result<double> take_slot(size_t index, const std::vector<size_t>& beside = {}) {
    if (!extended_) return 0.0;
    PANTOUM_ASSIGN(const std::optional<size_t> lost, slots_.take(index));
    if (lost && base::contains(beside, *lost))
      return fail("E0804", fmt::format("{} and {} share bytes in storage", named(*lost), named(index)), "storage");
    double wait = in_storage_[index] ? stored_busy_s_[index] : 0;
    if (lost) {
      wait = std::max(wait, stored_busy_s_[*lost]);
      in_storage_[*lost] = false;
    }
    return wait;
  }

  void store(size_t index, double from) {
    in_storage_[index] = true;
    stored_s_[index] = stored_busy_s_[index] = from;
    uses_[index].ever = true;
  }
  void add_joules(double joules) { found_.energy_j = rounded_.sum(found_.energy_j, joules); }
  void note(std::optional<int64_t>& first) const {
    if (!first) first = index_;
  }
  void note_peak(int64_t workspace) {
    found_.peak_bytes = std::max(found_.peak_bytes, arena_.bytes_held() + workspace);
  }

  const CostGraph& graph_;
  const Plan& plan_;
  std::vector<Span>* spans_;
  const Rounded rounded_;
  const bool extended_;  // several engines, or streams: storage has slots
  Span span_;            // of the instruction that is being issued
  std::unordered_map<int64_t, size_t> tensor_of_, op_of_;
  std::map<std::string, size_t> engine_of_;
  std::vector<double> engine_free_s_;  // by engine
  Engines used_ = 0;
  Arena arena_;
  Slots slots_;
  std::vector<bool> in_storage_;           // by tensor
  std::vector<bool> must_end_in_storage_;  // by tensor
  std::vector<double> stored_s_;           // by tensor: its copy in storage is whole from then on
  std::vector<double> stored_busy_s_;      // by tensor: the last transfer of that copy ends then
  std::vector<bool> computed_;             // by op
  std::vector<int64_t> first_computed_;    // op ids in the order of their first computations
  std::vector<StorageUse> uses_;           // by tensor
  double now_s_ = 0;                       // the issuer's clock
  double in_free_s_ = 0, out_free_s_ = 0;
  double end_s_ = 0;
  int64_t index_ = 0;
  Found found_;
};

bool refuted(double claimed, double found) {
  return !std::isnan(claimed) && std::abs(claimed - found) > 1e-6 * std::max(1e-12, std::abs(found));
}

Result<void> check_limits(const Question& asked, const Found& found) {
  if (asked.budget && found.arena_bytes > *asked.budget)
    return fail("E0802",
                fmt::format("the arena takes {} bytes and the budget is {}", found.arena_bytes, *asked.budget));
  if (asked.deadline && found.time_s > *asked.deadline * (1 + 1e-9))
    return fail("E0802", fmt::format("the step takes {} s and the deadline is {} s", found.time_s, *asked.deadline));
  if (asked.energy_limit && found.energy_j > *asked.energy_limit * (1 + 1e-9))
    return fail("E0802", fmt::format("the step takes {} J and may take {} J", found.energy_j, *asked.energy_limit));
  return {};
}

Result<void> check_claims(const Plan& plan, const Found& found) {
  const auto refute = [](const char* what, double claimed, double real) {
    return fail("E0803", fmt::format("the plan predicts {} {}, and the replay finds {}", what, claimed, real),
                "predicted");
  };
  const auto bytes = [](int64_t value) { return value < 0 ? std::nan("") : static_cast<double>(value); };
  const auto& [peak, arena, time, energy] = plan.predicted;
  if (refuted(energy, found.energy_j)) return refute("energy_j", energy, found.energy_j);
  if (refuted(time, found.time_s)) return refute("time_s", time, found.time_s);
  if (refuted(bytes(peak), static_cast<double>(found.peak_bytes)))
    return refute("peak_bytes", bytes(peak), static_cast<double>(found.peak_bytes));
  if (refuted(bytes(arena), static_cast<double>(found.arena_bytes)))
    return refute("arena_bytes", bytes(arena), static_cast<double>(found.arena_bytes));
  const auto above = [](const std::optional<double>& bound, double value) {
    return bound && !(*bound <= value * (1 + 1e-6));
  };
  const auto refute_bound = [](double bound, double value, const char* unit) {
    return fail("E0803",
                fmt::format("the lower bound of {} {} is above the plan's own {} {}", bound, unit, value, unit),
                "bound");
  };
  const Bound& bound = plan.bound;
  const double product = found.energy_j * found.time_s;
  if (above(bound.energy_j, found.energy_j)) return refute_bound(*bound.energy_j, found.energy_j, "J");
  if (above(bound.edp_js, product)) return refute_bound(*bound.edp_js, product, "J s");
  if (above(bound.time_s, found.time_s)) return refute_bound(*bound.time_s, found.time_s, "s");
  return {};
}

}  // namespace

Result<Found> replay(const CostGraph& graph, const Plan& plan, const Question& question, std::vector<Span>* spans) {
  PANTOUM_TRY(problem::validate(graph));
  PANTOUM_ASSIGN(Found found, Replay(graph, plan, spans, Rounding::kNearest).run());
  PANTOUM_ASSIGN(const Found least, Replay(graph, plan, nullptr, Rounding::kDown).run());
  PANTOUM_ASSIGN(const Found most, Replay(graph, plan, nullptr, Rounding::kUp).run());
  found.time = {least.time_s, most.time_s};
  found.energy = {least.energy_j, most.energy_j};
  PANTOUM_TRY(check_limits(question, found));
  PANTOUM_TRY(check_claims(plan, found));
  return found;
}

Result<Found> replay(const CostGraph& graph, const Plan& plan) {
  return replay(graph, plan, plan.question);
}

}  // namespace pantoum::check
