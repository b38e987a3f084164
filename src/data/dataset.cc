#include "data/dataset.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "data/source.h"

namespace pantoum::data {
namespace {

constexpr std::array kFormats{find_idx, find_npy, find_npz, find_cifar, find_csv, find_raw, find_images};

Result<void> check_counts(const Dataset& data, const std::string& where) {
  for (const auto& input : data.inputs)
    if (input->count() != data.labels->count())
      return fail("E0262", fmt::format("there are {} samples but {} labels", input->count(), data.labels->count()),
                  where, "make both from the same data");
  return {};
}

// The first format that is there; an empty data set where none is.
Result<Dataset> open_split(const Place& place) {
  for (const auto& find : kFormats) {
    PANTOUM_ASSIGN(std::optional<Dataset> found, find(place));
    if (!found) continue;
    PANTOUM_TRY(check_counts(*found, place.path));
    return std::move(*found);
  }
  return Dataset{};
}

Result<bool> is_folder(const std::string& path) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status))
    return fail("E0262", "there is no such file or folder", path, "name the folder or file that holds the data");
  return std::filesystem::is_directory(status);
}

Result<Dataset> open_train(const std::string& path, const Wanted& wanted, const DataOptions& options,
                           const Dataset* train) {
  PANTOUM_ASSIGN(const bool folder, is_folder(path));
  std::vector<std::string> tried;
  PANTOUM_ASSIGN(
      Dataset data,
      open_split(
          {.path = path, .is_folder = folder, .wanted = wanted, .options = options, .train = train, .tried = &tried}));
  if (data.labels == nullptr)
    return fail("E0262", fmt::format("the {} holds no data set that is understood", folder ? "folder" : "file"), path,
                "docs/data.md tells what each format looks like", std::move(tried));
  return data;
}

}  // namespace

int64_t sample_bytes(const SampleFile& samples) {
  int64_t bytes = base::size_of(samples.dtype());
  for (const int64_t extent : samples.sample_shape()) bytes *= extent;
  return bytes;
}

Result<TrainTest> open_data(const std::string& path, const Wanted& wanted, const DataOptions& options) {
  TrainTest data;
  PANTOUM_ASSIGN(data.train, open_train(path, wanted, options, nullptr));
  if (!options.test_path.empty()) {
    PANTOUM_ASSIGN(data.test, open_train(options.test_path, wanted, options, &data.train));
    return data;
  }
  PANTOUM_ASSIGN(const bool folder, is_folder(path));
  std::vector<std::string> tried;
  PANTOUM_ASSIGN(data.test, open_split({.path = path,
                                        .is_folder = folder,
                                        .split = Split::kTest,
                                        .wanted = wanted,
                                        .options = options,
                                        .train = &data.train,
                                        .tried = &tried}));
  return data;
}

}  // namespace pantoum::data
