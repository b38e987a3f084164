// What a frozen backbone gives for every sample of a data set, kept in a private file.
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

// Rows of `tensors` (a batch's features) for `count` samples, each with its seal after it: what a storage gives back that
// is not what was kept is found before a step uses it. Encrypted, nobody reads them in the file either; else the seal
// has a sum in place of a tag.
class FeatureCache {
 public:
  static constexpr uint64_t kSealBytes = sizeof(host::Seal);  // beside the bytes of each feature of a sample

  // The file is made and allocated in full: in `folder`, or where page files are ("" ). E0902, E0908.
  [[nodiscard]] static Result<std::shared_ptr<FeatureCache>> create(const std::string& folder, int64_t count,
                                                                    std::span<const data::BatchView> tensors,
                                                                    bool encrypt = true);

  // Keeps row `row` of the tensor as feature `field` of sample `index`. The row's bytes are others meanwhile, and as
  // before afterwards. No allocation. E0901.
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
