// Movements made of reshapes, transpositions and spreading: Tile, Trilu, DepthToSpace, SpaceToDepth.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/integers.h"
#include "import/shapes.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// One dimension after the other: [a,b] -> [a,1,b] -> [a,r,b] -> [a,r*b].
Result<void> lower_tile(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  PANTOUM_ASSIGN(const std::vector<int64_t> repeats, node.integers(1, "repeats"));
  const ir::TensorType from = node.type(0);
  if (repeats.size() != from.shape.size()) return fail("E0211", "its repeats do not name every dimension");
  Shape shape = from.shape;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 1 || repeats[d] > INT32_MAX) return fail("E0211", fmt::format("it repeats {} times", repeats[d]));
    if (repeats[d] == 1) continue;
    int64_t outer = 1, inner = 1;
    for (size_t at = 0; at < shape.size(); ++at) (at < d ? outer : inner) *= shape[at];
    PANTOUM_ASSIGN(x, node.reshape(x, {outer, 1, inner}));
    PANTOUM_ASSIGN(x, node.op(Kind::k_expand, {x}, {{}, {1.0}}, {{from.dtype, {outer, repeats[d], inner}}}));
    shape[d] *= repeats[d];
    PANTOUM_ASSIGN(x, node.reshape(x, shape));
  }
  node.set(0, x);
  return {};
}

// 1 where an element of the last two dimensions stays.
Result<ValueId> triangle(Node& node, int64_t rows, int64_t columns, int64_t diagonal, bool upper) {
  PANTOUM_TRY(node.spend(rows * columns));
  auto stays = std::make_shared<std::vector<std::byte>>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const bool kept = upper ? column - row >= diagonal : column - row <= diagonal;
      stays->push_back(std::byte{kept});
    }
  }
  return node.builder().constant(node.label() + ".mask", {ir::DType::kBool, {rows, columns}}, stays);
}

Result<void> lower_trilu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const Shape shape = node.shape(0);
  if (shape.size() < 2) return fail("E0211", "its input is no matrix");
  int64_t diagonal = 0;
  if (node.has(1)) {
    PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(1, "diagonal"));
    if (told.size() != 1) return fail("E0211", "its diagonal is not one number");
    diagonal = std::clamp<int64_t>(told[0], -INT32_MAX, INT32_MAX);
  }
  const bool upper = node.attributes().integer("upper", 1) != 0;
  PANTOUM_ASSIGN(const ValueId mask, triangle(node, shape[shape.size() - 2], shape.back(), diagonal, upper));
  const ir::DType dtype = node.builder().type(x).dtype;
  const ValueId zero = ir::is_float(dtype) ? node.builder().constant_f32(node.label() + ".zero", {}, {0.0F})
                                           : whole_constant(node, dtype, {}, {0});
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_where, {mask, x, zero}));
  node.set(0, y);
  return {};
}

Result<int64_t> block_of(Node& node) {
  PANTOUM_TRY(node.value(0));
  if (node.shape(0).size() != 4) return fail("E0211", "its input is not an image [N,C,H,W]");
  const int64_t block = node.attributes().integer("blocksize", 0);
  if (block < 1 || block > INT16_MAX) return fail("E0211", "its blocksize is out of range");
  return block;
}

Result<void> rearrange(Node& node, Shape apart, std::vector<int64_t> perm, Shape together) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  PANTOUM_ASSIGN(x, node.reshape(x, std::move(apart)));
  PANTOUM_ASSIGN(x, node.transpose(x, std::move(perm)));
  PANTOUM_ASSIGN(x, node.reshape(x, std::move(together)));
  node.set(0, x);
  return {};
}

Result<void> lower_depth_to_space(Node& node) {
  PANTOUM_ASSIGN(const int64_t b, block_of(node));
  const Shape s = node.shape(0);
  if (s[1] % (b * b) != 0) return fail("E0211", "its blocks do not divide the channels");
  const int64_t c = s[1] / (b * b);
  const Shape together = {s[0], c, s[2] * b, s[3] * b};
  if (node.attributes().text("mode", "DCR") == "CRD") {
    return rearrange(node, {s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, together);
  }
  return rearrange(node, {s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, together);
}

Result<void> lower_space_to_depth(Node& node) {
  PANTOUM_ASSIGN(const int64_t b, block_of(node));
  const Shape s = node.shape(0);
  if (s[2] % b != 0 || s[3] % b != 0) return fail("E0211", "its blocks do not divide the image");
  return rearrange(node, {s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
                   {s[0], s[1] * b * b, s[2] / b, s[3] / b});
}

constexpr std::array kRearrangeOperators = {OperatorEntry{"Tile", lower_tile, "expand", "constant repeats"},
                                            OperatorEntry{"Trilu", lower_trilu, "where", "any type; constant diagonal"},
                                            OperatorEntry{"DepthToSpace", lower_depth_to_space, "transpose"},
                                            OperatorEntry{"SpaceToDepth", lower_space_to_depth, "transpose"}};

}  // namespace

std::span<const OperatorEntry> rearrange_operators() {
  return kRearrangeOperators;
}

}  // namespace pantoum::import
