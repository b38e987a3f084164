// Products of matrices, convolutions and their gradients: linear in each of their first two inputs. Two that share an input
// are one with the other inputs side by side; the sum of two is one whose inputs stand side by side where it adds up.
#pragma once

#include "rewrite/edit.h"

namespace pantoum::rewrite {

// matmul, conv2d, conv3d and their _dx and _dw, in one group.
[[nodiscard]] bool is_bilinear(const ir::Op& op);
// conv2d or conv3d (forward).
[[nodiscard]] bool is_convolution(const ir::Op& op);

struct Axes {
  size_t first, second;
};
// Where the inputs but `shared` (0 or 1) of two may be joined, and where the output falls apart then.
[[nodiscard]] Axes merge_axes(const ir::Graph& graph, const ir::Op& op, size_t shared);
// Where the first and the second inputs of two may be joined so that the output is their sum.
[[nodiscard]] Axes sum_axes(const ir::Graph& graph, const ir::Op& op);

// The op at `at` and the first later one of its kind and attributes that has its input `shared` in common, as one op and a
// split of what it makes.
[[nodiscard]] std::optional<ir::Graph> merge_sharing(const ir::Graph& graph, ir::OpId at, size_t shared);

// The bilinear op without a bias that alone makes `value` for its one reader; null: another op, or other readers too.
[[nodiscard]] const ir::Op* bilinear_maker(const ir::Graph& graph, ir::ValueId value);

}  // namespace pantoum::rewrite
