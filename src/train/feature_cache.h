// Keeps the outputs of a frozen backbone for every sample of a data set in a private file.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/batch.h"
#include "data/dataset.h"
#include "host/page_cipher.h"
#include "host/page_file.h"

namespace pantoum::train {

// Holds rows of `tensors` (the features of a batch) for `count` samples. A seal stands after each row, so that damaged rows are found before
// a step uses them. In an encrypted cache nobody can read the rows in the file; in one that is not, the seal has a sum in place of a tag.
class FeatureCache {
 public:
  static constexpr uint64_t kSealBytes = sizeof(host::Seal);  // beside the bytes of each feature of a sample

  // The file is made and allocated in full: in `folder`, or where page files are ("" ). E0902, E0908.
  [[nodiscard]] static Result<std::shared_ptr<FeatureCache>> create(const std::string& folder, int64_t count,
                                                                    std::span<const data::BatchView> tensors,
                                                                    bool encrypt = true);

  // Keeps row `row` of the tensor as feature `field` of sample `index`. The row is encrypted in place meanwhile, and restored. No
  // allocation. E0901.
  [[nodiscard]] Result<void> put(int64_t index, size_t field, const data::BatchView& tensor, int64_t row);

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
  std::optional<host::PageCipher> cipher_;  // none: rows lie there as they are
  uint32_t puts_ = 0;                       // versions of seals: no row has one twice
  std::vector<Field> fields_;
  uint64_t stride_ = 0;
  int64_t count_ = 0;

  [[nodiscard]] uint64_t place_of(int64_t index, size_t field) const {
    return static_cast<uint64_t>(index) * stride_ + fields_[field].at;
  }
  [[nodiscard]] Result<void> write(uint64_t at, std::span<std::byte> row, host::Seal& seal) const;
  // Whether these are the bytes that were kept; they are readable then.
  [[nodiscard]] bool open(uint64_t at, std::span<std::byte> row, const host::Seal& seal) const;
};

}  // namespace pantoum::train
