#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/checksum.h"
#include "data/held_out.h"
#include "data/source.h"
#include "data/what_is_there.h"

namespace pantoum::data {

namespace {

constexpr std::array kFormats{find_idx, find_npy, find_npz, find_cifar, find_csv, find_raw, find_images, find_records};

Result<void> check_counts(const Dataset& data, const std::string& where) {
  if (data.labels == nullptr) return {};
  for (const auto& input : data.inputs)
    if (input->count() != data.labels->count())
      return fail("E0262", fmt::format("there are {} samples but {} labels", input->count(), data.labels->count()),
                  where, "make both from the same data");
  return {};
}

// The data set of the first format that is found; an empty data set if there is none.
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

// E0262 with what is there. What was looked for is told where that gives no name to its files.
Failure not_understood(const std::string& path, bool folder, const Wanted& wanted, std::vector<std::string> tried) {
  WhatIsThere there = what_is_there(path, folder, wanted);
  if (!there.help.empty()) tried.clear();
  if (!there.note.empty()) tried.insert(tried.begin(), std::move(there.note));
  return fail("E0262", fmt::format("the {} holds no data set that is understood", folder ? "folder" : "file"), path,
              there.help.empty() ? "docs/data.md tells what each format looks like" : there.help, std::move(tried));
}

Result<Dataset> open_train(const std::string& path, const Wanted& wanted, const DataOptions& options,
                           const Dataset* train) {
  PANTOUM_ASSIGN(const bool folder, is_folder(path));
  std::vector<std::string> tried;
  PANTOUM_ASSIGN(
      Dataset data,
      open_split(
          {.path = path, .is_folder = folder, .wanted = wanted, .options = options, .train = train, .tried = &tried}));
  if (data.inputs.empty()) return not_understood(path, folder, wanted, std::move(tried));
  return data;
}

}  // namespace

int64_t sample_bytes(const SampleFile& samples) {
  int64_t bytes = base::size_of(samples.dtype());
  for (const int64_t extent : samples.sample_shape()) bytes *= extent;
  return bytes;
}

namespace {

// The training and the test set, before any sample is held out.
Result<TrainTest> open_both(const std::string& path, const Wanted& wanted, const DataOptions& options) {
  TrainTest data;
  Result<Dataset> train = open_train(path, wanted, options, nullptr);
  if (!train && (wanted.labels || options.test_path || train.error().notes.empty()))
    return Failure(std::move(train).error());
  if (train) std::swap(data.train, *train);
  if (options.test_path) {
    PANTOUM_ASSIGN(data.test, open_train(*options.test_path, wanted, options, &data.train));
    return data;
  }
  PANTOUM_ASSIGN(const bool folder, is_folder(path));
  std::vector<std::string> tried;
  PANTOUM_ASSIGN(data.test, open_split({.path = path,
                                        .is_folder = folder,
                                        .split = Split::kTest,
                                        .wanted = wanted,
                                        .options = options,
                                        .train = train ? &data.train : nullptr,
                                        .tried = &tried}));
  if (!train && data.test.inputs.empty()) return Failure(std::move(train).error());
  return data;
}

}  // namespace

Result<TrainTest> open_data(const std::string& path, const Wanted& wanted, const DataOptions& options) {
  PANTOUM_ASSIGN(TrainTest data, open_both(path, wanted, options));
  if (!options.val_split) return data;
  if (data.test.count() > 0)
    return fail("E0117", fmt::format("the data have a test set of {} samples", data.test.count()), "--val-split",
                "leave --val-split out");
  return hold_out(std::move(data.train), *options.val_split, "--val-split");
}

namespace {

void add_number(base::Checksum& sum, int64_t number) {
  sum.add(std::as_bytes(std::span(&number, 1)));
}

void add_type(base::Checksum& sum, const SampleFile& samples) {
  add_number(sum, static_cast<int64_t>(samples.dtype()));
  add_number(sum, static_cast<int64_t>(samples.sample_shape().size()));
  for (const int64_t extent : samples.sample_shape()) add_number(sum, extent);
}

std::vector<const SampleFile*> arrays_of(const Dataset& data) {
  std::vector<const SampleFile*> arrays;
  for (const auto& input : data.inputs) arrays.push_back(input.get());
  if (data.labels != nullptr) arrays.push_back(data.labels.get());
  for (const auto& labels : data.more_labels) arrays.push_back(labels.get());
  return arrays;
}

}  // namespace

Result<std::string> fingerprint_of(const Dataset& data, int64_t most_bytes) {
  base::Checksum sum;
  const int64_t count = data.count();
  add_number(sum, count);
  if (count == 0) return base::checksum_text(sum.value());
  const std::vector<const SampleFile*> arrays = arrays_of(data);
  int64_t row_bytes = 0, largest = 0;
  for (const SampleFile* samples : arrays) {
    add_type(sum, *samples);
    row_bytes += sample_bytes(*samples);
    largest = std::max(largest, sample_bytes(*samples));
  }
  const int64_t asked =
      std::clamp<int64_t>(most_bytes / std::max<int64_t>(row_bytes, 1), std::min<int64_t>(2, count), count);
  std::vector<std::byte> buffer(static_cast<size_t>(largest));
  for (int64_t turn = 0; turn < asked; ++turn) {
    const auto share = static_cast<double>(turn) / static_cast<double>(std::max<int64_t>(asked - 1, 1));
    const int64_t index = asked == count ? turn : static_cast<int64_t>(share * static_cast<double>(count - 1));
    for (const SampleFile* samples : arrays) {
      const auto row = std::span(buffer).first(static_cast<size_t>(sample_bytes(*samples)));
      PANTOUM_TRY(samples->read(index, row));
      sum.add(row);
    }
  }
  return base::checksum_text(sum.value());
}

}  // namespace pantoum::data
