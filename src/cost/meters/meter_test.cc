#include "cost/meters/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <random>

#include "testing/meter_tree.h"

namespace pantoum::cost {
namespace {

using ::testing::HasSubstr;

struct Faked {
  uint64_t count = 0;
  double watts = 0;
  bool gone = false;
};

MeterSource counter_of(const std::shared_ptr<Faked>& faked, uint64_t range) {
  MeterSource source{.label = "fake", .most_w = 1000};
  source.rails.push_back({.name = "rail",
                          .count = [faked]() -> Result<uint64_t> {
                            if (faked->gone) return fail("E0909", "rail is gone");
                            return faked->count;
                          },
                          .joules_per_count = 1e-6,
                          .range = range});
  return source;
}

MeterSource power_of(const std::shared_ptr<Faked>& faked, Seconds period) {
  MeterSource source{.label = "fake", .period_s = period};
  source.rails.push_back({.name = "rail", .watts = [faked]() -> Result<Watts> {
                            if (faked->gone) return fail("E0909", "rail is gone");
                            return faked->watts;
                          }});
  return source;
}

TEST(EnergyMeterCounter, CountsThroughSeveralWraps) {
  const auto faked = std::make_shared<Faked>();
  const HandClock clock;
  const uint64_t range = 262'143'328'850;
  faked->count = range - 5'000'000;
  EnergyMeter meter(counter_of(faked, range), clock.clock(), false);
  ASSERT_TRUE(meter.begin());
  std::mt19937_64 random(7);
  double truth = 0;
  uint64_t wraps = 0;
  while (wraps < 5) {
    const uint64_t step = random() % 60'000'000'000;  // 60 kJ in 100 s at most
    wraps += faked->count + step >= range;
    faked->count = (faked->count + step) % range;
    truth += static_cast<double>(step) * 1e-6;
    clock.pass(100);
    const auto joules = meter.joules();
    ASSERT_TRUE(joules) << joules.error().message;
    ASSERT_NEAR(*joules, truth, 1e-3);
  }
}

TEST(EnergyMeterCounter, RefusesWhatMayHaveWrappedTwice) {
  const auto faked = std::make_shared<Faked>();
  const HandClock clock;
  EnergyMeter meter(counter_of(faked, 1'000'000'000), clock.clock(), false);  // 1 kJ: one second at most_w
  ASSERT_TRUE(meter.begin());
  clock.pass(1.5);
  const auto joules = meter.joules();
  ASSERT_FALSE(joules);
  EXPECT_EQ(joules.error().code, "E0909");
  EXPECT_THAT(joules.error().message, HasSubstr("more than once"));
  EXPECT_FALSE(meter.joules()) << "an error stays";
  ASSERT_TRUE(meter.begin());
  EXPECT_TRUE(meter.joules()) << "until the next beginning";
}

TEST(EnergyMeterCounter, RefusesACounterThatWasSetBack) {
  const auto faked = std::make_shared<Faked>();
  faked->count = 50'000'000'000;
  const HandClock clock;
  for (const uint64_t range : {uint64_t{0}, uint64_t{262'143'328'850}}) {
    faked->count = 50'000'000'000;
    EnergyMeter meter(counter_of(faked, range), clock.clock(), false);
    ASSERT_TRUE(meter.begin());
    faked->count = 12;
    clock.pass(1);
    EXPECT_FALSE(meter.joules()) << range;
  }
}

TEST(EnergyMeterCounter, RefusesWhatIsBeyondItsRange) {
  const auto faked = std::make_shared<Faked>();
  const HandClock clock;
  EnergyMeter meter(counter_of(faked, 1'000'000'000'000), clock.clock(), false);
  ASSERT_TRUE(meter.begin());
  faked->count = std::numeric_limits<uint64_t>::max();
  clock.pass(1);
  EXPECT_FALSE(meter.joules());
}

TEST(EnergyMeterPower, IsTheAreaBelowTheSamples) {
  const auto faked = std::make_shared<Faked>();
  const HandClock clock;
  EnergyMeter meter(power_of(faked, 0.01), clock.clock(), false);
  faked->watts = 2;
  ASSERT_TRUE(meter.begin());
  clock.pass(0.01);
  faked->watts = 4;
  EXPECT_NEAR(meter.joules().value(), 0.03, 1e-12);
  clock.pass(0.02);
  EXPECT_NEAR(meter.joules().value(), 0.03 + 0.08, 1e-12);
  EXPECT_EQ(meter.health().gaps, 0);
}

TEST(EnergyMeterPower, BridgesShortGapsAndTellsThem) {
  const auto faked = std::make_shared<Faked>(Faked{.watts = 3});
  const HandClock clock;
  EnergyMeter meter(power_of(faked, 0.01), clock.clock(), false);
  ASSERT_TRUE(meter.begin());
  clock.pass(1.5);
  EXPECT_NEAR(meter.joules().value(), 4.5, 1e-9);
  EXPECT_EQ(meter.health().gaps, 1);
  EXPECT_NEAR(meter.health().gap_s, 1.5, 1e-9);
  clock.pass(2.5);
  const auto joules = meter.joules();
  ASSERT_FALSE(joules);
  EXPECT_THAT(joules.error().message, HasSubstr("no sample for 2.5 s"));
}

TEST(EnergyMeterPower, RefusesWhatIsNoPower) {
  const HandClock clock;
  for (const double watts :
       {std::numeric_limits<double>::quiet_NaN(), 1e300, -std::numeric_limits<double>::infinity()}) {
    const auto faked = std::make_shared<Faked>();
    EnergyMeter meter(power_of(faked, 0.01), clock.clock(), false);
    ASSERT_TRUE(meter.begin());
    faked->watts = watts;
    clock.pass(0.01);
    EXPECT_FALSE(meter.joules());
  }
}

TEST(EnergyMeterPower, ToldWhenARailVanishesOrTheClockGoesBack) {
  const auto faked = std::make_shared<Faked>();
  const HandClock clock;
  EnergyMeter meter(power_of(faked, 0.01), clock.clock(), false);
  ASSERT_TRUE(meter.begin());
  faked->gone = true;
  clock.pass(0.01);
  EXPECT_EQ(meter.joules().error().message, "rail is gone");
  faked->gone = false;
  EXPECT_FALSE(meter.joules()) << "what was drawn meanwhile is lost";
  ASSERT_TRUE(meter.begin());
  clock.pass(-3);
  EXPECT_THAT(meter.joules().error().message, HasSubstr("clock went back by 3.0 s"));
}

TEST(EnergyMeterThread, ReadsBetweenCalls) {
  const auto reads = std::make_shared<std::atomic<int>>(0);
  MeterSource source{.label = "fake", .period_s = 1e-3};
  source.rails.push_back({.name = "rail", .watts = [reads]() -> Result<Watts> { return ++*reads, 1.0; }});
  EnergyMeter meter(std::move(source), MeterClock::steady());
  ASSERT_TRUE(meter.begin());
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (*reads < 5 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  EXPECT_GE(*reads, 5);
  EXPECT_GT(meter.joules().value(), 0);
  meter.end();
  const int last = *reads;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(*reads, last);
}

}  // namespace
}  // namespace pantoum::cost
