// Resize.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "import/operators.h"
#include "import/resize.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

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
                        attributes.real("cubic_coeff_a", -0.75),
                        attributes.real("extrapolation_value", 0)};
  if (rule.antialias && rule.mode == ResizeMode::kNearest) return fail("E0211", "it smooths (antialias) with nearest");
  if (!std::isfinite(rule.cubic_a)) return fail("E0211", "its cubic_coeff_a is no number");
  if (rule.coordinates == ResizeCoordinates::kCropAndResize && !std::isfinite(rule.beyond))
    return unsupported("its extrapolation_value is no number");
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
    if (std::ranges::find(axes, d) != axes.end()) return fail("E0211", "its axes name one twice");
    axes.push_back(d);
  }
  return axes;
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
    PANTOUM_ASSIGN(all[d], axis_to(all[d].from, std::floor(scale * static_cast<double>(all[d].from) + 0.5)));
    all[d].scale = scale;
  }
  return {};
}

// Sizes or scales of all dimensions, or of those that the axes name (opset 18).
Result<std::vector<ResizeAxis>> read_extents(Node& node, const std::vector<size_t>& axes) {
  std::vector<ResizeAxis> all;
  for (const int64_t extent : node.shape(0)) all.push_back({extent, extent});
  const bool sized = node.has(3) && node.type(3).elements() > 0;
  std::vector<double> given;
  if (sized) {
    const std::vector<int64_t> sizes = node.integers(3, "sizes");
    given.assign(sizes.begin(), sizes.end());
  } else if (const Tensor* scales = node.setting(2)) {
    given = to_reals(*scales).value_or(given);
  } else {
    return unsupported("its scales are not constant", "resize to a fixed size");
  }
  if (given.size() != axes.size()) return fail("E0211", "its sizes or scales do not name every dimension");
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    ResizeAxis& axis = all[axes[entry]];
    PANTOUM_ASSIGN(axis, sized ? axis_to(axis.from, given[entry]) : axis_by(axis.from, given[entry]));
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

Result<void> lower_resize(Node& node) {
  const Value x = node.real(0);
  if (node.shape(0).empty()) return fail("E0211", "its input has no dimensions");
  PANTOUM_ASSIGN(const ResizeRule rule, read_rule(node));
  PANTOUM_ASSIGN(const std::vector<size_t> axes, read_axes(node, node.shape(0).size()));
  PANTOUM_ASSIGN(std::vector<ResizeAxis> all, read_extents(node, axes));
  if (rule.coordinates == ResizeCoordinates::kCropAndResize) PANTOUM_TRY(read_region(node, axes, all));
  return node.set(resized(x, rule, all));
}

constexpr OperatorEntry kResizeOperators[] = {
    {"Resize", lower_resize, "resize matmul scale",
     "any dimensions; constant sizes or scales; cubic and antialias are products with constant weights"}};

}  // namespace

Family resize_operators() {
  return kResizeOperators;
}

}  // namespace pantoum::import
