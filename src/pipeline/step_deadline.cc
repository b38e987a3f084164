#include "pipeline/step_deadline.h"

#include <fmt/format.h>

namespace pantoum::pipeline {
namespace {

constexpr const char* kOption = "--finish-within";

// 0: not known.
Result<int64_t> steps_of(const PlanOptions& settings, int64_t batch) {
  if (settings.steps) return *settings.steps;
  if (!settings.epochs || !settings.samples || batch == 0) return 0;
  const int64_t steps = *settings.samples / batch;
  if (steps == 0)
    return fail("E0122", fmt::format("{} samples are less than a batch of {}", *settings.samples, batch), kOption,
                "give a smaller --batch");
  if (*settings.epochs > INT64_MAX / steps) return fail("E0122", "the training has too many steps", kOption);
  return *settings.epochs * steps;
}

}  // namespace

Result<double> step_deadline(const PlanOptions& settings, int64_t batch) {
  PANTOUM_ASSIGN(const int64_t steps, steps_of(settings, batch));
  if (steps == 0)
    return fail("E0122", "the number of steps is not known", kOption,
                "give --steps, or --epochs, --samples and --batch");
  return settings.finish_within->count() / static_cast<double>(steps);
}

}  // namespace pantoum::pipeline
