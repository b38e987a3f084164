#include "plan/order/order_profile.h"

#include <algorithm>

namespace pantoum::plan {

OrderProfile::OrderProfile(const OrderProblem& problem, const std::vector<OpIndex>& order, Bytes threshold,
                           OrderSteps& steps)
    : problem_(problem),
      threshold_(threshold),
      steps_(steps),
      order_(order),
      place_(order.size(), 0),
      peaks_(order.size(), 0),
      lives_(order.size() + 1, problem.opened_live) {
  rearrange(0, order);
}

OrderProfile::Value OrderProfile::value() const {
  Value value{.peak = problem_.first_live};
  for (const Bytes peak : peaks_) {
    value.peak = std::max(value.peak, peak);
    value.over += std::max<Bytes>(0, peak - threshold_);
    value.sum += peak;
  }
  return value;
}

void OrderProfile::rearrange(size_t first, std::span<const OpIndex> ops) {
  for (size_t offset = 0; offset < ops.size(); ++offset) {
    order_[first + offset] = ops[offset];
    place_[ops[offset]] = static_cast<int32_t>(first + offset);
  }
  for (size_t offset = 0; offset < ops.size(); ++offset) run(first + offset);
}

// What the op of the place takes and frees; the same rules as PartialStep::run.
void OrderProfile::run(size_t place) {
  const OrderOp& op = problem_.ops[order_[place]];
  Bytes live = lives_[place];
  for (const TensorIndex read : op.reads)
    if (problem_.tensors[read].loaded && is_first(read, place)) live += problem_.tensors[read].size;
  live += place_writes(op, place);
  peaks_[place] = live + op.workspace;
  for (const std::vector<TensorIndex>* list : {&op.reads, &op.holds})
    for (const TensorIndex tensor : *list) {
      const bool taken = std::find(taken_.begin(), taken_.end(), tensor) != taken_.end();
      if (!taken && !problem_.tensors[tensor].kept && is_last(tensor, place)) live -= problem_.tensors[tensor].size;
    }
  for (const OrderOp::Write& write : op.writes) {
    const OrderTensor& tensor = problem_.tensors[write.tensor];
    if (tensor.users.empty() && !tensor.kept) live -= tensor.size;
  }
  lives_[place + 1] = live;
  steps_.take(1);
}

Bytes OrderProfile::place_writes(const OrderOp& op, size_t place) {
  Bytes fresh = 0;
  taken_.clear();
  for (const OrderOp::Write& write : op.writes) {
    const bool free = write.over.exists() && std::find(taken_.begin(), taken_.end(), write.over) == taken_.end();
    if (free && is_last(write.over, place))
      taken_.push_back(write.over);
    else
      fresh += problem_.tensors[write.tensor].size;
  }
  return fresh;
}

bool OrderProfile::is_last(TensorIndex tensor, size_t place) {
  const std::vector<OpIndex>& users = problem_.tensors[tensor].users;
  steps_.take(static_cast<int64_t>(users.size() / 8));
  return std::none_of(users.begin(), users.end(),
                      [&](OpIndex user) { return place_[user] > static_cast<int32_t>(place); });
}

bool OrderProfile::is_first(TensorIndex tensor, size_t place) {
  const std::vector<OpIndex>& readers = problem_.tensors[tensor].readers;
  steps_.take(static_cast<int64_t>(readers.size() / 8));
  return std::none_of(readers.begin(), readers.end(),
                      [&](OpIndex reader) { return place_[reader] < static_cast<int32_t>(place); });
}

}  // namespace pantoum::plan
