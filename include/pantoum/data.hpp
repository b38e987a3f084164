// Data sets on disk or in memory, and functions that produce batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/plan.hpp"
#include "pantoum/result.hpp"
#include "pantoum/tensor.hpp"

namespace pantoum {

template <class T>
[[nodiscard]] constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, bool> || std::is_same_v<T, uint8_t> ||
                    (std::is_integral_v<T> && std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)),
                "elements are float, int32_t, int64_t, uint8_t or bool");
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  return sizeof(T) == 8 ? DType::i64 : DType::i32;
}

// A view of row-major elements that the caller owns. Any contiguous range of numbers converts to it.
class Array {
 public:
  Array(DType dtype, std::span<const std::byte> bytes) : dtype_(dtype), bytes_(bytes) {}
  template <class T>
  Array(std::span<const T> elements) : dtype_(dtype_of<T>()), bytes_(std::as_bytes(elements)) {}
  template <class T>
  requires(!std::is_same_v<T, bool>) Array(const std::vector<T>& elements) : Array(std::span<const T>(elements)) {}
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  DType dtype_;
  std::span<const std::byte> bytes_;
};

// The samples of a step: one array for each tensor of Plan::batch(), in that order.
using Batch = std::vector<Array>;

// Fills batch `number` (1 for the first; a step takes as many as it has micro-batches), every byte: the tensors of
// Plan::batch(), in its order. If a resumed run has to equal an uninterrupted one, the batch may depend only on `number`. With prefetch another
// thread calls the function. An error ends the run.
using Producer = std::function<Result<void>(uint64_t number, std::span<const TensorView> batch)>;

struct DataOptions {
  std::optional<std::string> test_path = {};
  std::optional<std::string> cache_folder = {};  // nullopt: a private folder for this process
  std::vector<std::string> label_columns = {};
  std::optional<double> val_split = {};
};
template <class Visitor>
void describe(Visitor& v, DataOptions& o) {
  v.group("data");
  v.field(o.test_path, {.name = "test_path", .help = "the test set", .option = "--test-data", .shown = Shown::common,
                        .otherwise = "the one in --data", .holds = Holds::data, .recorded = false});
  v.field(o.label_columns, {.name = "label_columns", .help = "columns of labels in a CSV file, by name or number from 0",
                            .option = "--label-column", .otherwise = "the last", .recorded = false, .list = true});
  v.field(o.val_split, {.name = "val_split", .help = "hold this share of the samples out, spread evenly, as the test set",
                        .option = "--val-split", .shown = Shown::common, .otherwise = "none: the test set that is there",
                        .least = 0, .most = 1, .above = true, .below = true, .recorded = false});
  v.field(o.cache_folder, {.name = "cache_folder", .help = "folder for data that cannot be read in place",
                           .option = "--cache", .otherwise = "beside the output", .holds = Holds::folder,
                           .recorded = false});
}

struct DatasetPair;

// Samples, each of which is read when it is needed. A handle: copies share one data set, and any thread may use it.
class PANTOUM_API Dataset {
 public:
  Dataset() = default;  // makes a data set without samples
  // Opens the data at `path` (docs/data.md: IDX, NPY, NPZ, CIFAR-10, CSV, pictures, raw) in the form that the plan's model needs. E0262: there are no
  // such data; the error lists what was looked for. E0201, E0260, E0261: the data cannot be read.
  [[nodiscard]] static Result<DatasetPair> open(const std::string& path, const Plan& plan,
                                                const DataOptions& options = {});
  // Makes a data set of samples in memory, which the caller keeps valid as long as a copy of the data set exists: one array for each tensor of
  // Plan::batch(), in that order. E0262: wrong number of arrays, wrong type, no whole number of samples, or different numbers of samples.
  [[nodiscard]] static Result<Dataset> from_arrays(const Plan& plan, const Batch& arrays);

  [[nodiscard]] int64_t count() const;
  [[nodiscard]] std::string format() const;                // "IDX", "image folder", "memory"
  [[nodiscard]] std::vector<std::string> classes() const;  // of an image folder
  [[nodiscard]] std::vector<std::string> warnings() const;  // what training on them would suffer from, as a column that counts the rows
  // Holds a share of the samples out, spread evenly over the set, as a test set; both parts read the samples of this one. E0117: the share is not
  // between 0 and 1; E0262: there are fewer than two samples.
  [[nodiscard]] Result<DatasetPair> hold_out(double share) const;

 private:
  friend struct Access;
  struct Impl;
  explicit Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct DatasetPair {
  Dataset train, test;  // test may be empty
};

}  // namespace pantoum
