// An order and its live bytes, place by place; a part of it that is put in another order costs that part.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/lists.h"
#include "plan/order/order_problem.h"

namespace pantoum::plan {

class OrderProfile {
 public:
  // `threshold`: what bytes are counted over. The problem is referred to.
  OrderProfile(const OrderProblem& problem, const std::vector<OpIndex>& order, Bytes threshold, OrderSteps& steps)
      : problem_(problem),
        threshold_(threshold),
        steps_(steps),
        order_(order),
        place_(order.size(), 0),
        peaks_(order.size(), 0),
        lives_(order.size() + 1, problem.opened_live) {
    rearrange(0, order);
  }

  const std::vector<OpIndex>& order() const { return order_; }
  size_t size() const { return order_.size(); }
  size_t place(OpIndex op) const { return position_of(place_[op]); }
  Bytes peak(size_t place) const { return peaks_[place]; }
  Bytes live_before(size_t place) const { return lives_[place]; }

  struct Value {
    Bytes peak = 0;
    Bytes over = 0;  // the threshold, summed over the places
    Bytes sum = 0;   // of all places' bytes: what is read late lives long
  };
  Value value() const {
    Value value{.peak = problem_.first_live};
    for (const Bytes peak : peaks_) {
      value.peak = std::max(value.peak, peak);
      value.over += std::max<Bytes>(0, peak - threshold_);
      value.sum += peak;
    }
    return value;
  }

  // Puts the ops from place `first` on in this order: a permutation that no dependency forbids.
  void rearrange(size_t first, std::span<const OpIndex> ops) {
    for (size_t offset = 0; offset < ops.size(); ++offset) {
      order_[first + offset] = ops[offset];
      place_[ops[offset]] = static_cast<int32_t>(first + offset);
    }
    for (size_t offset = 0; offset < ops.size(); ++offset) run(first + offset);
  }

 private:
  // Takes and frees what the op of the place takes and frees, by the same rules as PartialStep::run.
  void run(size_t place) {
    const OrderOp& op = problem_.ops[order_[place]];
    Bytes live = lives_[place];
    for (const TensorIndex read : op.reads)
      if (problem_.tensors[read].loaded && is_first(read, place)) live += problem_.tensors[read].size;
    live += place_writes(op, place);
    peaks_[place] = live + op.workspace;
    for (const std::vector<TensorIndex>* list : {&op.reads, &op.holds})
      for (const TensorIndex tensor : *list) {
        const bool taken = base::contains(taken_, tensor);
        if (!taken && !problem_.tensors[tensor].kept && is_last(tensor, place)) live -= problem_.tensors[tensor].size;
      }
    for (const OrderOp::Write& write : op.writes) {
      const OrderTensor& tensor = problem_.tensors[write.tensor];
      if (tensor.users.empty() && !tensor.kept) live -= tensor.size;
    }
    lives_[place + 1] = live;
    steps_.take(1);
  }

  bool is_last(TensorIndex tensor, size_t place) {
    const std::vector<OpIndex>& users = problem_.tensors[tensor].users;
    steps_.take(static_cast<int64_t>(users.size() / 8));
    return std::ranges::none_of(users, [&](OpIndex user) { return place_[user] > static_cast<int32_t>(place); });
  }

  bool is_first(TensorIndex tensor, size_t place) {
    const std::vector<OpIndex>& readers = problem_.tensors[tensor].readers;
    steps_.take(static_cast<int64_t>(readers.size() / 8));
    return std::ranges::none_of(readers, [&](OpIndex reader) { return place_[reader] < static_cast<int32_t>(place); });
  }

  Bytes place_writes(const OrderOp& op, size_t place) {
    Bytes fresh = 0;
    taken_.clear();
    for (const OrderOp::Write& write : op.writes) {
      const bool free = write.over.exists() && !base::contains(taken_, write.over);
      if (free && is_last(write.over, place))
        taken_.push_back(write.over);
      else
        fresh += problem_.tensors[write.tensor].size;
    }
    return fresh;
  }

  const OrderProblem& problem_;
  const Bytes threshold_;
  OrderSteps& steps_;
  std::vector<OpIndex> order_;
  Indexed<OpIndex, int32_t> place_;
  std::vector<Bytes> peaks_, lives_;  // while the op of the place runs; before it
  std::vector<TensorIndex> taken_;    // by the op that runs
};

}  // namespace pantoum::plan
