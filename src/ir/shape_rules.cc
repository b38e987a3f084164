#include "ir/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace pantoum::ir {

Failure refuse(std::string sentence) {
  return fail("E0211", std::move(sentence));
}

Result<DType> float_dtype(std::span<const TensorType> inputs, size_t first, size_t last) {
  const DType dtype = inputs[first].dtype;
  for (size_t input = first; input < last; ++input) {
    if (!is_float(inputs[input].dtype)) {
      return refuse(fmt::format("input {} must be floating point, not {}", input, name_of(inputs[input].dtype)));
    }
    if (inputs[input].dtype != dtype) return refuse("its inputs must have one element type");
  }
  return dtype;
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      return refuse(fmt::format("{} and {} do not broadcast to one shape", to_text(a), to_text(b)));
    }
    shape[shape.size() - back] = left == 1 ? right : left;
  }
  return shape;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  const Result<Shape> both = broadcast(from, to);
  return both && *both == to;
}

Result<void> want_rank(const TensorType& type, size_t rank, const char* what) {
  if (type.shape.size() == rank) return {};
  return refuse(fmt::format("{} {} must have {} dimensions", what, to_text(type.shape), rank));
}

Result<void> want_shape(const TensorType& type, const Shape& shape, const char* what) {
  if (type.shape == shape) return {};
  return refuse(fmt::format("{} {} must have the shape {}", what, to_text(type.shape), to_text(shape)));
}

Result<void> want_given(const OpTypes& types) {
  if (!types.outputs.empty()) return {};
  return refuse("the type of its output must be given");
}

Result<void> want_axis(int64_t axis, size_t rank) {
  if (axis >= 0 && axis < static_cast<int64_t>(rank)) return {};
  return refuse(fmt::format("axis {} is not among {} dimensions", axis, rank));
}

Result<int64_t> positions_of(const Window& window) {
  constexpr int64_t kMost = INT32_MAX;
  for (const int64_t size : {window.kernel, window.stride, window.dilation}) {
    if (size < 1 || size > kMost)
      return refuse(fmt::format("kernel, stride and dilation must be 1 or more, not {}", size));
  }
  for (const int64_t pad : {window.before, window.after}) {
    if (pad < 0 || pad > kMost) return refuse(fmt::format("a padding must be 0 or more, not {}", pad));
  }
  const int64_t span = (window.kernel - 1) * window.dilation + 1;
  const int64_t padded = window.in + window.before + window.after;
  if (span > padded) return refuse(fmt::format("a window of {} does not fit into {}", span, padded));
  return (padded - span) / window.stride + 1;
}

Types same_as_first(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  for (const TensorType& input : types.inputs) PANTOUM_TRY(want_shape(input, types.inputs[0].shape, "every input"));
  return std::vector<TensorType>{types.inputs[0]};
}

Types elementwise_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  Shape shape = types.inputs[0].shape;
  for (const TensorType& input : types.inputs) {
    PANTOUM_ASSIGN(shape, broadcast(shape, input.shape));
  }
  return std::vector<TensorType>{{dtype, shape}};
}

Types one_type_rule(const OpTypes& types, bool (*holds)(DType)) {
  const DType dtype = types.inputs[0].dtype;
  Shape shape = types.inputs[0].shape;
  for (const TensorType& input : types.inputs) {
    if (input.dtype != dtype) return refuse("its inputs differ in type");
    if (!holds(dtype)) return refuse(fmt::format("it does not compute on {}", name_of(dtype)));
    PANTOUM_ASSIGN(shape, broadcast(shape, input.shape));
  }
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

Types arithmetic_rule(const OpTypes& types) {
  return is_integer(types.inputs[0].dtype) ? one_type_rule(types, is_integer) : elementwise_rule(types);
}

Types elementwise_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(std::vector<TensorType> all, elementwise_rule(types));
  PANTOUM_TRY(want_shape(types.inputs[0], all[0].shape, "the output's gradient"));
  return all;
}

Pairs over_first(const OpTypes&) {
  return {{0, 0}};
}

Pairs over_first_two(const OpTypes&) {
  return {{0, 0}, {0, 1}};
}

Pairs over_residual(const OpTypes& types) {
  if (types.attrs.ints.back() != PT_RESIDUAL_OVER) return {};
  return {{0, static_cast<int>(types.inputs.size()) - 1}};
}

Pairs over_equal_inputs(const OpTypes& types) {
  Pairs pairs;
  for (size_t input = 0; input < types.inputs.size(); ++input) {
    if (types.inputs[input] == types.outputs[0]) pairs.emplace_back(0, static_cast<int>(input));
  }
  return pairs;
}

OpCost operand_bytes(const OpTypes& types, double flops) {
  OpCost cost;
  cost.flops = flops;
  for (const TensorType& input : types.inputs) cost.bytes_read += input.bytes();
  for (const TensorType& output : types.outputs) cost.bytes_written += output.bytes();
  return cost;
}

}  // namespace pantoum::ir
