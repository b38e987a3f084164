#include "plan/search/search.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace pantoum::plan {
namespace {

enum class Move : uint8_t { kComputed, kPagedIn, kRecomputed, kFreed, kPagedOut };

struct Moved {
  Move what = Move::kFreed;
  Stage stage = 0;  // computed: by its first computation; paged in or recomputed: before that; else: after it
};

class PlanReader {
 public:
  PlanReader(const Plan& plan, const Model& model) : plan_(plan), model_(model) {
    for (const OpIndex op : model.ops.indices()) ops_.emplace(model.ops[op].id, op);
    for (const TensorIndex tensor : model.tensors.indices()) tensors_.emplace(model.tensors[tensor].id, tensor);
    computed_.assign(model.ops.size(), 0);
    made_in_stage_.assign(model.tensors.size(), 0);
    moves_.resize(model.tensors.size());
    at_.assign(model.tensors.size(), kNowhere);
    for (const auto& [tensor, at] : plan.initial)
      if (const auto found = tensors_.find(tensor); found != tensors_.end()) at_[found->second] = at;
  }

  std::optional<Policy> run(Choices choices) {
    choices_ = std::move(choices);
    for (const Instruction& step : plan_.instructions)
      if (!note(step)) return std::nullopt;
    end_stage(model_.end());
    Policy policy = keep_all(model_, choices_);
    for (const IntervalIndex interval : model_.intervals.indices())
      if (!model_.tensors[model_.intervals[interval].tensor].pinned) policy.intervals[interval] = read(interval);
    return policy;
  }

 private:
  bool note(const Instruction& step) {
    if (step.what == Do::kCompute) return note_compute(step);
    if (step.what == Do::kPageIn && step.at.size() != 1) return false;
    const auto found = tensors_.find(step.subject);
    if (found == tensors_.end()) return false;
    if (step.what == Do::kPageOut) moves_[found->second].push_back({Move::kPagedOut, stage_});
    if (step.what == Do::kPageIn) make(found->second, step.at.front(), Move::kPagedIn);
    if (step.what == Do::kFree) free(found->second);
    return true;
  }

  bool note_compute(const Instruction& step) {
    const auto found = ops_.find(step.subject);
    if (found == ops_.end()) return false;
    const OpModel& op = model_.ops[found->second];
    const auto how =
        std::ranges::find_if(op.choices, [&](const ChoiceModel& choice) { return choice.number == step.choice; });
    if (how == op.choices.end() || step.at.size() != how->writes.size()) return false;
    const bool again = computed_[found->second] != 0;
    if (!again) {
      if (op.stage <= stage_) return false;
      computed_[found->second] = 1;
      choices_[found->second] = static_cast<int32_t>(how - op.choices.begin());
      end_stage(op.stage);
    }
    for (size_t write = 0; write < how->writes.size(); ++write) {
      const TensorIndex written = how->writes[write], source = how->shares[write];
      const bool fresh = at_[written] == kNowhere;
      if (fresh && source.exists() && at_[source] == step.at[write] && holds_bytes(source) && holds_bytes(written))
        free(source);
      if (again && fresh)
        make(written, step.at[write], Move::kRecomputed);
      else
        at_[written] = step.at[write];
      if (!again) moves_[written].push_back({Move::kComputed, stage_});
    }
    return true;
  }

  bool holds_bytes(TensorIndex tensor) const { return model_.tensors[tensor].bytes > 0; }

  // What was made since the last first computation was made for this one.
  void end_stage(Stage next) {
    for (const auto& [tensor, how] : made_) {
      if (how == Move::kFreed || made_in_stage_[tensor]) moves_[tensor].push_back({how, next});
      if (how != Move::kFreed) made_in_stage_[tensor] = 0;
    }
    made_.clear();
    stage_ = next;
  }

  void make(TensorIndex tensor, Bytes at, Move how) {
    at_[tensor] = at;
    if (made_in_stage_[tensor]) return;
    made_in_stage_[tensor] = 1;
    made_.emplace_back(tensor, how);
  }

  // What was only made for another recomputation leaves no trace.
  void free(TensorIndex tensor) {
    at_[tensor] = kNowhere;
    if (made_in_stage_[tensor])
      made_in_stage_[tensor] = 0;
    else if (made_.empty())
      moves_[tensor].push_back({Move::kFreed, stage_});
    else
      made_.emplace_back(tensor, Move::kFreed);  // what was made may have read it
  }

  IntervalPolicy read(IntervalIndex interval) const {
    const Interval& span = model_.intervals[interval];
    IntervalPolicy policy = retained(span);
    const std::vector<Moved>& moves = moves_[span.tensor];
    bool in_ram = model_.tensors[span.tensor].start == Home::kRam;
    bool in_storage = model_.tensors[span.tensor].start == Home::kAux;
    size_t next = 0;  // what is before the interval
    for (; next < moves.size(); ++next) {
      const bool after = moves[next].what == Move::kFreed || moves[next].what == Move::kPagedOut;
      if (after ? moves[next].stage >= span.from : moves[next].stage > span.from) break;
      if (moves[next].what == Move::kPagedOut)
        in_storage = true;
      else
        in_ram = moves[next].what != Move::kFreed;
    }
    if (!in_ram) policy.evict = span.from;
    bool comes_back = false, written = false;
    for (; next < moves.size() && moves[next].stage <= span.to; ++next) {
      const Moved& move = moves[next];
      if (move.what == Move::kPagedOut) {
        written = written || (move.stage < span.to && policy.evict == span.to);
      } else if (move.what == Move::kFreed && move.stage < span.to) {
        if (policy.evict == span.to) policy.evict = move.stage;
        if (policy.fetch < span.to) policy.retain = policy.fetch, policy.until = move.stage;
        policy.fetch = span.to;
      } else if (move.what == Move::kPagedIn || move.what == Move::kRecomputed) {
        if (!comes_back) policy.page = move.what == Move::kPagedIn;
        comes_back = true;
        policy.fetch = move.stage;
      }
    }
    policy.page = policy.page || written || (!comes_back && in_storage);
    return permitted(interval, policy);
  }

  IntervalPolicy permitted(IntervalIndex interval, IntervalPolicy policy) const {
    const Interval& span = model_.intervals[interval];
    const bool page = may_page(model_, interval), drop = may_drop(model_, interval);
    if (policy.evict >= span.to || (!page && !drop)) return retained(span);
    policy.page = page && (policy.page || !drop);
    if (policy.fetch <= policy.evict) policy.fetch = span.to;
    if (policy.retain <= policy.evict || policy.until <= policy.retain) policy.retain = policy.until = span.to;
    return policy;
  }

  static constexpr Bytes kNowhere = -1;

  const Plan& plan_;
  const Model& model_;
  std::unordered_map<int64_t, OpIndex> ops_;
  std::unordered_map<int64_t, TensorIndex> tensors_;
  Choices choices_;
  Indexed<TensorIndex, Bytes> at_;  // of what is in RAM
  Stage stage_ = 0;                 // of the last first computation
  Indexed<OpIndex, char> computed_;
  Indexed<TensorIndex, char> made_in_stage_;        // since then
  std::vector<std::pair<TensorIndex, Move>> made_;  // the same, in turn, and what was freed after the first of it
  Indexed<TensorIndex, std::vector<Moved>> moves_;  // in turn
};

}  // namespace

std::optional<Policy> policy_of(const Plan& plan, const Model& model) {
  return PlanReader(plan, model).run(first_choices(model, plan.question.objective));
}

}  // namespace pantoum::plan
