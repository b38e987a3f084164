#include "pipeline/pipeline.h"

#include <gtest/gtest.h>

namespace pantoum::pipeline {
namespace {

constexpr Seconds kTwoHours(7200);

std::string refusal(PlanOptions settings, int64_t batch = 0) {
  settings.finish_within = kTwoHours;
  const Result<double> deadline = step_deadline(settings, batch);
  return deadline ? "" : deadline.error().code + ": " + deadline.error().message;
}

TEST(StepDeadline, IsAnEqualPartForEveryStep) {
  EXPECT_DOUBLE_EQ(step_deadline({.finish_within = kTwoHours, .steps = 100}, 0).value(), 72);
  EXPECT_DOUBLE_EQ(step_deadline({.finish_within = kTwoHours, .epochs = 3, .samples = 100}, 32).value(), 800);
  EXPECT_DOUBLE_EQ(step_deadline({.finish_within = kTwoHours, .steps = 10, .epochs = 3, .samples = 100}, 32).value(), 720);
}

TEST(StepDeadline, NeedsTheNumberOfSteps) {
  EXPECT_EQ(refusal({}), "E0122: the number of steps is not known");
  EXPECT_EQ(refusal({.epochs = 1, .samples = 100}), "E0122: the number of steps is not known");
  EXPECT_EQ(refusal({.epochs = 1, .samples = 7}, 8), "E0122: 7 samples are less than a batch of 8");
  EXPECT_EQ(refusal({.epochs = INT64_MAX, .samples = 16}, 8), "E0122: the training has too many steps");
}

}  // namespace
}  // namespace pantoum::pipeline
