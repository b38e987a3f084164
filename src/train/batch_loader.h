// Samples from their files into the tensors of a batch, in place: no buffer beside the tensors themselves.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "artifact/dataset.h"
#include "train/tensor_table.h"
#include "train/trainer.h"

namespace pantoum::train {

// One tensor of the batch and its bytes in the arena.
struct BatchTensor {
  const PlanTensor* tensor = nullptr;
  std::byte* data = nullptr;
};

// How samples that are stored in one type become elements of another.
enum class Conversion : uint8_t { kNone, kNormalize, kU8ToF32, kU8ToI64, kU8ToI32, kI32ToI64 };

// u8 -> f32 as 256 numbers, so that the formula's bits are the same for every element.
using NormalizeTable = std::array<float, 256>;
[[nodiscard]] NormalizeTable make_normalize_table(const Normalization& normalization);

// E0262 unless samples of `file` can be rows of `tensor`: the same shape up to extents of 1, the same dtype or one that
// widens (u8 to f32, i64, i32; i32 to i64). `normalize`: u8 to f32 goes through the table (inputs), else as it is
// (targets).
[[nodiscard]] Result<Conversion> check_fit(const artifact::SampleFile& file, const PlanTensor& tensor, bool normalize);

// Reads sample `index` into row `row`. Stored elements are narrower or as wide: they are read into the tail of the row
// and widened in place, ascending; element e is written at w e .. w e + w and the unread ones start at or behind that.
// No allocation on success. E0260.
[[nodiscard]] Result<void> load_row(const artifact::SampleFile& file, int64_t index, const BatchTensor& batch,
                                    int64_t row, Conversion conversion, const NormalizeTable& table);

}  // namespace pantoum::train
