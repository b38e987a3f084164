#include "autodiff/step.h"

#include <algorithm>
#include <optional>

#include "base/custom_operators.h"
#include "base/globs.h"
#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

ValueId state_of(Builder& builder, const std::string& prefix, ValueId parameter) {
  const Value& value = builder.graph().value(parameter);
  const std::string name = prefix + value.name;
  const TensorType type = value.type;
  return builder.state(name, type);
}

// The update of an embedding table without its gradient. Where the gradient of `parameter` consists only of the rows that
// gather_grad scatters, and the optimizer leaves a row without gradient as it is (SGD without momentum and weight decay):
// the op that updates these rows, with the same bits as gather_grad and sgd. None otherwise. The gradient's op remains,
// unused. A group's weight decay that becomes positive later is one that the op knows.
std::optional<ValueId> append_row_update(Builder& builder, const Sgd& sgd, const Attrs& group, ValueId parameter,
                                         ValueId gradient) {
  const Graph& graph = builder.graph();
  const OpId producer = graph.value(gradient).producer;
  if (sgd.momentum != 0 || sgd.weight_decay != 0 || producer == kNone) return std::nullopt;
  const Op& made = graph.op(producer);
  if (made.kind != Kind::k_gather_grad || made.attrs.ints[0] != 0) return std::nullopt;
  const ValueId dy = made.inputs[0], indices = made.inputs[1];
  return builder.op(Kind::k_sgd_rows, graph.value(parameter).name + ".sgd_rows", {parameter, indices, dy}, group);
}

struct Append {
  Builder& builder;
  ValueId parameter, gradient;
  std::string name;
  std::optional<int64_t> group;

  // The update op reads parameter, gradient, states and writes parameter, states.
  void update(Kind kind, const std::vector<std::string>& states, Attrs attrs) const {
    if (group) attrs.ints.push_back(*group);
    std::vector<ValueId> inputs{parameter, gradient};
    for (const std::string& state : states) inputs.push_back(state_of(builder, "optim." + state + ".", parameter));
    const std::vector<ValueId> made = builder.add(kind, name + "." + ir::name_of(kind), inputs, attrs);
    if (builder.error()) return;
    succeed(builder, parameter, made[0]);
    for (size_t state = 0; state < states.size(); ++state) succeed(builder, inputs[2 + state], made[1 + state]);
  }

  template <class AdamOrW>
  void adaptive(Kind kind, const AdamOrW& adam) const {
    std::vector<std::string> states{"adam_m", "adam_v"};
    if (adam.amsgrad) states.emplace_back("adam_max");
    update(kind, states, {{}, {adam.beta1, adam.beta2, adam.eps, adam.weight_decay}});
  }

  void operator()(const Sgd& sgd) const {
    const Attrs own = group ? Attrs{{*group}, {}} : Attrs{};
    if (const auto rows = append_row_update(builder, sgd, own, parameter, gradient)) {
      return succeed(builder, parameter, *rows);
    }
    update(Kind::k_sgd, sgd.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{},
           {{sgd.nesterov}, {sgd.momentum, sgd.weight_decay}});
  }

  void operator()(const Adam& adam) const { adaptive(Kind::k_adam, adam); }
  void operator()(const AdamW& adam) const { adaptive(Kind::k_adamw, adam); }

  void operator()(const RmsProp& rmsprop) const {
    std::vector<std::string> states{"square"};
    if (rmsprop.centered) states.emplace_back("mean");
    if (rmsprop.momentum != 0) states.emplace_back("momentum");
    update(Kind::k_rmsprop, states,
           {{rmsprop.centered}, {rmsprop.alpha, rmsprop.eps, rmsprop.momentum, rmsprop.weight_decay}});
  }

  void operator()(const Adagrad& adagrad) const {
    std::vector<double> reals{adagrad.lr_decay, adagrad.eps, adagrad.weight_decay};
    if (adagrad.initial_accumulator_value != 0) reals.push_back(adagrad.initial_accumulator_value);
    update(Kind::k_adagrad, {"sum"}, {{}, reals});
  }

  // An unknown name has the key 0, which the op's rule refuses.
  void operator()(const CustomUpdate& custom) const {
    if (custom.name.empty()) return leave_gradient();
    const auto op = base::custom_operator(custom.name);
    update(Kind::k_custom_update, op ? op->states : std::vector<std::string>(),
           {{op ? base::custom_key(*op) : 0}, custom.settings});
  }

  // Two parameters may share one gradient (p + q): the second gets a copy under its own name.
  void leave_gradient() const {
    std::vector<ValueId>& outputs = builder.graph().outputs;
    const bool taken = std::ranges::find(outputs, gradient) != outputs.end();
    const ValueId own = taken ? builder.op(Kind::k_scale, "grad." + name, {gradient}, {{}, {1, 0}}) : gradient;
    if (!taken) builder.rename(own, "grad." + name);
    outputs.push_back(own);
  }
};

void set_decay(Optimizer& optimizer, const ParameterGroup& group) {
  std::visit(
      [&](auto& own) {
        if constexpr (requires { own.weight_decay; }) own.weight_decay = group.weight_decay.value_or(own.weight_decay);
      },
      optimizer);
}

}  // namespace

void succeed(Builder& builder, ValueId value, ValueId made) {
  builder.rename(made, builder.graph().value(value).name + "'");
  builder.graph().value(value).next = made;
}

bool names(const ParameterGroup& group, const std::string& parameter) {
  return base::matches_one(group.names, parameter);
}

void append_update(Builder& builder, const TrainingOptions& options, ValueId parameter, ValueId gradient) {
  const std::string name = builder.graph().value(parameter).name;
  Append append{builder, parameter, gradient, name, {}};
  Optimizer optimizer = options.optimizer;
  for (size_t at = 0; at < options.groups.size(); ++at)
    if (names(options.groups[at], name)) append.group = static_cast<int64_t>(at);
  if (append.group) set_decay(optimizer, options.groups[static_cast<size_t>(*append.group)]);
  std::visit(append, optimizer);
}

}  // namespace pantoum::autodiff
