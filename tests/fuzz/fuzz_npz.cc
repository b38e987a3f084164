// Any bytes as an NPZ file: refused, or samples that can all be read.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/tensor_type.h"
#include "data/dataset.h"
#include "testing/temporary_folder.h"

namespace data = pantoum::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const pantoum::TemporaryFolder folder("/dev/shm");
  const std::string path = folder.file("data.npz");
  if (!pantoum::base::write_file_atomically(path, {reinterpret_cast<const char*>(bytes), size})) return 0;
  const data::Wanted wanted{.inputs = {{"x", pantoum::base::DType::kF32, {2}}},
                            .label = {"y", pantoum::base::DType::kI64, {}}};
  const auto found = data::open_data(path, wanted, {.cache_folder = folder.file("cache")});
  if (!found) {
    if (found.error().message.empty()) std::abort();
    return 0;
  }
  const data::SampleFile& rows = *found->train.inputs[0];
  std::vector<std::byte> sample(
      static_cast<size_t>(pantoum::base::TensorType{rows.dtype(), rows.sample_shape()}.bytes()));
  for (int64_t at = 0; at < rows.count() && at < 100; ++at)
    if (!rows.read(at, sample)) std::abort();
  return 0;
}
