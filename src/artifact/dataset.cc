#include "artifact/dataset.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "artifact/dataset_format.h"
#include "artifact/dataset_unpack.h"
#include "artifact/owned_file.h"

namespace pantoum::artifact {
namespace {

void swap_elements(std::span<std::byte> data, size_t element_bytes) {
  for (size_t at = 0; at + element_bytes <= data.size(); at += element_bytes)
    std::reverse(data.begin() + static_cast<ptrdiff_t>(at), data.begin() + static_cast<ptrdiff_t>(at + element_bytes));
}

class ArrayFile final : public SampleFile {
 public:
  ArrayFile(OwnedFile file, ArrayLayout layout) : file_(std::move(file)), layout_(std::move(layout)) {}

  int64_t count() const override { return layout_.count; }
  const ir::Shape& sample_shape() const override { return layout_.sample_shape; }
  ir::DType dtype() const override { return layout_.dtype; }

  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    if (index < 0 || index >= layout_.count)
      return fail("E0260", fmt::format("there is no sample {}; the file has {}", index, layout_.count), file_.path());
    if (out.size() != layout_.sample_bytes)
      return fail("E0260", fmt::format("a sample has {} bytes; {} were asked for", layout_.sample_bytes, out.size()),
                  file_.path());
    PANTOUM_TRY(file_.read_at(layout_.data_at + static_cast<uint64_t>(index) * layout_.sample_bytes, out, "E0260"));
    if (layout_.swap_bytes) swap_elements(out, static_cast<size_t>(ir::size_of(layout_.dtype)));
    return {};
  }

 private:
  OwnedFile file_;
  ArrayLayout layout_;
};

Result<std::vector<std::byte>> read_start(const OwnedFile& file) {
  std::vector<std::byte> start(static_cast<size_t>(std::min<uint64_t>(file.size(), kArrayHeaderLimit)));
  PANTOUM_TRY(file.read_at(0, start, "E0261"));
  return start;
}

// `where` is what the user named: the packed file, when `file` is its unpacked twin.
Result<std::unique_ptr<SampleFile>> open_array(OwnedFile file, std::span<const std::byte> start,
                                               const std::string& where) {
  if (!is_idx(start) && !is_npy(start))
    return fail("E0261", "the data are neither IDX nor NPY", where,
                "save them with numpy.save, or as MNIST's IDX, plain or gzip");
  PANTOUM_ASSIGN(ArrayLayout layout, is_idx(start) ? read_idx_header(start, file.size(), where)
                                                   : read_npy_header(start, file.size(), where));
  return std::make_unique<ArrayFile>(std::move(file), std::move(layout));
}

struct Names {
  std::string inputs, labels;
};

struct Found {
  std::string inputs, labels;  // paths; empty: not there
};

Found look_for(const std::string& folder, const std::vector<Names>& candidates) {
  Found best;
  const auto there = [&](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::exists(folder + "/" + name, ignored);
  };
  for (const Names& names : candidates) {
    Found found{there(names.inputs) ? folder + "/" + names.inputs : "",
                there(names.labels) ? folder + "/" + names.labels : ""};
    if (!found.inputs.empty() && !found.labels.empty()) return found;
    if (!found.inputs.empty() || !found.labels.empty()) best = found;
  }
  return best;
}

std::vector<Names> candidates_for(const std::vector<std::string>& idx_prefixes, const std::string& npy_suffix) {
  std::vector<Names> candidates;
  for (const std::string& prefix : idx_prefixes)
    for (const char* end : {"", ".gz"})
      candidates.push_back({prefix + "-images-idx3-ubyte" + end, prefix + "-labels-idx1-ubyte" + end});
  candidates.push_back({"x_" + npy_suffix + ".npy", "y_" + npy_suffix + ".npy"});
  return candidates;
}

Result<Dataset> open_pair(const Found& found, const std::string& cache_folder) {
  Dataset data;
  PANTOUM_ASSIGN(std::unique_ptr<SampleFile> inputs, open_samples(found.inputs, cache_folder));
  PANTOUM_ASSIGN(data.labels, open_samples(found.labels, cache_folder));
  if (inputs->count() != data.labels->count())
    return fail("E0262", fmt::format("there are {} samples but {} labels", inputs->count(), data.labels->count()),
                found.inputs, "make both files from the same data", {"labels: " + found.labels});
  data.inputs.push_back(std::move(inputs));
  return data;
}

Failure nothing_found(const std::string& folder, const std::vector<Names>& candidates, const Found& found) {
  std::vector<std::string> notes;
  for (const Names& names : candidates) notes.push_back("looked for " + names.inputs + " with " + names.labels);
  if (!found.inputs.empty()) notes.push_back("found " + found.inputs + " alone");
  if (!found.labels.empty()) notes.push_back("found " + found.labels + " alone");
  return fail("E0262", "the folder holds no data set that is understood", folder,
              "name a folder with one of these pairs of files", std::move(notes));
}

}  // namespace

int64_t sample_bytes(const SampleFile& samples) {
  int64_t bytes = ir::size_of(samples.dtype());
  for (const int64_t extent : samples.sample_shape()) bytes *= extent;
  return bytes;
}

Result<std::unique_ptr<SampleFile>> open_samples(const std::string& path, const std::string& cache_folder) {
  PANTOUM_ASSIGN(OwnedFile file, OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const std::vector<std::byte> start, read_start(file));
  if (!is_gzip(start)) return open_array(std::move(file), start, path);
  PANTOUM_ASSIGN(const std::string unpacked_path, unpack_gzip(path, cache_folder));
  PANTOUM_ASSIGN(OwnedFile unpacked, OwnedFile::open_to_read(unpacked_path));
  PANTOUM_ASSIGN(const std::vector<std::byte> unpacked_start, read_start(unpacked));
  auto samples = open_array(std::move(unpacked), unpacked_start, path);
  if (!samples) ::unlink(unpacked_path.c_str());  // whatever it is, it is not kept
  return samples;
}

Result<TrainTest> open_folder(const std::string& folder, const std::string& cache_folder) {
  const std::vector<Names> train_names = candidates_for({"train"}, "train");
  const std::vector<Names> test_names = candidates_for({"t10k", "test"}, "test");
  const Found train = look_for(folder, train_names), test = look_for(folder, test_names);
  if (train.inputs.empty() || train.labels.empty()) return nothing_found(folder, train_names, train);
  TrainTest data;
  PANTOUM_ASSIGN(data.train, open_pair(train, cache_folder));
  if (test.inputs.empty() && test.labels.empty()) return data;
  if (test.inputs.empty() || test.labels.empty()) return nothing_found(folder, test_names, test);
  PANTOUM_ASSIGN(data.test, open_pair(test, cache_folder));
  return data;
}

}  // namespace pantoum::artifact
