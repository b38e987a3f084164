// One step's batch: tensors as the model wants them, and who fills them.
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

// Fills batch `number` (1 for the first; a step takes as many as it has micro-batches): the model's inputs in its
// order, then the targets of each loss, every byte. What it fills must follow from `number` alone where a run that is
// resumed is to equal the one that was not interrupted. Batches are asked for in their order, one at a time, by one
// thread: with a queue of batches not the one that runs the steps. What it allocates is RAM beside the budget. An error
// ends the run.
using BatchProducer = std::function<Result<void>(uint64_t number, std::span<const BatchView> batch)>;

}  // namespace pantoum::data
