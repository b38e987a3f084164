// Reads samples from their files into the tensors of a batch, without a buffer beside the tensors.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/preparation.h"

namespace pantoum::data {

// How stored elements become elements of the tensor.
enum class Conversion : uint8_t { kNone, kNormalizeU8, kNormalizeF32, kU8ToF32, kU8ToI64, kU8ToI32, kI32ToI64 };

// Loads rows of batches. It is bound to one data set at a time.
class BatchLoader {
 public:
  // Loads batches of so many inputs, followed by so many labels.
  BatchLoader(Preparation preparation, size_t inputs, size_t labels);

  // Checks that samples of `data` can be rows of the batch, and loads from it from now on; `data` outlives the loads. No allocation. E0262
  // they do not fit: they need the same shape up to extents of 1; the same dtype or one that widens (u8 to f32, i64, i32; i32 to i64); a
  // normalization for every channel; images where there are augmentations.
  [[nodiscard]] Result<void> bind(const Dataset& data, std::span<const BatchView> batch);
  // The same for a loader of inputs alone.
  [[nodiscard]] Result<void> bind(std::span<const SampleFile* const> inputs, std::span<const BatchView> batch);

  // Reads sample `index` into row `row` of every tensor. Stored elements are at most as wide as the tensor's. They are read into the end of
  // the row, changed there, and widened in place from the first to the last: element e goes to bytes w e .. w e + w, and no stored
  // element that is still needed begins before that. No allocation on success. E0260.
  [[nodiscard]] Result<void> load(int64_t index, std::span<const BatchView> batch, int64_t row,
                                  const Change* change = nullptr) const;

  // The conversions of the inputs, then of the labels. Call it after bind().
  [[nodiscard]] const std::vector<Conversion>& conversions() const { return conversions_; }
  [[nodiscard]] const Augmentation& augmentation() const { return preparation_.augmentation; }

 private:
  using Table = std::array<float, 256>;  // u8 -> f32, so that the formula's bits are the same for every element

  Preparation preparation_;
  std::vector<Table> tables_;  // one for each normalization; one where none is asked for
  size_t inputs_;
  std::vector<const SampleFile*> files_;  // of the inputs, then the labels
  std::vector<Conversion> conversions_;   // of the inputs, then the labels

  [[nodiscard]] Result<void> bind_input(size_t input, const SampleFile& file, const BatchView& tensor);
  [[nodiscard]] Result<Conversion> fit(const SampleFile& file, const BatchView& tensor, bool is_input) const;
  [[nodiscard]] Result<void> check_channels(const BatchView& tensor, Conversion conversion) const;
  [[nodiscard]] Result<void> check_images(std::span<const BatchView> batch) const;
  [[nodiscard]] Result<void> load_tensor(const SampleFile& file, int64_t index, const BatchView& tensor, int64_t row,
                                         Conversion conversion, const Change* change) const;
  void convert(std::byte* row, size_t count, size_t planes, Conversion conversion) const;
};

}  // namespace pantoum::data
