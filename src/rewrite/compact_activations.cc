#include "rewrite/edit.h"
#include "rewrite/passes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace pantoum::rewrite {
namespace {

using Form = std::optional<ir::CompactForm>;

const Form& form_of(const Op& op) {
  return ir::op_def(op.kind).compact;
}

Attrs attrs_of(Kind made_by, const Op& gradient) {
  const ir::Signature& has = ir::op_def(made_by).signature;
  return has.ints == 0 && has.reals == 0 ? Attrs{} : gradient.attrs;
}

// By value: is it read behind the loss by an op that needs all of it? Views count for what they are views of.
std::vector<char> held_by_backward(const Graph& graph) {
  std::vector<char> held(graph.values.size(), 0);
  const auto hold = [&](ValueId id) { held[static_cast<size_t>(ir::root_of(graph, id))] = 1; };
  const OpId loss = graph.results.empty() ? 0 : graph.value(graph.results[0]).producer;
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (static_cast<OpId>(id) <= loss || op.kind == Kind::k_alias) continue;
    for (size_t input = 0; input < op.inputs.size(); ++input)
      if (input != 1 || !form_of(op)) hold(op.inputs[input]);
  }
  for (const auto* list : {&graph.outputs, &graph.results}) std::for_each(list->begin(), list->end(), hold);
  return held;
}

class Saving {
 public:
  explicit Saving(const Graph& source) : graph_(source), after_(source.ops.size()), held_(held_by_backward(source)) {}

  Graph run() {
    for (size_t op = 0; op < after_.size(); ++op) offer(graph_.ops[op]);
    std::vector<Op> ops;
    for (size_t op = 0; op < after_.size(); ++op) {
      append(ops, std::move(graph_.ops[op]));
      for (Op& save : after_[op]) append(ops, std::move(save));
    }
    graph_.ops = std::move(ops);
    return std::move(graph_);
  }

 private:
  void offer(Op& op) {
    const Form& form = form_of(op);
    if (!form || graph_.value(op.inputs[1]).producer == kNone) return;
    if (held_[static_cast<size_t>(ir::root_of(graph_, op.inputs[1]))]) return;
    const std::optional<ValueId> made = saved(op.inputs[1], form->made_by, attrs_of(form->made_by, op));
    if (made) op.alternatives.push_back({form->gradient, {op.inputs[0], *made}, op.attrs});
  }

  // The compact form of an activation, made once; none where it cannot be told so shortly (windows of 256 taps).
  std::optional<ValueId> saved(ValueId activation, Kind made_by, const Attrs& attrs) {
    const auto known = made_.find({activation, made_by, attrs.ints});
    if (known != made_.end()) return known->second;
    const std::vector<TensorType> inputs = {graph_.value(activation).type};
    const auto types = ir::infer_types(made_by, {inputs, {}, attrs});
    if (!types) return std::nullopt;
    Value value;
    value.name = graph_.value(activation).name + (made_by == Kind::k_sign_bits ? ".signs" : ".taps");
    value.type = types->front();
    Op op{.kind = made_by, .name = value.name, .inputs = {activation}, .attrs = attrs};
    op.optional = true;
    const auto made = static_cast<ValueId>(graph_.values.size());
    op.outputs = {made};
    after_[static_cast<size_t>(graph_.value(activation).producer)].push_back(std::move(op));
    graph_.values.push_back(std::move(value));
    made_.emplace(std::tuple(activation, made_by, attrs.ints), made);
    return made;
  }

  void append(std::vector<Op>& ops, Op op) {
    for (const ValueId output : op.outputs) graph_.value(output).producer = static_cast<OpId>(ops.size());
    ops.push_back(std::move(op));
  }

  Graph graph_;
  std::vector<std::vector<Op>> after_;  // by op of the source: what is made right behind it
  std::vector<char> held_;
  std::map<std::tuple<ValueId, Kind, std::vector<int64_t>>, ValueId> made_;
};

}  // namespace

Graph compact_activations(const Graph& graph) {
  return Saving(graph).run();
}

}  // namespace pantoum::rewrite
