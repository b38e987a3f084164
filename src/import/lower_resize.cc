// Resize: nearest and linear are an op on the last two dimensions; the rest is a product with constant weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "import/operators.h"
#include "import/resize_axis.h"
#include "import/shapes.h"

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

Result<ResizeRule> read_rule(Node& node) {
  constexpr std::array kModes = {"nearest", "linear", "cubic"};
  constexpr std::array kCoordinates = {"half_pixel",         "asymmetric",           "align_corners",
                                       "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize"};
  constexpr std::array kRoundings = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  Attributes& attributes = node.attributes();
  const std::string mode = attributes.text("mode", "nearest");
  const auto modes = position_in(kModes, mode);
  if (!modes) return fail("E0211", fmt::format("its mode is '{}'", mode));
  const std::string where = attributes.text("coordinate_transformation_mode", "half_pixel");
  const auto coordinates = position_in(kCoordinates, where);
  if (!coordinates)
    return unsupported(fmt::format("its coordinates are '{}'", where), "use half_pixel or align_corners");
  const auto rounding = position_in(kRoundings, attributes.text("nearest_mode", "round_prefer_floor"));
  if (!rounding) return fail("E0211", "its nearest_mode is unknown");
  const ResizeRule rule{static_cast<ResizeMode>(*modes),
                        static_cast<ResizeCoordinates>(*coordinates),
                        *rounding,
                        attributes.integer("antialias", 0) != 0,
                        attributes.integer("exclude_outside", 0) != 0,
                        attributes.real("cubic_coeff_a", -0.75)};
  if (rule.antialias && rule.mode == ResizeMode::kNearest) return fail("E0211", "it smooths (antialias) with nearest");
  if (!std::isfinite(rule.cubic_a)) return fail("E0211", "its cubic_coeff_a is no number");
  return rule;
}

// The dimensions that sizes, scales and regions name, in their order.
Result<std::vector<size_t>> read_axes(Node& node, size_t rank) {
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::vector<size_t> axes;
  for (const int64_t entry : node.attributes().integers("axes").value_or(all)) {
    PANTOUM_ASSIGN(const int64_t axis, normalize_axis(entry, rank));
    const auto d = static_cast<size_t>(axis);
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) return fail("E0211", "its axes name one twice");
    axes.push_back(d);
  }
  return axes;
}

bool is_extent(double extent) {
  return extent >= 1 && extent <= INT32_MAX;
}

// One scale for all: the smallest or the largest that the sizes ask for.
Result<void> keep_aspect(const std::string& policy, const std::vector<size_t>& axes, std::vector<ResizeAxis>& all) {
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return fail("E0211", fmt::format("its keep_aspect_ratio_policy is '{}'", policy));
  }
  double scale = all[axes[0]].scale;
  for (const size_t d : axes)
    scale = policy == "not_larger" ? std::min(scale, all[d].scale) : std::max(scale, all[d].scale);
  for (const size_t d : axes) {
    const double extent = std::floor(scale * static_cast<double>(all[d].from) + 0.5);
    if (!is_extent(extent)) return fail("E0211", "a size or scale is out of range");
    all[d].to = static_cast<int64_t>(extent);
    all[d].scale = scale;
  }
  return {};
}

Result<std::vector<double>> read_scales(Node& node) {
  const Tensor* scales = node.setting(2);
  if (scales == nullptr) return unsupported("its scales are not constant", "resize to a fixed size");
  return to_reals(*scales).value_or(std::vector<double>{});
}

// Sizes or scales of all dimensions, or of those that the axes name (opset 18).
Result<std::vector<ResizeAxis>> read_extents(Node& node, const std::vector<size_t>& axes) {
  std::vector<ResizeAxis> all;
  for (const int64_t extent : node.shape(0)) all.push_back({extent, extent});
  const bool sized = node.has(3) && node.type(3).elements() > 0;
  std::vector<double> given;
  if (sized) {
    PANTOUM_ASSIGN(const std::vector<int64_t> sizes, node.integers(3, "sizes"));
    given.assign(sizes.begin(), sizes.end());
  } else {
    PANTOUM_ASSIGN(given, read_scales(node));
  }
  if (given.size() != axes.size()) return fail("E0211", "its sizes or scales do not name every dimension");
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    ResizeAxis& axis = all[axes[entry]];
    const double extent = sized ? given[entry] : std::floor(static_cast<double>(axis.from) * given[entry]);
    if (!is_extent(extent)) return fail("E0211", "a size or scale is out of range");
    axis.to = static_cast<int64_t>(extent);
    axis.scale = sized ? extent / static_cast<double>(axis.from) : given[entry];
  }
  if (sized) PANTOUM_TRY(keep_aspect(node.attributes().text("keep_aspect_ratio_policy", "stretch"), axes, all));
  return all;
}

// The region of tf_crop_and_resize: all beginnings, then all ends, as parts of the source.
Result<void> read_region(Node& node, const std::vector<size_t>& axes, std::vector<ResizeAxis>& all) {
  const Tensor* region = node.has(1) ? node.setting(1) : nullptr;
  if (region == nullptr) return unsupported("its region (roi) is not constant", "crop and resize to fixed sizes");
  const std::vector<double> parts = to_reals(*region).value_or(std::vector<double>{});
  if (parts.size() != 2 * axes.size()) return fail("E0211", "its roi does not name both ends of every dimension");
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    ResizeAxis& axis = all[axes[entry]];
    axis.begin = parts[entry];
    axis.end = parts[axes.size() + entry];
    if (!std::isfinite(axis.begin) || !std::isfinite(axis.end)) return fail("E0211", "its roi is no number");
  }
  return {};
}

int64_t extent_of(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1}, std::multiplies<>());
}

// [N, what lies between, the axis, what lies behind]; axis 0 has no N.
Shape around(const Shape& shape, size_t axis) {
  const size_t first = axis == 0 ? 0 : 1;
  return {extent_of(shape, 0, first), extent_of(shape, first, axis), shape[axis],
          extent_of(shape, axis + 1, shape.size())};
}

// The op on views as images: `view` is the source, of which `rows` and `columns` change.
Result<ValueId> resize_view(Node& node, ValueId x, const ResizeRule& rule, const Shape& view, const ResizeAxis& rows,
                            const ResizeAxis& columns) {
  PANTOUM_ASSIGN(const ValueId image, node.reshape(x, view));
  const ir::Attrs attrs{{static_cast<int64_t>(rule.mode), static_cast<int64_t>(rule.coordinates), rule.rounding},
                        {rows.scale, columns.scale}};
  return node.op(ir::Kind::k_resize, {image}, attrs, {{ir::DType::kF32, {view[0], view[1], rows.to, columns.to}}});
}

// The last two dimensions together, the others one by one, from the back.
Result<ValueId> resize_by_op(Node& node, ValueId x, const ResizeRule& rule, const std::vector<ResizeAxis>& all) {
  const size_t rank = all.size(), behind = rank > 3 ? rank - 2 : rank - 1;  // where the first op's dimensions begin
  Shape shape = node.builder().type(x).shape;
  for (size_t d = rank; d-- > 0;) {
    const bool together = d > behind;
    if (all[d].stays() && !(together && !all[behind].stays())) continue;
    const size_t first = together ? behind : d;
    const ResizeAxis one{};
    Shape view = around(shape, first);
    const bool last = first + 1 == rank;
    if (last) std::swap(view[2], view[3]);  // one row
    const ResizeAxis inner{view[3], view[3]};
    PANTOUM_ASSIGN(x, resize_view(node, x, rule, view, last ? one : all[first],
                                  together ? all[d]
                                  : last   ? all[first]
                                           : inner));
    for (size_t changed = first; changed <= d; ++changed) shape[changed] = all[changed].to;
    PANTOUM_ASSIGN(x, node.reshape(x, shape));
    d = first;
  }
  return x;
}

// W[to, from] X[.., from, ..].
Result<ValueId> resize_by_product(Node& node, ValueId x, const ResizeRule& rule, const std::vector<ResizeAxis>& all) {
  Shape shape = node.builder().type(x).shape;
  for (size_t d = all.size(); d-- > 0;) {
    if (all[d].stays()) continue;
    PANTOUM_TRY(node.spend(count_elements({all[d].to, all[d].from}).value_or(INT64_MAX)));
    const ValueId weights = node.builder().constant_f32(fmt::format("{}.weights.{}", node.label(), d),
                                                        {all[d].to, all[d].from}, resize_weights(rule, all[d]));
    Shape view = around(shape, d);
    const bool last = d + 1 == all.size();
    if (last) std::swap(view[2], view[3]);
    PANTOUM_ASSIGN(x, node.reshape(x, view));
    PANTOUM_ASSIGN(x, last ? node.op(ir::Kind::k_matmul, {x, weights}, {{0, 1}, {}})
                           : node.op(ir::Kind::k_matmul, {weights, x}, {{0, 0}, {}}));
    shape[d] = all[d].to;
    PANTOUM_ASSIGN(x, node.reshape(x, shape));
  }
  return x;
}

// What lies outside of the source is `beyond`: zeros of what is left without it.
Result<ValueId> crop(Node& node, ValueId x, const ResizeRule& rule, const std::vector<ResizeAxis>& all) {
  const double beyond = node.attributes().real("extrapolation_value", 0);
  if (!std::isfinite(beyond)) return unsupported("its extrapolation_value is no number");
  PANTOUM_ASSIGN(x, node.scale(x, 1, -beyond));
  PANTOUM_ASSIGN(x, resize_by_product(node, x, rule, all));
  return node.scale(x, 1, beyond);
}

Result<void> lower_resize(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  if (node.shape(0).empty()) return fail("E0211", "its input has no dimensions");
  PANTOUM_ASSIGN(const ResizeRule rule, read_rule(node));
  PANTOUM_ASSIGN(const std::vector<size_t> axes, read_axes(node, node.shape(0).size()));
  PANTOUM_ASSIGN(std::vector<ResizeAxis> all, read_extents(node, axes));
  const bool crops = rule.coordinates == ResizeCoordinates::kCropAndResize;
  if (crops) PANTOUM_TRY(read_region(node, axes, all));
  const bool has_op =
      rule.mode != ResizeMode::kCubic && !rule.antialias && rule.coordinates < ResizeCoordinates::kHalfPixelSymmetric;
  PANTOUM_ASSIGN(x, crops    ? crop(node, x, rule, all)
                    : has_op ? resize_by_op(node, x, rule, all)
                             : resize_by_product(node, x, rule, all));
  node.set(0, x);
  return {};
}

constexpr std::array kResizeOperators = {
    OperatorEntry{"Resize", lower_resize, "resize matmul scale",
                  "any dimensions; constant sizes or scales; cubic and antialias are products with constant weights"}};

}  // namespace

std::span<const OperatorEntry> resize_operators() {
  return kResizeOperators;
}

}  // namespace pantoum::import
