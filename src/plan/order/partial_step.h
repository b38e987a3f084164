#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/lists.h"
#include "base/random.h"
#include "plan/order/order_problem.h"

namespace pantoum::plan {

// 128 bits that name a set of ops; two sets with the same are not met.
struct OpSetHash {
  uint64_t high = 0, low = 0;
  friend bool operator==(const OpSetHash&, const OpSetHash&) = default;
};

// A step of which some ops have run: what is live, and what may run next.
class PartialStep {
 public:
  // Nothing has run. The problem is referred to.
  explicit PartialStep(const OrderProblem& problem)
      : problem_(problem),
        waits_(problem.ops.size(), 0),
        to_come_(problem.tensors.size(), 0),
        ready_(problem.ops.size() / kBits + 1, 0),
        live_(problem.opened_live) {
    for (const TensorIndex tensor : problem.tensors.indices())
      to_come_[tensor] = static_cast<int32_t>(problem.tensors[tensor].users.size());
    for (const OpIndex op : problem.ops.indices()) {
      waits_[op] = static_cast<int32_t>(problem.ops[op].before.size());
      if (waits_[op] == 0) mark(op, true);
    }
  }

  // Runs an op that may run; returns the live bytes while it runs. Cost: its operands and dependencies.
  Bytes run(OpIndex op) {
    const OrderOp& entry = problem_.ops[op];
    lives_.push_back(live_);
    order_.push_back(op);
    live_ += loads(entry);
    for (const std::vector<TensorIndex>* list : {&entry.reads, &entry.holds})
      for (const TensorIndex tensor : *list) --to_come_[tensor];
    live_ += place_writes(entry);
    const Bytes most = live_ + entry.workspace;
    for (const std::vector<TensorIndex>* list : {&entry.reads, &entry.holds})
      for (const TensorIndex tensor : *list) finish_with(tensor);
    for (const OrderOp::Write& write : entry.writes) finish_with(write.tensor);
    mark(op, false);
    waits_[op] = kRan;
    for (const OpIndex next : entry.after)
      if (--waits_[next] == 0) mark(next, true);
    flip(op);
    return most;
  }

  // Takes back the op that ran last.
  void undo() {
    const OpIndex op = order_.back();
    const OrderOp& entry = problem_.ops[op];
    for (const OpIndex next : entry.after)
      if (waits_[next]++ == 0) mark(next, false);
    waits_[op] = 0;
    mark(op, true);
    for (const std::vector<TensorIndex>* list : {&entry.reads, &entry.holds})
      for (const TensorIndex tensor : *list) ++to_come_[tensor];
    live_ = lives_.back();
    lives_.pop_back();
    order_.pop_back();
    flip(op);
  }

  Bytes live() const { return live_; }
  const std::vector<OpIndex>& order() const { return order_; }
  size_t done() const { return order_.size(); }
  bool whole() const { return done() == problem_.ops.size(); }
  // Returns the name of the set of ops that have run.
  OpSetHash hash() const { return hash_; }
  // The first ops, by number, that may run; `most` at most. True: these are all.
  bool ready(size_t most, std::vector<OpIndex>& ops) const {
    ops.clear();
    for (size_t word = 0; word < ready_.size(); ++word)
      for (uint64_t bits = ready_[word]; bits != 0; bits &= bits - 1) {
        if (ops.size() == most) return false;
        ops.emplace_back(word * kBits + static_cast<size_t>(std::countr_zero(bits)));
      }
    return true;
  }

  // May it run?
  bool is_ready(OpIndex op) const { return waits_[op] == 0; }

 private:
  static constexpr size_t kBits = 64;
  static constexpr int32_t kRan = -1;  // in waits_
  // Returns the bytes that the op is the first to read from storage.
  Bytes loads(const OrderOp& op) const {
    Bytes bytes = 0;
    for (const TensorIndex read : op.reads) {
      const OrderTensor& tensor = problem_.tensors[read];
      const bool there =
          !tensor.loaded || std::ranges::any_of(tensor.readers, [&](OpIndex reader) { return waits_[reader] == kRan; });
      bytes += there ? 0 : tensor.size;
    }
    return bytes;
  }

  // The bytes that its outputs take beyond those that they take over.
  Bytes place_writes(const OrderOp& op) {
    Bytes fresh = 0;
    taken_.clear();
    for (const OrderOp::Write& write : op.writes) {
      const bool dead = write.over.exists() && to_come_[write.over] == 0;
      if (dead && !base::contains(taken_, write.over))
        taken_.push_back(write.over);
      else
        fresh += problem_.tensors[write.tensor].size;
    }
    return fresh;
  }

  // Frees the tensor where nobody needs it any more.
  void finish_with(TensorIndex tensor) {
    const OrderTensor& entry = problem_.tensors[tensor];
    if (to_come_[tensor] > 0 || entry.kept) return;
    if (!base::contains(taken_, tensor)) live_ -= entry.size;
  }

  void mark(OpIndex op, bool ready) {
    const size_t place = position_of(op);
    const uint64_t bit = uint64_t{1} << (place % kBits);
    ready_[place / kBits] = ready ? ready_[place / kBits] | bit : ready_[place / kBits] & ~bit;
  }

  void flip(OpIndex op) {
    base::Random random(static_cast<uint64_t>(op.value()));
    hash_.high ^= random.next();
    hash_.low ^= random.next();
  }

  const OrderProblem& problem_;
  Indexed<OpIndex, int32_t> waits_;        // for so many ops
  Indexed<TensorIndex, int32_t> to_come_;  // users that have not run
  std::vector<uint64_t> ready_;            // bits by op
  std::vector<OpIndex> order_;
  std::vector<Bytes> lives_;        // before each op that ran
  std::vector<TensorIndex> taken_;  // by the op that runs
  Bytes live_ = 0;
  OpSetHash hash_;
};

}  // namespace pantoum::plan
