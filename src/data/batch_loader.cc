#include "data/batch_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "data/label_advice.h"

namespace pantoum::data {
namespace {

// Are the extents equal when those of 1 are left out, as 28x28 and 1x28x28 are?
bool same_up_to_ones(std::span<const int64_t> a, std::span<const int64_t> b) {
  size_t at = 0;
  for (const int64_t extent : a) {
    if (extent == 1) continue;
    while (at < b.size() && b[at] == 1) ++at;
    if (at == b.size() || b[at++] != extent) return false;
  }
  while (at < b.size() && b[at] == 1) ++at;
  return at == b.size();
}

std::string show(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Widens elements [begin, end) of a row of `count` elements, whose stored form lies at the end of the row.
template <class To, class From, class Convert>
void widen(std::byte* row, size_t count, size_t begin, size_t end, Convert convert) {
  const std::byte* stored = row + count * (sizeof(To) - sizeof(From));
  for (size_t element = begin; element < end; ++element) {
    From from;
    std::memcpy(&from, stored + element * sizeof(From), sizeof from);
    const To to = convert(from);
    std::memcpy(row + element * sizeof(To), &to, sizeof to);
  }
}

size_t elements_of_row(const BatchView& tensor) {
  return tensor.row_bytes() / static_cast<size_t>(base::size_of(tensor.dtype));
}

bool is_image(const BatchView& tensor) {
  return tensor.shape.size() == 4;
}

ImageSize image_size(const BatchView& tensor) {
  return {static_cast<size_t>(tensor.shape[1]), static_cast<size_t>(tensor.shape[2]),
          static_cast<size_t>(tensor.shape[3])};
}

// The targets of one loss.
const SampleFile& targets_of(const Dataset& data, size_t label) {
  return label == 0 ? *data.labels : *data.more_labels[label - 1];
}

}  // namespace

BatchLoader::BatchLoader(Preparation preparation, size_t inputs, size_t labels)
    : preparation_(std::move(preparation)), inputs_(inputs), files_(inputs + labels), conversions_(inputs + labels) {
  const std::vector<Normalization> plain(1);
  for (const Normalization& each : preparation_.normalization.empty() ? plain : preparation_.normalization) {
    Table& table = tables_.emplace_back();
    for (size_t x = 0; x < table.size(); ++x) table[x] = (static_cast<float>(x) / 255.0F - each.mean) / each.deviation;
  }
}

Result<Conversion> BatchLoader::fit(const SampleFile& file, const BatchView& tensor, bool is_input) const {
  const std::span<const int64_t> row = tensor.shape.subspan(1);
  const std::string name(tensor.name);
  const base::Shape& stored = file.sample_shape();
  const bool channels_last = stored.size() == 3 && same_up_to_ones(std::array{stored[2], stored[0], stored[1]}, row);
  if (!same_up_to_ones(file.sample_shape(), row))
    return fail("E0262",
                fmt::format("the data do not fit the model: samples have the shape {}, '{}' wants {}",
                            show(file.sample_shape()), name, show(row)),
                name,
                !is_input       ? advice_on_labels(file, row, tensor.dtype)
                : channels_last ? "move the channels to the front: numpy.transpose(x, (0, 3, 1, 2))"
                                : "give data of the model's input shape, or export the model for this data");
  using base::DType;
  const DType from = file.dtype(), to = tensor.dtype;
  if (is_input && from == DType::kF32 && to == DType::kF32 && !preparation_.normalization.empty())
    return Conversion::kNormalizeF32;
  if (from == to) return Conversion::kNone;
  if (from == DType::kU8 && to == DType::kF32) return is_input ? Conversion::kNormalizeU8 : Conversion::kU8ToF32;
  if (from == DType::kU8 && to == DType::kI64) return Conversion::kU8ToI64;
  if (from == DType::kU8 && to == DType::kI32) return Conversion::kU8ToI32;
  if (from == DType::kI32 && to == DType::kI64) return Conversion::kI32ToI64;
  return fail("E0262",
              fmt::format("the data do not fit the model: samples are {}, '{}' wants {}", base::name_of(from), name,
                          base::name_of(to)),
              name,
              is_input ? fmt::format("save the data as {}", base::name_of(to)) : advice_on_labels(file, file.sample_shape(), to));
}

Result<void> BatchLoader::check_channels(const BatchView& tensor, Conversion conversion) const {
  const size_t count = tables_.size();
  if (count == 1 || (conversion != Conversion::kNormalizeU8 && conversion != Conversion::kNormalizeF32)) return {};
  const int64_t channels = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  if (static_cast<size_t>(channels) == count) return {};
  return fail("E0262", fmt::format("{} normalizations for the {} channels of '{}'", count, channels, tensor.name),
              "--normalize", "give one MEAN,DEVIATION for all channels, or one for each");
}

Result<void> BatchLoader::check_images(std::span<const BatchView> batch) const {
  if (!preparation_.augmentation.any()) return {};
  const std::span<const BatchView> inputs = batch.first(inputs_), labels = batch.subspan(inputs_);
  if (std::any_of(labels.begin(), labels.end(), [](const BatchView& label) { return label.shape.size() > 2; }))
    return fail("E0262", "labels that are images would not move with them", "--augment", "leave it out");
  if (std::none_of(inputs.begin(), inputs.end(), is_image))
    return fail("E0262", "the model has no input of images [N, channels, height, width]", "--augment", "leave it out");
  for (const BatchView& tensor : inputs)
    if (is_image(tensor) && preparation_.augmentation.crop >= std::min(tensor.shape[2], tensor.shape[3]))
      return fail("E0262",
                  fmt::format("a crop with {} pixels of padding moves '{}' {} out of sight",
                              preparation_.augmentation.crop, tensor.name, show(tensor.shape.subspan(2))),
                  "--augment", "use a smaller padding");
  return {};
}

Result<void> BatchLoader::bind(const Dataset& data, std::span<const BatchView> batch) {
  const std::span<const BatchView> inputs = batch.first(inputs_), labels = batch.subspan(inputs_);
  if (data.inputs.size() != inputs.size() || batch.size() != conversions_.size())
    return fail("E0262", fmt::format("the data have {} inputs, the model {}", data.inputs.size(), inputs.size()), {},
                "give one array of samples for each input of the model");
  if (data.labels == nullptr) return fail("E0262", "the data have no labels", {}, "give an array of labels");
  if (data.more_labels.size() + 1 != labels.size())
    return fail(
        "E0262",
        fmt::format("the data have targets for {} losses, there are {}", data.more_labels.size() + 1, labels.size()),
        {}, "give an array of targets for each --loss");
  for (size_t input = 0; input < inputs.size(); ++input) {
    PANTOUM_TRY(bind_input(input, *data.inputs[input], inputs[input]));
    if (data.inputs[input]->count() != data.labels->count())
      return fail("E0262",
                  fmt::format("there are {} samples but {} labels", data.inputs[input]->count(), data.labels->count()),
                  std::string(inputs[input].name), "make both from the same data");
  }
  for (size_t label = 0; label < labels.size(); ++label) {
    const SampleFile& targets = targets_of(data, label);
    PANTOUM_ASSIGN(conversions_[inputs_ + label], fit(targets, labels[label], false));
    files_[inputs_ + label] = &targets;
    if (targets.count() != data.labels->count())
      return fail("E0262",
                  fmt::format("there are {} targets here and {} elsewhere", targets.count(), data.labels->count()),
                  std::string(labels[label].name), "make all from the same data");
  }
  return check_images(batch);
}

Result<void> BatchLoader::bind(std::span<const SampleFile* const> inputs, std::span<const BatchView> batch) {
  for (size_t input = 0; input < inputs.size(); ++input) PANTOUM_TRY(bind_input(input, *inputs[input], batch[input]));
  return {};
}

Result<void> BatchLoader::bind_input(size_t input, const SampleFile& file, const BatchView& tensor) {
  PANTOUM_ASSIGN(conversions_[input], fit(file, tensor, true));
  files_[input] = &file;
  return check_channels(tensor, conversions_[input]);
}

Result<void> BatchLoader::load(int64_t index, std::span<const BatchView> batch, int64_t row,
                               const Change* change) const {
  for (size_t at = 0; at < batch.size(); ++at)
    PANTOUM_TRY(load_tensor(*files_[at], index, batch[at], row, conversions_[at], at < inputs_ ? change : nullptr));
  return {};
}

Result<void> BatchLoader::load_tensor(const SampleFile& file, int64_t index, const BatchView& tensor, int64_t row,
                                      Conversion conversion, const Change* change) const {
  const std::span<std::byte> bytes = tensor.row(row);
  const size_t count = elements_of_row(tensor), element = static_cast<size_t>(base::size_of(file.dtype()));
  const std::span<std::byte> stored = bytes.subspan(bytes.size() - count * element);
  PANTOUM_TRY(file.read(index, stored));
  if (change != nullptr && is_image(tensor)) apply(*change, image_size(tensor), element, stored);
  convert(bytes.data(), count, tensor.shape.size() > 1 ? static_cast<size_t>(tensor.shape[1]) : 1, conversion);
  return {};
}

// `planes`: the number of channels, each of which is an equal part of the row.
void BatchLoader::convert(std::byte* row, size_t count, size_t planes, Conversion conversion) const {
  switch (conversion) {
    case Conversion::kNone:
      return;
    case Conversion::kNormalizeU8:
    case Conversion::kNormalizeF32:
      if (tables_.size() == 1) planes = 1;
      for (size_t plane = 0; plane < planes; ++plane) {
        const size_t begin = count / planes * plane, end = begin + count / planes;
        if (conversion == Conversion::kNormalizeU8) {
          const Table& table = tables_[plane];
          widen<float, uint8_t>(row, count, begin, end, [&table](uint8_t x) { return table[x]; });
        } else {
          const Normalization& by = preparation_.normalization[plane];
          widen<float, float>(row, count, begin, end, [&by](float x) { return (x - by.mean) / by.deviation; });
        }
      }
      return;
    case Conversion::kU8ToF32:
      return widen<float, uint8_t>(row, count, 0, count, [](uint8_t x) { return static_cast<float>(x); });
    case Conversion::kU8ToI64:
      return widen<int64_t, uint8_t>(row, count, 0, count, [](uint8_t x) { return static_cast<int64_t>(x); });
    case Conversion::kU8ToI32:
      return widen<int32_t, uint8_t>(row, count, 0, count, [](uint8_t x) { return static_cast<int32_t>(x); });
    case Conversion::kI32ToI64:
      return widen<int64_t, int32_t>(row, count, 0, count, [](int32_t x) { return static_cast<int64_t>(x); });
  }
}

}  // namespace pantoum::data
