// Headers of the formats that hold arrays of samples. Pure functions on a file's first bytes: also what fuzzers call.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/tensor_type.h"

namespace pantoum::data {

struct ArrayLayout {
  int64_t count = 0;
  base::Shape sample_shape;
  base::DType dtype = base::DType::kU8;
  uint64_t data_at = 0;       // bytes before the first sample
  uint64_t sample_bytes = 0;  // > 0
  uint64_t stride = 0;        // from one sample to the next; the last one ends in the file
  bool swap_bytes = false;    // stored big-endian
};

// A header never needs more than this many bytes; NPY headers are longer only by malice.
inline constexpr size_t kArrayHeaderLimit = 1 << 16;

[[nodiscard]] bool is_idx(std::span<const std::byte> start);
[[nodiscard]] bool is_npy(std::span<const std::byte> start);
[[nodiscard]] bool is_gzip(std::span<const std::byte> start);

// `start`: the file's first min(file_size, kArrayHeaderLimit) bytes. E0261 with expected and actual sizes.
// IDX: http://yann.lecun.com/exdb/mnist (two zero bytes, type, rank, big-endian extents, big-endian data).
[[nodiscard]] Result<ArrayLayout> read_idx_header(std::span<const std::byte> start, uint64_t file_size,
                                                  const std::string& where);
// NPY: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. `doubles`: float64 is taken, too.
[[nodiscard]] Result<ArrayLayout> read_npy_header(std::span<const std::byte> start, uint64_t file_size,
                                                  const std::string& where, bool doubles = false);

// Completes a layout from its whole shape: count, sample shape and sizes, checked against the file's size. E0261.
[[nodiscard]] Result<ArrayLayout> complete_layout(ArrayLayout layout, std::span<const uint64_t> shape,
                                                  uint64_t file_size, const std::string& where);

}  // namespace pantoum::data
