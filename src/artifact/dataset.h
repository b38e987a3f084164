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
  [[nodiscard]] virtual const ir::Shape& sample_shape() const = 0;   // without the first dimension
  [[nodiscard]] virtual ir::DType dtype() const = 0;                 // as stored
  // Reads sample `index` as it is stored into `out` (sample bytes exactly). No allocation. E0260 on a read error.
  [[nodiscard]] virtual Result<void> read(int64_t index, std::span<std::byte> out) const = 0;
};

// IDX (MNIST; plain) and NPY, told apart by their magic; NPZ and others come later. E0261 damaged or not understood. gzip-compressed IDX is
// unpacked once into `cache_folder` (created private), because a compressed file cannot be read at random.
[[nodiscard]] Result<std::unique_ptr<SampleFile>> open_samples(const std::string& path, const std::string& cache_folder);

struct Dataset {
  std::vector<std::unique_ptr<SampleFile>> inputs;  // one per model input
  std::unique_ptr<SampleFile> labels;
  [[nodiscard]] int64_t count() const { return labels ? labels->count() : 0; }
};

struct TrainTest {
  Dataset train, test;  // test may be empty
};

// A folder: {train,t10k|test}-{images,labels}-idx{3,1}-ubyte[.gz], or {x,y}_{train,test}.npy. E0262 with what was looked for.
[[nodiscard]] Result<TrainTest> open_folder(const std::string& folder, const std::string& cache_folder);

}  // namespace pantoum::artifact
