#include "check/least_costs.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/round_up.h"
#include "check/rounding.h"

namespace pantoum::check {
namespace {

using problem::Choice;
using problem::CostGraph;
using problem::Home;
using problem::Op;
using problem::Tensor;

// Sizes are rounded up to an alignment that may be huge: sums stop at what no arena has.
int64_t add(int64_t bytes, int64_t more) {
  constexpr int64_t kEnough = int64_t{1} << 61;
  return std::min(kEnough, bytes + std::min(kEnough, more));
}

class Accountant {
 public:
  Accountant(const CostGraph& graph, const problem::Freedoms& freedoms) : graph_(graph), free_(freedoms) {
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) tensor_of_[graph.tensors[tensor].id] = tensor;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      always_read_.push_back(always_read(graph.ops[op]));
      for (const int64_t output : graph.ops[op].outputs) producer_of_[tensor_of_.at(output)] = op;
    }
    find_duties();
  }

  LeastCosts run() {
    const PricedCosts costs = priced();
    return {.energy_j = costs.at(1, 0).cost, .time_s = costs.at(0, 1).cost, .ram_bytes = least_ram()};
  }

  [[nodiscard]] PricedCosts priced() const {
    std::vector<std::vector<PricedCosts::Costs>> ways;
    for (const Op& op : graph_.ops) {
      if (op.optional) continue;
      std::vector<PricedCosts::Costs>& of_op = ways.emplace_back();
      for (const Choice& choice : op.choices)
        if (permitted(op, choice)) of_op.push_back({down_.sum(choice.energy_j, idling(choice.time_s)), choice.time_s});
    }
    return {std::move(ways), must_move()};
  }

 private:
  [[nodiscard]] const Tensor& tensor(size_t index) const { return graph_.tensors[index]; }
  [[nodiscard]] int64_t size_of(size_t index) const {
    return base::round_up(tensor(index).bytes, std::max<int64_t>(1, graph_.device.align_bytes));
  }
  [[nodiscard]] size_t input(const Op& op, int position) const {
    return tensor_of_.at(op.inputs[static_cast<size_t>(position)]);
  }
  [[nodiscard]] bool permitted(const Op& op, const Choice& choice) const {
    return free_.numerics || choice.numerics == op.choices.front().numerics;
  }

  // Without what is in rom.
  [[nodiscard]] std::set<size_t> reads(const Op& op, const Choice& choice) const {
    std::set<size_t> read;
    for (const int position : choice.reads)
      if (tensor(input(op, position)).start != Home::kRom) read.insert(input(op, position));
    return read;
  }

  [[nodiscard]] std::set<size_t> always_read(const Op& op) const {
    std::set<size_t> always = reads(op, op.choices.front());
    for (const Choice& choice : op.choices) {
      if (!permitted(op, choice)) continue;
      const std::set<size_t> read = reads(op, choice);
      std::erase_if(always, [&](size_t each) { return !read.contains(each); });
    }
    return always;
  }

  // The step ends where the next one starts.
  void find_duties() {
    ends_in_ram_.assign(graph_.tensors.size(), false);
    ends_in_aux_.assign(graph_.tensors.size(), false);
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      const Tensor& each = tensor(index);
      if (each.end == Home::kRam) ends_in_ram_[index] = true;
      if (each.end == Home::kAux) ends_in_aux_[index] = true;
      if (each.next < 0) continue;
      if (each.start == Home::kRam) ends_in_ram_[tensor_of_.at(each.next)] = true;
      if (each.start == Home::kAux) ends_in_aux_[tensor_of_.at(each.next)] = true;
    }
  }

  // ---- joules and seconds -----------------------------------------------------------------------

  [[nodiscard]] PricedCosts::Costs must_move() const {
    const problem::Pager& pager = graph_.device.pager;
    PricedCosts::Costs moved;
    const auto add = [&](const problem::Link& link, size_t index) {
      const double seconds = transfer(link, tensor(index).bytes);
      moved.seconds = down_.sum(moved.seconds, seconds);
      moved.joules = down_.sum(moved.joules, down_.product(seconds, link.w));
    };
    for (const size_t index : read_from_storage()) add(pager.in, index);
    for (size_t index = 0; index < graph_.tensors.size(); ++index)
      if (ends_in_aux_[index] && tensor(index).start != Home::kAux) add(pager.out, index);
    if (pager.mode != problem::PagerMode::kSync) return {.joules = moved.joules};
    moved.joules = down_.sum(moved.joules, idling(moved.seconds));
    return moved;
  }

  // Joules.
  [[nodiscard]] double idling(double seconds) const { return down_.product(graph_.device.idle_w, seconds); }

  [[nodiscard]] std::set<size_t> read_from_storage() const {
    std::set<size_t> read;
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      for (const size_t index : always_read_[op])
        if (!graph_.ops[op].optional && tensor(index).start == Home::kAux) read.insert(index);
    return read;
  }

  [[nodiscard]] double transfer(const problem::Link& link, int64_t bytes) const {
    const int64_t block = std::max<int64_t>(1, graph_.device.pager.block_bytes);
    return down_.sum(link.latency_s, down_.quotient(base::round_up(bytes, block), link.bytes_per_s));
  }

  // ---- RAM --------------------------------------------------------------------------------------

  // What is pinned from the start stays until its successor takes over its bytes.
  struct Pinned {
    size_t tensor = 0, successor = kNobody;
    int64_t bytes = 0;
    std::vector<bool> until = {};  // by op: is it first computed no later than the successor? Else: is not known
  };
  static constexpr size_t kNobody = SIZE_MAX;
  static constexpr int64_t kMarks = int64_t{1} << 26;

  [[nodiscard]] int64_t least_ram() {
    const int64_t staging = graph_.device.pager.staging_bytes;
    int64_t most = staging;
    for (size_t index = 0; index < graph_.tensors.size(); ++index)
      if (tensor(index).start == Home::kRam) most = add(most, size_of(index));
    const std::vector<Pinned> pinned = find_pinned();
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      if (!graph_.ops[op].optional) most = std::max(most, add(staging, leanest(op, pinned)));
    return std::max<int64_t>(1, most - (std::max<int64_t>(1, graph_.device.align_bytes) - 1));
  }

  [[nodiscard]] int64_t leanest(size_t op, const std::vector<Pinned>& pinned) const {
    int64_t least = INT64_MAX;
    for (const Choice& choice : graph_.ops[op].choices)
      if (permitted(graph_.ops[op], choice)) least = std::min(least, held_bytes(op, choice, pinned));
    return least;
  }

  // While one choice runs: inputs, outputs that can take over nothing, workspace, what is pinned besides.
  [[nodiscard]] int64_t held_bytes(size_t index, const Choice& choice, const std::vector<Pinned>& pinned) const {
    const Op& op = graph_.ops[index];
    std::set<size_t> held = reads(op, choice);
    for (const int position : choice.writes)
      if (source_of(op, choice, position) == kNobody)
        held.insert(tensor_of_.at(op.outputs[static_cast<size_t>(position)]));
    int64_t bytes = base::round_up(choice.workspace_bytes, std::max<int64_t>(1, graph_.device.align_bytes));
    for (const size_t each : held) bytes = add(bytes, size_of(each));
    return add(add(bytes, staying_beside(held)), leaving_beside(index, held, pinned));
  }

  // Of what is pinned until the end, the bytes of those that the op does not touch.
  [[nodiscard]] int64_t staying_beside(const std::set<size_t>& held) const {
    int64_t bytes = staying_bytes_;
    for (const size_t each : held) {
      const auto stay = stay_of_.find(each);
      if (stay == stay_of_.end()) continue;
      const bool counted = each == stay->second.successor && held.contains(stay->second.tensor);
      if (!counted) bytes = std::max<int64_t>(0, bytes - stay->second.bytes);
    }
    return bytes;
  }

  static int64_t leaving_beside(size_t op, const std::set<size_t>& held, const std::vector<Pinned>& leaving) {
    int64_t bytes = 0;
    for (const Pinned& each : leaving)
      if (each.until[op] && !held.contains(each.tensor) && !held.contains(each.successor))
        bytes = add(bytes, each.bytes);
    return bytes;
  }

  // The input whose bytes an output may take over; the last pair counts.
  [[nodiscard]] size_t source_of(const Op& op, const Choice& choice, int position) const {
    int source = -1;
    for (const auto& [out, in] : choice.overwrites)
      if (out == position) source = in;
    if (source < 0) return kNobody;
    const Tensor& from = tensor(input(op, source));
    const int64_t target = op.outputs[static_cast<size_t>(position)];
    const bool allowed = from.next == target || (free_.in_place && !from.pinned);
    const bool fits = from.start != Home::kRom && tensor(tensor_of_.at(target)).bytes <= from.bytes;
    return allowed && fits ? input(op, source) : kNobody;
  }

  // Those whose bytes are taken until the end, by the one or the other, go to stay_of_; the others are returned, as far
  // as that is no more than a bounded work.
  std::vector<Pinned> find_pinned() {
    const std::unordered_map<size_t, size_t> successors = takers();
    std::vector<Pinned> leaving;
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      if (!tensor(index).pinned || tensor(index).start != Home::kRam) continue;
      Pinned each{.tensor = index, .bytes = size_of(index)};
      const auto successor = successors.find(index);
      if (successor == successors.end()) {
        add_staying(each);
      } else if (each.successor = successor->second; stays_to_the_end(each.successor)) {
        each.bytes = std::min(each.bytes, size_of(each.successor));
        add_staying(each);
      } else if (static_cast<int64_t>((leaving.size() + 1) * graph_.ops.size()) <= kMarks) {
        each.until = computed_before(producer_of_.at(each.successor));
        leaving.push_back(std::move(each));
      }
    }
    return leaving;
  }

  void add_staying(const Pinned& each) {
    staying_bytes_ = add(staying_bytes_, each.bytes);
    stay_of_[each.tensor] = each;
    if (each.successor != kNobody) stay_of_[each.successor] = each;
  }

  // By tensor: the one that may take over its bytes.
  [[nodiscard]] std::unordered_map<size_t, size_t> takers() const {
    std::unordered_map<size_t, size_t> takers;
    for (const Op& op : graph_.ops)
      for (const Choice& choice : op.choices)
        for (const auto& [out, in] : choice.overwrites)
          if (const size_t source = source_of(op, choice, out); source != kNobody && permitted(op, choice))
            takers[source] = tensor_of_.at(op.outputs[static_cast<size_t>(out)]);
    return takers;
  }

  // By op: is it first computed before `last` is, whatever the order, or is it `last`?
  [[nodiscard]] std::vector<bool> computed_before(size_t last) const {
    std::vector<bool> before(graph_.ops.size(), false);
    std::vector<size_t> waiting{last};
    while (!waiting.empty()) {
      const size_t op = waiting.back();
      waiting.pop_back();
      if (before[op]) continue;
      before[op] = true;
      for (const size_t read : always_read_[op])
        if (const auto producer = producer_of_.find(read); producer != producer_of_.end())
          waiting.push_back(producer->second);
    }
    return before;
  }

  // Once it is made, nothing can bring it back, and it must be there at the end.
  [[nodiscard]] bool stays_to_the_end(size_t index) const {
    const bool storage = graph_.device.pager.mode != problem::PagerMode::kNone;
    const bool pages = storage && !tensor(index).pinned && (free_.paging || ends_in_aux_[index]);
    const bool again = free_.recomputing && graph_.ops[producer_of_.at(index)].recompute;
    const bool overwritten = tensor(index).next >= 0;  // and computed once more
    return ends_in_ram_[index] && !(again && (overwritten || !tensor(index).pinned)) && !pages;
  }

  const CostGraph& graph_;
  const problem::Freedoms& free_;
  const Rounded down_{Rounding::kDown};
  std::unordered_map<int64_t, size_t> tensor_of_;
  std::unordered_map<size_t, size_t> producer_of_;  // op of a tensor
  std::vector<std::set<size_t>> always_read_;       // by op
  std::vector<bool> ends_in_ram_, ends_in_aux_;     // by tensor
  std::unordered_map<size_t, Pinned> stay_of_;      // by tensor and by successor
  int64_t staying_bytes_ = 0;
};

}  // namespace

LeastCosts least_costs(const CostGraph& graph, const problem::Freedoms& freedoms) {
  return Accountant(graph, freedoms).run();
}

PricedCosts priced_costs(const CostGraph& graph, const problem::Freedoms& freedoms) {
  return Accountant(graph, freedoms).priced();
}

}  // namespace pantoum::check
