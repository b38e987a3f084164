#include "import/compose.h"

#include <algorithm>
#include <cmath>

namespace pantoum::import {
namespace {

double cropped_position(const ResizeAxis& axis, double at) {
  const double last = static_cast<double>(axis.from - 1);
  if (axis.to == 1) return (axis.begin + axis.end) * last / 2;
  return axis.begin * last + at * (axis.end - axis.begin) * last / static_cast<double>(axis.to - 1);
}

// The position in the source that an element of the result corresponds to.
double source_position(const ResizeRule& rule, const ResizeAxis& axis, int64_t element) {
  const auto at = static_cast<double>(element), from = static_cast<double>(axis.from),
             to = static_cast<double>(axis.to);
  const double half_pixel = (at + 0.5) / axis.scale - 0.5;
  switch (rule.coordinates) {
    case ResizeCoordinates::kAsymmetric:
      return at / axis.scale;
    case ResizeCoordinates::kAlignCorners:
      return axis.to > 1 ? at * (from - 1) / (to - 1) : 0;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.to > 1 ? half_pixel : 0;
    case ResizeCoordinates::kHalfPixelSymmetric:  // about the centres of both
      return from / 2 * (1 - to / (axis.scale * from)) + half_pixel;
    case ResizeCoordinates::kCropAndResize:
      return cropped_position(axis, at);
    case ResizeCoordinates::kHalfPixel:
      break;
  }
  return half_pixel;
}

double rounded(int64_t rounding, double x) {
  switch (rounding) {
    case PT_RESIZE_FLOOR:
      return std::floor(x);
    case PT_RESIZE_CEIL:
      return std::ceil(x);
    case PT_RESIZE_PREFER_FLOOR:
      return std::ceil(x - 0.5);
    default:
      return std::floor(x + 0.5);
  }
}

double triangle(double distance) {
  return std::max(1 - std::abs(distance), 0.0);
}

// Keys' kernel: between the neighbours, and beyond them.
double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

struct Share {
  int64_t element;  // may lie outside
  double weight;
};

// The kernel around a position; smaller images are smoothed by a kernel that is wider by as much.
std::vector<Share> taps_around(const ResizeRule& rule, const ResizeAxis& axis, double position) {
  const bool linear = rule.mode == ResizeMode::kLinear;
  const double narrowing = rule.antialias ? std::min(axis.scale, 1.0) : 1, reach = linear ? 1 : 2;
  const auto first = static_cast<int64_t>(std::floor(-reach / narrowing)) + 1;
  const auto below = static_cast<int64_t>(std::ceil(position)) - 1;  // position lies in (below, below + 1]
  std::vector<Share> shares;
  double sum = 0;
  for (int64_t step = first; step <= 1 - first; ++step) {
    const double distance = (static_cast<double>(below + step) - position) * narrowing;
    shares.push_back({below + step, linear ? triangle(distance) : cubic(distance, rule.cubic_a)});
    sum += shares.back().weight;
  }
  for (Share& share : shares) share.weight /= rule.antialias ? sum : 1;
  return shares;
}

std::vector<Share> taps_of(const ResizeRule& rule, const ResizeAxis& axis, double position) {
  if (rule.mode == ResizeMode::kNearest) return {{static_cast<int64_t>(rounded(rule.rounding, position)), 1}};
  std::vector<Share> shares = taps_around(rule, axis, position);
  if (!rule.exclude_outside) return shares;
  double sum = 0;
  for (Share& share : shares) {
    if (share.element < 0 || share.element >= axis.from) share.weight = 0;
    sum += share.weight;
  }
  for (Share& share : shares) share.weight /= sum == 0 ? 1 : sum;
  return shares;
}

}  // namespace

bool ResizeAxis::stays() const {
  return from == to && std::abs(scale - 1) < 1e-9 && begin == 0 && end == 1;
}

std::vector<double> resize_weights(const ResizeRule& rule, const ResizeAxis& axis) {
  std::vector<double> weights(static_cast<size_t>(axis.from * axis.to), 0);
  for (int64_t element = 0; element < axis.to; ++element) {
    const double last = static_cast<double>(axis.from - 1), position = source_position(rule, axis, element);
    const bool crops = rule.coordinates == ResizeCoordinates::kCropAndResize;
    if (crops && (position < 0 || position > last)) continue;
    for (const Share& share : taps_of(rule, axis, position))
      weights[static_cast<size_t>(element * axis.from + std::clamp<int64_t>(share.element, 0, axis.from - 1))] +=
          share.weight;
  }
  return weights;
}

namespace {

// [N, what lies between, the axis, what lies behind]; axis 0 has no N.
Shape around(const Shape& shape, size_t axis) {
  Shape view = {1, 1, shape[axis], 1};
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != axis) view[d > axis ? 3 : d == 0 ? 0 : 1] *= shape[d];
  return view;
}

// The op on views as images: `view` is the source, of which `rows` and `columns` change.
Value resize_view(const Value& x, const ResizeRule& rule, const Shape& view, const ResizeAxis& rows,
                  const ResizeAxis& columns) {
  const Attrs attrs{{static_cast<int64_t>(rule.mode), static_cast<int64_t>(rule.coordinates), rule.rounding},
                    {rows.scale, columns.scale}};
  return x.in().op(ir::Kind::k_resize, {reshape(x, view)}, attrs,
                   {{DType::kF32, {view[0], view[1], rows.to, columns.to}}});
}

// The last two dimensions together, the others one by one, from the back.
Value resize_by_op(Value x, const ResizeRule& rule, const std::vector<ResizeAxis>& all) {
  const size_t rank = all.size(), behind = rank > 3 ? rank - 2 : rank - 1;  // where the first op's dimensions begin
  Shape shape = x.shape();
  for (size_t d = rank; d-- > 0;) {
    const bool together = d > behind;
    if (all[d].stays() && !(together && !all[behind].stays())) continue;
    const size_t first = together ? behind : d;
    Shape view = around(shape, first);
    const bool last = first + 1 == rank;
    if (last) std::swap(view[2], view[3]);  // one row
    const ResizeAxis inner{view[3], view[3]};
    x = resize_view(x, rule, view, last ? ResizeAxis{} : all[first], together ? all[d] : last ? all[first] : inner);
    for (size_t changed = first; changed <= d; ++changed) shape[changed] = all[changed].to;
    x = reshape(x, shape);
    d = first;
  }
  return x;
}

// W[to, from] X[.., from, ..].
Value resize_by_product(Value x, const ResizeRule& rule, const std::vector<ResizeAxis>& all) {
  Composer& in = x.in();
  Shape shape = x.shape();
  for (size_t d = all.size(); d-- > 0;) {
    if (all[d].stays()) continue;
    if (!in.spend(all[d].to * all[d].from)) break;
    const Value weights = in.constant(DType::kF32, {all[d].to, all[d].from}, resize_weights(rule, all[d]));
    Shape view = around(shape, d);
    const bool last = d + 1 == all.size();
    if (last) std::swap(view[2], view[3]);
    x = reshape(x, view);
    x = last ? in.op(ir::Kind::k_matmul, {x, weights}, {{0, 1}, {}})
             : in.op(ir::Kind::k_matmul, {weights, x}, {{0, 0}, {}});
    shape[d] = all[d].to;
    x = reshape(x, shape);
  }
  return x;
}

}  // namespace

Value resized(const Value& x, const ResizeRule& rule, const std::vector<ResizeAxis>& axes) {
  if (!x) return x;
  if (x.rank() == 0) return x.in().refuse(misfit("its input has no dimensions"));
  // Zeros of what is left without `beyond`.
  if (rule.coordinates == ResizeCoordinates::kCropAndResize)
    return resize_by_product(x + -rule.beyond, rule, axes) + rule.beyond;
  const bool has_op =
      rule.mode != ResizeMode::kCubic && !rule.antialias && rule.coordinates < ResizeCoordinates::kHalfPixelSymmetric;
  return has_op ? resize_by_op(x, rule, axes) : resize_by_product(x, rule, axes);
}

namespace {

Result<ResizeAxis> axis_of(int64_t from, double extent, double scale) {
  if (!(extent >= 1 && extent <= INT32_MAX)) return misfit("a size or scale is out of range");
  return ResizeAxis{from, static_cast<int64_t>(extent), scale};
}

}  // namespace

Result<ResizeAxis> axis_to(int64_t from, double extent) {
  return axis_of(from, extent, extent / static_cast<double>(from));
}

Result<ResizeAxis> axis_by(int64_t from, double factor) {
  return axis_of(from, std::floor(static_cast<double>(from) * factor), factor);
}

}  // namespace pantoum::import
