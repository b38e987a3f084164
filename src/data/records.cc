// One file of f32 numbers: for each sample its inputs, then its label, as NNTrainer has its data sets.
#include <fmt/format.h>

#include <filesystem>

#include "base/contents.h"
#include "data/array.h"
#include "data/source.h"

namespace pantoum::data {
namespace {

uint64_t bytes_of(const WantedTensor& tensor) {
  return static_cast<uint64_t>(base::TensorType{tensor.dtype, tensor.shape}.bytes());
}

std::vector<const WantedTensor*> fields_of(const Wanted& wanted) {
  std::vector<const WantedTensor*> fields;
  for (const WantedTensor& input : wanted.inputs) fields.push_back(&input);
  if (!wanted.labels) return fields;
  fields.push_back(&wanted.label);
  for (const WantedTensor& label : wanted.more_labels) fields.push_back(&label);
  return fields;
}

}  // namespace

FoundSamples find_records(const Place& place) {
  std::error_code ignored;
  if (place.is_folder || place.split == Split::kTest || place.wanted.inputs.empty() ||
      !std::filesystem::is_regular_file(place.path, ignored) ||
      base::contents_of(place.path) != base::Contents::kUnknown)
    return std::optional<Dataset>();
  uint64_t stride = 0;
  bool all_floats = true;
  const std::vector<const WantedTensor*> fields = fields_of(place.wanted);
  for (const WantedTensor* field : fields) {
    stride += bytes_of(*field);
    all_floats = all_floats && field->dtype == base::DType::kF32;
  }
  PANTOUM_ASSIGN(base::OwnedFile opened, base::OwnedFile::open_to_read(place.path));
  const auto file = std::make_shared<base::OwnedFile>(std::move(opened));
  place.tried->push_back(
      all_floats
          ? fmt::format("looked for records of {} f32 numbers ({} bytes), the file has {} bytes", stride / 4, stride,
                        file->size())
          : "did not look for records of f32 numbers, since the model reads, or the loss compares with, integers");
  if (!all_floats || stride == 0 || file->size() == 0 || file->size() % stride != 0) return std::optional<Dataset>();
  Dataset data{.format = "records"};
  uint64_t at = 0;
  for (size_t field = 0; field < fields.size(); ++field) {
    auto samples =
        array_samples(file, record_field(file->size(), 0, stride, at, fields[field]->dtype, fields[field]->shape));
    at += bytes_of(*fields[field]);
    const size_t inputs = place.wanted.inputs.size();
    if (field < inputs)
      data.inputs.push_back(std::move(samples));
    else if (field == inputs)
      data.labels = std::move(samples);
    else
      data.more_labels.push_back(std::move(samples));
  }
  return std::optional(std::move(data));
}

}  // namespace pantoum::data
