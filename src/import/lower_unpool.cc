// The way back from windows: MaxUnpool and Col2Im.
#include <fmt/format.h>

#include <array>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<ValueId> zeros(Node& node, int64_t count) {
  PANTOUM_ASSIGN(const ValueId zero, node.filled(1, 0));
  return node.op(Kind::k_expand, {zero}, {{}, {1}}, {{ir::DType::kF32, {count}}});
}

int64_t product(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return elements;
}

// The extents that a MaxPool with the node's windows was given.
Result<Shape> unpooled_shape(Node& node) {
  Shape shape = node.shape(0);
  const size_t space = shape.size() - 2;
  const auto kernel = node.attributes().integers("kernel_shape");
  if (!kernel || kernel->size() != space) return fail("E0211", "its kernel_shape does not fit its input");
  PANTOUM_ASSIGN(const auto strides, window_list(node, "strides", space, 1, 1));
  PANTOUM_ASSIGN(const auto pads, window_list(node, "pads", 2 * space, 0, 0));
  for (size_t d = 0; d < space; ++d) {
    const int64_t span = (*kernel)[d];
    if (span < 1 || span > INT32_MAX) return fail("E0211", fmt::format("its window spans {}", span));
    int64_t& extent = shape[d + 2];
    extent = (extent - 1) * strides[d] + span - pads[d] - pads[space + d];
  }
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > INT32_MAX) return fail("E0211", fmt::format("it unpools to {}", ir::to_text(shape)));
  }
  return shape;
}

// Zeros behind, up to the shape that the node tells: what its indices count through stays the same.
Result<ValueId> grown(Node& node, ValueId y) {
  if (!node.has(2)) return y;
  const Shape from = node.builder().type(y).shape;
  PANTOUM_ASSIGN(const Shape told, node.integers(2, "output_shape"));
  bool fits = told.size() == from.size();
  ir::Attrs attrs;
  for (size_t d = 0; d < from.size() && fits; ++d) {
    fits = told[d] >= from[d];
    attrs.ints.insert(attrs.ints.end(), {0, 1});
  }
  if (!fits)
    return fail("E0211", fmt::format("its output_shape {} does not hold {}", ir::to_text(told), ir::to_text(from)));
  if (told == from) return y;
  return node.op(Kind::k_slice_grad, {y}, std::move(attrs), {{ir::DType::kF32, told}});
}

// Values go where their indices say, in zeros; the indices count through all of them.
Result<void> lower_max_unpool(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId indices, node.value(1));
  if (node.shape(0).size() < 3 || node.shape(0) != node.shape(1)) {
    return fail("E0211", "its input is not an image [N,C,..] with an index for every element");
  }
  PANTOUM_ASSIGN(const Shape shape, unpooled_shape(node));
  const int64_t count = node.type(0).elements();
  PANTOUM_ASSIGN(x, node.reshape(x, {count}));
  PANTOUM_ASSIGN(indices, node.reshape(indices, {count}));
  PANTOUM_ASSIGN(const ValueId empty, zeros(node, product(shape)));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_scatter_elements, {empty, indices, x}, {{0, PT_SCATTER_LAST}, {}}));
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  PANTOUM_ASSIGN(y, grown(node, y));
  node.set(0, y);
  return {};
}

// One dimension of space: taps [A, kernel, B, positions, C] are added up where they lie, to [A, B, extent, C].
struct Fold {
  Window window;
  int64_t extent = 1, positions = 1;
};

Result<ValueId> tap_in_place(Node& node, ValueId x, const Fold& fold, int64_t tap) {
  const Shape from = node.builder().type(x).shape;
  const auto type = [&](Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  PANTOUM_ASSIGN(ValueId piece, node.op(Kind::k_slice, {x}, {{0, 1, tap, 1, 0, 1, 0, 1, 0, 1}, {}},
                                        {type({from[0], 1, from[2], from[3], from[4]})}));
  PANTOUM_ASSIGN(piece, node.reshape(piece, {from[0], from[2], from[3], from[4]}));
  const Window& w = fold.window;
  const int64_t padded = fold.extent + w.before + w.after;
  return node.op(Kind::k_slice_grad, {piece}, {{0, 1, 0, 1, tap * w.dilation, w.stride, 0, 1}, {}},
                 {type({from[0], from[2], padded, from[4]})});
}

Result<ValueId> fold_dimension(Node& node, ValueId x, const Fold& fold) {
  const Shape from = node.builder().type(x).shape;
  const Window& w = fold.window;
  const bool tiles = w.stride == w.kernel && w.dilation == 1 && w.before + w.after == 0;
  if (tiles && fold.extent == w.kernel * fold.positions) {
    PANTOUM_ASSIGN(x, node.transpose(x, {0, 2, 3, 1, 4}));
    return node.reshape(x, {from[0], from[2], fold.extent, from[4]});
  }
  ValueId sum = ir::kNone;
  for (int64_t tap = 0; tap < w.kernel; ++tap) {
    PANTOUM_ASSIGN(const ValueId piece, tap_in_place(node, x, fold, tap));
    if (sum == ir::kNone) {
      sum = piece;
    } else {
      PANTOUM_ASSIGN(sum, node.op(Kind::k_add, {sum, piece}));
    }
  }
  if (w.before + w.after == 0) return sum;
  return node.op(Kind::k_slice, {sum}, {{0, 1, 0, 1, w.before, 1, 0, 1}, {}},
                 {{ir::DType::kF32, {from[0], from[2], fold.extent, from[4]}}});
}

Result<std::vector<Fold>> read_folds(Node& node, const Shape& image, const Shape& block) {
  const size_t space = image.size();
  if (space < 1 || block.size() != space) return fail("E0211", "its block has another rank than the image");
  PANTOUM_ASSIGN(const auto strides, window_list(node, "strides", space, 1, 1));
  PANTOUM_ASSIGN(const auto dilations, window_list(node, "dilations", space, 1, 1));
  PANTOUM_ASSIGN(const auto pads, window_list(node, "pads", 2 * space, 0, 0));
  std::vector<Fold> folds;
  for (size_t d = 0; d < space; ++d) {
    if (image[d] < 1 || image[d] > INT32_MAX || block[d] < 1 || block[d] > INT32_MAX) {
      return fail("E0211", "an extent of its image or block is out of range");
    }
    const Window window{block[d], strides[d], pads[d], pads[space + d], dilations[d]};
    const int64_t room = image[d] + window.before + window.after - window.dilation * (window.kernel - 1) - 1;
    if (room < 0) return fail("E0211", "its block does not fit the image");
    folds.push_back({window, image[d], room / window.stride + 1});
  }
  return folds;
}

// Dimension by dimension, so that a block of k x k takes 2 k pieces and not k k.
Result<void> lower_col2im(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(const Shape image, node.integers(1, "image_shape"));
  PANTOUM_ASSIGN(const Shape block, node.integers(2, "block_shape"));
  PANTOUM_ASSIGN(const std::vector<Fold> folds, read_folds(node, image, block));
  const Shape from = node.shape(0);
  int64_t taps = 1, positions = 1;
  for (const Fold& fold : folds) {
    taps = taps > INT32_MAX ? taps : taps * fold.window.kernel;
    positions = positions > INT32_MAX ? positions : positions * fold.positions;
  }
  if (from.size() != 3 || from[1] % taps != 0 || from[2] != positions) {
    return fail("E0211", fmt::format("its input {} does not hold {} positions of blocks of {}", ir::to_text(from),
                                     positions, taps));
  }
  const int64_t planes = from[0] * (from[1] / taps);
  int64_t done = 1;
  for (const Fold& fold : folds) {
    taps /= fold.window.kernel;
    positions /= fold.positions;
    PANTOUM_ASSIGN(x, node.reshape(x, {planes, fold.window.kernel, taps * done, fold.positions, positions}));
    PANTOUM_ASSIGN(x, fold_dimension(node, x, fold));
    done *= fold.extent;
  }
  Shape shape{from[0], planes / from[0]};
  shape.insert(shape.end(), image.begin(), image.end());
  PANTOUM_ASSIGN(x, node.reshape(x, shape));
  node.set(0, x);
  return {};
}

constexpr std::array kUnpoolOperators = {
    OperatorEntry{"MaxUnpool", lower_max_unpool, "expand scatter_elements slice_grad"},
    OperatorEntry{"Col2Im", lower_col2im, "transpose slice slice_grad add", "any number of dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> unpool_operators() {
  return kUnpoolOperators;
}

}  // namespace pantoum::import
