#include "pipeline/step_deadline.h"

#include <gtest/gtest.h>

namespace pantoum::pipeline {
namespace {

std::string refusal(const TrainingLength& length) {
  const Result<double> deadline = step_deadline(7200, length);
  return deadline ? "" : deadline.error().code + ": " + deadline.error().message;
}

TEST(StepDeadline, IsAnEqualPartForEveryStep) {
  EXPECT_DOUBLE_EQ(step_deadline(7200, {.steps = 100}).value(), 72);
  EXPECT_DOUBLE_EQ(step_deadline(7200, {.epochs = 3, .samples = 100, .batch = 32}).value(), 800);
  EXPECT_DOUBLE_EQ(step_deadline(7200, {.steps = 10, .epochs = 3, .samples = 100, .batch = 32}).value(), 720);
}

TEST(StepDeadline, NeedsTheNumberOfSteps) {
  EXPECT_EQ(refusal({}), "E0122: the number of steps is not known");
  EXPECT_EQ(refusal({.epochs = 1, .samples = 100}), "E0122: the number of steps is not known");
  EXPECT_EQ(refusal({.epochs = 1, .samples = 7, .batch = 8}), "E0122: 7 samples are less than a batch of 8");
  EXPECT_EQ(refusal({.epochs = INT64_MAX, .samples = 16, .batch = 8}), "E0122: the training has too many steps");
}

}  // namespace
}  // namespace pantoum::pipeline
