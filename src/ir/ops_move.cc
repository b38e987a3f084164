// transpose, concat, split: all elements move, none is changed; any dtype.
#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Types transpose_rule(const OpTypes& types) {
  const TensorType& x = types.inputs[0];
  const std::vector<int64_t>& perm = types.attrs.ints;
  if (perm.size() != x.shape.size()) return refuse("the permutation has another number of dimensions");
  std::vector<char> seen(perm.size(), 0);
  Shape shape;
  for (const int64_t from : perm) {
    PANTOUM_TRY(want_axis(from, x.shape.size()));
    if (seen[static_cast<size_t>(from)]++) return refuse(fmt::format("the permutation names dimension {} twice", from));
    shape.push_back(x.shape[static_cast<size_t>(from)]);
  }
  return std::vector<TensorType>{{x.dtype, shape}};
}

void transpose_gradient(Backward& back) {
  const std::vector<int64_t>& perm = back.op.attrs.ints;
  std::vector<int64_t> inverse(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  back.d_inputs[0] = back.builder.op(Kind::k_transpose, back.op.name + ".dx", {back.d_outputs[0]}, {inverse, {}});
}

// The type of which `parts` are pieces along `axis`.
Result<TensorType> joined(std::span<const TensorType> parts, int64_t axis) {
  TensorType whole = parts[0];
  PANTOUM_TRY(want_axis(axis, whole.shape.size()));
  const auto along = static_cast<size_t>(axis);
  whole.shape[along] = 0;
  for (const TensorType& part : parts) {
    if (part.shape.size() != whole.shape.size() || part.dtype != whole.dtype)
      return refuse("its parts differ in type or rank");
    Shape expected = whole.shape;
    expected[along] = part.shape[along];
    PANTOUM_TRY(want_shape(part, expected, "a part"));
    whole.shape[along] += part.shape[along];
  }
  return whole;
}

Types concat_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(TensorType whole, joined(types.inputs, types.attrs.ints[0]));
  return std::vector<TensorType>{std::move(whole)};
}

Types split_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const TensorType whole, joined(types.outputs, types.attrs.ints[0]));
  if (whole != types.inputs[0]) return refuse(fmt::format("its parts make up {}", to_text(whole)));
  return std::vector<TensorType>(types.outputs.begin(), types.outputs.end());
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
  if (parts.size() > 1 && std::all_of(back.wanted.begin(), back.wanted.end(), [](char want) { return want != 0; })) {
    back.d_inputs = back.builder.add(Kind::k_split, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs, parts);
    return;
  }
  int64_t start = 0;
  for (size_t input = 0; input < parts.size(); ++input) {
    if (back.wanted[input]) {
      const Attrs attrs = piece(parts[input].shape.size(), axis, start);
      back.d_inputs[input] =
          back.builder.op(Kind::k_slice, back.op.name + ".dx", {back.d_outputs[0]}, attrs, {parts[input]});
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
  if (std::find(given.begin(), given.end(), kNone) == given.end()) {
    back.d_inputs[0] = back.builder.concat(back.op.name + ".dx", given, axis);
    return;
  }
  int64_t start = 0;
  ValueId sum = kNone;
  for (size_t part = 0; part < parts.size(); ++part) {
    if (given[part] != kNone) {
      const Attrs attrs = piece(whole.shape.size(), axis, start);
      const ValueId padded =
          back.builder.op(Kind::k_slice_grad, back.op.name + ".dx.part", {given[part]}, attrs, {whole});
      sum = sum == kNone ? padded : back.builder.op(Kind::k_add, back.op.name + ".dx", {sum, padded});
    }
    start += parts[part].shape[static_cast<size_t>(axis)];
  }
  back.d_inputs[0] = sum;
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> move_ops() {
  return {{.kind = Kind::k_transpose,
           .signature = {.ints = kAny},
           .infer = transpose_rule,
           .gradient = transpose_gradient,
           .cost = flops_per_output<0>,
           .traits = rows_by(RowWise::kTransposed)},
          {.kind = Kind::k_concat,
           .signature = {.max_inputs = kAny, .ints = 1},
           .infer = concat_rule,
           .gradient = concat_gradient,
           .cost = flops_per_output<0>,
           .traits = rows_by(RowWise::kConcatenated)},
          {.kind = Kind::k_split,
           .signature = {.max_outputs = kAny, .ints = 1},
           .infer = split_rule,
           .gradient = split_gradient,
           .cost = flops_per_output<0>,
           .traits = rows_by(RowWise::kBehindAxis)}};
}

}  // namespace pantoum::ir
