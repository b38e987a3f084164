#include "plan/order/order_problem.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace pantoum::plan {
namespace {

constexpr size_t kWord = 64;
constexpr size_t kPairedOps = 400;  // for so many ops those beside them are looked at

// A bit for every op.
using OpSet = std::vector<uint64_t>;

bool has(const OpSet& set, OpIndex op) {
  const size_t place = position_of(op);
  return (set[place / kWord] >> (place % kWord) & 1) != 0;
}

void add(OpSet& set, OpIndex op) {
  const size_t place = position_of(op);
  set[place / kWord] |= uint64_t{1} << (place % kWord);
}

void unite(OpSet& set, const OpSet& with) {
  for (size_t word = 0; word < set.size(); ++word) set[word] |= with[word];
}

void intersect(OpSet& set, const OpSet& with) {
  for (size_t word = 0; word < set.size(); ++word) set[word] &= with[word];
}

class Bounder {
 public:
  Bounder(const OrderProblem& problem, const std::stop_token& stop)
      : problem_(problem),
        stop_(stop),
        words_(problem.ops.size() / kWord + 1),
        sure_(problem.ops.size(), problem.first_live - starting_bytes(problem)),
        taken_for_(problem.tensors.size(), -1),
        replaced_(problem.tensors.size(), 0) {}

  Bytes run() {
    relate();
    for (const OrderOp& op : problem_.ops)
      for (const OrderOp::Write& write : op.writes)
        if (write.over.exists()) replaced_[write.over] = 1;
    for (const TensorIndex tensor : problem_.tensors.indices())
      if (!stop_.stop_requested()) add_tensor(tensor);
    for (const OpIndex op : problem_.ops.indices()) sure_[op] += own_bytes(op);
    Bytes most = problem_.first_live;
    for (const OpIndex op : problem_.ops.indices()) most = std::max(most, sure_[op]);
    for (const OpIndex op : heaviest())
      if (!stop_.stop_requested()) most = std::max(most, sure_[op] + beside(op));
    return most;
  }

 private:
  // Returns the bytes of tensors in first_live, without the staging buffer.
  static Bytes starting_bytes(const OrderProblem& problem) {
    Bytes bytes = 0;
    for (const OrderTensor& tensor : problem.tensors) bytes += tensor.from_start ? tensor.size : 0;
    return bytes;
  }

  // The ops before and behind every op, itself included. The model's order is topological.
  void relate() {
    before_ = behind_ = Indexed<OpIndex, OpSet>(problem_.ops.size(), OpSet(words_, 0));
    for (const OpIndex op : problem_.ops.indices()) {
      add(before_[op], op);
      for (const OpIndex other : problem_.ops[op].always_before) unite(before_[op], before_[other]);
    }
    for (const OpIndex op : problem_.ops.indices().descending()) {
      add(behind_[op], op);
      for (const OpIndex other : problem_.ops[op].always_before) unite(behind_[other], behind_[op]);
    }
  }

  // Kept by whatever comes: nothing may take its place.
  bool stays(TensorIndex tensor) const { return problem_.tensors[tensor].kept && !replaced_[tensor]; }

  // The ops during which it is there for sure.
  OpSet span_of(TensorIndex tensor) const {
    const OrderTensor& entry = problem_.tensors[tensor];
    OpSet there(words_, 0), wanted(words_, 0);
    if (entry.producer.exists()) there = behind_[entry.producer];
    if (entry.from_start) there.assign(words_, ~uint64_t{0});
    if (entry.loaded)
      for (const OpIndex reader : entry.readers) unite(there, behind_[reader]);
    if (stays(tensor)) return there;
    for (const OpIndex reader : entry.readers) unite(wanted, before_[reader]);
    intersect(there, wanted);
    return there;
  }

  void add_tensor(TensorIndex tensor) {
    const OpSet span = span_of(tensor);
    const auto ops = static_cast<int32_t>(problem_.ops.size());
    for (size_t word = 0; word < words_; ++word)
      for (uint64_t bits = span[word]; bits != 0; bits &= bits - 1) {
        const OpIndex op(word * kWord + static_cast<size_t>(std::countr_zero(bits)));
        if (op.value() < ops) sure_[op] += problem_.tensors[tensor].size;
      }
  }

  // Returns the bytes that are live while the op runs beyond those that are sure: workspace and outputs that nobody
  // reads, less what outputs may take over.
  Bytes own_bytes(OpIndex op) {
    const OrderOp& entry = problem_.ops[op];
    Bytes bytes = entry.workspace;
    for (const OrderOp::Write& write : entry.writes) {
      const OrderTensor& tensor = problem_.tensors[write.tensor];
      if (tensor.readers.empty() && !stays(write.tensor)) bytes += tensor.size;
      if (write.over.exists() && taken_for_[write.over] != op.value() && may_die(write.over, op)) {
        taken_for_[write.over] = op.value();
        bytes -= tensor.size;
      }
    }
    return bytes;
  }

  // Is there an order in which the op is the last to read it?
  bool may_die(TensorIndex tensor, OpIndex op) const {
    const std::vector<OpIndex>& readers = problem_.tensors[tensor].readers;
    return std::ranges::none_of(readers, [&](OpIndex reader) { return reader != op && has(behind_[op], reader); });
  }

  // The ops with the most sure bytes.
  std::vector<OpIndex> heaviest() const {
    std::vector<OpIndex> ops;
    for (const OpIndex op : problem_.ops.indices()) ops.push_back(op);
    std::ranges::stable_sort(ops, std::greater{}, [&](OpIndex op) { return sure_[op]; });
    ops.resize(std::min(ops.size(), kPairedOps));
    return ops;
  }

  // Returns bytes of the ops that are neither before nor behind `op`.
  Bytes beside(OpIndex op) {
    std::vector<TensorIndex> counted;
    Bytes bytes = 0;
    for (const OpIndex other : problem_.ops.indices()) {
      if (has(before_[op], other) || has(behind_[op], other)) continue;
      const Bytes made = made_for(op, other);
      if (made == 0) continue;
      bytes += std::min(made, waiting_for(op, other, counted));
    }
    for (const TensorIndex tensor : counted) taken_for_[tensor] = -1;
    return bytes;
  }

  // Outputs of the other that are there while the op runs, if the other has run.
  Bytes made_for(OpIndex op, OpIndex other) const {
    Bytes bytes = 0;
    for (const OrderOp::Write& write : problem_.ops[other].writes) {
      const OrderTensor& tensor = problem_.tensors[write.tensor];
      const bool read = std::ranges::any_of(tensor.readers, [&](OpIndex reader) { return has(behind_[op], reader); });
      if (read || stays(write.tensor)) bytes += tensor.size;
    }
    return bytes;
  }

  // Inputs of the other that are there while the op runs, if the other has not run.
  Bytes waiting_for(OpIndex op, OpIndex other, std::vector<TensorIndex>& counted) {
    Bytes bytes = 0;
    for (const TensorIndex read : problem_.ops[other].reads) {
      const OrderTensor& tensor = problem_.tensors[read];
      const bool made = tensor.from_start || (tensor.producer.exists() && has(before_[op], tensor.producer));
      if (!made || taken_for_[read] == kCounted || is_sure(read, op)) continue;
      taken_for_[read] = kCounted;
      counted.push_back(read);
      bytes += tensor.size;
    }
    return bytes;
  }

  bool is_sure(TensorIndex tensor, OpIndex op) const {
    const std::vector<OpIndex>& readers = problem_.tensors[tensor].readers;
    return stays(tensor) || std::ranges::any_of(readers, [&](OpIndex reader) { return has(behind_[op], reader); });
  }

  static constexpr int32_t kCounted = -2;

  const OrderProblem& problem_;
  const std::stop_token& stop_;
  const size_t words_;
  Indexed<OpIndex, OpSet> before_, behind_;
  Indexed<OpIndex, Bytes> sure_;
  Indexed<TensorIndex, int32_t> taken_for_;  // the op for which it was counted last
  Indexed<TensorIndex, char> replaced_;      // an op may write its successor over it
};

// Returns the most bytes that one op needs: its operands, its workspace, and what stays in RAM from the start.
Bytes largest_working_set(const OrderProblem& problem) {
  Indexed<TensorIndex, char> replaced(problem.tensors.size(), 0);
  for (const OrderOp& op : problem.ops)
    for (const OrderOp::Write& write : op.writes)
      if (write.over.exists()) replaced[write.over] = 1;
  const auto stays = [&](TensorIndex tensor) {
    const OrderTensor& entry = problem.tensors[tensor];
    return entry.from_start && entry.kept && !replaced[tensor];
  };
  Bytes staying = 0, most = 0;
  for (const TensorIndex tensor : problem.tensors.indices())
    staying += stays(tensor) ? problem.tensors[tensor].size : 0;
  for (const OrderOp& op : problem.ops) {
    Bytes bytes = staying + op.workspace;
    for (const TensorIndex read : op.reads) bytes += stays(read) ? 0 : problem.tensors[read].size;
    for (const OrderOp::Write& write : op.writes) bytes += write.over.exists() ? 0 : problem.tensors[write.tensor].size;
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

Bytes order_bound(const OrderProblem& problem, const std::stop_token& stop) {
  if (problem.ops.size() > kMostBoundedOps) return std::max(problem.first_live, largest_working_set(problem));
  return Bounder(problem, stop).run();
}

}  // namespace pantoum::plan
