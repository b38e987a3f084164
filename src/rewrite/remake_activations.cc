#include "rewrite/edit.h"
#include "rewrite/passes.h"

#include <algorithm>
#include <utility>

namespace pantoum::rewrite {
namespace {

using ir::Bytes;

constexpr double kMostFlops = 8;    // of an element that is made again
constexpr double kMostSteps = 2e7;  // ops walked through while results are tried one by one
// Whatever else stands in RAM (workspaces, other layouts of weights) makes the peak where bytes come near it.
constexpr double kFull = 0.85;
constexpr size_t kNormStatistics = 1;  // the outputs of a norm that its evaluation reads

Bytes most(const std::vector<Bytes>& live) {
  return *std::ranges::max_element(live);
}

bool is_norm(Kind kind) {
  return kind == Kind::k_batch_norm || kind == Kind::k_batch_norm_act || kind == Kind::k_batch_norm_eval ||
         kind == Kind::k_batch_norm_act_eval;
}

// A step that makes some of its values again.
struct Step {
  Graph graph;
  std::vector<Bytes> live;  // by op
  std::vector<OpId> made;   // by value of the source: the op that makes it again

  // The most live bytes between the op that makes the value first and the op that makes it again.
  Bytes most_between(OpId first, ValueId value) const {
    const OpId again = made[position_of(value)];
    return again == kNone ? most(live) : *std::max_element(live.begin() + first, live.begin() + again + 1);
  }
};

// Chooses the values that a step makes again, and builds that step.
class Remaking {
 public:
  explicit Remaking(const Graph& source) : source_(source), again_(source.values.size(), 0) {
    loss_ = source.results.empty() ? kNone : source.value(source.results[0]).producer;
    find_roots();
    find_cheap();
    find_held();
  }

  // The values (roots of views) that backward reads and that can be made again, the largest first.
  std::vector<ValueId> candidates() const {
    std::vector<ValueId> found;
    for (size_t id = 0; id < root_.size(); ++id)
      if (held_[id] && cheap_[id] && of_norm_[id] && source_.values[id].producer != kNone && root_[id] == as_id(id) &&
          !outlives_[id])
        found.push_back(as_id(id));
    std::ranges::stable_sort(
        found, [&](ValueId a, ValueId b) { return source_.value(a).type.bytes() > source_.value(b).type.bytes(); });
    return found;
  }

  void set(ValueId root, bool again) { again_[position_of(root)] = again ? 1 : 0; }

  // The step that makes them again.
  Step build() {
    graph_ = source_;
    graph_.ops.clear();
    twins_.assign(source_.values.size(), kNone);
    for (size_t id = 0; id < source_.ops.size(); ++id) {
      Op op = source_.ops[id];
      if (as_id(id) > loss_)
        for (ValueId& input : op.inputs)
          if (again_[position_of(root_[position_of(input)])]) input = twin(input);
      append(std::move(op));
    }
    Step step{.live = unplanned_bytes(graph_), .made = std::vector<OpId>(twins_.size(), kNone)};
    for (size_t id = 0; id < twins_.size(); ++id)
      if (twins_[id] != kNone) step.made[id] = graph_.value(twins_[id]).producer;
    step.graph = std::move(graph_);
    return step;
  }

 private:
  static int32_t as_id(size_t id) { return static_cast<int32_t>(id); }

  void find_roots() {
    root_.resize(source_.values.size());
    for (size_t id = 0; id < root_.size(); ++id) root_[id] = as_id(id);
    for (const Op& op : source_.ops)
      if (op.kind == Kind::k_alias) root_[position_of(op.outputs[0])] = root_[position_of(op.inputs[0])];
  }

  // A step over memory: as many bytes as are made, and little to compute.
  bool is_cheap(const Op& op) const {
    if (!op.recompute || !op.alternatives.empty() || op.optional || !ir::may_run_again(op.kind, op.attrs)) return false;
    if (is_norm(op.kind) || op.kind == Kind::k_alias || op.kind == Kind::k_concat) return true;
    if (!ir::op_def(op.kind).traits.pointwise || op.outputs.size() != 1) return false;
    const auto elements = static_cast<double>(source_.value(op.outputs[0]).type.elements());
    return ir::cost_of(source_, op).flops <= kMostFlops * elements;
  }

  void find_cheap() {
    cheap_.assign(source_.values.size(), 0);
    of_norm_.assign(source_.values.size(), 0);
    for (size_t id = 0; id < source_.ops.size() && as_id(id) <= loss_; ++id) {
      const Op& op = source_.ops[id];
      if (!is_cheap(op)) continue;
      const ValueId made = op.outputs[0];  // a norm's statistics are kept
      cheap_[position_of(made)] = 1;
      of_norm_[position_of(made)] = is_norm(op.kind) || std::ranges::any_of(op.inputs, [&](ValueId input) {
                                      return of_norm_[position_of(input)] != 0;
                                    });
    }
  }

  void find_held() {
    held_.assign(source_.values.size(), 0);
    outlives_.assign(source_.values.size(), 0);
    for (size_t id = 0; id < source_.ops.size(); ++id) {
      const Op& op = source_.ops[id];
      if (as_id(id) <= loss_) continue;
      if (op.kind != Kind::k_alias)
        for (const ValueId input : op.inputs) held_[position_of(root_[position_of(input)])] = 1;
      for (const ir::Alternative& other : op.alternatives)
        for (const ValueId input : other.inputs) outlives_[position_of(root_[position_of(input)])] = 1;
    }
    const auto keep = [&](ValueId id) { outlives_[position_of(root_[position_of(id)])] = 1; };
    for (const auto* list : {&source_.outputs, &source_.results}) std::for_each(list->begin(), list->end(), keep);
    for (const Value& value : source_.values)
      if (value.next != kNone) keep(value.next);
  }

  void append(Op op) {
    for (const ValueId output : op.outputs) graph_.value(output).producer = as_id(graph_.ops.size());
    graph_.ops.push_back(std::move(op));
  }

  // What an op that makes something again reads: what is there anyway, or what is made again too.
  ValueId operand(ValueId id) {
    const ValueId root = root_[position_of(id)];
    const bool there = source_.value(root).producer == kNone || !cheap_[position_of(id)] ||
                       outlives_[position_of(root)] || (held_[position_of(root)] && !again_[position_of(root)]);
    return there ? id : twin(id);
  }

  ValueId twin(ValueId id) {
    if (twins_[position_of(id)] != kNone) return twins_[position_of(id)];
    if (!cheap_[position_of(id)] || source_.value(id).producer == kNone) return id;
    const Op& first = source_.op(source_.value(id).producer);
    Op op{.kind = first.kind, .name = first.name + ".again", .inputs = first.inputs, .attrs = first.attrs};
    if (first.kind == Kind::k_batch_norm || first.kind == Kind::k_batch_norm_act) {
      op.kind = first.kind == Kind::k_batch_norm ? Kind::k_batch_norm_eval : Kind::k_batch_norm_act_eval;
      op.inputs[0] = operand(op.inputs[0]);
      op.inputs.insert(op.inputs.end(), first.outputs.begin() + kNormStatistics, first.outputs.end());
    } else {
      for (ValueId& input : op.inputs) input = operand(input);
    }
    Value value = source_.value(id);
    value.name += ".again";
    value.producer = kNone;
    op.outputs = {as_id(graph_.values.size())};
    graph_.values.push_back(std::move(value));
    twins_[position_of(id)] = op.outputs[0];
    append(std::move(op));
    return twins_[position_of(id)];
  }

  const Graph& source_;
  OpId loss_ = kNone;
  std::vector<ValueId> root_;   // by value: whose bytes these are
  std::vector<char> cheap_;     // by value: its op can make it again
  std::vector<char> of_norm_;   // by value: cheap ops lead to it from a norm
  std::vector<char> held_;      // by root: backward reads it
  std::vector<char> outlives_;  // by root: must stay what it is
  std::vector<char> again_;     // by root: chosen
  std::vector<ValueId> twins_;  // by value of the source, while a step is built
  Graph graph_;
};

}  // namespace

Graph remake_activations(const Graph& graph) {
  Remaking remaking(graph);
  const std::vector<ValueId> candidates = remaking.candidates();
  if (candidates.empty()) return graph;
  for (const ValueId value : candidates) remaking.set(value, true);
  Step best = remaking.build();
  if (most(best.live) >= most(unplanned_bytes(graph))) return graph;
  double steps = 0;
  for (const ValueId value : candidates) {
    const Bytes bytes = graph.value(value).type.bytes(), peak = most(best.live),
                beside = best.most_between(graph.value(value).producer, value);
    const bool fits = static_cast<double>(beside + bytes) <= kFull * static_cast<double>(peak);
    if ((steps += static_cast<double>(best.graph.ops.size())) > kMostSteps) break;
    remaking.set(value, false);
    Step kept = remaking.build();
    if (most(kept.live) <= peak - (fits ? 0 : bytes / 2))
      best = std::move(kept);
    else
      remaking.set(value, true);
  }
  return std::move(best.graph);
}

}  // namespace pantoum::rewrite
