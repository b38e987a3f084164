#include "data/label_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pantoum::data {
namespace {

using base::DType;

template <class Whole>
int64_t whole_at(const std::byte* bytes) {
  Whole value{};
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<int64_t>(value);
}

int64_t label_at(DType dtype, const std::byte* bytes) {
  if (dtype == DType::kI64) return whole_at<int64_t>(bytes);
  if (dtype == DType::kI32) return whole_at<int32_t>(bytes);
  return whole_at<uint8_t>(bytes);
}

bool is_whole(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kU8;
}

constexpr uint64_t kReadBytes = 32;  // a sample that is read takes as long as so many bytes more

struct Outside {
  int64_t label = 0, sample = -1;  // the first
  int64_t count = 0, least = std::numeric_limits<int64_t>::max(), most = -1, seen = 0;

  void take(int64_t value, int64_t of_sample, const LabelRange& range) {
    if (value == range.ignore) return;
    ++seen;
    least = std::min(least, value), most = std::max(most, value);
    if (value < range.classes) return;
    if (count++ == 0) label = value, sample = of_sample;
  }
};

Failure out_of_range(const SampleFile& labels, const Outside& outside, const LabelRange& range) {
  const bool from_one = outside.least == 1 && outside.most == range.classes;
  return fail("E0262",
              fmt::format("the label {} of sample {} is out of range: the model has the classes 0 to {}", outside.label,
                          outside.sample, range.classes - 1),
              labels.source(outside.sample),
              from_one
                  ? "these labels count from 1: subtract 1 from each"
                  : fmt::format("labels count from 0; give the model {} outputs, or mend the labels", outside.most + 1),
              {fmt::format("{} of {} labels are out of range; they lie between {} and {}", outside.count, outside.seen,
                           outside.least, outside.most)});
}

Result<void> check(const SampleFile& labels, const LabelRange& range, uint64_t most_bytes) {
  const auto bytes = static_cast<uint64_t>(sample_bytes(labels)),
             element = static_cast<uint64_t>(size_of(labels.dtype()));
  if (range.classes == 0 || !is_whole(labels.dtype()) || bytes == 0) return {};
  const auto samples = static_cast<int64_t>(
      std::min<uint64_t>(static_cast<uint64_t>(labels.count()), most_bytes / (bytes + kReadBytes)));
  std::vector<std::byte> sample(bytes);
  Outside outside;
  for (int64_t index = 0; index < samples; ++index) {
    PANTOUM_TRY(labels.read(index, sample));
    for (uint64_t at = 0; at < bytes; at += element) outside.take(label_at(labels.dtype(), &sample[at]), index, range);
  }
  if (outside.count == 0) return {};
  return out_of_range(labels, outside, range);
}

}  // namespace

Result<void> check_labels(const Dataset& data, std::span<const LabelRange> ranges, uint64_t most_bytes) {
  for (size_t loss = 0; loss < ranges.size() && data.labels != nullptr; ++loss) {
    if (loss > data.more_labels.size()) break;
    PANTOUM_TRY(check(loss == 0 ? *data.labels : *data.more_labels[loss - 1], ranges[loss], most_bytes));
  }
  return {};
}

}  // namespace pantoum::data
