// Resize.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "import/compose.h"
#include "import/operators.h"

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
  if (!modes) return misfit("its mode is '{}'", mode);
  const std::string where = attributes.text("coordinate_transformation_mode", "half_pixel");
  const auto coordinates = position_in(kCoordinates, where);
  if (!coordinates)
    return unsupported(fmt::format("its coordinates are '{}'", where), "use half_pixel or align_corners");
  const auto rounding = position_in(kRoundings, attributes.text("nearest_mode", "round_prefer_floor"));
  if (!rounding) return misfit("its nearest_mode is unknown");
  const ResizeRule rule{static_cast<ResizeMode>(*modes),
                        static_cast<ResizeCoordinates>(*coordinates),
                        *rounding,
                        attributes.integer("antialias", 0) != 0,
                        attributes.integer("exclude_outside", 0) != 0,
                        attributes.real("cubic_coeff_a", -0.75),
                        attributes.real("extrapolation_value", 0)};
  if (rule.antialias && rule.mode == ResizeMode::kNearest) return misfit("it smooths (antialias) with nearest");
  if (!std::isfinite(rule.cubic_a)) return misfit("its cubic_coeff_a is no number");
  if (rule.coordinates == ResizeCoordinates::kCropAndResize && !std::isfinite(rule.beyond))
    return unsupported("its extrapolation_value is no number");
  return rule;
}

// The dimensions that sizes, scales and regions name, in their order.
Result<std::vector<size_t>> read_axes(Node& node, size_t rank) {
  Integers all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::vector<size_t> axes;
  for (const int64_t entry : node.attributes().integers("axes").value_or(all)) {
    PANTOUM_ASSIGN(const int64_t axis, normalize_axis(entry, rank));
    const auto d = static_cast<size_t>(axis);
    if (std::ranges::find(axes, d) != axes.end()) return misfit("its axes name one twice");
    axes.push_back(d);
  }
  return axes;
}

// One scale for all: the smallest or the largest that the sizes ask for.
Result<void> keep_aspect(const std::string& policy, const std::vector<size_t>& axes, std::vector<ResizeAxis>& all) {
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return misfit("its keep_aspect_ratio_policy is '{}'", policy);
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
    const Integers sizes = node.integers(3, "sizes");
    given.assign(sizes.begin(), sizes.end());
  } else if (const Tensor* scales = node.setting(2)) {
    given = to_reals(*scales).value_or(given);
  } else {
    return unsupported("its scales are not constant", "resize to a fixed size");
  }
  if (given.size() != axes.size()) return misfit("its sizes or scales do not name every dimension");
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
  if (parts.size() != 2 * axes.size()) return misfit("its roi does not name both ends of every dimension");
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    ResizeAxis& axis = all[axes[entry]];
    axis.begin = parts[entry];
    axis.end = parts[axes.size() + entry];
    if (!std::isfinite(axis.begin) || !std::isfinite(axis.end)) return misfit("its roi is no number");
  }
  return {};
}

Result<void> lower_resize(Node& node) {
  const Value x = node.real(0);
  if (node.shape(0).empty()) return misfit("its input has no dimensions");
  PANTOUM_ASSIGN(const ResizeRule rule, read_rule(node));
  PANTOUM_ASSIGN(const std::vector<size_t> axes, read_axes(node, node.shape(0).size()));
  PANTOUM_ASSIGN(std::vector<ResizeAxis> all, read_extents(node, axes));
  if (rule.coordinates == ResizeCoordinates::kCropAndResize) PANTOUM_TRY(read_region(node, axes, all));
  return node.set(resized(x, rule, all));
}

}  // namespace

// GridSample: an image is read at computed places, as arithmetic on them and rows gathered; and AffineGrid, which makes
// such places. Gradients flow to the image and to the places, as PyTorch's do.

namespace {

// What an axis has to do with a place: rows further along, and a weight; left out: it is 1.
struct Tap {
  Value rows, weight;
};
using Taps = std::vector<Tap>;

class Sampler {
 public:
  Sampler(const Value& x, const Value& grid, Between between, Outside outside, bool corners)
      : in_(x.in()), between_(between), outside_(outside), corners_(corners), image_(x.shape()), places_(grid.shape()) {
    places_.pop_back();
    for (const int64_t extent : places_) points_ *= extent;
    elements_ = x.elements() / image_[0] / image_[1];
    if (elements_ * image_[0] > INT32_MAX) index_ = DType::kI64;
  }

  // Elements are rows of channels; those that taps name are added up.
  Value sample(const Value& x, const Value& grid) {
    const int64_t samples = image_[0], channels = image_[1], axes = static_cast<int64_t>(image_.size()) - 2;
    const Value by_element = transpose(reshape(x, {samples, channels, elements_}), {0, 2, 1});
    const Value table = reshape(by_element, {samples * elements_, channels}), points = reshape(grid, {points_, axes});
    Taps taps;
    for (size_t axis = 0; axis + 2 < image_.size(); ++axis) {
      const Taps of_axis = taps_of(coordinate(points, axis), axis);
      taps = axis == 0 ? of_axis : joined(taps, of_axis);
    }
    Value sum;
    for (const Tap& tap : taps) {
      const Value part = weighted(table, tap);
      sum = sum ? sum + part : part;
    }
    Shape shape = {samples, channels};
    shape.insert(shape.end(), places_.begin() + 1, places_.end());
    return reshape(transpose(sum, {0, 2, 1}), shape);
  }

 private:
  Composer& in_;
  Between between_;
  Outside outside_;
  bool corners_;
  Shape image_, places_;               // [N,C,..] and [N,..]: of the input, and of the grid without its last dimension
  int64_t points_ = 1, elements_ = 1;  // of the grid; of one channel
  DType index_ = DType::kI32;          // holds a row of all samples' elements

  int64_t extent(size_t axis) const { return image_[axis + 2]; }

  // The grid counts axes from the last; -1 and 1 are the image's edges, or the middles of its outermost elements.
  Value coordinate(const Value& points, size_t axis) {
    const auto which = static_cast<int64_t>(image_.size() - 3 - axis);
    const Value at = in_.op(Kind::k_slice, {points}, {{0, 1, which, 1}, {}}, {{DType::kF32, {points_, 1}}});
    const auto size = static_cast<double>(extent(axis));
    return scale(reshape(at, {points_}), corners_ ? (size - 1) / 2 : size / 2, (size - 1) / 2);
  }

  // Back and forth between the edges.
  Value reflected(const Value& at, int64_t size) {
    const double least = corners_ ? 0 : -0.5, span = static_cast<double>(corners_ ? size - 1 : size);
    if (span == 0) return at * 0.0;
    const Value far = abs(at + -least), turns = rounded(far * (1 / span), kDown);
    const Value rest = far - turns * span;
    const Value odd = turns + rounded(turns * 0.5, kDown) * -2.0;
    return rest + odd * scale(rest, -2, span) + least;
  }

  Value kept_inside(const Value& at, int64_t size) {
    if (outside_ == Outside::kZeros) return at;
    const Value place = outside_ == Outside::kReflection ? reflected(at, size) : at;
    return clip(place, 0, static_cast<double>(size - 1));
  }

  // 1 where an element is in the image, else 0.
  Value inside(const Value& at, int64_t size) {
    const Value low = compare(at, PT_COMPARE_GREATER_EQUAL, 0);
    const Value high = compare(at, PT_COMPARE_LESS_EQUAL, static_cast<double>(size - 1));
    return cast(compare(low, PT_COMPARE_AND, high), DType::kF32);
  }

  // An element's place along the axis, which is whole.
  Tap tap(const Value& at, Value weight, size_t axis) {
    if (outside_ == Outside::kZeros) {
      const Value counts = inside(at, extent(axis));
      weight = weight ? weight * counts : counts;
    }
    int64_t step = 1;
    for (size_t d = axis + 3; d < image_.size(); ++d) step *= image_[d];
    const Value rows = cast(clip(at, 0, static_cast<double>(extent(axis) - 1)), index_);
    return {step == 1 ? rows : rows * in_.whole(index_, {}, {step}), weight};
  }

  // ((a t + b) t + c) t + d
  static Value cubic(const Value& t, double a, double b, double c, double d) {
    return (scale(t, a, b) * t + c) * t + d;
  }

  // PyTorch's convolution by A = -0.75.
  Taps cubic_taps(const Value& at, size_t axis) {
    constexpr double kA = -0.75;
    const Value first = rounded(at, kDown), t = at - first;
    const Values weights = {cubic(t, kA, -2 * kA, kA, 0), cubic(t, kA + 2, -(kA + 3), 0, 1),
                            cubic(t, -(kA + 2), 2 * kA + 3, -kA, 0), cubic(t, -kA, kA, 0, 0)};
    Taps taps;
    for (size_t which = 0; which < weights.size(); ++which)
      taps.push_back(tap(kept_inside(first + (static_cast<double>(which) - 1), extent(axis)), weights[which], axis));
    return taps;
  }

  Taps taps_of(const Value& given, size_t axis) {
    if (between_ == Between::kCubic) return cubic_taps(given, axis);
    const Value at = kept_inside(given, extent(axis));
    if (between_ == Between::kNearest) return {tap(rounded(at, kToEven), {}, axis)};
    const Value first = rounded(at, kDown), next = first + 1.0, t = at - first, rest = scale(t, -1, 1);
    const Tap before = tap(first, rest, axis);
    return {before, tap(next, t, axis)};
  }

  // Every tap of one axis with every tap of another.
  static Taps joined(const Taps& some, const Taps& more) {
    Taps all;
    for (const Tap& a : some) {
      for (const Tap& b : more) {
        const Value rows = a.rows + b.rows;
        all.push_back({rows, !a.weight ? b.weight : !b.weight ? a.weight : a.weight * b.weight});
      }
    }
    return all;
  }

  Value weighted(const Value& table, const Tap& tap) {
    const int64_t samples = image_[0], each = points_ / samples;
    Value rows = reshape(tap.rows, {samples, each});  // of one sample
    if (samples > 1 && in_.spend(samples)) rows = rows + in_.positions(samples, {samples, 1}, 0, elements_, index_);
    const Value read = gather(table, rows, 0);
    return tap.weight ? read * reshape(tap.weight, {samples, each, 1}) : read;
  }
};

}  // namespace

Value sampled(const Value& x, const Value& grid, Between between, Outside outside, bool corners) {
  if (!x || !grid) return x ? grid : x;
  const Shape image = x.shape(), places = grid.shape();
  const size_t rank = image.size();
  if (rank < 3 || places.size() != rank || places[0] != image[0] || places.back() != static_cast<int64_t>(rank) - 2)
    return x.in().refuse(misfit("its grid {} does not fit its input {}", ir::to_text(places), ir::to_text(image)));
  if (rank > 5 || (rank > 4 && between == Between::kCubic))
    return x.in().refuse(
        unsupported("it samples too many dimensions of space", "cubic up to two, the others up to three"));
  return Sampler(x, grid, between, outside, corners).sample(x, grid);
}

namespace {

// Names of opset 16, and of 20.
Result<void> lower_grid_sample(Node& node) {
  const std::string mode = node.attributes().text("mode", "linear");
  const bool cubic = mode == "bicubic" || mode == "cubic";
  if (!cubic && mode != "nearest" && mode != "bilinear" && mode != "linear") return misfit("its mode is '{}'", mode);
  const std::string padding = node.attributes().text("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return misfit("its padding_mode is '{}'", padding);
  const Value x = node.real(0);
  return node.set(sampled(x, node.real(1),
                          cubic               ? Between::kCubic
                          : mode == "nearest" ? Between::kNearest
                                              : Between::kLinear,
                          padding == "border"       ? Outside::kBorder
                          : padding == "reflection" ? Outside::kReflection
                                                    : Outside::kZeros,
                          node.attributes().integer("align_corners", 0) != 0));
}

// Homogeneous places of all elements, the last axis first: [elements, axes + 1].
std::vector<double> base_places(const Shape& space, int64_t elements, bool corners) {
  std::vector<double> places;
  for (int64_t element = 0; element < elements; ++element) {
    int64_t rest = element;
    for (size_t d = space.size(); d-- > 0;) {
      const auto at = static_cast<double>(rest % space[d]), size = static_cast<double>(space[d]);
      rest /= space[d];
      const double between = size > 1 ? 2 * at / (size - 1) - 1 : 0;
      places.push_back(corners ? between : (2 * at + 1) / size - 1);
    }
    places.push_back(1);
  }
  return places;
}

// The base places times each sample's matrix.
Result<void> lower_affine_grid(Node& node) {
  const Value theta = node.real(0);
  const Shape size = node.integers(1, "size"), matrices = theta.shape();
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if (rank < 1 || matrices != Shape{size[0], rank, rank + 1})
    return misfit("its matrices {} do not fit its size {}", ir::to_text(matrices), ir::to_text(size));
  Shape shape(size.begin() + 2, size.end());
  const std::optional<int64_t> elements = count_elements(shape);
  if (!elements || *elements < 1) return misfit("its size is {}", ir::to_text(size));
  if (!node.spend(*elements * (rank + 1))) return node.refusal();
  const bool corners = node.attributes().integer("align_corners", 0) != 0;
  const Value base = node.constant(DType::kF32, {*elements, rank + 1}, base_places(shape, *elements, corners));
  shape.insert(shape.begin(), size[0]);
  shape.push_back(rank);
  return node.set(reshape(node.op(Kind::k_matmul, {base, theta}, {{0, 1}, {}}), shape));
}

constexpr OperatorEntry kResizeOperators[] = {
    {"Resize", lower_resize, "resize matmul scale",
     "any dimensions; constant sizes or scales; cubic and antialias are products with constant weights"},
    {"GridSample", lower_grid_sample, "transpose slice scale abs round sub clip compare cast mul gather add",
     "one to three dimensions of space, cubic up to two"},
    {"AffineGrid", lower_affine_grid, "matmul", "constant size"}};

}  // namespace

constinit const Family resize_operators = kResizeOperators;

}  // namespace pantoum::import
