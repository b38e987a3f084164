// A step of which some ops have run: what is live, and what may run next.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/order/order_problem.h"

namespace pantoum::plan {

// 128 bits that name a set of ops; two sets with the same are not met.
struct OpSetHash {
  uint64_t high = 0, low = 0;
  friend bool operator==(const OpSetHash&, const OpSetHash&) = default;
};

class PartialStep {
 public:
  // Nothing has run. The problem is referred to.
  explicit PartialStep(const OrderProblem& problem);

  // Runs an op that may run; returns the live bytes while it runs. Cost: its operands and dependencies.
  Bytes run(OpIndex op);
  // Takes back the op that ran last.
  void undo();

  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] const std::vector<OpIndex>& order() const { return order_; }
  [[nodiscard]] size_t done() const { return order_.size(); }
  [[nodiscard]] bool whole() const { return done() == problem_.ops.size(); }
  // Of the set of ops that have run.
  [[nodiscard]] OpSetHash hash() const { return hash_; }
  // The first ops, by number, that may run; `most` at most. True: these are all.
  bool ready(size_t most, std::vector<OpIndex>& ops) const;
  // May it run?
  [[nodiscard]] bool is_ready(OpIndex op) const { return waits_[op] == 0; }

 private:
  static constexpr int32_t kRan = -1;  // in waits_
  [[nodiscard]] Bytes loads(const OrderOp& op) const;
  Bytes place_writes(const OrderOp& op);
  void finish_with(TensorIndex tensor);
  void mark(OpIndex op, bool ready);
  void flip(OpIndex op);

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
