// Data sets on disk, read sample by sample with pread: only what the caller asks for is in RAM.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_type.h"
#include "pantoum/data.hpp"

namespace pantoum::data {

// One array of samples: the first dimension counts them.
class SampleFile {
 public:
  virtual ~SampleFile() = default;
  [[nodiscard]] virtual int64_t count() const = 0;
  [[nodiscard]] virtual const base::Shape& sample_shape() const = 0;  // without the first dimension
  [[nodiscard]] virtual base::DType dtype() const = 0;                // as stored
  // Reads sample `index` as it is stored, in this machine's byte order, into `out` (sample bytes exactly). No
  // allocation; by any number of threads at a time. E0260 on a read error, an index out of range, or an `out` of
  // another size.
  [[nodiscard]] virtual Result<void> read(int64_t index, std::span<std::byte> out) const = 0;
  // The file that holds the sample; "" where none does.
  [[nodiscard]] virtual std::string source(int64_t /*index*/) const { return {}; }
};

// Bytes of one sample.
[[nodiscard]] int64_t sample_bytes(const SampleFile& samples);

// IDX (MNIST; u8, i32 and f32) and NPY (versions 1 to 3; C order, u8, bool, i32, i64, f32), which are recognized by their magic numbers.
// E0201 cannot be opened; E0261 damaged (the size must be exactly what the header says) or not understood. What gzip
// has compressed is unpacked once into `cache_folder` (cache.h).
[[nodiscard]] Result<std::unique_ptr<SampleFile>> open_samples(const std::string& path,
                                                               const std::string& cache_folder);

struct Dataset {
  std::vector<std::unique_ptr<SampleFile>> inputs;  // one per model input
  std::unique_ptr<SampleFile> labels;
  std::vector<std::unique_ptr<SampleFile>> more_labels;  // of the second and later losses
  std::string format;                                    // "IDX", "image folder", ...
  std::vector<std::string> warnings;                     // what training on them would suffer from
  std::vector<std::string> classes;                      // an image folder's, in the order of their labels; else empty
  [[nodiscard]] int64_t count() const {
    return labels ? labels->count() : inputs.empty() ? 0 : inputs.front()->count();
  }
};

using pantoum::DataOptions;  // its cache folder is named

struct TrainTest {
  Dataset train, test;  // test may be empty
};

// What the model asks of one sample; formats without shapes of their own (CSV, images, raw) are read as that.
struct WantedTensor {
  std::string name;
  base::DType dtype = base::DType::kF32;
  base::Shape shape;  // without the batch
};
struct Wanted {
  std::vector<WantedTensor> inputs;  // in the model's order
  WantedTensor label;
  std::vector<WantedTensor> more_labels;  // of the second and later losses; then all labels are found by their names
  bool labels = true;                     // false: data without labels will do, and a test set alone
};

// Opens the folder or file at `path` in the first format of docs/data.md that it has. An empty `wanted.inputs` stands for one input of
// unknown shape, which IDX, NPY, NPZ and CIFAR-10 can feed.
//   errors  E0262 no format was found (with what was looked for), inputs and labels differ in number, or the format cannot feed such a
//           model; E0201, E0260, E0261 (file, line or member) the data cannot be read; E0901 the cache
[[nodiscard]] Result<TrainTest> open_data(const std::string& path, const Wanted& wanted, const DataOptions& options);

// A fingerprint that tells one data set from another.

// 16 hexadecimal digits that depend on the number, types, shapes and bytes of the samples: on all bytes of a set of up to about
// `most_bytes`, else on samples spread evenly over the set, with the first and the last. They do not depend on the place of the set or its
// format. Reads at most about `most_bytes`. Memory: one sample. E0260.
[[nodiscard]] Result<std::string> fingerprint_of(const Dataset& data, int64_t most_bytes = int64_t{64} << 20);

}  // namespace pantoum::data
