#include "import/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "pantoum/ops.h"

namespace pantoum::import {
namespace {

double cropped_position(const ResizeAxis& axis, double at) {
  const double last = static_cast<double>(axis.from - 1);
  if (axis.to == 1) return (axis.begin + axis.end) * last / 2;
  return axis.begin * last + at * (axis.end - axis.begin) * last / static_cast<double>(axis.to - 1);
}

// Where an element of the result lies in the source.
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

struct Tap {
  int64_t element;  // may lie outside
  double weight;
};

// The kernel around a position; smaller images are smoothed by a kernel that is wider by as much.
std::vector<Tap> taps_around(const ResizeRule& rule, const ResizeAxis& axis, double position) {
  const bool linear = rule.mode == ResizeMode::kLinear;
  const double narrowing = rule.antialias ? std::min(axis.scale, 1.0) : 1, reach = linear ? 1 : 2;
  const auto first = static_cast<int64_t>(std::floor(-reach / narrowing)) + 1;
  const auto below = static_cast<int64_t>(std::ceil(position)) - 1;  // position lies in (below, below + 1]
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t step = first; step <= 1 - first; ++step) {
    const double distance = (static_cast<double>(below + step) - position) * narrowing;
    taps.push_back({below + step, linear ? triangle(distance) : cubic(distance, rule.cubic_a)});
    sum += taps.back().weight;
  }
  for (Tap& tap : taps) tap.weight /= rule.antialias ? sum : 1;
  return taps;
}

std::vector<Tap> taps_of(const ResizeRule& rule, const ResizeAxis& axis, double position) {
  if (rule.mode == ResizeMode::kNearest) return {{static_cast<int64_t>(rounded(rule.rounding, position)), 1}};
  std::vector<Tap> taps = taps_around(rule, axis, position);
  if (!rule.exclude_outside) return taps;
  double sum = 0;
  for (Tap& tap : taps) {
    if (tap.element < 0 || tap.element >= axis.from) tap.weight = 0;
    sum += tap.weight;
  }
  for (Tap& tap : taps) tap.weight /= sum == 0 ? 1 : sum;
  return taps;
}

}  // namespace

bool ResizeAxis::stays() const {
  return from == to && std::abs(scale - 1) < 1e-9 && begin == 0 && end == 1;
}

std::vector<float> resize_weights(const ResizeRule& rule, const ResizeAxis& axis) {
  std::vector<float> weights(static_cast<size_t>(axis.from * axis.to));
  std::vector<double> row(static_cast<size_t>(axis.from));
  for (int64_t element = 0; element < axis.to; ++element) {
    const double last = static_cast<double>(axis.from - 1), position = source_position(rule, axis, element);
    std::fill(row.begin(), row.end(), 0.0);
    const bool crops = rule.coordinates == ResizeCoordinates::kCropAndResize;
    if (!(crops && (position < 0 || position > last))) {
      for (const Tap& tap : taps_of(rule, axis, position))
        row[static_cast<size_t>(std::clamp<int64_t>(tap.element, 0, axis.from - 1))] += tap.weight;
    }
    std::transform(row.begin(), row.end(), weights.begin() + element * axis.from,
                   [](double weight) { return static_cast<float>(weight); });
  }
  return weights;
}

}  // namespace pantoum::import
