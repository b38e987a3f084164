#include "data/memory_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pantoum::data {
namespace {

class MemorySamples final : public SampleFile {
 public:
  MemorySamples(base::DType dtype, base::Shape shape, int64_t count, std::span<const std::byte> bytes)
      : dtype_(dtype), shape_(std::move(shape)), count_(count), bytes_(bytes) {}
  int64_t count() const override { return count_; }
  const base::Shape& sample_shape() const override { return shape_; }
  base::DType dtype() const override { return dtype_; }
  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    const uint64_t each = bytes_.size() / static_cast<uint64_t>(count_);
    if (index < 0 || index >= count_ || out.size() != each)
      return fail("E0260", fmt::format("there is no sample {} of {} bytes", index, out.size()));
    const auto sample = bytes_.subspan(static_cast<size_t>(static_cast<uint64_t>(index) * each), out.size());
    std::copy(sample.begin(), sample.end(), out.begin());
    return {};
  }

 private:
  base::DType dtype_;
  base::Shape shape_;
  int64_t count_;
  std::span<const std::byte> bytes_;
};

}  // namespace

std::unique_ptr<SampleFile> memory_samples(base::DType dtype, base::Shape shape, int64_t count,
                                           std::span<const std::byte> bytes) {
  return std::make_unique<MemorySamples>(dtype, std::move(shape), count, bytes);
}

}  // namespace pantoum::data
