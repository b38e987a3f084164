// The formats of data sets. Each has one function, which says whether data in its format are there, and opens their samples.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace pantoum::data {

enum class Split : uint8_t { kTrain, kTest };

// One question: the samples of `split` at `path`.
struct Place {
  const std::string& path;
  bool is_folder = false;
  Split split = Split::kTrain;
  const Wanted& wanted;
  const DataOptions& options;
  const Dataset* train = nullptr;             // once it is open: the test set has its classes
  std::vector<std::string>* tried = nullptr;  // what was looked for is appended

  [[nodiscard]] std::string cache_folder() const { return options.cache_folder.value_or(""); }
  [[nodiscard]] bool is_file(std::string_view ending) const { return !is_folder && path.ends_with(ending); }
  [[nodiscard]] const char* split_name() const { return split == Split::kTrain ? "train" : "test"; }
};

// Nothing when `path` holds no such data (a test set may be missing).
using FoundSamples = Result<std::optional<Dataset>>;

[[nodiscard]] FoundSamples find_idx(const Place& place);     // {train,t10k|test}-{images,labels}-idx{3,1}-ubyte[.gz]
[[nodiscard]] FoundSamples find_npy(const Place& place);     // {x|INPUT,y}_{train,test}.npy
[[nodiscard]] FoundSamples find_npz(const Place& place);     // {train,test}.npz, or a file with x_train, y_train, ...
[[nodiscard]] FoundSamples find_cifar(const Place& place);   // data_batch_*.bin, test_batch.bin
[[nodiscard]] FoundSamples find_csv(const Place& place);     // {train,test}.csv, or a file
[[nodiscard]] FoundSamples find_raw(const Place& place);     // {x|INPUT,y}_{train,test}.{u8,i32,i64,f32}
[[nodiscard]] FoundSamples find_images(const Place& place);  // [{train,test|val}/]CLASS/*.{png,jpg,ppm}

[[nodiscard]] FoundSamples find_records(const Place& place);  // a file of f32: inputs, then labels, sample after sample

// Asks `open` for each input by its possible names (its own; x for an only input), and for the labels by theirs (with several losses: the
// output's name). `pattern` is the name of such a file or member, with * for the array's name. Nothing when no array is there; E0262 when
// only some are.
using OpenNamed = std::function<Result<std::unique_ptr<SampleFile>>(const std::string& name)>;  // null: not there
[[nodiscard]] FoundSamples find_named(const Place& place, const std::vector<std::string>& labels,
                                      const std::string& pattern, const OpenNamed& open);

}  // namespace pantoum::data
