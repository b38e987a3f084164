#include "pipeline/step_deadline.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/units.h"

namespace pantoum::pipeline {
namespace {

constexpr const char* kOption = "--finish-within";
constexpr double kMostTimes = 1e9;  // of a step's time: later deadlines are none

// "1.3", of "1.3x".
Result<double> factor_of(std::string_view text, const std::string& option) {
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(factor) && factor > 0 &&
      factor <= kMostTimes)
    return factor;
  return fail("E0111", fmt::format("'{}x' is no factor from 0 to {}", text, kMostTimes), option,
              "write 1.3x, or a time as in 450ms");
}

// 0: not known.
Result<int64_t> steps_of(const TrainingLength& length) {
  if (length.steps > 0) return length.steps;
  if (length.epochs == 0 || length.samples == 0 || length.batch == 0) return 0;
  const int64_t steps = length.samples / length.batch;
  if (steps == 0)
    return fail("E0122", fmt::format("{} samples are less than a batch of {}", length.samples, length.batch), kOption,
                "give a smaller --batch");
  if (length.epochs > INT64_MAX / steps) return fail("E0122", "the training has too many steps", kOption);
  return length.epochs * steps;
}

}  // namespace

Result<double> step_deadline(double seconds, const TrainingLength& length) {
  PANTOUM_ASSIGN(const int64_t steps, steps_of(length));
  if (steps == 0)
    return fail("E0122", "the number of steps is not known", kOption,
                "give --steps, or --epochs, --samples and --batch");
  return seconds / static_cast<double>(steps);
}

Result<Deadline> parse_deadline(const std::string& text, const std::string& option) {
  if (text.ends_with('x')) {
    PANTOUM_ASSIGN(const double factor, factor_of(std::string_view(text).substr(0, text.size() - 1), option));
    return Deadline{.seconds = {}, .relative = factor, .training = {}};
  }
  PANTOUM_ASSIGN(const double seconds, base::parse_seconds(text, option));
  if (seconds <= 0) return fail("E0111", "no step takes no time", option, "write a time as in 450ms, or 1.3x");
  return Deadline{.seconds = seconds, .relative = {}, .training = {}};
}

}  // namespace pantoum::pipeline
