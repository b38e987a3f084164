// The op families, one file each (ops_<family>.cc), which op_registry.cc collects; and what their rows share.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op_registry.h"
#include "pantoum/pantoum.h"

namespace pantoum::ir {

using enum Kind;
using enum RowWise;

std::vector<OpDef> product_ops();
std::vector<OpDef> conv_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> binary_ops();
std::vector<OpDef> unary_ops();
std::vector<OpDef> norm_ops();
std::vector<OpDef> image_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> move_ops();
std::vector<OpDef> loss_ops();
std::vector<OpDef> recurrent_ops();
std::vector<OpDef> update_ops();
std::vector<OpDef> nchwc_ops();
std::vector<OpDef> custom_ops();

// Output types by the operator from outside the project that the first attribute names. E0211.
Result<std::vector<TensorType>> custom_types(Kind kind, const OpTypes& types);

// The operand as the C rules see it; its extents fit 32 bits.
pt_tensor to_tensor(const TensorType& type);
TensorType to_type(const pt_tensor& tensor);

using Pairs = std::vector<std::pair<int, int>>;
Pairs over_first(const OpTypes& types);         // (0, 0)
Pairs over_first_two(const OpTypes& types);     // (0, 0) and (0, 1)
Pairs over_equal_inputs(const OpTypes& types);  // every input of the output's type
Pairs over_residual(const OpTypes& types);      // the last input, where the epilogue's integers say so

// All operands are read and written once.
OpCost operand_bytes(const OpTypes& types, double flops);

template <int kFlops>
OpCost flops_per_output(const OpTypes& types) {
  return operand_bytes(types, kFlops * static_cast<double>(types.outputs[0].elements()));
}
template <int kFlops>
OpCost flops_per_input(const OpTypes& types) {
  return operand_bytes(types, kFlops * static_cast<double>(types.inputs[0].elements()));
}

inline OpDef forward_op(Kind kind, void (*gradient)(Backward&), OpCost (*cost)(const OpTypes&), const Traits& traits,
                        Pairs (*in_place)(const OpTypes&) = nullptr) {
  return {.kind = kind, .gradient = gradient, .cost = cost, .in_place = in_place, .traits = traits};
}

// An op without a gradient whose rows are not independent, such as a gradient itself.
inline OpDef backward_op(Kind kind, OpCost (*cost)(const OpTypes&), Pairs (*in_place)(const OpTypes&) = nullptr) {
  return {.kind = kind, .gradient = kNoGradient, .cost = cost, .in_place = in_place, .traits = kNoTraits};
}

// An op whose effect may happen only once a step.
inline OpDef once(OpDef def) {
  def.recompute = false;
  return def;
}

// Element by element.
constexpr Traits pointwise(RowWise row_wise, bool (*keeps_zero)(const Attrs&)) {
  Traits traits = rows_by(row_wise);
  traits.pointwise = true;
  traits.keeps_zero = keeps_zero;
  return traits;
}

// Appends one op that is a part of the gradient, named by the suffix behind the forward op's name; its output, or all of
// its outputs. As Builder::op and Builder::add.
ValueId make(Backward& back, Kind kind, const char* suffix, std::vector<ValueId> inputs, Attrs attrs = {},
             std::vector<TensorType> given = {});
std::vector<ValueId> make_all(Backward& back, Kind kind, const char* suffix, std::vector<ValueId> inputs,
                              Attrs attrs = {}, std::vector<TensorType> given = {});

// The gradient of an input that was broadcast: `gradient` has the output's shape and is summed to the input's.
void sum_to_input(Backward& back, size_t input, ValueId gradient);

// The gradient of an output; zeros, named by the suffix, where the loss does not depend on it.
ValueId gradient_or_zeros(Backward& back, size_t output, const char* suffix);

// Gradients that are one op with the attributes of the forward op: on dY and the output, or on dY and the input.
template <Kind kGradient>
void from_output(Backward& back) {
  back.d_inputs[0] = make(back, kGradient, ".dx", {back.d_outputs[0], back.op.outputs[0]}, back.op.attrs);
}
template <Kind kGradient>
void from_input(Backward& back) {
  back.d_inputs[0] = make(back, kGradient, ".dx", {back.d_outputs[0], back.op.inputs[0]}, back.op.attrs);
}
// A gradient that is one op on dY alone, and on the indices at input 1 where the op has them; the result has the type
// of the input.
template <Kind kGradient>
void from_gradient(Backward& back) {
  if (!back.wanted[0]) return;
  std::vector<ValueId> inputs{back.d_outputs[0]};
  if (back.op.inputs.size() > 1) inputs.push_back(back.op.inputs[1]);
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] = make(back, kGradient, ".dx", std::move(inputs), back.op.attrs, {type});
}

}  // namespace pantoum::ir
