// Arrays of samples to a file, row after row: NPY, NPZ, CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_type.h"

namespace pantoum::data {

// One array: `count` rows of `shape`.
struct WrittenArray {
  std::string name;
  base::DType dtype = base::DType::kF32;
  base::Shape shape = {};                 // of a row
  std::vector<std::string> columns = {};  // CSV: names of a row's elements; empty: NAME, or NAME[i,j]
  std::vector<std::string> values = {};   // CSV: words for the integers 0, 1, ..; empty: numbers
};

class ArrayWriter {
 public:
  virtual ~ArrayWriter() = default;
  // Rows of every array come in order, and those of all arrays for the same samples before the next ones. E0901.
  [[nodiscard]] virtual Result<void> put(size_t array, std::span<const std::byte> rows) = 0;
  // The file stands at its path from now on. Without it, what was there stays. E0901.
  [[nodiscard]] virtual Result<void> finish() = 0;
};

// The ending of `path` names the format: .npy (one array), .npz, .csv; a name without an ending is CSV. Memory: the rows of one call. E0117 it
// names none, or several arrays are to be one NPY, or an NPZ is to go to a pipe or to be larger than 4 GiB; E0901.
[[nodiscard]] Result<std::unique_ptr<ArrayWriter>> open_array_writer(const std::string& path,
                                                                     std::vector<WrittenArray> arrays, int64_t count);

}  // namespace pantoum::data
