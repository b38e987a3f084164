// Arrays that are found by their names: IDX as MNIST has it, NPY, raw.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "data/array.h"
#include "data/cache.h"
#include "data/source.h"

namespace pantoum::data {
namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

struct Pair {
  std::string images, labels;
};

std::vector<Pair> idx_names(Split split) {
  std::vector<Pair> names;
  const std::vector<std::string> prefixes =
      split == Split::kTrain ? std::vector<std::string>{"train"} : std::vector<std::string>{"t10k", "test"};
  for (const std::string& prefix : prefixes)
    for (const char* end : {"", ".gz"})
      names.push_back({prefix + "-images-idx3-ubyte" + end, prefix + "-labels-idx1-ubyte" + end});
  return names;
}

// The names that an input may have: its own, and x for an only one.
std::vector<std::string> names_of(const Wanted& wanted, size_t input) {
  std::vector<std::string> names;
  if (input < wanted.inputs.size() && wanted.inputs[input].name.find('/') == std::string::npos)
    names.push_back(wanted.inputs[input].name);
  if (wanted.inputs.size() <= 1) names.emplace_back("x");
  return names;
}

// The names of one of several labels: its output's, and y1, y2, ...
std::vector<std::string> label_names(const WantedTensor& label, size_t number) {
  std::vector<std::string> names;
  if (label.name.find('/') == std::string::npos) names.push_back(label.name);
  names.push_back(fmt::format("y{}", number));
  return names;
}

// "a_train.npy or x_train.npy".
std::string shown(const std::vector<std::string>& names, const std::string& pattern) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " or ") + pattern;
    text.replace(text.rfind('*'), 1, name);
  }
  return text;
}

Result<std::unique_ptr<SampleFile>> first_of(const std::vector<std::string>& names, const OpenNamed& open) {
  for (const std::string& name : names) {
    PANTOUM_ASSIGN(std::unique_ptr<SampleFile> found, open(name));
    if (found) return found;
  }
  return std::unique_ptr<SampleFile>();
}

// A file without a header: elements of `dtype` in samples of the wanted shape.
Result<std::unique_ptr<SampleFile>> open_raw(const std::string& path, base::DType dtype, const WantedTensor& wanted) {
  PANTOUM_ASSIGN(base::OwnedFile file, base::OwnedFile::open_to_read(path));
  const auto sample = static_cast<uint64_t>(base::TensorType{dtype, wanted.shape}.bytes());
  if (sample == 0 || file.size() == 0 || file.size() % sample != 0)
    return fail("E0261",
                fmt::format("the file has {} bytes, which are no whole number of samples of {} ({} bytes each)",
                            file.size(), base::to_text(base::TensorType{dtype, wanted.shape}), sample),
                path, "a raw file holds nothing but samples of the model's shape; its ending names their type");
  const ArrayLayout layout = record_field(file.size(), 0, sample, 0, dtype, wanted.shape);
  return array_samples(std::make_shared<base::OwnedFile>(std::move(file)), layout);
}

constexpr std::array kRawTypes{std::pair{".u8", base::DType::kU8}, std::pair{".i32", base::DType::kI32},
                               std::pair{".i64", base::DType::kI64}, std::pair{".f32", base::DType::kF32}};

// The wanted tensor of that name.
const WantedTensor& tensor_named(const Wanted& wanted, const std::string& name) {
  for (const WantedTensor& input : wanted.inputs)
    if (input.name == name) return input;
  const std::vector<WantedTensor>& more = wanted.more_labels;
  for (size_t label = 0; label < more.size(); ++label)
    if (more[label].name == name || name == fmt::format("y{}", label + 2)) return more[label];
  const bool is_label = name == "y" || (!more.empty() && (name == "y1" || name == wanted.label.name));
  return is_label ? wanted.label : wanted.inputs.front();
}

}  // namespace

FoundSamples find_named(const Place& place, const std::vector<std::string>& labels, const std::string& pattern,
                        const OpenNamed& open) {
  Dataset data;
  std::vector<std::string> found, missing;
  const auto look = [&](const std::vector<std::string>& names) -> Result<std::unique_ptr<SampleFile>> {
    PANTOUM_ASSIGN(std::unique_ptr<SampleFile> samples, first_of(names, open));
    (samples ? found : missing).push_back(shown(names, pattern));
    return samples;
  };
  const auto look_for_label = [&](const std::vector<std::string>& names) -> Result<std::unique_ptr<SampleFile>> {
    return place.wanted.labels ? look(names) : first_of(names, open);
  };
  for (size_t input = 0; input < std::max<size_t>(place.wanted.inputs.size(), 1); ++input) {
    PANTOUM_ASSIGN(std::unique_ptr<SampleFile> samples, look(names_of(place.wanted, input)));
    data.inputs.push_back(std::move(samples));
  }
  const std::vector<WantedTensor>& more = place.wanted.more_labels;
  PANTOUM_ASSIGN(data.labels, look_for_label(more.empty() ? labels : label_names(place.wanted.label, 1)));
  for (size_t label = 0; label < more.size(); ++label) {
    PANTOUM_ASSIGN(std::unique_ptr<SampleFile> samples, look_for_label(label_names(more[label], label + 2)));
    data.more_labels.push_back(std::move(samples));
  }
  if (missing.empty()) return std::optional(std::move(data));
  if (!found.empty())
    return fail("E0262", fmt::format("the data lack {}", fmt::join(missing, " and ")), place.path,
                "add what is missing, or take the rest away", {fmt::format("found {} alone", fmt::join(found, ", "))});
  return std::optional<Dataset>();
}

FoundSamples find_idx(const Place& place) {
  if (!place.is_folder) return std::optional<Dataset>();
  for (const Pair& names : idx_names(place.split)) {
    const std::string images = place.path + "/" + names.images, labels = place.path + "/" + names.labels;
    place.tried->push_back("looked for " + names.images + " with " + names.labels);
    if (!is_there(images) && !is_there(labels)) continue;
    if (!is_there(images) || (!is_there(labels) && place.wanted.labels))
      return fail("E0262", "images and labels are not both there", place.path, "add the file that is missing",
                  {"found " + (is_there(images) ? images : labels) + " alone"});
    Dataset data{.format = "IDX"};
    PANTOUM_ASSIGN(std::unique_ptr<SampleFile> inputs, open_samples(images, place.cache_folder()));
    data.inputs.push_back(std::move(inputs));
    if (is_there(labels)) {
      PANTOUM_ASSIGN(data.labels, open_samples(labels, place.cache_folder()));
    }
    return std::optional(std::move(data));
  }
  return std::optional<Dataset>();
}

FoundSamples find_npy(const Place& place) {
  if (!place.is_folder) return std::optional<Dataset>();
  const std::string split = place.split_name();
  place.tried->push_back(fmt::format("looked for x_{0}.npy (or INPUT_{0}.npy) with y_{0}.npy", split));
  PANTOUM_ASSIGN(std::optional<Dataset> data,
                 find_named(place, {"y"}, "*_" + split + ".npy",
                            [&](const std::string& name) -> Result<std::unique_ptr<SampleFile>> {
                              const std::string path = fmt::format("{}/{}_{}.npy", place.path, name, split);
                              if (!is_there(path)) return std::unique_ptr<SampleFile>();
                              return open_samples(path, place.cache_folder());
                            }));
  if (data) data->format = "NPY";
  return data;
}

FoundSamples find_raw(const Place& place) {
  if (!place.is_folder || place.wanted.inputs.empty()) return std::optional<Dataset>();
  const std::string split = place.split_name();
  place.tried->push_back(
      fmt::format("looked for x_{0}.TYPE (or INPUT_{0}.TYPE) with y_{0}.TYPE, of type u8, i32, i64 or "
                  "f32, without headers",
                  split));
  PANTOUM_ASSIGN(std::optional<Dataset> data,
                 find_named(place, {"y"}, "*_" + split + ".TYPE",
                            [&](const std::string& name) -> Result<std::unique_ptr<SampleFile>> {
                              for (const auto& [ending, dtype] : kRawTypes) {
                                const std::string path = fmt::format("{}/{}_{}{}", place.path, name, split, ending);
                                if (is_there(path)) return open_raw(path, dtype, tensor_named(place.wanted, name));
                              }
                              return std::unique_ptr<SampleFile>();
                            }));
  if (data) data->format = "raw";
  return data;
}

}  // namespace pantoum::data
