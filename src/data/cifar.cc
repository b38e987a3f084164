// CIFAR-10's binary version: records of a label and 3 x 32 x 32 bytes, read in place.
// https://www.cs.toronto.edu/~kriz/cifar.html
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/array.h"
#include "data/source.h"

namespace pantoum::data {
namespace {

constexpr uint64_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;

std::vector<std::string> files_of(const std::string& folder, Split split) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool is_train = name.starts_with("data_batch_") && name.ends_with(".bin");
    if (split == Split::kTrain ? is_train : name == "test_batch.bin") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::shared_ptr<base::OwnedFile>> open_records(const std::string& path) {
  PANTOUM_ASSIGN(base::OwnedFile file, base::OwnedFile::open_to_read(path));
  if (file.size() == 0 || file.size() % kRecord != 0)
    return fail("E0261",
                fmt::format("the file has {} bytes, which are no whole number of CIFAR-10's records of {}", file.size(),
                            kRecord),
                path, "copy or download the file again; only the binary version is read");
  return std::make_shared<base::OwnedFile>(std::move(file));
}

}  // namespace

FoundSamples find_cifar(const Place& place) {
  if (!place.is_folder) return std::optional<Dataset>();
  place.tried->push_back(place.split == Split::kTrain ? "looked for data_batch_*.bin (CIFAR-10, binary version)"
                                                      : "looked for test_batch.bin");
  std::vector<std::string> files = files_of(place.path, place.split);
  if (files.empty()) files = files_of(place.path + "/cifar-10-batches-bin", place.split);
  if (files.empty()) return std::optional<Dataset>();
  std::vector<std::unique_ptr<SampleFile>> images, labels;
  for (const std::string& path : files) {
    PANTOUM_ASSIGN(const std::shared_ptr<base::OwnedFile> file, open_records(path));
    labels.push_back(array_samples(file, record_field(file->size(), 0, kRecord, 0, base::DType::kU8, {})));
    images.push_back(array_samples(file, record_field(file->size(), 0, kRecord, 1, base::DType::kU8, {3, 32, 32})));
  }
  Dataset data{.format = "CIFAR-10"};
  data.inputs.push_back(joined_samples(std::move(images)));
  data.labels = joined_samples(std::move(labels));
  return std::optional(std::move(data));
}

}  // namespace pantoum::data
