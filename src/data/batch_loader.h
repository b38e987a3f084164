// Samples from their files into the tensors of a batch, in place: no buffer beside the tensors themselves.
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

// How samples that are stored in one type become elements of another.
enum class Conversion : uint8_t { kNone, kNormalizeU8, kNormalizeF32, kU8ToF32, kU8ToI64, kU8ToI32, kI32ToI64 };

// Loads rows of batches from one data set after the other.
class BatchLoader {
 public:
  // For batches of so many inputs and, behind them, labels.
  BatchLoader(Preparation preparation, size_t inputs, size_t labels);

  // Fits `data` to the batch; `data` outlives the loads. No allocation. E0262 unless the
  // samples can be rows: the same shape up to extents of 1, the same dtype or one that widens (u8 to f32, i64, i32; i32
  // to i64), a normalization for every channel, images where there are augmentations.
  [[nodiscard]] Result<void> bind(const Dataset& data, std::span<const BatchView> batch);

  // Reads sample `index` into row `row` of every tensor. Stored elements are narrower or as wide: they are read into
  // the tail of the row, changed there, and widened in place, ascending; element e is written at w e .. w e + w and the
  // unread ones start at or behind that. No allocation on success. E0260.
  [[nodiscard]] Result<void> load(int64_t index, std::span<const BatchView> batch, int64_t row,
                                  const Change* change = nullptr) const;

  // Of the inputs, then the labels; after bind().
  [[nodiscard]] const std::vector<Conversion>& conversions() const { return conversions_; }
  [[nodiscard]] const Augmentation& augmentation() const { return preparation_.augmentation; }

 private:
  using Table = std::array<float, 256>;  // u8 -> f32, so that the formula's bits are the same for every element

  Preparation preparation_;
  std::vector<Table> tables_;  // one for each normalization; one where none is asked for
  const Dataset* data_ = nullptr;
  size_t inputs_;
  std::vector<Conversion> conversions_;  // of the inputs, then the labels

  [[nodiscard]] Result<Conversion> fit(const SampleFile& file, const BatchView& tensor, bool is_input) const;
  [[nodiscard]] Result<void> check_channels(const BatchView& tensor, Conversion conversion) const;
  [[nodiscard]] Result<void> check_images(std::span<const BatchView> batch) const;
  [[nodiscard]] Result<void> load_tensor(const SampleFile& file, int64_t index, const BatchView& tensor, int64_t row,
                                         Conversion conversion, const Change* change) const;
  void convert(std::byte* row, size_t count, size_t planes, Conversion conversion) const;
};

}  // namespace pantoum::data
