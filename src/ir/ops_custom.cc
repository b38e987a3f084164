// Operators from outside the project: every rule calls the operator that the first attribute names.
#include <fmt/format.h>

#include <algorithm>

#include "base/custom_operators.h"
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

base::CustomKernel named_by(const Attrs& attrs) {
  return attrs.ints.empty() ? base::CustomKernel{} : base::custom_kernel(attrs.ints.front());
}

base::CustomOperands operands_of(const OpTypes& types) {
  return {types.inputs, std::span(types.attrs.ints).subspan(1), types.attrs.reals};
}

OpCost custom_cost(const OpTypes& types) {
  const base::CustomKernel kernel = named_by(types.attrs);
  double elements = 0;
  for (const TensorType& output : types.outputs) elements += static_cast<double>(output.elements());
  if (!kernel.op) return operand_bytes(types, elements);
  if (kernel.gradient >= 0)
    return operand_bytes(types,
                         elements * kernel.op->gradients[static_cast<size_t>(kernel.gradient)].flops_per_element);
  return operand_bytes(types, kernel.op->flops ? base::custom_flops(*kernel.op, operands_of(types)) : elements);
}

Pairs custom_in_place(const OpTypes& types) {
  const base::CustomKernel kernel = named_by(types.attrs);
  if (!kernel.op || kernel.gradient >= 0) return {};
  Pairs pairs = kernel.op->in_place;
  std::erase_if(pairs, [&](const std::pair<int, int>& pair) {
    const auto output = static_cast<size_t>(pair.first), input = static_cast<size_t>(pair.second);
    return output >= types.outputs.size() || input >= types.inputs.size() ||
           !(types.outputs[output] == types.inputs[input]);
  });
  return pairs;
}

// w over w, each state over itself.
Pairs custom_update_in_place(const OpTypes& types) {
  Pairs pairs{{0, 0}};
  for (int state = 1; state + 1 < static_cast<int>(types.inputs.size()); ++state) pairs.emplace_back(state, state + 1);
  return pairs;
}

void append_gradient(Backward& back, const base::CustomKernel& kernel, int at) {
  const base::CustomGradient& gradient = kernel.op->gradients[static_cast<size_t>(at)];
  const auto of_input = [&](int input) { return static_cast<size_t>(input) < back.op.inputs.size(); };
  std::vector<ValueId> inputs;
  for (size_t output = 0; output < back.d_outputs.size(); ++output)
    inputs.push_back(gradient_or_zeros(back, output, ".none"));
  const auto read = [&inputs](const std::vector<ValueId>& from, const std::vector<int>& positions) {
    for (const int position : positions)
      if (const auto index = static_cast<size_t>(position); index < from.size()) inputs.push_back(from[index]);
  };
  read(back.op.inputs, gradient.reads_inputs);
  read(back.op.outputs, gradient.reads_outputs);
  std::vector<TensorType> given;
  for (const int input : gradient.of)
    if (of_input(input)) given.push_back(back.builder.type(back.op.inputs[static_cast<size_t>(input)]));
  Attrs attrs = back.op.attrs;
  attrs.ints.front() = base::custom_key(*kernel.op, at);
  const std::vector<ValueId> made =
      back.builder.add(k_custom, fmt::format("{}.grad{}", back.op.name, at), inputs, attrs, given);
  for (size_t output = 0; output < given.size(); ++output)
    back.d_inputs[static_cast<size_t>(gradient.of[output])] = made[output];
}

void custom_gradient(Backward& back) {
  const base::CustomKernel kernel = named_by(back.op.attrs);
  if (!kernel.op || kernel.gradient >= 0) return;
  for (int at = 0; at < static_cast<int>(kernel.op->gradients.size()); ++at) {
    const std::vector<int>& of = kernel.op->gradients[static_cast<size_t>(at)].of;
    const bool wanted = std::ranges::any_of(of, [&](int input) {
      return static_cast<size_t>(input) < back.wanted.size() && back.wanted[static_cast<size_t>(input)] != 0;
    });
    if (wanted) append_gradient(back, kernel, at);
  }
}

bool makes_gradient_of(const base::CustomOperator& op, size_t input) {
  return std::ranges::any_of(op.gradients, [&](const base::CustomGradient& gradient) {
    return std::ranges::find(gradient.of, static_cast<int>(input)) != gradient.of.end();
  });
}

}  // namespace

Result<std::vector<TensorType>> custom_types(Kind kind, const OpTypes& types) {
  const base::CustomKernel kernel = named_by(types.attrs);
  if (!kernel.op || kernel.op->is_update != (kind == k_custom_update))
    return fail("E0211",
                "this process knows no custom operator of its key: it must be added before the model is loaded");
  if (kind == k_custom_update) {
    if (types.inputs.size() < 2) return fail("E0211", fmt::format("it does not take {} inputs", types.inputs.size()));
    if (std::ranges::any_of(
            types.inputs, [&](const TensorType& input) { return input != types.inputs[0] || !is_float(input.dtype); }))
      return fail("E0211", "its operands must be floating point, of one type and shape");
    return std::vector<TensorType>(types.inputs.size() - 1, types.inputs[0]);
  }
  if (types.inputs.empty()) return fail("E0211", "it does not take 0 inputs");
  if (kernel.gradient < 0) return base::custom_shapes(*kernel.op, operands_of(types));
  if (types.outputs.empty()) return fail("E0211", "the types of a gradient's outputs must be given");
  return std::vector<TensorType>(types.outputs.begin(), types.outputs.end());
}

bool has_gradient(const Op& op, size_t input) {
  if (op.kind == k_attention) return input < PT_ATTENTION_OPERANDS;  // masks have none
  if (op.kind != k_custom) return op_def(op.kind).gradient != nullptr;
  const base::CustomKernel kernel = named_by(op.attrs);
  return kernel.op && kernel.gradient < 0 && makes_gradient_of(*kernel.op, input);
}

bool may_run_again(Kind kind, const Attrs& attrs) {
  if (kind != k_custom) return op_def(kind).recompute;
  const base::CustomKernel kernel = named_by(attrs);
  return kernel.op && kernel.op->recompute;
}

std::vector<OpDef> custom_ops() {
  return {{.kind = k_custom,
           .gradient = custom_gradient,
           .cost = custom_cost,
           .in_place = custom_in_place,
           .traits = kNoTraits},
          {.kind = k_custom_update,
           .gradient = kNoGradient,
           .cost = custom_cost,
           .in_place = custom_update_in_place,
           .recompute = false,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
