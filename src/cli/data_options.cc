#include "cli/data_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/units.h"
#include "train/batch_queue.h"

namespace pantoum::cli {
namespace {

Result<data::Normalization> parse_normalization(const std::string& text) {
  data::Normalization normalization;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%f,%f%c", &normalization.mean, &normalization.deviation, &rest);
  if (read == 2 && std::isfinite(normalization.mean) && std::isfinite(normalization.deviation) &&
      normalization.deviation > 0)
    return normalization;
  return fail("E0120", fmt::format("'{}' is no mean and deviation", text), "--normalize",
              "write both, as in 0.286,0.353; once, or once for each channel");
}

Result<void> parse_augmentation(const std::string& text, data::Augmentation& augmentation) {
  if (text == "flip") {
    augmentation.flip = true;
  } else if (text == "vflip") {
    augmentation.flip_vertically = true;
  } else {
    constexpr std::string_view kCrop = "crop:";
    const char* const end = text.data() + text.size();
    const bool is_crop = text.starts_with(kCrop);
    const auto parsed = std::from_chars(text.data() + (is_crop ? kCrop.size() : 0), end, augmentation.crop);
    if (!is_crop || parsed.ec != std::errc{} || parsed.ptr != end || augmentation.crop < 1)
      return fail("E0120", fmt::format("'{}' is no augmentation", text), "--augment",
                  "use flip, vflip and crop:PIXELS, as in flip,crop:4");
  }
  return {};
}

// One sample of what the training step reads.
data::Wanted wanted_of(const ir::Graph& training) {
  const auto sample = [&](ir::ValueId id) {
    const ir::Value& value = training.value(id);
    ir::Shape shape = value.type.shape;  // a shape without a batch is refused by the trainer
    if (!shape.empty()) shape.erase(shape.begin());
    return data::WantedTensor{value.name, value.type.dtype, std::move(shape)};
  };
  data::Wanted wanted;
  for (const ir::ValueId input : training.inputs) wanted.inputs.push_back(sample(input));
  wanted.label = sample(training.labels.front());
  if (training.labels.size() == 1) return wanted;
  const auto output_of = [](const std::string& label) { return label.substr(std::string("label.").size()); };
  wanted.label.name = output_of(wanted.label.name);
  for (auto label = training.labels.begin() + 1; label != training.labels.end(); ++label) {
    wanted.more_labels.push_back(sample(*label));
    wanted.more_labels.back().name = output_of(wanted.more_labels.back().name);
  }
  return wanted;
}

}  // namespace

void add_data_options(Verb& verb, DataWords& words) {
  verb.add_option("--data", words.data,
                  "the data set: a folder or file of IDX, NPY, NPZ, CIFAR-10, CSV, pictures or raw numbers")
      .required();
  verb.add_option("--test-data", words.test_data, "the test set, where --data does not hold it");
  verb.add_option("--label-column", words.label_columns,
                  "CSV: the labels' columns, by name or number from 0; the last without it")
      .separated_by(',')
      .one_value_each();
  verb.add_option("--normalize", words.normalize,
                  "MEAN,DEVIATION of byte inputs scaled to 0..1, or of float inputs; once, or once for each channel")
      .one_value_each();
  verb.add_option("--augment", words.augment, "random changes of training images: flip, vflip, crop:PIXELS")
      .separated_by(',')
      .one_value_each();
  verb.add_option("--prefetch", words.prefetch,
                  "batches made ahead on a thread of their own; their bytes are part of --ram")
      .within(0, 64);
  add_feature_option(verb, words.feature_cache);
  verb.add_option("--cache", words.cache,
                  "folder for data that cannot be read in place (beside the weights without it)");
}

void add_feature_option(Verb& verb, std::string& feature_cache) {
  verb.add_option(
      "--feature-cache", feature_cache,
      "compute a frozen backbone once for every sample and keep what it gives, in at most so many bytes of storage");
}

Result<data::Preparation> preparation_of(const DataWords& words) {
  data::Preparation preparation;
  for (const std::string& text : words.normalize) {
    PANTOUM_ASSIGN(const data::Normalization normalization, parse_normalization(text));
    preparation.normalization.push_back(normalization);
  }
  for (const std::string& text : words.augment) PANTOUM_TRY(parse_augmentation(text, preparation.augmentation));
  return preparation;
}

Result<data::TrainTest> open_data(const DataWords& words, const std::string& cache, const ir::Graph& model) {
  return data::open_data(words.data, wanted_of(model),
                         {.cache_folder = words.cache.empty() ? cache : words.cache,
                          .label_columns = words.label_columns,
                          .test_path = words.test_data});
}

Result<bool> wants_features(const DataWords& words) {
  if (words.feature_cache.empty()) return false;
  PANTOUM_TRY(base::parse_bytes(words.feature_cache, "--feature-cache"));
  if (words.augment.empty()) return true;
  std::fprintf(stderr, "note: --augment changes the samples in every epoch: no features are kept\n");
  return false;
}

int64_t feature_bytes(const ir::Graph& training, int64_t samples) {
  int64_t row_bytes = 0;
  for (const ir::ValueId input : training.inputs)
    row_bytes += training.value(input).type.bytes() / training.value(input).type.shape.front();
  return samples * row_bytes;
}

int64_t prefetch_bytes(const DataWords& words, const ir::Graph& training) {
  std::vector<uint64_t> bytes;
  for (const std::vector<ir::ValueId>* ids : {&training.inputs, &training.labels})
    for (const ir::ValueId id : *ids) bytes.push_back(static_cast<uint64_t>(training.value(id).type.bytes()));
  return static_cast<int64_t>(train::queue_bytes(bytes, words.prefetch));
}

}  // namespace pantoum::cli
