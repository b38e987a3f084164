#include "autodiff/step.h"
#include "autodiff/weight_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/custom_operators.h"
#include "base/globs.h"
#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

// The rows of one gather_grad along axis 0.
struct Rows {
  ValueId indices, dy;
};

// Collects the rows that a sum of gathers' gradients is made of. False: it is made of something else too.
bool collect_rows(const Graph& graph, ValueId gradient, std::vector<Rows>& rows) {
  const OpId producer = graph.value(gradient).producer;
  if (producer == kNone) return false;
  const Op& made = graph.op(producer);
  if (made.kind == Kind::k_add) {
    const bool first = collect_rows(graph, made.inputs[0], rows), second = collect_rows(graph, made.inputs[1], rows);
    return first && second;
  }
  if (made.kind != Kind::k_gather_grad || made.attrs.ints[0] != 0) return false;
  rows.push_back({made.inputs[1], made.inputs[0]});
  return true;
}

// One list of indices, and one of gradients, of a table that is read several times.
Rows joined(Builder& builder, const std::string& name, const std::vector<Rows>& rows, const Shape& table) {
  if (rows.size() == 1) return rows[0];
  const bool mixed = std::ranges::any_of(
      rows, [&](const Rows& each) { return builder.type(each.indices).dtype != builder.type(rows[0].indices).dtype; });
  std::vector<ValueId> indices, gradients;
  for (const Rows& each : rows) {
    const int64_t count = builder.type(each.indices).elements();
    Shape shape = table;
    shape[0] = count;
    ValueId index = builder.reshape(each.indices, {count});
    if (mixed && builder.type(index).dtype != ir::DType::kI64)
      index = builder.op(Kind::k_cast, name + ".index", {index}, {}, {{ir::DType::kI64, {count}}});
    indices.push_back(index);
    gradients.push_back(builder.reshape(each.dy, shape));
  }
  return {builder.concat(name + ".indices", indices, 0), builder.concat(name + ".dy", gradients, 0)};
}

struct Append {
  Builder& builder;
  ValueId parameter, gradient;
  ValueId updated;  // the parameter, or a copy of its part that trains
  std::string name;
  std::optional<int64_t> group;

  // The update op reads parameter, gradient, states and writes parameter, states.
  void update(Kind kind, const std::vector<std::string>& states, Attrs attrs) const {
    if (group) attrs.ints.push_back(*group);
    append(kind, {updated, gradient}, states, std::move(attrs));
  }

  // The same without the gradient of an embedding table, where it consists only of rows that gather_grad scatters: the
  // op reads these, and leaves other rows as they are. False: it is another parameter. The gradient's op remains, unused.
  // `most`: the number of gathers beyond which a sum in the order of gather_grad and add is kept, bit for bit.
  [[nodiscard]] bool update_rows(Kind kind, const std::vector<std::string>& states, Attrs attrs, size_t most) const {
    std::vector<Rows> parts;
    if (!collect_rows(builder.graph(), gradient, parts) || parts.size() > most) return false;
    const Shape table = builder.type(parameter).shape;
    const Rows rows = joined(builder, name, parts, table);
    if (group) attrs.ints.push_back(*group);
    append(kind, {parameter, rows.indices, rows.dy}, states, std::move(attrs));
    return true;
  }

  void append(Kind kind, std::vector<ValueId> inputs, const std::vector<std::string>& states, Attrs attrs) const {
    const size_t first = inputs.size();
    const TensorType type = builder.type(inputs[0]);
    for (const std::string& state : states) inputs.push_back(builder.state("optim." + state + "." + name, type));
    const std::vector<ValueId> made = builder.add(kind, name + "." + ir::name_of(kind), inputs, std::move(attrs));
    if (builder.error()) return;
    const ValueId whole = updated == parameter ? made[0]
                                               : builder.op(Kind::k_assign_slice, name + ".assign",
                                                            {parameter, made[0]}, first_elements(type.shape.size()));
    if (builder.error()) return;
    succeed(builder, parameter, whole);
    for (size_t state = 0; state < states.size(); ++state) succeed(builder, inputs[first + state], made[1 + state]);
  }

  template <class AdamOrW>
  void adaptive(Kind kind, const AdamOrW& adam) const {
    std::vector<std::string> states{"adam_m", "adam_v"};
    if (adam.amsgrad) states.emplace_back("adam_max");
    double eps = adam.eps;
    if constexpr (requires { adam.eps_before_correction; })
      if (adam.eps_before_correction) eps = -eps;  // as the kernel reads it
    update(kind, states, {{}, {adam.beta1, adam.beta2, eps, adam.weight_decay}});
  }

  void operator()(const Sgd& sgd) const {
    // A row without gradient stays as it is. A group's weight decay that becomes positive later is one that the op knows.
    if (sgd.momentum == 0 && sgd.weight_decay == 0 && update_rows(Kind::k_sgd_rows, {}, {}, 1)) return;
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
    std::vector<double> reals{adagrad.lr_decay, adagrad.eps}, begin;
    if (adagrad.initial_accumulator_value != 0) begin.push_back(adagrad.initial_accumulator_value);
    std::vector<double> of_rows = reals;
    of_rows.insert(of_rows.end(), begin.begin(), begin.end());
    if (adagrad.weight_decay == 0 && update_rows(Kind::k_adagrad_rows, {"sum"}, {{}, of_rows}, 1)) return;
    reals.push_back(adagrad.weight_decay);
    reals.insert(reals.end(), begin.begin(), begin.end());
    update(Kind::k_adagrad, {"sum"}, {{}, reals});
  }

  // Where the gradient is no rows of a table alone: Adam, with the same states.
  void operator()(const SparseAdam& adam) const {
    if (!update_rows(Kind::k_adam_rows, {"adam_m", "adam_v"}, {{}, {adam.beta1, adam.beta2, adam.eps}}, SIZE_MAX))
      adaptive(Kind::k_adam, Adam{.beta1 = adam.beta1, .beta2 = adam.beta2, .eps = adam.eps});
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

RowsOf rows_of(const Graph& graph, ValueId gradient) {
  std::vector<Rows> rows;
  if (collect_rows(graph, gradient, rows)) return RowsOf::all;
  return rows.empty() ? RowsOf::none : RowsOf::some;
}

void append_update(Builder& builder, const TrainingOptions& options, ValueId parameter, ValueId gradient) {
  const std::string name = builder.graph().value(parameter).name;
  const TensorType whole = builder.type(parameter), type = builder.type(gradient);
  const bool is_part = whole.shape.size() == type.shape.size() && whole.shape != type.shape;
  const ValueId updated =
      is_part ? builder.op(Kind::k_slice, name + ".part", {parameter}, first_elements(type.shape.size()), {type})
              : parameter;
  if (builder.error()) return;
  Append append{builder, parameter, gradient, updated, name, {}};
  Optimizer optimizer = options.optimizer;
  for (size_t at = 0; at < options.groups.size(); ++at)
    if (names(options.groups[at], name)) append.group = static_cast<int64_t>(at);
  if (append.group) set_decay(optimizer, options.groups[static_cast<size_t>(*append.group)]);
  std::visit(append, optimizer);
}

}  // namespace pantoum::autodiff
