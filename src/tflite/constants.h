// Constants of a file as numbers. Memory for them is bounded by the size of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tflite/file.h"

namespace pantoum::tflite {

// Row-major, in the file's order of dimensions.
struct Constant {
  std::vector<int64_t> shape;
  std::vector<float> elements;
};

class Constants {
 public:
  explicit Constants(const File& file) : file_(file), left_(kTimesFile * file.bytes() + kLeast) {}

  // f32, f16, or integers with scales, of the whole tensor or of the positions of one axis.
  //   errors  E0215 the contents do not fit the shape, scales are missing, an element is no number; E0401 another type
  Result<Constant> reals(int tensor);
  // i32 and i64: axes, shapes, sizes, paddings.   errors  E0215
  Result<std::vector<int64_t>> integers(int tensor) const;

  // Tensors that were read from f16, and from integers with scales.
  [[nodiscard]] int halves() const { return halves_; }
  [[nodiscard]] int scaled() const { return scaled_; }

 private:
  // Several tensors may share a buffer: a small file could ask for any amount of memory.
  static constexpr uint64_t kTimesFile = 4, kLeast = 1 << 16;

  const File& file_;
  uint64_t left_;  // bytes of buffers that may still be read
  int halves_ = 0, scaled_ = 0;

  Result<std::vector<float>> by_scales(int tensor, const Constant& made, std::vector<int64_t> values);
  [[nodiscard]] Failure refused(int tensor, const std::string& problem) const;
};

}  // namespace pantoum::tflite
