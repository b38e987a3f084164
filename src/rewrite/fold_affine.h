// y = factor P(x) + shift as P with other weights: what follows a convolution or product of fixed weights becomes part of it.
#pragma once

#include <optional>

#include "rewrite/bilinear.h"

namespace pantoum::rewrite {

// The convolution or product of matrices, with a bias or without, that alone makes what `value` is for one reader, and
// whose weight and bias are fixed; of a product, channels are columns. Null: none.
[[nodiscard]] const ir::Op* fixed_product(const ir::Graph& graph, ir::ValueId value);
// Its output channels.
[[nodiscard]] int64_t channels_of(const ir::Graph& graph, const ir::Op& product);

// Vectors over the channels, all of fixed values of the graph in `edit`; kNone: 1, or 0.
struct ChannelAffine {
  ir::ValueId factor = ir::kNone, shift = ir::kNone;
};
// `product` with its weight times the factor and its bias times the factor plus the shift. Returns what it makes.
[[nodiscard]] ir::ValueId with_affine(Edit& edit, const ir::Op& product, const ChannelAffine& affine);

}  // namespace pantoum::rewrite
