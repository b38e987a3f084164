#include "pipeline/step_deadline.h"

#include <fmt/format.h>

namespace pantoum::pipeline {
namespace {

constexpr const char* kOption = "--finish-within";

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

}  // namespace pantoum::pipeline
