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

// A file with one row of every feature for each sample. A seal follows each row, so that damage is found before a step uses the row. If the cache is
// encrypted, nobody can read the rows in the file, and the seal has a tag; otherwise the seal has a checksum.
class FeatureCache {
 public:
  static constexpr uint64_t kSealBytes = sizeof(host::Seal);  // in addition to the bytes of each feature of a sample

  // Creates the file, with all of its bytes allocated, for `count` samples. `folder`: "" is the folder of page files. `tensors`: the features of one
  // batch, whose types and shapes the cache takes over. E0902, E0908.
  [[nodiscard]] static Result<std::shared_ptr<FeatureCache>> create(const std::string& folder, int64_t count,
                                                                    std::span<const data::BatchView> tensors,
                                                                    bool encrypt = true);

  // Stores row `row` of the tensor as feature `field` of sample `index`. Encrypts the row in place and restores it before the function returns.
  // Allocates nothing. E0901.
  [[nodiscard]] Result<void> put(int64_t index, size_t field, const data::BatchView& tensor, int64_t row);

  // Returns the cache as a data set with the labels of `data`; `data` must outlive the data set. Reading a sample of it may fail: E0903: the features
  // are damaged.
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
  std::optional<host::PageCipher> cipher_;  // none: the rows are not encrypted
  uint32_t puts_ = 0;                       // the version of the next seal: each put has its own
  std::vector<Field> fields_;
  uint64_t stride_ = 0;
  int64_t count_ = 0;

  [[nodiscard]] uint64_t place_of(int64_t index, size_t field) const {
    return static_cast<uint64_t>(index) * stride_ + fields_[field].at;
  }
  [[nodiscard]] Result<void> write(uint64_t at, std::span<std::byte> row, host::Seal& seal) const;
  // Returns whether `row` has the bytes that were stored; if so, decrypts them.
  [[nodiscard]] bool open(uint64_t at, std::span<std::byte> row, const host::Seal& seal) const;
};

}  // namespace pantoum::train
