// Shape arithmetic of ONNX that folding and lowering share.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace pantoum::import {

// Counts a negative axis from the end. E0211 outside [-rank, rank).
[[nodiscard]] Result<int64_t> normalize_axis(int64_t axis, size_t rank);
// The same for a list without duplicates; sorted.
[[nodiscard]] Result<std::vector<int64_t>> normalize_axes(std::vector<int64_t> axes, size_t rank);

// ONNX Reshape: 0 copies the dimension (unless allow_zero), one -1 takes what is left. E0211.
[[nodiscard]] Result<ir::Shape> resolve_reshape(const ir::Shape& from, const std::vector<int64_t>& wanted,
                                                bool allow_zero);
// Squeeze; no axes: every dimension of extent 1. E0211.
[[nodiscard]] Result<ir::Shape> squeezed(const ir::Shape& from, const std::optional<std::vector<int64_t>>& axes);
[[nodiscard]] Result<ir::Shape> unsqueezed(const ir::Shape& from, const std::vector<int64_t>& axes);

// The shape that both broadcast to; none if they do not.
[[nodiscard]] std::optional<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b);

// Two dimensions: the product of those before the axis, and of the others.
[[nodiscard]] ir::Shape as_matrix(const ir::Shape& shape, size_t axis);

// What Slice takes of every dimension.
struct SlicePiece {
  int64_t start = 0, step = 1, count = 0;
  bool operator==(const SlicePiece&) const = default;
};
// ONNX Slice with clamping; `axes` and `steps` may be empty (the first dimensions, step 1). E0211.
[[nodiscard]] Result<std::vector<SlicePiece>> slice_pieces(const ir::Shape& from, const std::vector<int64_t>& starts,
                                                           const std::vector<int64_t>& ends,
                                                           const std::vector<int64_t>& axes,
                                                           const std::vector<int64_t>& steps);

}  // namespace pantoum::import
