#include "cost/cache_context.h"

#include <algorithm>

namespace pantoum::cost {
namespace {

using base::Bytes;
using problem::Choice;
using problem::CostGraph;
using problem::Op;

class Walk {
 public:
  Walk(const CostGraph& graph, Bytes cache)
      : graph_(graph), cache_(cache), touched_at_(graph.tensors.size(), kLongAgo) {}

  void step(std::vector<std::vector<double>>& shares) {
    for (const int64_t at : graph_.order) {
      const Op& op = graph_.ops[static_cast<size_t>(at)];
      std::vector<double>& of = shares[static_cast<size_t>(at)];
      of.clear();
      for (const Choice& choice : op.choices) of.push_back(share(op, choice));
      if (!op.choices.empty())
        for (const int position : op.choices.front().reads) touch(op.inputs[static_cast<size_t>(position)]);
      for (const int64_t output : op.outputs) touch(output);
    }
  }

 private:
  static constexpr Bytes kLongAgo = -(Bytes{1} << 62);

  [[nodiscard]] Bytes bytes(int64_t tensor) const { return graph_.tensors[static_cast<size_t>(tensor)].bytes; }

  // Bytes moved between the tensor's last use and now; those beyond the cache's size have pushed it out from its end.
  [[nodiscard]] double missing(int64_t tensor) const {
    const Bytes size = bytes(tensor), since = clock_ - touched_at_[static_cast<size_t>(tensor)];
    return static_cast<double>(std::clamp<Bytes>(since + size - cache_, 0, size));
  }

  [[nodiscard]] double share(const Op& op, const Choice& choice) const {
    double all = 0, cold = 0;
    for (const int position : choice.reads) {
      const int64_t input = op.inputs[static_cast<size_t>(position)];
      all += static_cast<double>(bytes(input));
      cold += missing(input);
    }
    for (const int64_t output : op.outputs) all += static_cast<double>(bytes(output));
    return all > 0 ? cold / all : 0;
  }

  void touch(int64_t tensor) {
    clock_ += bytes(tensor);
    touched_at_[static_cast<size_t>(tensor)] = clock_;
  }

  const CostGraph& graph_;
  const Bytes cache_;
  Bytes clock_ = 0;
  std::vector<Bytes> touched_at_;  // the clock after the tensor's last use
};

}  // namespace

std::vector<std::vector<double>> cold_shares(const CostGraph& graph, Bytes cache) {
  std::vector<std::vector<double>> shares(graph.ops.size());
  Walk walk(graph, cache);
  for (int pass = 0; pass < 2; ++pass) walk.step(shares);  // the second finds what the first left
  return shares;
}

}  // namespace pantoum::cost
