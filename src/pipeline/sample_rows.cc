#include "pipeline/sample_rows.h"

#include <algorithm>

#include "data/batch_loader.h"
#include "emit/project/samples.h"

namespace pantoum::pipeline {
namespace {

using data::Conversion;
static_assert(static_cast<int>(Conversion::kNone) == PT_ROWS_AS_THEY_ARE &&
              static_cast<int>(Conversion::kNormalizeU8) == PT_ROWS_U8_NORMALIZED &&
              static_cast<int>(Conversion::kNormalizeF32) == PT_ROWS_F32_NORMALIZED &&
              static_cast<int>(Conversion::kU8ToF32) == PT_ROWS_U8_TO_F32 &&
              static_cast<int>(Conversion::kU8ToI64) == PT_ROWS_U8_TO_I64 &&
              static_cast<int>(Conversion::kU8ToI32) == PT_ROWS_U8_TO_I32 &&
              static_cast<int>(Conversion::kI32ToI64) == PT_ROWS_I32_TO_I64);

Result<emit::SampleRows> rows_of(const data::SampleFile& file, Conversion conversion,
                                 const data::Preparation& preparation, int64_t count) {
  const auto bytes = static_cast<size_t>(data::sample_bytes(file));
  emit::SampleRows rows;
  rows.stored_bytes = static_cast<uint8_t>(ir::size_of(file.dtype()));
  rows.elements = static_cast<uint32_t>(bytes / rows.stored_bytes);
  rows.conversion = static_cast<uint8_t>(conversion);
  if (conversion == Conversion::kNormalizeU8 || conversion == Conversion::kNormalizeF32)
    for (const data::Normalization& each : preparation.normalization)
      rows.planes.insert(rows.planes.end(), {each.mean, each.deviation});
  if (conversion == Conversion::kNormalizeU8 && rows.planes.empty()) rows.planes = {0.0F, 1.0F};
  rows.data.resize(bytes * static_cast<size_t>(count));
  for (int64_t sample = 0; sample < count; ++sample)
    PANTOUM_TRY(file.read(sample, std::span(rows.data).subspan(static_cast<size_t>(sample) * bytes, bytes)));
  return rows;
}

}  // namespace

Result<emit::Samples> sample_rows(const data::Dataset& data, const PlannedStep& step,
                                  const data::Preparation& preparation, int64_t count) {
  emit::Samples samples;
  if (data.count() == 0) return samples;
  std::vector<BatchPart> parts = step.inputs;
  parts.insert(parts.end(), step.targets.begin(), step.targets.end());
  std::vector<data::BatchView> batch;
  for (const BatchPart& part : parts)
    batch.push_back({.name = part.name, .dtype = part.type.dtype, .shape = part.type.shape, .data = {}});
  data::BatchLoader loader(preparation, step.inputs.size(), step.targets.size());
  PANTOUM_TRY(loader.bind(data, batch));
  const int64_t taken = count == 0 ? data.count() : std::min(count, data.count());
  samples.count = static_cast<uint32_t>(taken);
  for (size_t at = 0; at < parts.size(); ++at) {
    const size_t label = at - step.inputs.size();
    const data::SampleFile& file = at < step.inputs.size() ? *data.inputs[at]
                                   : label == 0                ? *data.labels
                                                               : *data.more_labels[label - 1];
    PANTOUM_ASSIGN(emit::SampleRows rows, rows_of(file, loader.conversions()[at], preparation, taken));
    samples.rows.push_back(std::move(rows));
  }
  return samples;
}

}  // namespace pantoum::pipeline
