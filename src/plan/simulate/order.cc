#include "plan/simulate/order.h"

#include <functional>
#include <queue>
#include <unordered_map>

namespace pantoum::plan {
namespace {

class Sorter {
 public:
  explicit Sorter(const problem::CostGraph& graph) : graph_(graph) {
    for (const problem::Op& op : graph.ops) by_id_.emplace(op.id, &op);
    for (size_t position = 0; position < graph.order.size(); ++position)
      for (const int64_t output : op_at(position).outputs) producer_.emplace(output, position);
    followers_.resize(graph.order.size());
    waits_.assign(graph.order.size(), 0);
  }

  std::vector<int64_t> run() {
    std::unordered_map<int64_t, std::vector<size_t>> readers;
    for (size_t position = 0; position < graph_.order.size(); ++position)
      for (const int64_t input : op_at(position).inputs) {
        readers[input].push_back(position);
        if (const auto maker = producer_.find(input); maker != producer_.end()) follow(maker->second, position);
      }
    for (const problem::Tensor& tensor : graph_.tensors) {
      const auto maker = producer_.find(tensor.next);
      if (tensor.next < 0 || maker == producer_.end()) continue;
      for (const size_t reader : readers[tensor.id])
        if (reader != maker->second) follow(reader, maker->second);
    }
    return sort();
  }

 private:
  const problem::Op& op_at(size_t position) const { return *by_id_.at(graph_.order[position]); }

  void follow(size_t before, size_t after) {
    followers_[before].push_back(after);
    ++waits_[after];
  }

  std::vector<int64_t> sort() {
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
    return order.size() == graph_.order.size() ? order : graph_.order;
  }

  const problem::CostGraph& graph_;
  std::unordered_map<int64_t, const problem::Op*> by_id_;
  std::unordered_map<int64_t, size_t> producer_;
  std::vector<std::vector<size_t>> followers_;
  std::vector<size_t> waits_;
};

}  // namespace

std::vector<int64_t> updates_last(const problem::CostGraph& graph) {
  return Sorter(graph).run();
}

}  // namespace pantoum::plan
