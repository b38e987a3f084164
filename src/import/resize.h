// Resizing: every element of the result is a weighted sum of elements of the source, axis by axis.
#pragma once

#include "import/compose.h"

namespace pantoum::import {

enum class ResizeMode : int64_t { kNearest, kLinear, kCubic };
// The first four are those of the resize op (PT_RESIZE_*), in its order.
enum class ResizeCoordinates : int64_t {
  kHalfPixel,
  kAsymmetric,
  kAlignCorners,
  kPytorchHalfPixel,
  kHalfPixelSymmetric,
  kCropAndResize
};

struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  int64_t rounding = 0;  // of nearest: PT_RESIZE_FLOOR, ...
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75;
  double beyond = 0;  // what lies outside of the source, of kCropAndResize alone
};

struct ResizeAxis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // the part of the source that is resized, of kCropAndResize alone
  // Is every element its own source?
  [[nodiscard]] bool stays() const;
};

// The weights [to, from], row by row, as ONNX's reference has them; a row of zeros where kCropAndResize reads outside.
[[nodiscard]] std::vector<double> resize_weights(const ResizeRule& rule, const ResizeAxis& axis);

// Every dimension of x by its axis: nearest and linear are an op on the last two dimensions, the rest is a product with the weights.
Value resized(const Value& x, const ResizeRule& rule, const std::vector<ResizeAxis>& axes);

// The axis of a dimension that becomes `extent` elements, or `factor` times as many. E0211 where that is out of range.
[[nodiscard]] Result<ResizeAxis> axis_to(int64_t from, double extent);
[[nodiscard]] Result<ResizeAxis> axis_by(int64_t from, double factor);

}  // namespace pantoum::import
