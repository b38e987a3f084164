// An order and its live bytes, place by place; a part of it that is put in another order costs that part.
#pragma once

#include <span>
#include <vector>

#include "plan/order/order_problem.h"

namespace pantoum::plan {

class OrderProfile {
 public:
  // `threshold`: what bytes are counted over. The problem is referred to.
  OrderProfile(const OrderProblem& problem, const std::vector<OpIndex>& order, Bytes threshold, OrderSteps& steps);

  const std::vector<OpIndex>& order() const { return order_; }
  size_t size() const { return order_.size(); }
  size_t place(OpIndex op) const { return static_cast<size_t>(place_[op]); }
  Bytes peak(size_t place) const { return peaks_[place]; }
  Bytes live_before(size_t place) const { return lives_[place]; }

  struct Value {
    Bytes peak = 0;
    Bytes over = 0;  // the threshold, summed over the places
    Bytes sum = 0;   // of all places' bytes: what is read late lives long
  };
  Value value() const;

  // Puts the ops from place `first` on in this order: a permutation that no dependency forbids.
  void rearrange(size_t first, std::span<const OpIndex> ops);

 private:
  void run(size_t place);
  bool is_last(TensorIndex tensor, size_t place);
  bool is_first(TensorIndex tensor, size_t place);
  Bytes place_writes(const OrderOp& op, size_t place);

  const OrderProblem& problem_;
  const Bytes threshold_;
  OrderSteps& steps_;
  std::vector<OpIndex> order_;
  Indexed<OpIndex, int32_t> place_;
  std::vector<Bytes> peaks_, lives_;  // while the op of the place runs; before it
  std::vector<TensorIndex> taken_;    // by the op that runs
};

}  // namespace pantoum::plan
