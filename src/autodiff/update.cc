#include "autodiff/update.h"

#include <algorithm>

#include "autodiff/sparse_update.h"

namespace pantoum::autodiff {
namespace {

using ir::Builder;
using ir::Kind;
using ir::ValueId;

// `made` follows `value` from the next step on.
void succeed(Builder& builder, ValueId value, ValueId made) {
  builder.rename(made, builder.graph().value(value).name + "'");
  builder.graph().value(value).next = made;
}

ValueId state_of(Builder& builder, const char* prefix, ValueId parameter) {
  const ir::Value& value = builder.graph().value(parameter);
  const std::string name = prefix + value.name;
  const ir::TensorType type = value.type;
  return builder.state(name, type);
}

struct Append {
  Builder& builder;
  ValueId parameter, gradient;
  std::string name;

  void operator()(const Sgd& sgd) const {
    if (const auto rows = append_row_update(builder, sgd, parameter, gradient)) {
      return succeed(builder, parameter, *rows);
    }
    const ir::Attrs attrs{{sgd.nesterov}, {sgd.momentum, sgd.weight_decay}};
    if (sgd.momentum == 0) {
      return succeed(builder, parameter, builder.op(Kind::k_sgd, name + ".sgd", {parameter, gradient}, attrs));
    }
    const ValueId momentum = state_of(builder, "optim.momentum.", parameter);
    const std::vector<ValueId> made = builder.add(Kind::k_sgd, name + ".sgd", {parameter, gradient, momentum}, attrs);
    if (builder.error()) return;
    succeed(builder, parameter, made[0]);
    succeed(builder, momentum, made[1]);
  }

  void operator()(const Adam& adam) const {
    const ValueId m = state_of(builder, "optim.adam_m.", parameter), v = state_of(builder, "optim.adam_v.", parameter);
    const std::vector<ValueId> made = builder.add(Kind::k_adam, name + ".adam", {parameter, gradient, m, v},
                                                  {{}, {adam.beta1, adam.beta2, adam.eps, adam.weight_decay}});
    if (builder.error()) return;
    succeed(builder, parameter, made[0]);
    succeed(builder, m, made[1]);
    succeed(builder, v, made[2]);
  }

  // Two parameters may share one gradient (p + q): the second gets a copy under its own name.
  void operator()(const NoOptimizer&) const {
    std::vector<ValueId>& outputs = builder.graph().outputs;
    const bool taken = std::find(outputs.begin(), outputs.end(), gradient) != outputs.end();
    const ValueId own = taken ? builder.op(Kind::k_scale, "grad." + name, {gradient}, {{}, {1, 0}}) : gradient;
    if (!taken) builder.rename(own, "grad." + name);
    outputs.push_back(own);
  }
};

}  // namespace

void append_update(Builder& builder, const Optimizer& optimizer, ValueId parameter, ValueId gradient) {
  std::visit(Append{builder, parameter, gradient, builder.graph().value(parameter).name}, optimizer);
}

}  // namespace pantoum::autodiff
