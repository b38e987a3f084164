#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pantoum::train {
namespace {

Schedule schedule(const std::string& text) {
  Result<Schedule> parsed = parse_schedule(text, "--schedule");
  EXPECT_TRUE(parsed) << to_text(parsed.error());
  return parsed ? *parsed : Schedule{};
}

double rate(const std::string& text, uint64_t step, uint64_t total) {
  return rate_at(schedule(text), 0.5, step, total);
}

TEST(Schedule, StepFallsEverySoOften) {
  EXPECT_DOUBLE_EQ(rate("step,every=10,gamma=0.5", 9, 100), 0.5);
  EXPECT_DOUBLE_EQ(rate("step,every=10,gamma=0.5", 10, 100), 0.25);
  EXPECT_DOUBLE_EQ(rate("step,every=10,gamma=0.5", 35, 100), 0.0625);
  EXPECT_DOUBLE_EQ(rate("step,every=25%", 50, 200), 0.05) << "a quarter of 200 steps has passed once";
}

TEST(Schedule, MultiStepFallsWhereItIsTold) {
  EXPECT_DOUBLE_EQ(rate("multi_step,at=30:80", 29, 100), 0.5);
  EXPECT_DOUBLE_EQ(rate("multi_step,at=30:80", 30, 100), 0.05);
  EXPECT_DOUBLE_EQ(rate("multi_step,at=30%:80%", 170, 200), 0.005);
}

TEST(Schedule, MultiStepHasRatesOfItsOwn) {
  for (const auto& [step, expected] : {std::pair{0, 0.5}, {29, 0.5}, {30, 0.7}, {79, 0.7}, {80, 0.0}, {99, 0.0}})
    EXPECT_EQ(rate("multi_step,at=30:80,to=0.7:0", static_cast<uint64_t>(step), 100), expected) << step;
}

TEST(Schedule, ExponentialFallsEveryStep) {
  EXPECT_DOUBLE_EQ(rate("exponential,gamma=0.9", 0, 100), 0.5);
  EXPECT_NEAR(rate("exponential,gamma=0.9", 20, 100), 0.5 * std::pow(0.9, 20), 1e-16);
}

TEST(Schedule, CosineFollowsTheCosine) {
  for (uint64_t step = 0; step <= 1000; ++step) {
    const double wave = (1 + std::cos(M_PI * static_cast<double>(step) / 1000)) / 2;
    EXPECT_NEAR(rate("cosine,to=0.1", step, 1000), 0.1 + 0.4 * wave, 1e-15) << step;
  }
  EXPECT_DOUBLE_EQ(rate("cosine,to=0.1", 1200, 1000), 0.1) << "what comes after the end stays there";
}

TEST(Schedule, CosineBeginsAgainEverySoOften) {
  for (uint64_t step = 0; step <= 1000; ++step) {
    const double wave = (1 + std::cos(M_PI * static_cast<double>(step % 70) / 70)) / 2;
    EXPECT_NEAR(rate("cosine,to=0.1,every=70", step, 1000), 0.1 + 0.4 * wave, 1e-15) << step;
  }
}

TEST(Schedule, LinearFallsInEqualParts) {
  EXPECT_DOUBLE_EQ(rate("linear", 0, 10), 0.5);
  EXPECT_DOUBLE_EQ(rate("linear", 5, 10), 0.25);
  EXPECT_DOUBLE_EQ(rate("linear,to=0.3", 10, 10), 0.3);
  EXPECT_DOUBLE_EQ(rate("linear,to=0.3,over=4", 3, 10), 0.35);
  EXPECT_DOUBLE_EQ(rate("linear,to=0.3,over=4", 4, 10), 0.3);
  EXPECT_DOUBLE_EQ(rate("linear,to=0.3,over=4", 9, 10), 0.3) << "the rate stays where the fall ends";
  EXPECT_DOUBLE_EQ(rate("linear,over=50%", 5, 20), 0.25);
}

TEST(Schedule, WarmUpRisesToTheWholeRateBeforeAnyDecay) {
  for (const char* decay : {"constant", "linear", "cosine", "exponential,gamma=0.9", "step,every=3"}) {
    const std::string text = std::string(decay) + ",warmup=4";
    EXPECT_DOUBLE_EQ(rate(text, 0, 24), 0.125) << decay;
    EXPECT_DOUBLE_EQ(rate(text, 3, 24), 0.5) << decay;
    EXPECT_DOUBLE_EQ(rate(text, 4, 24), 0.5) << decay;
    EXPECT_EQ(rate(text, 9, 24), rate(decay, 5, 20)) << decay << ": the decay has the steps that are left";
  }
  EXPECT_DOUBLE_EQ(rate("constant,warmup=10%", 4, 50), 0.5);
}

TEST(Schedule, ReadsBackWhatItWrites) {
  for (const char* text :
       {"constant,warmup=0", "step,every=10,gamma=0.1,warmup=5%", "multi_step,at=30%:80%,gamma=0.2,warmup=3",
        "exponential,gamma=0.999,warmup=0", "cosine,to=1e-05,warmup=100", "linear,to=0,warmup=0",
        "cosine,every=7%,to=0,warmup=0", "linear,over=9,to=0.25,warmup=2", "multi_step,at=3:40%,to=0.2:0,warmup=0"})
    EXPECT_EQ(to_text(schedule(text)), text);
}

TEST(Schedule, RefusesWhatItDoesNotUnderstand) {
  const auto code = [](const std::string& text) {
    const Result<Schedule> parsed = parse_schedule(text, "--schedule");
    return parsed ? "" : parsed.error().code;
  };
  EXPECT_EQ(code("poly"), "E0115");
  EXPECT_EQ(code("step"), "E0115") << "every is missing";
  EXPECT_EQ(code("cosine,gamma=0.1"), "E0115");
  EXPECT_EQ(code("cosine,to"), "E0115");
  EXPECT_EQ(code("cosine,to=1,to=2"), "E0115");
  EXPECT_EQ(code("cosine,to=-1"), "E0116");
  EXPECT_EQ(code("step,every=0"), "E0116");
  EXPECT_EQ(code("step,every=1.5"), "E0116");
  EXPECT_EQ(code("multi_step,at=3:"), "E0116");
  EXPECT_EQ(code("linear,warmup=soon"), "E0116");
  EXPECT_EQ(code("linear,every=3"), "E0115");
  EXPECT_EQ(code("linear,over=0"), "E0116");
  EXPECT_EQ(code("multi_step,at=3:5,to=1"), "E0115") << "a rate is missing";
  EXPECT_EQ(code("multi_step,at=3,to=1,gamma=2"), "E0115");
  EXPECT_EQ(code("multi_step,at=3,to=-1"), "E0116");
}

}  // namespace
}  // namespace pantoum::train
