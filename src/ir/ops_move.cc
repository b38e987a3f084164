// Ops that move elements without changing them: views, transpose, concat, split, slices, gathers; and scatter, which
// may combine elements with updates.
#include <algorithm>

#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

OpCost no_cost(const OpTypes&) {
  return {};
}

void alias_gradient(Backward& back) {
  if (stops_gradient(back.op)) return;
  const Shape shape = back.builder.type(back.op.inputs[0]).shape;
  back.d_inputs[0] = back.builder.reshape(back.d_outputs[0], shape);
}

void transpose_gradient(Backward& back) {
  const std::vector<int64_t>& perm = back.op.attrs.ints;
  std::vector<int64_t> inverse(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  back.d_inputs[0] = make(back, k_transpose, ".dx", {back.d_outputs[0]}, {inverse, {}});
}

// Start and step of every dimension for the piece that begins at `start` along `axis`.
Attrs piece(size_t rank, int64_t axis, int64_t start) {
  Attrs attrs;
  for (size_t d = 0; d < rank; ++d) {
    attrs.ints.push_back(static_cast<int64_t>(d) == axis ? start : 0);
    attrs.ints.push_back(1);
  }
  return attrs;
}

// One split when every input wants its gradient; otherwise slices of what is wanted.
void concat_gradient(Backward& back) {
  const std::vector<TensorType> parts = types_of(back.builder.graph(), back.op.inputs);
  const int64_t axis = back.op.attrs.ints[0];
  if (parts.size() > 1 && std::ranges::all_of(back.wanted, [](char want) { return want != 0; })) {
    back.d_inputs = make_all(back, k_split, ".dx", {back.d_outputs[0]}, back.op.attrs, parts);
    return;
  }
  int64_t start = 0;
  for (size_t input = 0; input < parts.size(); ++input) {
    if (back.wanted[input]) {
      const Attrs attrs = piece(parts[input].shape.size(), axis, start);
      back.d_inputs[input] = make(back, k_slice, ".dx", {back.d_outputs[0]}, attrs, {parts[input]});
    }
    start += parts[input].shape[static_cast<size_t>(axis)];
  }
}

// One concat when every part has a gradient; otherwise the sum of those that have, with zeros around them.
void split_gradient(Backward& back) {
  const TensorType whole = back.builder.type(back.op.inputs[0]);
  const std::vector<TensorType> parts = types_of(back.builder.graph(), back.op.outputs);
  const int64_t axis = back.op.attrs.ints[0];
  const std::vector<ValueId> given(back.d_outputs.begin(), back.d_outputs.end());
  if (std::ranges::find(given, kNone) == given.end()) {
    back.d_inputs[0] = back.builder.concat(back.op.name + ".dx", given, axis);
    return;
  }
  int64_t start = 0;
  ValueId sum = kNone;
  for (size_t part = 0; part < parts.size(); ++part) {
    if (given[part] != kNone) {
      const Attrs attrs = piece(whole.shape.size(), axis, start);
      const ValueId padded = make(back, k_slice_grad, ".dx.part", {given[part]}, attrs, {whole});
      sum = sum == kNone ? padded : make(back, k_add, ".dx", {sum, padded});
    }
    start += parts[part].shape[static_cast<size_t>(axis)];
  }
  back.d_inputs[0] = sum;
}

// Elements that are not selected are not read.
OpCost picked_cost(const OpTypes& types) {
  OpCost cost = operand_bytes(types, 0);
  cost.bytes_read += types.outputs[0].bytes() - types.inputs[0].bytes();
  return cost;
}

OpCost scattered_cost(const OpTypes& types) {
  return operand_bytes(types, static_cast<double>(types.inputs[0].elements()));
}

// A sum passes its gradient on unchanged.
void sum_gradient(Backward& back) {
  const Op& op = back.op;
  const ValueId dy = back.d_outputs[0], indices = op.inputs[1];
  if (back.wanted[0]) back.d_inputs[0] = dy;
  if (!back.wanted[2]) return;
  const bool by_row = back.builder.type(indices).shape != back.builder.type(op.inputs[2]).shape;
  back.d_inputs[2] =
      back.builder.op(by_row ? k_gather : k_gather_elements, op.name + ".du", {dy, indices}, {{op.attrs.ints[0]}, {}});
}

void scatter_elements_gradient(Backward& back) {
  const Op& op = back.op;
  const ValueId dy = back.d_outputs[0], indices = op.inputs[1];
  const int64_t axis = op.attrs.ints[0], reduction = op.attrs.ints[1];
  if (reduction == PT_SCATTER_ADD) return sum_gradient(back);
  const std::vector<TensorType> made{back.builder.type(op.inputs[0]), back.builder.type(op.inputs[2])};
  const std::vector<ValueId> gradients =
      reduction == PT_SCATTER_LAST
          ? back.builder.add(k_scatter_elements_grad, op.name + ".dx", {dy, indices}, {{axis}, {}}, made)
          : back.builder.add(k_scatter_reduce_grad, op.name + ".dx",
                             {dy, indices, op.inputs[0], op.inputs[2], op.outputs[0]}, op.attrs);
  if (back.wanted[0]) back.d_inputs[0] = gradients[0];
  if (back.wanted[2]) back.d_inputs[2] = gradients[1];
}

}  // namespace

std::vector<OpDef> move_ops() {
  return {
      forward_op(k_alias, alias_gradient, no_cost, rows_by(kElements), over_first),
      forward_op(k_transpose, transpose_gradient, flops_per_output<0>, rows_by(kTransposed)),
      forward_op(k_concat, concat_gradient, flops_per_output<0>, rows_by(kConcatenated)),
      forward_op(k_split, split_gradient, flops_per_output<0>, rows_by(kBehindAxis)),
      forward_op(k_slice, from_gradient<k_slice_grad>, picked_cost, rows_by(kSliced)),
      forward_op(k_slice_grad, from_gradient<k_slice>, flops_per_output<0>, rows_by(kSliced)),
      forward_op(k_gather, from_gradient<k_gather_grad>, picked_cost, rows_by(kGathered)),
      backward_op(k_gather_grad, flops_per_input<1>),
      forward_op(k_gather_elements, from_gradient<k_gather_elements_grad>, picked_cost, kNoTraits),
      backward_op(k_gather_elements_grad, flops_per_input<1>),
      forward_op(k_scatter_elements, scatter_elements_gradient, scattered_cost, kNoTraits, over_first),
      backward_op(k_scatter_elements_grad, scattered_cost, over_first),
      backward_op(k_scatter_reduce_grad, scattered_cost),
  };
}

}  // namespace pantoum::ir
