// For tests: a data set's samples in memory.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace pantoum::data {

// Samples in memory.
class ArraySamples final : public SampleFile {
 public:
  ArraySamples(base::DType dtype, base::Shape shape, std::vector<std::byte> bytes)
      : dtype_(dtype), shape_(std::move(shape)), bytes_(std::move(bytes)) {}
  int64_t count() const override { return static_cast<int64_t>(bytes_.size()) / sample_bytes(*this); }
  const base::Shape& sample_shape() const override { return shape_; }
  base::DType dtype() const override { return dtype_; }
  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    if (index < 0 || index >= count()) return fail("E0260", "there is no such sample");
    std::memcpy(out.data(), bytes_.data() + static_cast<size_t>(index) * out.size(), out.size());
    return {};
  }

 private:
  base::DType dtype_;
  base::Shape shape_;
  std::vector<std::byte> bytes_;
};

template <class T>
std::unique_ptr<SampleFile> samples(base::DType dtype, base::Shape shape, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return std::make_unique<ArraySamples>(dtype, std::move(shape), std::move(bytes));
}

}  // namespace pantoum::data
