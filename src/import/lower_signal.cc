// Signals: Fourier transforms, as products with a matrix of cosines and sines.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/operators.h"

namespace pantoum::import {
namespace {

struct Transform {
  int64_t extent = 0;      // of what is transformed
  int64_t length = 0;      // of the transform: what is missing counts as 0, what is beyond is left out
  int64_t bins = 0;        // of the result
  int64_t components = 1;  // of an element: 1 real, 2 complex
  bool inverse = false;
  int64_t parts = 2;  // of an element of the result: 1 real, of the half of a spectrum that is its own mirror
};

// [extent, 2] -> [bins, 1]: the real signal whose spectrum begins with these bins. The rest mirrors them, so that each counts
// twice but for the first and, of an even length, the middle one, whose imaginary parts count nothing.
Value mirrored_matrix(Node& node, const Transform& transform) {
  const int64_t length = transform.length, rows = transform.extent * 2;
  if (!node.spend(count_elements({rows, length}).value_or(INT64_MAX))) return node.at(ir::kNone);
  std::vector<double> matrix(static_cast<size_t>(rows * length), 0);
  for (int64_t k = 0; k < std::min(transform.extent, length / 2 + 1); ++k) {
    const bool alone = k == 0 || 2 * k == length;
    const double factor = (alone ? 1.0 : 2.0) / static_cast<double>(length);
    for (int64_t t = 0; t < length; ++t) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(t * k % length) / static_cast<double>(length);
      matrix[static_cast<size_t>(2 * k * length + t)] = factor * std::cos(turn);
      matrix[static_cast<size_t>((2 * k + 1) * length + t)] = alone ? 0 : -factor * std::sin(turn);
    }
  }
  return node.constant(DType::kF32, {rows, length}, matrix);
}

// [extent, components] -> [bins, 2]: real and imaginary parts of the sum over t of x[t] e^(-+ 2 pi i t k / length).
Value fourier_matrix(Node& node, const Transform& transform) {
  const int64_t rows = transform.extent * transform.components, columns = transform.bins * 2;
  if (!node.spend(count_elements({rows, columns}).value_or(INT64_MAX))) return node.at(ir::kNone);
  std::vector<double> matrix(static_cast<size_t>(rows * columns), 0);
  const double factor = transform.inverse ? 1.0 / static_cast<double>(transform.length) : 1.0;
  const double sign = transform.inverse ? 1 : -1;
  for (int64_t t = 0; t < std::min(transform.extent, transform.length); ++t) {
    for (int64_t k = 0; k < transform.bins; ++k) {
      const double turn = static_cast<double>(t * k % transform.length) / static_cast<double>(transform.length);
      const double cosine = factor * std::cos(2 * std::numbers::pi * turn);
      const double sine = factor * sign * std::sin(2 * std::numbers::pi * turn);
      double* at = &matrix[static_cast<size_t>(t * transform.components * columns + 2 * k)];
      at[0] = cosine;
      at[1] = sine;
      if (transform.components == 1) continue;
      at[columns] = -sine;
      at[columns + 1] = cosine;
    }
  }
  return node.constant(DType::kF32, {rows, columns}, matrix);
}

Result<Transform> read_transform(int64_t extent, int64_t length, int64_t components, bool one_sided,
                                 bool inverse = false) {
  if (components != 1 && components != 2) return misfit("its elements are neither real nor complex");
  if (length < 1 || length > INT32_MAX) return misfit("a length of {} is out of range", length);
  if (one_sided && inverse) {
    if (components != 2) return misfit("it is one-sided and inverse, and its elements are real");
    return Transform{extent, length, length, components, true, 1};
  }
  const Transform transform{extent, length, one_sided ? length / 2 + 1 : length, components, inverse};
  if (one_sided && components == 2) return misfit("it is one-sided, and its elements are complex");
  return transform;
}

// [.., extent, components] -> [.., bins, parts]
Value transformed(Node& node, const Value& x, const Transform& transform) {
  if (!x) return x;
  Shape shape = x.shape();
  const Value matrix = transform.parts == 1 ? mirrored_matrix(node, transform) : fourier_matrix(node, transform);
  int64_t rows = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) rows *= shape[d];
  const Value lines = reshape(x, {rows, transform.extent * transform.components});
  shape[shape.size() - 2] = transform.bins;
  shape.back() = transform.parts;
  return reshape(node.op(Kind::k_matmul, {lines, matrix}, {{0, 0}, {}}), shape);
}

// The dimensions with `axis` and the one before the last exchanged.
Integers exchanged(size_t rank, size_t axis) {
  Integers perm(rank);
  for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(d);
  std::swap(perm[axis], perm[rank - 2]);
  return perm;
}

// Its axis is an attribute until opset 19, an input from opset 20 on.
Result<void> lower_dft(Node& node) {
  const Value x = node.real(0);
  const Shape shape = x.shape();
  int64_t told = node.attributes().integer("axis", node.opset() < 20 ? 1 : -2);
  if (node.has(2)) told = node.integer(2, "axis");
  PANTOUM_ASSIGN(const int64_t along, normalize_axis(told, shape.size()));
  const auto axis = static_cast<size_t>(along);
  if (shape.size() < 2 || axis + 1 == shape.size()) return misfit("its axis is that of the components");
  const bool one_sided = node.attributes().integer("onesided", 0) != 0;
  const bool inverse = node.attributes().integer("inverse", 0) != 0;
  int64_t length = one_sided && inverse ? 2 * (shape[axis] - 1) : shape[axis];
  if (node.has(1)) length = node.integer(1, "length");
  PANTOUM_TRY(node.refusal());
  PANTOUM_ASSIGN(const Transform transform, read_transform(shape[axis], length, shape.back(), one_sided, inverse));
  if (axis + 2 == shape.size()) return node.set(transformed(node, x, transform));
  const Integers perm = exchanged(shape.size(), axis);
  return node.set(transpose(transformed(node, transpose(x, perm), transform), perm));
}

Result<int64_t> one_number(Node& node, size_t input, const char* what) {
  const Integers told = node.integers(input, what);
  if (told.size() != 1 || told[0] < 1 || told[0] > INT32_MAX) return misfit("its {} is out of range", what);
  return told[0];
}

// The frame length that the node names, else the length of its window.
Result<int64_t> frame_length(Node& node) {
  if (node.has(3)) return one_number(node, 3, "frame length");
  if (!node.has(2) || node.shape(2).size() != 1) return misfit("it has neither a window nor a frame length");
  return node.shape(2)[0];
}

// [N, time, components] -> [N, frames, length, components]
Value framed(Node& node, const Value& x, int64_t step, int64_t length) {
  const int64_t time = x.shape()[1];
  if (length > time) return node.refuse(misfit("its frames of {} are longer than its signal of {}", length, time));
  const int64_t frames = (time - length) / step + 1;
  if (!node.spend(count_elements({frames, length}).value_or(INT64_MAX))) return node.at(ir::kNone);
  Integers read;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t at = 0; at < length; ++at) read.push_back(frame * step + at);
  return gather(x, node.whole(DType::kI64, {frames, length}, read), 1);
}

Result<void> lower_stft(Node& node) {
  const Value x = node.real(0);
  const Shape shape = x.shape();
  if (shape.size() != 3) return misfit("its signal is not [batch, time, components]");
  PANTOUM_ASSIGN(const int64_t step, one_number(node, 1, "frame step"));
  PANTOUM_ASSIGN(const int64_t length, frame_length(node));
  const bool one_sided = node.attributes().integer("onesided", 1) != 0;
  PANTOUM_ASSIGN(const Transform transform, read_transform(length, length, shape[2], one_sided));
  Value frames = framed(node, x, step, length);
  if (node.has(2)) {
    const Value window = node.real(2);
    if (window.shape() != Shape{length}) return misfit("its window is not as long as its frames");
    frames = frames * reshape(window, {length, 1});
  }
  return node.set(transformed(node, frames, transform));
}

constexpr OperatorEntry kSignalOperators[] = {
    {"DFT", lower_dft, "transpose matmul", "constant length and axis; as a product with a matrix"},
    {"STFT", lower_stft, "gather mul matmul", "constant step and frame length; as a product with a matrix"}};

}  // namespace

constinit const Family signal_operators = kSignalOperators;

}  // namespace pantoum::import
