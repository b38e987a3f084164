// What a frozen backbone gives for every sample of a data set, kept in a private file.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "data/batch.h"
#include "data/dataset.h"
#include "host/page_file.h"

namespace pantoum::train {

// Rows of `tensors` (a batch's features) for `count` samples, each with a sum after it: what a storage gives back that
// is not what was kept is found before a step uses it.
class FeatureCache {
 public:
  static constexpr uint64_t kSumBytes = 8;  // beside the bytes of each feature of a sample

  // The file is made and allocated in full: in `folder`, or where page files are ("" ). E0902.
  [[nodiscard]] static Result<std::shared_ptr<FeatureCache>> create(const std::string& folder, int64_t count,
                                                                    std::span<const data::BatchView> tensors);

  // Keeps row `row` of the tensor as feature `field` of sample `index`. No allocation. E0901.
  [[nodiscard]] Result<void> put(int64_t index, size_t field, const data::BatchView& tensor, int64_t row) const;

  // The cache as a data set with the labels of `data`, which outlives it. Reading from it: E0903 damaged features.
  [[nodiscard]] static data::Dataset as_dataset(const std::shared_ptr<const FeatureCache>& cache,
                                                const data::Dataset& data);

 private:
  friend class FeatureSamples;
  struct Field {
    base::DType dtype;
    base::Shape shape;  // of a sample
    uint64_t at = 0, bytes = 0;
  };
  host::PageFile file_;
  std::vector<Field> fields_;
  uint64_t stride_ = 0;
  int64_t count_ = 0;

  [[nodiscard]] uint64_t place_of(int64_t index, size_t field) const {
    return static_cast<uint64_t>(index) * stride_ + fields_[field].at;
  }
  // Of a row at its place: the same row at another has another.
  [[nodiscard]] uint64_t sum_of(int64_t index, size_t field, std::span<const std::byte> row) const;
};

}  // namespace pantoum::train
