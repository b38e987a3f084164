#include "train/batch_loader.h"

#include <fmt/format.h>

#include <cstring>

namespace pantoum::train {
namespace {

// Equal extents, those of 1 left out: 28x28 is 1x28x28.
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

template <class To, class From, class Convert>
void widen(std::byte* row, size_t count, Convert convert) {
  const std::byte* stored = row + count * (sizeof(To) - sizeof(From));
  for (size_t element = 0; element < count; ++element) {
    From from;
    std::memcpy(&from, stored + element * sizeof(From), sizeof from);
    const To to = convert(from);
    std::memcpy(row + element * sizeof(To), &to, sizeof to);
  }
}

void convert_row(std::byte* row, size_t count, Conversion conversion, const NormalizeTable& table) {
  switch (conversion) {
    case Conversion::kNone:
      return;
    case Conversion::kNormalize:
      return widen<float, uint8_t>(row, count, [&table](uint8_t x) { return table[x]; });
    case Conversion::kU8ToF32:
      return widen<float, uint8_t>(row, count, [](uint8_t x) { return static_cast<float>(x); });
    case Conversion::kU8ToI64:
      return widen<int64_t, uint8_t>(row, count, [](uint8_t x) { return static_cast<int64_t>(x); });
    case Conversion::kU8ToI32:
      return widen<int32_t, uint8_t>(row, count, [](uint8_t x) { return static_cast<int32_t>(x); });
    case Conversion::kI32ToI64:
      return widen<int64_t, int32_t>(row, count, [](int32_t x) { return static_cast<int64_t>(x); });
  }
}

}  // namespace

NormalizeTable make_normalize_table(const Normalization& normalization) {
  NormalizeTable table{};
  for (size_t x = 0; x < table.size(); ++x)
    table[x] = (static_cast<float>(x) / 255.0F - normalization.mean) / normalization.deviation;
  return table;
}

Result<Conversion> check_fit(const artifact::SampleFile& file, const PlanTensor& tensor, bool normalize) {
  const std::span<const int64_t> row = std::span(tensor.shape).subspan(1);
  if (!same_up_to_ones(file.sample_shape(), row))
    return fail("E0262",
                fmt::format("the data do not fit the model: samples have the shape {}, '{}' wants {}",
                            show(file.sample_shape()), tensor.name, show(row)),
                tensor.name, "give data of the model's input shape, or export the model for this data");
  using ir::DType;
  const DType from = file.dtype(), to = tensor.dtype;
  if (from == to) return Conversion::kNone;
  if (from == DType::kU8 && to == DType::kF32) return normalize ? Conversion::kNormalize : Conversion::kU8ToF32;
  if (from == DType::kU8 && to == DType::kI64) return Conversion::kU8ToI64;
  if (from == DType::kU8 && to == DType::kI32) return Conversion::kU8ToI32;
  if (from == DType::kI32 && to == DType::kI64) return Conversion::kI32ToI64;
  return fail("E0262",
              fmt::format("the data do not fit the model: samples are {}, '{}' wants {}", ir::name_of(from),
                          tensor.name, ir::name_of(to)),
              tensor.name, fmt::format("save the data as {}", ir::name_of(to)));
}

Result<void> load_row(const artifact::SampleFile& file, int64_t index, const BatchTensor& batch, int64_t row,
                      Conversion conversion, const NormalizeTable& table) {
  const size_t row_bytes = batch.tensor->row_bytes(), count = batch.tensor->row_elements();
  std::byte* const data = batch.data + static_cast<size_t>(row) * row_bytes;
  const size_t stored = count * static_cast<size_t>(ir::size_of(file.dtype()));
  PANTOUM_TRY(file.read(index, std::span(data + (row_bytes - stored), stored)));
  convert_row(data, count, conversion, table);
  return {};
}

}  // namespace pantoum::train
