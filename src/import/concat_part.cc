#include "import/concat_part.h"

namespace pantoum::import {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Op;
using ir::Shape;
using ir::ValueId;

constexpr int kMostOps = 64;  // that one search looks at: concats of concats branch

ValueId search(Builder& builder, ValueId x, size_t axis, int64_t index, int& ops);

// Along the axis the part that holds the index; along another one all of them.
ValueId of_concat(Builder& builder, const Op& concat, size_t axis, int64_t index, int& ops) {
  const auto joined = static_cast<size_t>(concat.attrs.ints[0]);
  std::vector<ValueId> picked;
  for (const ValueId part : concat.inputs) {
    const int64_t extent = builder.type(part).shape[axis];
    if (joined == axis && index >= extent) {
      index -= extent;
      continue;
    }
    picked.push_back(extent == 1 ? part : search(builder, part, axis, index, ops));
    if (picked.back() == kNone) return kNone;
    if (joined == axis) return picked[0];
  }
  return builder.concat(concat.name + ".part", picked, concat.attrs.ints[0]);
}

ValueId of_transpose(Builder& builder, const Op& transpose, size_t axis, int64_t index, int& ops) {
  const auto from = static_cast<size_t>(transpose.attrs.ints[axis]);
  const ValueId part = search(builder, transpose.inputs[0], from, index, ops);
  return part == kNone ? kNone : builder.transpose(transpose.name + ".part", part, transpose.attrs.ints);
}

ValueId of_reshape(Builder& builder, const Op& alias, size_t axis, int64_t index, int& ops) {
  const Shape from = builder.type(alias.inputs[0]).shape;
  Shape to = builder.type(alias.outputs[0]).shape;
  int64_t before = 1, before_from = 1;
  for (size_t d = 0; d < axis; ++d) before *= to[d];
  for (size_t d = 0; d < from.size() && before_from <= before; before_from *= from[d], ++d) {
    if (before_from != before || from[d] != to[axis]) continue;
    const ValueId part = search(builder, alias.inputs[0], d, index, ops);
    to[axis] = 1;
    return part == kNone ? kNone : builder.reshape(part, to);
  }
  return kNone;
}

// The state behind the last step of a recurrent network is an output of its own.
ValueId of_sequence(Builder& builder, const Op& sequence, ValueId x, size_t axis, int64_t index) {
  constexpr size_t kLast = 3;
  ir::Shape shape = builder.type(x).shape;
  const int64_t last = sequence.attrs.ints.back() != 0 ? 0 : shape[0] - 1;
  if (x != sequence.outputs[0] || axis != 0 || index != last) return kNone;
  shape[0] = 1;
  return builder.reshape(sequence.outputs[kLast], shape);
}

ValueId search(Builder& builder, ValueId x, size_t axis, int64_t index, int& ops) {
  const ir::OpId producer = builder.graph().value(x).producer;
  if (producer == kNone || ++ops > kMostOps) return kNone;
  const Op op = builder.graph().op(producer);  // a copy: the graph grows
  if (op.kind == ir::Kind::k_concat) return of_concat(builder, op, axis, index, ops);
  if (op.kind == ir::Kind::k_transpose) return of_transpose(builder, op, axis, index, ops);
  if (op.kind == ir::Kind::k_lstm_sequence || op.kind == ir::Kind::k_gru_sequence)
    return of_sequence(builder, op, x, axis, index);
  if (op.kind == ir::Kind::k_alias) return of_reshape(builder, op, axis, index, ops);
  return kNone;
}

}  // namespace

ValueId concat_part(Builder& builder, ValueId x, size_t axis, int64_t index) {
  int ops = 0;
  return search(builder, x, axis, index, ops);
}

}  // namespace pantoum::import
