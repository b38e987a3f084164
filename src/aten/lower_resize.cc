// Resizing of images, and reading them at computed places.
#include "aten/operators.h"
#include "import/compose.h"

namespace pantoum::aten {
namespace {

using import::ResizeAxis;
using import::ResizeCoordinates;
using import::ResizeMode;
using import::ResizeRule;

// The factors of `space` dimensions: one list, or one argument each behind `first`; empty: none are given.
std::vector<double> factors_of(Node& node, size_t first, size_t space) {
  std::vector<double> factors;
  if (node.call().op.ends_with(".vec")) {
    const Arg* arg = node.arg({first, "scale_factors"});
    const Arg::List* items = arg == nullptr ? nullptr : arg->as<Arg::List>();
    for (const Arg& item : items == nullptr ? Arg::List() : *items) {
      if (const double* real = item.as<double>()) factors.push_back(*real);
      if (const int64_t* whole = item.as<int64_t>()) factors.push_back(static_cast<double>(*whole));
    }
    return factors;
  }
  constexpr std::array<std::array<const char*, 3>, 3> kNames = {
      {{"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}}};
  for (size_t d = 0; d < space; ++d)
    if (const auto factor = node.told_number({first + d, kNames.at(space - 1).at(d)})) factors.push_back(*factor);
  return factors;
}

// Resizes to the captured size. If all factors are given, positions in the source follow from the factors, as in PyTorch.
Result<void> resize(Node& node, const ResizeRule& rule, const std::vector<double>& factors) {
  const Value x = node.real({0, "self"});
  const Shape from = x.shape(), to = node.output().shape;
  if (to.size() < 3 || from.size() != to.size()) return misfit("it has no dimensions of space");
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < to.size(); ++d) {
    const bool by_factor = factors.size() + 2 == to.size();
    const double factor = by_factor && d >= 2 ? static_cast<double>(static_cast<float>(factors[d - 2])) : 1;
    PANTOUM_ASSIGN(axes.emplace_back(),
                   by_factor ? import::axis_by(from[d], factor) : import::axis_to(from[d], static_cast<double>(to[d])));
  }
  return node.set(resized(x, rule, axes));
}

template <size_t kSpace, bool kExact>
Result<void> lower_nearest(Node& node) {
  const ResizeRule rule{.coordinates = kExact ? ResizeCoordinates::kHalfPixel : ResizeCoordinates::kAsymmetric,
                        .rounding = kExact ? PT_RESIZE_PREFER_CEIL : PT_RESIZE_FLOOR};
  return resize(node, rule, factors_of(node, 2, kSpace));
}

template <size_t kSpace, bool kCubic, bool kAntialias>
Result<void> lower_smooth(Node& node) {
  const bool corners = node.boolean({2, "align_corners"}, false);
  const ResizeRule rule{.mode = kCubic ? ResizeMode::kCubic : ResizeMode::kLinear,
                        .coordinates = corners ? ResizeCoordinates::kAlignCorners : ResizeCoordinates::kHalfPixel,
                        .rounding = PT_RESIZE_FLOOR,
                        .antialias = kAntialias,
                        .exclude_outside = kAntialias,
                        .cubic_a = kAntialias ? -0.5 : -0.75};
  return resize(node, rule, corners ? std::vector<double>() : factors_of(node, 3, kSpace));
}

Result<void> lower_grid_sample(Node& node) {
  const Value x = node.real({0, "input"}), grid = node.real({1, "grid"});
  const int64_t mode = node.integer({2, "interpolation_mode"}, 0), padding = node.integer({3, "padding_mode"}, 0);
  const bool corners = node.boolean({4, "align_corners"}, false);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return misfit("its mode is unknown");
  return node.set(sampled(x, grid, static_cast<import::Between>(mode), static_cast<import::Outside>(padding), corners));
}

constexpr OperatorEntry kResizing[] = {
    {"upsample_nearest1d.default", lower_nearest<1, false>},
    {"upsample_nearest2d.default upsample_nearest2d.vec", lower_nearest<2, false>},
    {"upsample_nearest3d.default", lower_nearest<3, false>},
    {"_upsample_nearest_exact1d.default", lower_nearest<1, true>},
    {"_upsample_nearest_exact2d.default", lower_nearest<2, true>},
    {"_upsample_nearest_exact3d.default", lower_nearest<3, true>},
    {"upsample_linear1d.default", lower_smooth<1, false, false>},
    {"upsample_bilinear2d.default upsample_bilinear2d.vec", lower_smooth<2, false, false>},
    {"upsample_trilinear3d.default", lower_smooth<3, false, false>},
    {"upsample_bicubic2d.default", lower_smooth<2, true, false>},
    {"_upsample_bilinear2d_aa.default", lower_smooth<2, false, true>},
    {"_upsample_bicubic2d_aa.default", lower_smooth<2, true, true>},
    {"grid_sampler_2d.default grid_sampler_3d.default", lower_grid_sample}};

}  // namespace

constinit const Family resize_operators = kResizing;

}  // namespace pantoum::aten
