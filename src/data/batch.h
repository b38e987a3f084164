// The batch of a step: its tensors, and the function that fills them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/tensor_type.h"

namespace pantoum::data {

// One tensor of a batch and its bytes; the first dimension counts samples.
struct BatchView {
  std::string_view name;
  base::DType dtype = base::DType::kF32;
  std::span<const int64_t> shape;
  std::span<std::byte> data;

  [[nodiscard]] size_t row_bytes() const { return data.size() / static_cast<size_t>(shape.front()); }
  [[nodiscard]] std::span<std::byte> row(int64_t index) const {
    return data.subspan(static_cast<size_t>(index) * row_bytes(), row_bytes());
  }
};

// Fills every byte of batch `number`: the model's inputs in its order, then the targets of each loss. The first batch is 1; a step takes as
// many batches as it has micro-batches. A resumed run equals one that was not interrupted only if the contents follow from `number` alone.
// One thread asks for batches, one at a time and in their order; with a queue of batches it is not the thread that runs the steps.
// What the function allocates is RAM beside the budget. An error ends the run.
using BatchProducer = std::function<Result<void>(uint64_t number, std::span<const BatchView> batch)>;

}  // namespace pantoum::data
