// How Resize reads along one axis: every element of the result is a weighted sum of elements of the source.
#pragma once

#include <cstdint>
#include <vector>

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
};

struct ResizeAxis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // the part of the source that is resized, of kCropAndResize alone
  // Is every element its own source?
  [[nodiscard]] bool stays() const;
};

// The weights [to, from], row by row, as ONNX's reference has them; a row of zeros where kCropAndResize reads outside.
[[nodiscard]] std::vector<float> resize_weights(const ResizeRule& rule, const ResizeAxis& axis);

}  // namespace pantoum::import
