// What the shape rules of the op families share: refusals, broadcasting, windows, and costs by element.
#pragma once

#include <string>

#include "ir/op_registry.h"

namespace pantoum::ir {

using Types = Result<std::vector<TensorType>>;

// E0211 with one sentence; infer_types puts the op and the types it was given before it.
[[nodiscard]] Failure refuse(std::string sentence);

// The one floating-point dtype of inputs [first, last).
[[nodiscard]] Result<DType> float_dtype(std::span<const TensorType> inputs, size_t first, size_t last);
[[nodiscard]] inline Result<DType> float_dtype(std::span<const TensorType> inputs) {
  return float_dtype(inputs, 0, inputs.size());
}

// The shape that both broadcast to, as in numpy.
[[nodiscard]] Result<Shape> broadcast(const Shape& a, const Shape& b);
// Does `from`, padded with 1s on the left, broadcast to exactly `to`?
[[nodiscard]] bool broadcasts_to(const Shape& from, const Shape& to);

[[nodiscard]] Result<void> want_rank(const TensorType& type, size_t rank, const char* what);
[[nodiscard]] Result<void> want_shape(const TensorType& type, const Shape& shape, const char* what);
[[nodiscard]] Result<void> want_given(const OpTypes& types);  // the outputs must have been given
[[nodiscard]] Result<void> want_axis(int64_t axis, size_t rank);

// One spatial dimension under a sliding window.
struct Window {
  int64_t in, kernel, stride, before, after, dilation;
};
// How often the window fits; refuses attributes out of range.
[[nodiscard]] Result<int64_t> positions_of(const Window& window);

// The extents that pooling gives, of an image [N, C, H, W]; refuses windows that lie in the padding alone.
[[nodiscard]] Result<Shape> pool_shape(const TensorType& x, const std::vector<int64_t>& ints);

// Rules that many families share.
[[nodiscard]] Types same_as_first(const OpTypes& types);     // all inputs float and of one shape, which is the output's
[[nodiscard]] Types elementwise_rule(const OpTypes& types);  // the broadcast of all inputs, float

// Integers that ops compute on: positions, lengths and masks. bool is none of them.
[[nodiscard]] inline bool is_integer(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kU8;
}
// The broadcast of all inputs, of one type for which `holds`.
[[nodiscard]] Types one_type_rule(const OpTypes& types, bool (*holds)(DType));
// The broadcast of all inputs, which are floating point or integers of one type.
[[nodiscard]] Types arithmetic_rule(const OpTypes& types);

// A gradient of inputs that broadcast: the first input is the output's gradient, and has its shape.
[[nodiscard]] Types elementwise_grad_rule(const OpTypes& types);

using Pairs = std::vector<std::pair<int, int>>;
[[nodiscard]] Pairs over_first(const OpTypes& types);         // (0, 0)
[[nodiscard]] Pairs over_first_two(const OpTypes& types);     // (0, 0) and (0, 1)
[[nodiscard]] Pairs over_residual(const OpTypes& types);      // the last, where the epilogue's integers say so
[[nodiscard]] Pairs over_equal_inputs(const OpTypes& types);  // every input of the output's type

// All operands are read and written once.
[[nodiscard]] OpCost operand_bytes(const OpTypes& types, double flops);

template <int kFlops>
OpCost flops_per_output(const OpTypes& types) {
  return operand_bytes(types, kFlops * static_cast<double>(types.outputs[0].elements()));
}
template <int kFlops>
OpCost flops_per_input(const OpTypes& types) {
  return operand_bytes(types, kFlops * static_cast<double>(types.inputs[0].elements()));
}

}  // namespace pantoum::ir
