#include "check/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::check {
namespace {

using base::make_set;
using base::round_up;

constexpr __int128 kMostBytes = __int128{1} << 62;

}  // namespace

class FactFinder {
 public:
  FactFinder(const CostGraph& graph, const Certificate& certificate) : graph_(graph), asked_(certificate) {
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
      tensor_of_.emplace(graph.tensors[tensor].id, static_cast<int32_t>(tensor));
    for (const Op& op : graph.ops) op_of_.emplace(op.id, &op);
  }

  Result<StepFacts> run() {
    PANTOUM_TRY(check_sizes());
    PANTOUM_TRY(check_boundaries());
    add_tensors();
    PANTOUM_TRY(add_ops());
    if (asked_.any_order) PANTOUM_TRY(widen_windows());
    add_producers();
    add_duties();
    add_needs();
    add_budget();
    return std::move(facts_);
  }

 private:
  TensorFacts& tensor(int64_t id) { return facts_.tensors_[tensor_of_.at(id)]; }
  const Tensor& in_graph(int32_t index) const { return graph_.tensors[static_cast<size_t>(index)]; }
  bool permitted(const Op& op, const Choice& choice) const {
    return asked_.question.freedoms.numerics || choice.numerics == op.choices.front().numerics;
  }

  // Every sum of sizes fits 64 bits.
  Result<void> check_sizes() const {
    const int64_t align = graph_.device.align_bytes;
    __int128 total = graph_.device.pager.staging_bytes;
    int64_t workspace = 0;
    for (const Tensor& each : graph_.tensors) total += round_up(each.bytes, align);
    for (const Op& op : graph_.ops)
      for (const Choice& choice : op.choices) workspace = std::max(workspace, choice.workspace_bytes);
    if (total + round_up(workspace, align) >= kMostBytes)
      return broken("tensors that are rounded up to the alignment take too many bytes to be summed", ".order");
    if (!asked_.question.budget || *asked_.question.budget < 0 || *asked_.question.budget >= kMostBytes / 2)
      return broken("is no budget", ".question.budget_bytes");
    return {};
  }

  Result<void> check_boundaries() {
    const auto end = static_cast<int64_t>(graph_.ops.size()) + 1;
    if (asked_.boundaries.empty() || asked_.boundaries.back() != end)
      return broken(fmt::format("the last segment does not end with stage {}", end), ".boundaries");
    if (asked_.order.size() != graph_.ops.size())
      return broken(fmt::format("lists {} ops of {}", asked_.order.size(), graph_.ops.size()), ".order");
    int32_t before = 0;
    for (const int32_t stage : asked_.boundaries) {
      if (stage <= before) return broken(fmt::format("stage {} stands after {}", stage, before), ".boundaries");
      before = stage;
    }
    facts_.boundaries_ = base::Indexed<int32_t, int32_t>(asked_.boundaries);
    return {};
  }

  void add_tensors() {
    const Pager& pager = graph_.device.pager;
    for (const Tensor& each : graph_.tensors) {
      TensorFacts facts{.bytes = each.bytes, .size = round_up(each.bytes, graph_.device.align_bytes)};
      facts.starts_in_ram = each.start == Home::kRam;
      facts.starts_in_aux = each.start == Home::kAux;
      facts.in_rom = each.start == Home::kRom;
      facts.pinned = each.pinned;
      const bool writable =
          pager.mode != PagerMode::kNone && asked_.question.freedoms.paging && !facts.in_rom && !each.pinned;
      facts.pages = facts.starts_in_aux || writable;
      facts.in_s = transfer(pager.in, each.bytes);
      facts.out_s = transfer(pager.out, each.bytes);
      facts.in_j = std::max(0.0, down(facts.in_s * pager.in.w));
      facts.out_j = std::max(0.0, down(facts.out_s * pager.out.w));
      facts_.tensors_.push_back(facts);
    }
  }

  // Returns at most the seconds that semantics.md gives the transfer.
  double transfer(const Link& link, int64_t bytes) const {
    const int64_t block = graph_.device.pager.block_bytes;
    const double moved = at_most(round_up(bytes, block));
    return std::max(0.0, down(link.latency_s + down(moved / link.bytes_per_s)));
  }

  Result<void> add_ops() {
    int32_t segment = 0;
    for (const int64_t id : asked_.order) {
      const auto position = static_cast<int32_t>(facts_.ops_.size());
      const auto known = op_of_.find(id);
      if (known == op_of_.end()) return broken(fmt::format("names op {} twice, or there is none", id), ".order");
      const Op& op = *known->second;
      op_of_.erase(known);  // named
      PANTOUM_TRY(check_inputs(op));
      facts_.ops_.push_back(op_facts(op, segment));
      for (const int64_t output : op.outputs) tensor(output).producer = position;
      if (position + 1 != facts_.boundaries_[segment]) continue;
      if (op.optional)
        return broken(fmt::format("a segment ends with op {}, which may never be computed", id), ".boundaries");
      ++segment;
    }
    return {};
  }

  // Ops stand behind those that make what they read: one pass finds the last link of the chain that each comes after,
  // and one back the first that comes after it. That holds through optional ops too: what follows one whatever its
  // choice is computed after it, or not at all, and each link must run.
  Result<void> widen_windows() {
    facts_.any_order_ = true;
    base::Indexed<int32_t, int32_t> ends(facts_.ops_.size(), -1);  // by op: the segment that it ends
    for (int32_t at = 0; at + 1 < facts_.segments(); ++at) ends[facts_.boundary_op(at)] = at;
    for (const int32_t at : facts_.ops_.indices()) {
      OpFacts& op = facts_.ops_[at];
      op.segment = 0;
      for (const int32_t maker : makers(op))
        op.segment = std::max({op.segment, facts_.ops_[maker].segment, ends[maker] + 1});
      op.last_segment = ends[at] >= 0 ? ends[at] : facts_.segments() - 1;
      if (ends[at] >= 0 && op.segment != ends[at])
        return broken(fmt::format("op {} need not come after the one that ends the segment before",
                                  asked_.order[static_cast<size_t>(at)]),
                      ".boundaries");
    }
    for (int32_t at = facts_.op_count() - 1; at >= 0; --at) {
      for (const int32_t maker : makers(facts_.ops_[at]))
        facts_.ops_[maker].last_segment = std::min(facts_.ops_[maker].last_segment, facts_.ops_[at].last_segment);
      OpFacts& op = facts_.ops_[at];
      op.floats = !op.optional && op.segment < op.last_segment;
    }
    return {};
  }

  // The ops that make what it reads whatever its choice.
  std::vector<int32_t> makers(const OpFacts& op) const {
    std::vector<int32_t> positions;
    for (const int32_t read : op.reads)
      if (const int32_t producer = facts_.tensors_[read].producer; producer >= 0) positions.push_back(producer);
    return positions;
  }

  void add_producers() {
    for (TensorFacts& each : facts_.tensors_)
      if (each.producer >= 0) each.definition_segment = facts_.ops_[each.producer].segment;
  }

  Result<void> check_inputs(const Op& op) {
    for (const int64_t input : op.inputs)
      if (in_graph(tensor_of_.at(input)).start == Home::kNone && tensor(input).producer < 0)
        return broken(fmt::format("op {} stands before the op that makes its input {}", op.id, input), ".order");
    return {};
  }

  OpFacts op_facts(const Op& op, int32_t segment) {
    OpFacts facts{.segment = segment,
                  .last_segment = segment,
                  .optional = op.optional,
                  .may_recompute = op.recompute && asked_.question.freedoms.recomputing};
    bool first = true;
    for (const Choice& choice : op.choices) {
      if (!permitted(op, choice)) continue;
      std::vector<int32_t> reads = inputs_of(op, choice), common;
      const int64_t held = held_bytes(op, choice, reads);
      facts.seconds = first ? choice.time_s : std::min(facts.seconds, choice.time_s);
      facts.joules = first ? choice.energy_j : std::min(facts.joules, choice.energy_j);
      facts.working_set = first ? held : std::min(facts.working_set, held);
      facts.touches.insert(facts.touches.end(), reads.begin(), reads.end());
      for (const int position : choice.writes) facts.touches.push_back(tensor_of_.at(op.output(position)));
      std::set_intersection(facts.reads.begin(), facts.reads.end(), reads.begin(), reads.end(),
                            std::back_inserter(common));
      facts.reads = first ? std::move(reads) : std::move(common);
      first = false;
      slack_ = std::max(slack_, round_up(choice.workspace_bytes, graph_.device.align_bytes) - choice.workspace_bytes);
    }
    make_set(facts.touches);
    return facts;
  }

  std::vector<int32_t> inputs_of(const Op& op, const Choice& choice) const {
    std::vector<int32_t> reads;
    for (const int position : choice.reads) {
      const int32_t input = tensor_of_.at(op.input(position));
      if (in_graph(input).start != Home::kRom) reads.push_back(input);
    }
    make_set(reads);
    return reads;
  }

  // Bytes that one computation holds at its end, at the least: an output that may stand inside an input's bytes does.
  int64_t held_bytes(const Op& op, const Choice& choice, const std::vector<int32_t>& reads) const {
    int64_t bytes = round_up(choice.workspace_bytes, graph_.device.align_bytes);
    for (const int32_t input : reads) bytes += facts_.tensors_[input].size;
    for (const int position : choice.writes)
      if (!may_share(op, choice, position)) bytes += facts_.tensors_[tensor_of_.at(op.output(position))].size;
    return bytes;
  }

  // The last pair of an output counts. What is pinned yields its bytes to its successor alone.
  bool may_share(const Op& op, const Choice& choice, int position) const {
    int source = -1;
    for (const auto& [out, in] : choice.overwrites)
      if (out == position) source = in;
    if (source < 0) return false;
    const int64_t target = op.output(position);
    const Tensor& from = in_graph(tensor_of_.at(op.input(source)));
    const bool allowed = from.next == target || (asked_.question.freedoms.in_place && !from.pinned);
    return allowed && from.start != Home::kRom && in_graph(tensor_of_.at(target)).bytes <= from.bytes;
  }

  // The step ends where the next one starts.
  void add_duties() {
    for (const Tensor& each : graph_.tensors) {
      if (each.end == Home::kRam) tensor(each.id).ends_in_ram = true;
      if (each.end == Home::kAux) tensor(each.id).ends_in_aux = true;
      if (each.next < 0 && each.end != Home::kRam) continue;
      TensorFacts& successor = tensor(each.next < 0 ? each.id : each.next);
      if (each.start == Home::kRam) successor.ends_in_ram = true;
      if (each.start == Home::kAux) successor.ends_in_aux = true;
      if (each.next >= 0) tensor(each.id).taker = successor.producer;
    }
  }

  void add_needs() {
    facts_.needs_.resize(facts_.boundaries_.size());
    for (const OpFacts& op : facts_.ops_) {
      std::vector<int32_t>& needs = facts_.needs_[op.segment];
      if (!op.optional && !op.floats) needs.insert(needs.end(), op.reads.begin(), op.reads.end());
    }
    for (const int32_t index : facts_.tensors_.indices())
      if (facts_.tensors_[index].ends_in_ram) facts_.needs_[facts_.segments() - 1].push_back(index);
    for (std::vector<int32_t>& needs : facts_.needs_) make_set(needs);
  }

  void add_budget() {
    for (const TensorFacts& each : facts_.tensors_) slack_ = std::max(slack_, each.size - each.bytes);
    facts_.budget_ = *asked_.question.budget + slack_ - graph_.device.pager.staging_bytes;
    const auto last = static_cast<size_t>(facts_.segments());
    std::vector<int64_t> leaves(last + 1, 0);  // by segment: the first that may end without these bytes
    int64_t pinned = 0;
    for (const TensorFacts& each : facts_.tensors_) {
      if (!each.pinned || !each.starts_in_ram) continue;
      leaves[each.taker < 0 ? last : static_cast<size_t>(facts_.op(each.taker).segment)] += each.size;
      pinned += each.size;
    }
    for (size_t segment = 0; segment < last; ++segment) facts_.pinned_after_.push_back(pinned -= leaves[segment]);
  }

  const CostGraph& graph_;
  const Certificate& asked_;
  std::unordered_map<int64_t, int32_t> tensor_of_;
  std::unordered_map<int64_t, const Op*> op_of_;  // not yet named by the order
  int64_t slack_ = 0;
  StepFacts facts_;
};

Result<StepFacts> StepFacts::make(const CostGraph& graph, const Certificate& certificate) {
  return FactFinder(graph, certificate).run();
}

}  // namespace pantoum::check
