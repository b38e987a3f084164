#include "data/finite.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace pantoum::data {
namespace {

Result<void> check(const SampleFile& samples, const std::string& what) {
  if (samples.dtype() != base::DType::kF32) return {};
  std::vector<float> sample(static_cast<size_t>(sample_bytes(samples)) / sizeof(float));
  for (int64_t index = 0; index < samples.count(); ++index) {
    PANTOUM_TRY(samples.read(index, std::as_writable_bytes(std::span(sample))));
    for (const float value : sample)
      if (!std::isfinite(value))
        return fail("E0262", fmt::format("{} of sample {} is {}", what, index, std::isnan(value) ? "NaN" : "infinite"),
                    samples.source(index), "clean the data");
  }
  return {};
}

}  // namespace

Result<void> check_finite(const Dataset& data) {
  for (size_t input = 0; input < data.inputs.size(); ++input)
    PANTOUM_TRY(check(*data.inputs[input], data.inputs.size() == 1 ? "the input" : fmt::format("input {}", input)));
  if (data.labels != nullptr) PANTOUM_TRY(check(*data.labels, "the target"));
  for (const auto& labels : data.more_labels) PANTOUM_TRY(check(*labels, "a target"));
  return {};
}

}  // namespace pantoum::data
