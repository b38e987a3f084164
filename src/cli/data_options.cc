#include "cli/data_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

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

Result<data::Preparation> preparation_of(const DataWords& words) {
  data::Preparation preparation;
  for (const std::string& text : words.normalize) {
    PANTOUM_ASSIGN(const data::Normalization normalization, parse_normalization(text));
    preparation.normalization.push_back(normalization);
  }
  for (const std::string& text : words.augment) PANTOUM_TRY(parse_augmentation(text, preparation.augmentation));
  preparation.shuffle = words.shuffle != "off";
  return preparation;
}

}  // namespace

void add_data_options(Verb& verb, DataWords& words, std::string& feature_cache) {
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
  verb.add_option("--shuffle", words.shuffle, "off: every epoch has the data's own order").one_of({"on", "off"});
  add_feature_option(verb, feature_cache);
  verb.add_option("--cache", words.cache,
                  "folder for data that cannot be read in place (beside the weights without it)");
}

void add_feature_option(Verb& verb, std::string& feature_cache) {
  verb.add_option(
      "--feature-cache", feature_cache,
      "compute a frozen backbone once for every sample and keep what it gives, in at most so many bytes of storage");
}

Result<pipeline::DataRequest> data_request(const DataWords& words, const std::string& output) {
  pipeline::DataRequest request{.path = words.data, .test_path = words.test_data, .cache_folder = words.cache};
  if (request.cache_folder.empty())
    request.cache_folder = (std::filesystem::path(output).parent_path() / ".cache").string();
  request.label_columns = words.label_columns;
  PANTOUM_ASSIGN(request.preparation, preparation_of(words));
  request.prefetch = words.prefetch;
  return request;
}

}  // namespace pantoum::cli
