#include "autodiff/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/op_registry.h"

namespace pantoum::autodiff {

namespace {

// One weight in many products (a recurrent network's time steps): its gradient as few products over stacked factors.
//
//   dW = dy_1' a_1 + ... + dy_T' a_T = [dy_1; ...; dy_T]' [a_1; ...; a_T]
//
// T thin products and their sum read and write the weight's size T times; the stacks move the factors once. Stacked is
// what moves fewer bytes that way, in the order of the forward ops, up to ir::kTallRows, so that the factors of few
// steps are in RAM together.
class SharedProducts {
 public:
  // `takes_part` by op: is it differentiated? `active` by value: does it want a gradient?
  SharedProducts(const Graph& forward, const std::vector<char>& takes_part, const std::vector<char>& active);

  // Clears in `wanted` the op's inputs whose gradients come from a stack.
  void claim(const Op& op, std::vector<char>& wanted) const;

  // A contribution to the gradient of a weight or a bias.
  struct Contribution {
    ValueId value, part;
  };
  // The op was differentiated, with this gradient of its output (kNone: none flows); what its stack gives once it is
  // the last of it.
  std::vector<Contribution> add(Builder& builder, const Op& op, ValueId d_output);

 private:
  struct Stack {
    std::set<ValueId> waiting;                             // outputs of products not differentiated yet
    std::map<ValueId, std::pair<ValueId, ValueId>> parts;  // output -> (left factor, output's gradient)
  };
  std::vector<char> active_;
  std::vector<Stack> stacks_;
  std::map<ValueId, size_t> stack_of_;  // by a product's output

  std::vector<Contribution> contributions(Builder& builder, const Op& op, ValueId a, ValueId dy) const;
};

// Products with more rows than this run hardly faster per row.
constexpr int64_t kTallRows = 128;

// A product of matrices whose rows can be stacked, and whose factors move for less than the weight's gradient is
// written, read beside a sum, and that sum written.
bool is_thin_product(const Graph& graph, const Op& op) {
  if (op.kind != Kind::k_matmul || op.attrs.ints[0] != 0) return false;
  const Shape &a = graph.value(op.inputs[0]).type.shape, &b = graph.value(op.inputs[1]).type.shape;
  if (a.size() != 2 || b.size() != 2) return false;
  const int64_t rows = a[0], inner = a[1], columns = op.attrs.ints[1] != 0 ? b[0] : b[1];
  return 2 * rows * (inner + columns) < 4 * inner * columns;
}

SharedProducts::SharedProducts(const Graph& forward, const std::vector<char>& takes_part,
                               const std::vector<char>& active)
    : active_(active) {
  std::map<std::vector<ValueId>, std::vector<const Op*>> sharing;  // by weight, whether it is transposed, and bias
  for (size_t id = 0; id < forward.ops.size(); ++id) {
    const Op& op = forward.ops[id];
    if (!takes_part[id] || !is_thin_product(forward, op) || !active[position_of(op.inputs[1])]) continue;
    const ValueId bias = op.inputs.size() == 3 ? op.inputs[2] : kNone;
    sharing[{op.inputs[1], static_cast<ValueId>(op.attrs.ints[1] != 0), bias}].push_back(&op);
  }
  for (const auto& [key, ops] : sharing) {
    if (ops.size() < 2) continue;
    int64_t rows = kTallRows;
    for (const Op* op : ops) {
      if (rows >= kTallRows) {
        stacks_.emplace_back();
        rows = 0;
      }
      rows += forward.value(op->outputs[0]).type.shape[0];
      stacks_.back().waiting.insert(op->outputs[0]);
      stack_of_[op->outputs[0]] = stacks_.size() - 1;
    }
  }
}

void SharedProducts::claim(const Op& op, std::vector<char>& wanted) const {
  if (stack_of_.contains(op.outputs[0])) std::fill(wanted.begin() + 1, wanted.end(), char{0});
}

std::vector<SharedProducts::Contribution> SharedProducts::add(Builder& builder, const Op& op, ValueId d_output) {
  const auto found = stack_of_.find(op.outputs[0]);
  if (found == stack_of_.end()) return {};
  Stack& stack = stacks_[found->second];
  stack.waiting.erase(op.outputs[0]);
  if (d_output != kNone) stack.parts[op.outputs[0]] = {op.inputs[0], d_output};
  if (!stack.waiting.empty() || stack.parts.empty()) return {};
  std::vector<ValueId> lefts, gradients;
  for (const auto& [output, part] : stack.parts) {
    lefts.push_back(part.first);
    gradients.push_back(part.second);
  }
  return contributions(builder, op, builder.concat(op.name + ".a", lefts, 0),
                       builder.concat(op.name + ".dy", gradients, 0));
}

// y = a b + bias, or y = a b' + bias
std::vector<SharedProducts::Contribution> SharedProducts::contributions(Builder& builder, const Op& op, ValueId a,
                                                                        ValueId dy) const {
  const std::vector<ValueId> factors = op.attrs.ints[1] != 0 ? std::vector{dy, a} : std::vector{a, dy};
  std::vector<Contribution> made = {{op.inputs[1], builder.op(Kind::k_matmul, op.name + ".dw", factors, {{1, 0}, {}})}};
  if (op.inputs.size() == 3 && active_[position_of(op.inputs[2])])
    made.push_back({op.inputs[2], builder.sum_to(dy, builder.type(op.inputs[2]).shape)});
  return made;
}

// The part of the forward graph that is differentiated.
struct Activity {
  std::vector<char> active;      // by value: a trainable parameter, or computed from one
  std::vector<char> from_input;  // by value: changes with the batch
  std::vector<char> ops;         // by op: the loss depends on an active output of it
};

bool any_of_inputs(const Op& op, const std::vector<char>& property) {
  return std::ranges::any_of(op.inputs, [&](ValueId input) { return property[position_of(input)] != 0; });
}

void mark_upwards(const Graph& graph, Activity& activity) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    activity.active[id] = value.role == ir::Role::kParameter && value.trainable && ir::is_float(value.type.dtype);
    activity.from_input[id] = value.role == ir::Role::kInput || value.role == ir::Role::kLabel;
  }
  for (const Op& op : graph.ops) {
    const bool active = any_of_inputs(op, activity.active) && !ir::stops_gradient(op),
               from_input = any_of_inputs(op, activity.from_input);
    for (const ValueId output : op.outputs) {
      activity.active[position_of(output)] = active && ir::is_float(graph.value(output).type.dtype);
      activity.from_input[position_of(output)] = from_input;
    }
  }
}

void mark_downwards(const Graph& graph, const std::vector<WeightedLoss>& losses, Activity& activity) {
  std::vector<char> needed(graph.values.size(), 0);
  for (const WeightedLoss& root : losses) needed[position_of(root.loss)] = activity.active[position_of(root.loss)];
  for (size_t id = graph.ops.size(); id-- > 0;) {
    const Op& op = graph.ops[id];
    activity.ops[id] =
        std::ranges::any_of(op.outputs, [&](ValueId output) { return needed[position_of(output)] != 0; });
    if (!activity.ops[id]) continue;
    for (const ValueId input : op.inputs) needed[position_of(input)] |= activity.active[position_of(input)];
  }
}

Activity activity_of(const Graph& graph, const std::vector<WeightedLoss>& losses) {
  Activity activity{std::vector<char>(graph.values.size(), 0), std::vector<char>(graph.values.size(), 0),
                    std::vector<char>(graph.ops.size(), 0)};
  mark_upwards(graph, activity);
  mark_downwards(graph, losses, activity);
  return activity;
}

// Marks every input that has to be reached.
bool flows_through(const Op& op, const Activity& activity) {
  for (size_t input = 0; input < op.inputs.size(); ++input)
    if (activity.active[position_of(op.inputs[input])] && !ir::has_gradient(op, input)) return false;
  return true;
}

Result<void> check_gradients_exist(const Graph& graph, const Activity& activity) {
  std::vector<std::string> missing;
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (!activity.ops[id] || flows_through(op, activity)) continue;
    missing.push_back(fmt::format("'{}' ({})", op.name, ir::name_of(op.kind)));
  }
  if (missing.empty()) return {};
  const std::string what =
      fmt::format("{} op(s) between the loss and a trained parameter have no gradient", missing.size());
  return fail("E0402", what, graph.name, "freeze the parameters below them with --freeze", std::move(missing));
}

class Sweep {
 public:
  Sweep(Builder& builder, Activity activity, const OnGradient& on_gradient)
      : builder_(builder),
        activity_(std::move(activity)),
        on_gradient_(on_gradient),
        shared_(builder.graph(), activity_.ops, activity_.active),
        first_new_(builder.graph().values.size()),
        gradient_(first_new_, kNone),
        readers_(first_new_, 0) {
    const Graph& graph = builder.graph();
    for (size_t id = 0; id < graph.ops.size(); ++id) {
      if (!activity_.ops[id]) continue;
      for (const ValueId input : active_inputs(graph.ops[id])) ++readers_[position_of(input)];
    }
  }

  void run(const std::vector<WeightedLoss>& losses) {
    for (const WeightedLoss& root : losses) {
      if (is_loss_op(root.loss))
        weights_[root.loss] = root.weight;
      else
        gradient_[position_of(root.loss)] = builder_.constant_f32("grad.loss", {}, {static_cast<float>(root.weight)});
      if (activity_.active[position_of(root.loss)]) make_ready(builder_.graph().value(root.loss).producer);
    }
    while (!ready_.empty()) {
      const OpId id = ready_.rbegin()->second;
      ready_.erase(std::prev(ready_.end()));
      const Op op = builder_.graph().op(id);  // a copy: the graph grows
      differentiate(op);
      for (const ValueId input : active_inputs(op)) {
        if (--readers_[position_of(input)] == 0) complete(input);
      }
    }
  }

 private:
  Builder& builder_;
  Activity activity_;
  const OnGradient& on_gradient_;
  SharedProducts shared_;
  size_t first_new_;
  std::vector<ValueId> gradient_;      // by forward value: the sum so far
  std::set<ValueId> named_;            // gradients under their final name; a + b shares one: the first keeps it
  std::map<ValueId, double> weights_;  // of what is minimized
  std::vector<int> readers_;           // by forward value: ops that read it and are not differentiated yet
  std::set<std::pair<int, OpId>>
      ready_;  // ops all of whose outputs' readers are done; last first, parameters' own ops before all

  // The gradient of such an op begins the chain itself.
  bool is_loss_op(ValueId loss) const {
    const OpId producer = builder_.graph().value(loss).producer;
    return producer != kNone && ir::op_def(builder_.graph().op(producer).kind).begins_chain;
  }

  std::vector<ValueId> active_inputs(const Op& op) const {
    std::set<ValueId> inputs;
    for (const ValueId input : op.inputs) {
      if (activity_.active[position_of(input)]) inputs.insert(input);
    }
    return {inputs.begin(), inputs.end()};
  }

  void make_ready(OpId id) {
    const Op& op = builder_.graph().op(id);
    const bool waits =
        std::ranges::any_of(op.outputs, [&](ValueId output) { return readers_[position_of(output)] > 0; });
    if (!waits) ready_.emplace(any_of_inputs(op, activity_.from_input) ? 0 : 1, id);
  }

  void complete(ValueId value) {
    const ValueId gradient = gradient_[position_of(value)];
    const std::string name = builder_.graph().value(value).name;
    const OpId producer = builder_.graph().value(value).producer;
    if (gradient != kNone && named_.insert(gradient).second) builder_.rename(gradient, "grad." + name);
    if (producer != kNone) return make_ready(producer);
    if (gradient != kNone) on_gradient_(value, gradient);
  }

  void differentiate(const Op& op) {
    std::vector<ValueId> d_outputs;
    for (const ValueId output : op.outputs) d_outputs.push_back(gradient_[position_of(output)]);
    const auto minimized = weights_.find(op.outputs[0]);
    const bool flows = std::ranges::any_of(d_outputs, [](ValueId d) { return d != kNone; });
    if (!flows && minimized == weights_.end()) return add_shared(op, kNone);
    std::vector<char> wanted;
    for (const ValueId input : op.inputs) wanted.push_back(activity_.active[position_of(input)]);
    shared_.claim(op, wanted);
    ir::Backward backward{builder_, op, d_outputs, wanted, std::vector<ValueId>(op.inputs.size(), kNone)};
    if (minimized != weights_.end()) backward.weight = minimized->second;
    ir::op_def(op.kind).gradient(backward);
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      if (wanted[input] && backward.d_inputs[input] != kNone) accumulate(op.inputs[input], backward.d_inputs[input]);
    }
    add_shared(op, d_outputs[0]);
  }

  void add_shared(const Op& op, ValueId d_output) {
    for (const auto& [value, part] : shared_.add(builder_, op, d_output)) accumulate(value, part);
  }

  void accumulate(ValueId value, ValueId part) {
    ValueId& sum = gradient_[position_of(value)];
    if (sum == kNone) {
      sum = part;
      return;
    }
    const std::string name = "grad." + builder_.graph().value(value).name;
    sum = builder_.op(ir::Kind::k_add, name, {sum, part});
  }
};

}  // namespace

Result<void> append_backward(Builder& builder, const std::vector<WeightedLoss>& losses, const OnGradient& on_gradient) {
  const Graph& graph = builder.graph();
  Activity activity = activity_of(graph, losses);
  const auto trains = [&](const WeightedLoss& root) { return activity.active[position_of(root.loss)] != 0; };
  if (std::ranges::none_of(losses, trains)) {
    const bool none =
        std::ranges::none_of(graph.values, [](const ir::Value& each) { return each.role == ir::Role::kParameter; });
    if (none)
      return fail(
          "E0405", "nothing trains: the model has no parameter", graph.name,
          "--train NAME makes a tensor of an ONNX file one, in a Constant node too: `pantoum inspect` lists them");
    return fail("E0405", "nothing trains: the loss depends on no parameter that is not frozen", graph.name,
                "freeze fewer parameters, or name with --train what else trains");
  }
  PANTOUM_TRY(check_gradients_exist(graph, activity));
  Sweep sweep(builder, std::move(activity), on_gradient);
  sweep.run(losses);
  if (builder.error()) return Failure(*builder.error());
  return {};
}

}  // namespace pantoum::autodiff
