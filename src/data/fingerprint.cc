#include "data/fingerprint.h"

#include <algorithm>

#include "base/checksum.h"

namespace pantoum::data {
namespace {

void add_number(base::Checksum& sum, int64_t number) {
  sum.add(std::as_bytes(std::span(&number, 1)));
}

void add_type(base::Checksum& sum, const SampleFile& samples) {
  add_number(sum, static_cast<int64_t>(samples.dtype()));
  add_number(sum, static_cast<int64_t>(samples.sample_shape().size()));
  for (const int64_t extent : samples.sample_shape()) add_number(sum, extent);
}

std::vector<const SampleFile*> arrays_of(const Dataset& data) {
  std::vector<const SampleFile*> arrays;
  for (const auto& input : data.inputs) arrays.push_back(input.get());
  arrays.push_back(data.labels.get());
  for (const auto& labels : data.more_labels) arrays.push_back(labels.get());
  return arrays;
}

}  // namespace

Result<std::string> fingerprint_of(const Dataset& data, int64_t most_bytes) {
  base::Checksum sum;
  const int64_t count = data.count();
  add_number(sum, count);
  if (count == 0) return base::checksum_text(sum.value());
  const std::vector<const SampleFile*> arrays = arrays_of(data);
  int64_t row_bytes = 0, largest = 0;
  for (const SampleFile* samples : arrays) {
    add_type(sum, *samples);
    row_bytes += sample_bytes(*samples);
    largest = std::max(largest, sample_bytes(*samples));
  }
  const int64_t asked =
      std::clamp<int64_t>(most_bytes / std::max<int64_t>(row_bytes, 1), std::min<int64_t>(2, count), count);
  std::vector<std::byte> buffer(static_cast<size_t>(largest));
  for (int64_t turn = 0; turn < asked; ++turn) {
    const auto share = static_cast<double>(turn) / static_cast<double>(std::max<int64_t>(asked - 1, 1));
    const int64_t index = asked == count ? turn : static_cast<int64_t>(share * static_cast<double>(count - 1));
    for (const SampleFile* samples : arrays) {
      const auto row = std::span(buffer).first(static_cast<size_t>(sample_bytes(*samples)));
      PANTOUM_TRY(samples->read(index, row));
      sum.add(row);
    }
  }
  return base::checksum_text(sum.value());
}

}  // namespace pantoum::data
