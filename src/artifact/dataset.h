// Data sets on disk, read sample by sample with pread: only what the caller asks for is in RAM.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pantoum/result.h"

namespace pantoum::artifact {

// One array of samples: the first dimension counts them.
class SampleFile {
 public:
  virtual ~SampleFile() = default;
  [[nodiscard]] virtual int64_t count() const = 0;
  [[nodiscard]] virtual const ir::Shape& sample_shape() const = 0;  // without the first dimension
  [[nodiscard]] virtual ir::DType dtype() const = 0;                // as stored
  // Reads sample `index` as it is stored, in this machine's byte order, into `out` (sample bytes exactly). No
  // allocation. E0260 on a read error, an index out of range, or an `out` of another size.
  [[nodiscard]] virtual Result<void> read(int64_t index, std::span<std::byte> out) const = 0;
};

// Bytes of one sample.
[[nodiscard]] int64_t sample_bytes(const SampleFile& samples);

// IDX (MNIST; u8, i32 and f32) and NPY (versions 1 to 3; C order, u8, bool, i32, i64, f32), told apart by their magic;
// NPZ and others come later. E0201 cannot be opened; E0261 damaged (the size must be exactly what the header says) or
// not understood. What gzip has compressed is unpacked once into `cache_folder` (made if absent, mode 0700; the file
// 0600), because a compressed file cannot be read at random; it is used again as long as the original's path, size and
// time of change are the same. E0901 when that fails.
[[nodiscard]] Result<std::unique_ptr<SampleFile>> open_samples(const std::string& path,
                                                               const std::string& cache_folder);

struct Dataset {
  std::vector<std::unique_ptr<SampleFile>> inputs;  // one per model input
  std::unique_ptr<SampleFile> labels;
  std::vector<std::unique_ptr<SampleFile>> more_labels;  // of the second and later losses
  [[nodiscard]] int64_t count() const { return labels ? labels->count() : 0; }
};

struct TrainTest {
  Dataset train, test;  // test may be empty
};

// A folder: {train,t10k|test}-{images,labels}-idx{3,1}-ubyte[.gz], or {x,y}_{train,test}.npy. E0262 with what was
// looked for, or when inputs and labels differ in number; the errors of open_samples.
[[nodiscard]] Result<TrainTest> open_folder(const std::string& folder, const std::string& cache_folder);

}  // namespace pantoum::artifact
