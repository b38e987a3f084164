#include "cost/cache_context.h"

#include <algorithm>
#include <map>
#include <set>

namespace pantoum::cost {
namespace {

using base::Bytes;
using problem::Choice;
using problem::CostGraph;
using problem::Op;

class Walk {
 public:
  Walk(const CostGraph& graph, Bytes cache)
      : graph_(graph), cache_(cache), touched_at_(graph.tensors.size(), kLongAgo), dies_(graph.ops.size()) {
    find_ends();
  }

  void step(std::vector<std::vector<double>>& shares) {
    for (const int64_t at : graph_.order) {
      const Op& op = graph_.ops[static_cast<size_t>(at)];
      if (op.optional) {  // plans of first choices do not run it
        shares[static_cast<size_t>(at)].assign(op.choices.size(), 1);
        continue;
      }
      const std::map<int64_t, int64_t> over = overwritten(op, at);  // by input
      std::set<int64_t> takes_over;
      for (const auto& [input, output] : over) takes_over.insert(output);
      double written = 0;  // bytes of outputs that are not in the cache
      for (const int64_t output : op.outputs)
        if (!takes_over.contains(output)) written += take(bytes(output));
      std::vector<double>& of = shares[static_cast<size_t>(at)];
      of.clear();
      for (const Choice& choice : op.choices) of.push_back(share(op, choice, written));
      if (!op.choices.empty())
        for (const int position : op.choices.front().reads) touch(op.inputs[static_cast<size_t>(position)]);
      for (const int64_t output : op.outputs) touch(output);
      for (const int64_t tensor : dies_[static_cast<size_t>(at)])
        if (!over.contains(tensor)) free_.push_back({bytes(tensor), touched_at_[static_cast<size_t>(tensor)]});
    }
  }

 private:
  static constexpr Bytes kLongAgo = -(Bytes{1} << 62);

  struct Free {
    Bytes bytes = 0, touched_at = 0;
  };

  [[nodiscard]] Bytes bytes(int64_t tensor) const { return graph_.tensors[static_cast<size_t>(tensor)].bytes; }

  void find_ends() {
    const std::vector<int64_t> last = last_uses(graph_);
    for (size_t tensor = 0; tensor < last.size(); ++tensor)
      if (last[tensor] >= 0) dies_[static_cast<size_t>(last[tensor])].push_back(static_cast<int64_t>(tensor));
  }

  // Inputs whose bytes become those of an output: inputs that die here, and what an update replaces. Output by input.
  [[nodiscard]] std::map<int64_t, int64_t> overwritten(const Op& op, int64_t at) const {
    std::map<int64_t, int64_t> passed;
    std::set<int64_t> placed;
    if (op.choices.empty()) return passed;
    const std::vector<int64_t>& dying = dies_[static_cast<size_t>(at)];
    for (const auto& [output, input] : op.choices.front().overwrites) {
      const int64_t to = op.outputs[static_cast<size_t>(output)], from = op.inputs[static_cast<size_t>(input)];
      const bool yields = std::find(dying.begin(), dying.end(), from) != dying.end() ||
                          graph_.tensors[static_cast<size_t>(from)].next == to;
      if (yields && !placed.contains(to) && passed.try_emplace(from, to).second) placed.insert(to);
    }
    return passed;
  }

  // How many of `size` bytes that were last touched at `touched_at` the cache no longer holds: what was moved since then, beyond the
  // size of the cache, has pushed them out.
  [[nodiscard]] double missing(Bytes size, Bytes touched_at) const {
    return static_cast<double>(std::clamp<Bytes>(clock_ - touched_at + size - cache_, 0, size));
  }

  // Takes bytes that were freed, the latest first, else new ones; returns how many of them are not in the cache.
  double take(Bytes size) {
    double cold = 0;
    while (size > 0 && !free_.empty()) {
      Free& top = free_.back();
      const Bytes part = std::min(size, top.bytes);
      cold += missing(part, top.touched_at);
      size -= part;
      top.bytes -= part;
      if (top.bytes == 0) free_.pop_back();
    }
    return cold + static_cast<double>(size);
  }

  [[nodiscard]] double share(const Op& op, const Choice& choice, double written) const {
    double all = 0, cold = written;
    for (const int position : choice.reads) {
      const int64_t input = op.inputs[static_cast<size_t>(position)];
      all += static_cast<double>(bytes(input));
      cold += missing(bytes(input), touched_at_[static_cast<size_t>(input)]);
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
  std::vector<Bytes> touched_at_;           // the clock after the tensor's last use
  std::vector<std::vector<int64_t>> dies_;  // by op
  std::vector<Free> free_;                  // the latest at the back
};

}  // namespace

std::vector<int64_t> last_uses(const CostGraph& graph) {
  std::vector<int64_t> last(graph.tensors.size(), -1);
  std::vector<char> made(graph.tensors.size(), 0), stays(graph.tensors.size(), 0);
  for (const int64_t at : graph.order) {
    const Op& op = graph.ops[static_cast<size_t>(at)];
    if (op.optional) continue;
    for (const int64_t output : op.outputs)
      made[static_cast<size_t>(output)] = 1, last[static_cast<size_t>(output)] = at;
    for (const int64_t input : op.inputs) last[static_cast<size_t>(input)] = at;
  }
  for (const problem::Tensor& tensor : graph.tensors) {
    if (tensor.start != problem::Home::kNone || tensor.end != problem::Home::kNone)
      stays[static_cast<size_t>(tensor.id)] = 1;
    if (tensor.next >= 0) stays[static_cast<size_t>(tensor.next)] = 1;
  }
  for (size_t tensor = 0; tensor < last.size(); ++tensor)
    if (stays[tensor] != 0 || made[tensor] == 0) last[tensor] = -1;
  return last;
}

std::vector<std::vector<double>> cold_shares(const CostGraph& graph, Bytes cache) {
  std::vector<std::vector<double>> shares(graph.ops.size());
  Walk walk(graph, cache);
  for (int pass = 0; pass < 2; ++pass)
    walk.step(shares);  // the second pass begins with the caches as the first left them
  return shares;
}

}  // namespace pantoum::cost
