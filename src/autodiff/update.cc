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
// unused.
std::optional<ValueId> append_row_update(Builder& builder, const Sgd& sgd, ValueId parameter, ValueId gradient) {
  const Graph& graph = builder.graph();
  const OpId producer = graph.value(gradient).producer;
  if (sgd.momentum != 0 || sgd.weight_decay != 0 || producer == kNone) return std::nullopt;
  const Op& made = graph.op(producer);
  if (made.kind != Kind::k_gather_grad || made.attrs.ints[0] != 0) return std::nullopt;
  const ValueId dy = made.inputs[0], indices = made.inputs[1];
  return builder.op(Kind::k_sgd_rows, graph.value(parameter).name + ".sgd_rows", {parameter, indices, dy});
}

struct Append {
  Builder& builder;
  ValueId parameter, gradient;
  std::string name;

  // The update op reads parameter, gradient, states and writes parameter, states.
  void update(Kind kind, const std::vector<std::string>& states, const Attrs& attrs) const {
    std::vector<ValueId> inputs{parameter, gradient};
    for (const std::string& state : states) inputs.push_back(state_of(builder, "optim." + state + ".", parameter));
    const std::vector<ValueId> made = builder.add(kind, name + "." + ir::name_of(kind), inputs, attrs);
    if (builder.error()) return;
    succeed(builder, parameter, made[0]);
    for (size_t state = 0; state < states.size(); ++state) succeed(builder, inputs[2 + state], made[1 + state]);
  }

  void operator()(const Sgd& sgd) const {
    if (const auto rows = append_row_update(builder, sgd, parameter, gradient)) {
      return succeed(builder, parameter, *rows);
    }
    update(Kind::k_sgd, sgd.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{},
           {{sgd.nesterov}, {sgd.momentum, sgd.weight_decay}});
  }

  void operator()(const Adam& adam) const {
    update(Kind::k_adam, {"adam_m", "adam_v"}, {{}, {adam.beta1, adam.beta2, adam.eps, adam.weight_decay}});
  }

  void operator()(const AdamW& adam) const {
    update(Kind::k_adamw, {"adam_m", "adam_v"}, {{}, {adam.beta1, adam.beta2, adam.eps, adam.weight_decay}});
  }

  void operator()(const RmsProp& rmsprop) const {
    std::vector<std::string> states{"square"};
    if (rmsprop.centered) states.emplace_back("mean");
    if (rmsprop.momentum != 0) states.emplace_back("momentum");
    update(Kind::k_rmsprop, states,
           {{rmsprop.centered}, {rmsprop.alpha, rmsprop.eps, rmsprop.momentum, rmsprop.weight_decay}});
  }

  void operator()(const Adagrad& adagrad) const {
    update(Kind::k_adagrad, {"sum"}, {{}, {adagrad.lr_decay, adagrad.eps, adagrad.weight_decay}});
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

}  // namespace

void succeed(Builder& builder, ValueId value, ValueId made) {
  builder.rename(made, builder.graph().value(value).name + "'");
  builder.graph().value(value).next = made;
}

Optimizer optimizer_of(const TrainingOptions& options, const std::string& parameter) {
  Optimizer own = options.optimizer;
  for (const DecayOf& decay : options.decays)
    if (base::matches(decay.names, parameter))
      std::visit(
          [&](auto& optimizer) {
            if constexpr (requires { optimizer.weight_decay; }) optimizer.weight_decay = decay.weight_decay;
          },
          own);
  return own;
}

void append_update(Builder& builder, const TrainingOptions& options, ValueId parameter, ValueId gradient) {
  const std::string name = builder.graph().value(parameter).name;
  std::visit(Append{builder, parameter, gradient, name}, optimizer_of(options, name));
}

}  // namespace pantoum::autodiff
