#include "plan/simulate/order.h"

#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace pantoum::plan {
namespace {

class Sorter {
 public:
  explicit Sorter(const CostGraph& graph) : graph_(graph) {
    for (const Op& op : graph.ops) by_id_.emplace(op.id, &op);
    for (size_t position = 0; position < graph.order.size(); ++position)
      for (const int64_t output : op_at(position).outputs) producer_.emplace(output, position);
    followers_.resize(graph.order.size());
    waits_.assign(graph.order.size(), 0);
  }

  // Every op behind those that make what it may read, otherwise in the graph's order. Nothing: that is a cycle.
  std::optional<std::vector<int64_t>> inputs_first() {
    for (size_t position = 0; position < graph_.order.size(); ++position)
      for (const int64_t input : op_at(position).inputs)
        if (const auto maker = producer_.find(input); maker != producer_.end()) follow(maker->second, position);
    return sort();
  }

  std::vector<int64_t> updates_last() {
    std::unordered_map<int64_t, std::vector<size_t>> readers;
    for (size_t position = 0; position < graph_.order.size(); ++position)
      for (const int64_t input : op_at(position).inputs) readers[input].push_back(position);
    for (const Tensor& tensor : graph_.tensors) {
      const auto maker = producer_.find(tensor.next);
      if (tensor.next < 0 || maker == producer_.end()) continue;
      for (const size_t reader : readers[tensor.id])
        if (reader != maker->second) follow(reader, maker->second);
    }
    return inputs_first().value_or(graph_.order);
  }

 private:
  const Op& op_at(size_t position) const { return *by_id_.at(graph_.order[position]); }

  void follow(size_t before, size_t after) {
    followers_[before].push_back(after);
    ++waits_[after];
  }

  std::optional<std::vector<int64_t>> sort() {
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t position = 0; position < waits_.size(); ++position)
      if (waits_[position] == 0) ready.push(position);
    std::vector<int64_t> order;
    while (!ready.empty()) {
      const size_t position = ready.top();
      ready.pop();
      order.push_back(graph_.order[position]);
      for (const size_t follower : followers_[position])
        if (--waits_[follower] == 0) ready.push(follower);
    }
    if (order.size() != graph_.order.size()) return std::nullopt;
    return order;
  }

  const CostGraph& graph_;
  std::unordered_map<int64_t, const Op*> by_id_;
  std::unordered_map<int64_t, size_t> producer_;
  std::vector<std::vector<size_t>> followers_;
  std::vector<size_t> waits_;
};

}  // namespace

std::vector<int64_t> updates_last(const CostGraph& graph) {
  return Sorter(graph).updates_last();
}

std::vector<int64_t> order_of(const Plan& plan, const CostGraph& graph) {
  CostGraph ordered = graph;
  std::unordered_set<int64_t> computed;
  std::vector<int64_t> first;
  for (const Instruction& step : plan.instructions)
    if (step.what == Do::kCompute && computed.insert(step.subject).second) first.push_back(step.subject);
  std::erase_if(ordered.order, [&](int64_t op) { return computed.contains(op); });
  ordered.order.insert(ordered.order.end(), first.begin(), first.end());
  return Sorter(ordered).inputs_first().value_or(graph.order);
}

}  // namespace pantoum::plan
