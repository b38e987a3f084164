// Resize: the nearest element, or linearly between two in each dimension of space.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

// The position of `text` among the names; none when it is not one of them.
template <size_t kCount>
std::optional<int64_t> position_in(const std::array<const char*, kCount>& names, const std::string& text) {
  for (size_t at = 0; at < kCount; ++at) {
    if (text == names[at]) return static_cast<int64_t>(at);
  }
  return std::nullopt;
}

Result<std::vector<int64_t>> read_modes(Node& node) {
  constexpr std::array kModes = {"nearest", "linear"};
  constexpr std::array kCoordinates = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
  constexpr std::array kRoundings = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  Attributes& attributes = node.attributes();
  const std::string mode = attributes.text("mode", "nearest");
  const auto linear = position_in(kModes, mode);
  if (!linear) return unsupported(fmt::format("its mode is '{}'", mode), "use mode=\"bilinear\" or \"nearest\"");
  const std::string where = attributes.text("coordinate_transformation_mode", "half_pixel");
  const auto coordinates = position_in(kCoordinates, where);
  if (!coordinates)
    return unsupported(fmt::format("its coordinates are '{}'", where), "use half_pixel or align_corners");
  const auto rounding = position_in(kRoundings, attributes.text("nearest_mode", "round_prefer_floor"));
  if (!rounding) return fail("E0211", "its nearest_mode is unknown");
  if (attributes.integer("antialias", 0) != 0) return unsupported("it smooths (antialias)", "use antialias=False");
  if (attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unsupported("it keeps the aspect ratio by itself", "give it the size that comes out");
  }
  return std::vector<int64_t>{*linear, *coordinates, *rounding};
}

struct Extents {
  Shape shape;
  std::vector<double> scales;
};

// Sizes or scales of all dimensions, or of those that the axes name (opset 18).
Result<Extents> read_extents(Node& node, const Shape& from) {
  Extents to{from, std::vector<double>(from.size(), 1)};
  std::vector<int64_t> axes;
  for (size_t d = 0; d < from.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  axes = node.attributes().integers("axes").value_or(axes);
  const bool sized = node.has(3) && node.type(3).elements() > 0;
  std::vector<double> given;
  if (sized) {
    PANTOUM_ASSIGN(const std::vector<int64_t> sizes, node.integers(3, "sizes"));
    given.assign(sizes.begin(), sizes.end());
  } else {
    const Tensor* scales = node.setting(2);
    if (scales == nullptr) return unsupported("its scales are not constant", "resize to a fixed size");
    given = to_reals(*scales).value_or(std::vector<double>{});
  }
  if (given.size() != axes.size()) return fail("E0211", "its sizes or scales do not name every dimension");
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    const int64_t axis = axes[entry] < 0 ? axes[entry] + static_cast<int64_t>(from.size()) : axes[entry];
    if (axis < 0 || axis >= static_cast<int64_t>(from.size())) return fail("E0211", "its axes are out of range");
    const auto d = static_cast<size_t>(axis);
    const double extent = sized ? given[entry] : std::floor(static_cast<double>(from[d]) * given[entry]);
    if (!(extent >= 1 && extent <= INT32_MAX)) return fail("E0211", "a size or scale is out of range");
    to.shape[d] = static_cast<int64_t>(extent);
    to.scales[d] = sized ? extent / static_cast<double>(from[d]) : given[entry];
  }
  return to;
}

Result<void> lower_resize(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  const Shape from = node.shape(0);
  PANTOUM_ASSIGN(const std::vector<int64_t> modes, read_modes(node));
  PANTOUM_ASSIGN(const Extents to, read_extents(node, from));
  const bool image = from.size() == 3 || from.size() == 4;
  if (!image || to.shape[0] != from[0] || to.shape[1] != from[1]) {
    return unsupported("it resizes more than one or two dimensions of space", "resize images [N,C,H,W] or [N,C,L]");
  }
  PANTOUM_ASSIGN(x, as_image(node, x));
  Shape shape = to.shape;
  if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
  const double rows = from.size() == 4 ? to.scales[2] : 1;
  ValueId y = x;
  if (to.shape != from) {
    PANTOUM_ASSIGN(y, node.op(ir::Kind::k_resize, {x}, {modes, {rows, to.scales.back()}}, {{ir::DType::kF32, shape}}));
  }
  PANTOUM_ASSIGN(y, from_image(node, y, from.size()));
  node.set(0, y);
  return {};
}

constexpr std::array kResizeOperators = {OperatorEntry{
    "Resize", lower_resize, "resize",
    "nearest and linear, in one or two dimensions of space; constant sizes or scales; coordinates half_pixel, "
    "asymmetric, align_corners, pytorch_half_pixel; no antialias"}};

}  // namespace

std::span<const OperatorEntry> resize_operators() {
  return kResizeOperators;
}

}  // namespace pantoum::import
