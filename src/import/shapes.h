// Shape arithmetic of ONNX that folding and lowering share.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace pantoum::import {

using ir::Attrs;
using ir::DType;
using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::OpId;
using ir::Shape;
using ir::TensorType;
using ir::ValueId;

using Integers = std::vector<int64_t>;  // axes, a permutation, pads, ...

// Counts a negative axis from the end. E0211 outside [-rank, rank).
[[nodiscard]] Result<int64_t> normalize_axis(int64_t axis, size_t rank);
// The same for a list without duplicates; sorted.
[[nodiscard]] Result<Integers> normalize_axes(Integers axes, size_t rank);

// ONNX Reshape: 0 copies the dimension (unless allow_zero), one -1 takes what is left. E0211.
[[nodiscard]] Result<Shape> resolve_reshape(const Shape& from, const Integers& wanted, bool allow_zero);
// Squeeze; no axes: every dimension of extent 1. E0211.
[[nodiscard]] Result<Shape> squeezed(const Shape& from, const std::optional<Integers>& axes);
[[nodiscard]] Result<Shape> unsqueezed(const Shape& from, const Integers& axes);

// The shape that both broadcast to; none if they do not.
[[nodiscard]] std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

// Two dimensions: the product of those before the axis, and of the others.
[[nodiscard]] Shape as_matrix(const Shape& shape, size_t axis);

// The piece that Slice takes of one dimension.
struct SlicePiece {
  int64_t start = 0, step = 1, count = 0;
  bool operator==(const SlicePiece&) const = default;
};
// ONNX Slice with clamping; `axes` and `steps` may be empty (the first dimensions, step 1). E0211.
[[nodiscard]] Result<std::vector<SlicePiece>> slice_pieces(const Shape& from, const Integers& starts,
                                                           const Integers& ends, const Integers& axes,
                                                           const Integers& steps);

}  // namespace pantoum::import
