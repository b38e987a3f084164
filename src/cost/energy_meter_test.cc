#include "cost/energy_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "testing/meter_tree.h"

namespace pantoum::cost {
namespace {

using ::testing::HasSubstr;

// A machine that takes `idle` watts, and `run_j` more joules for each run of `run_s`; counted in steps.
struct Machine {
  explicit Machine(double quantum_j = 61e-6, Seconds update = 1e-3) : quantum(quantum_j), update_s(update) {}
  double idle = 10, run_j = 0.5, noise = 0;
  Seconds run_s = 0.02;
  double quantum;
  Seconds update_s;
  bool gone = false;
  HandClock clock;
  Joules extra = 0;  // of the runs
  std::mt19937 random{5};

  [[nodiscard]] Joules total() const { return extra + idle * clock.clock().now(); }
  std::unique_ptr<EnergyMeter> meter() {
    MeterSource source{.label = "fake", .update_s = update_s};
    source.rails.push_back({.name = "rail",
                            .count = [this]() -> Result<uint64_t> {
                              if (gone) return fail("E0909", "rail is gone");
                              return static_cast<uint64_t>(total() / quantum);
                            },
                            .joules_per_count = quantum});
    return std::make_unique<EnergyMeter>(std::move(source), clock.clock(), false);
  }
  Result<void> run() {
    std::normal_distribution<double> normal(0, 1);
    clock.pass(run_s);
    extra += run_j * (1 + noise * normal(random));
    return {};
  }
};

TEST(MeasureEnergy, SubtractsTheIdleBaseline) {
  Machine machine;
  const auto meter = machine.meter();
  const auto energy = measure_energy(*meter, [&] { return machine.run(); });
  ASSERT_TRUE(energy) << energy.error().message;
  EXPECT_NEAR(energy->joules, 0.5, 0.5 * 0.01);
  EXPECT_NEAR(energy->gross_joules, 0.7, 1e-3);
  EXPECT_NEAR(energy->idle.watts, 10, 0.01);
  EXPECT_NEAR(energy->idle.seconds, 2, 0.01);
  EXPECT_NEAR(energy->watts, 35, 0.1);
  EXPECT_NEAR(energy->seconds, 0.02, 1e-9);
  EXPECT_EQ(energy->windows, 5);
  EXPECT_TRUE(energy->is_within(0.03));
  EXPECT_THAT(to_text(*energy), HasSubstr("above 10 W idle (measured for 2.0 s), by fake"));
}

TEST(MeasureEnergy, TakesABaselineThatWasMeasuredBefore) {
  Machine machine;
  const auto meter = machine.meter();
  const Seconds before = machine.clock.clock().now();
  const IdleBaseline idle{.watts = 4, .half_width = 0.1, .seconds = 3};
  const auto energy = measure_energy(*meter, [&] { return machine.run(); }, {.idle = idle});
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->joules, 0.7 - 4 * 0.02, 1e-3);
  EXPECT_GE(*energy->half_width, 0.1 * 0.02);
  EXPECT_LT(machine.clock.clock().now() - before, 5 * 0.3) << "nothing was waited for";
}

TEST(MeasureEnergy, RepeatsUntilACoarseMeterCanTell) {
  Machine machine(0.001, 0.1);  // as NVML's
  machine.run_s = 1e-3, machine.run_j = 0.05;
  const auto meter = machine.meter();
  const auto energy = measure_energy(*meter, [&] { return machine.run(); }, {.idle_s = 20, .most_s = 200});
  ASSERT_TRUE(energy);
  EXPECT_GE(energy->measured_s, 5 * 10 - 1e-6);
  EXPECT_GE(energy->runs, 49'999);
  EXPECT_NEAR(energy->joules, 0.05, 0.05 * 0.02);
}

TEST(MeasureEnergy, TheIntervalHoldsTheTruthAsOftenAsItSays) {
  int held = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    Machine machine(1e-9, 1e-9);
    machine.random.seed(static_cast<unsigned>(round));
    machine.noise = 0.5, machine.run_s = 0.1;
    const auto meter = machine.meter();
    const IdleBaseline idle{.watts = 10, .seconds = 1};
    const auto energy = measure_energy(*meter, [&] { return machine.run(); },
                                       {.idle = idle, .fewest_windows = 8, .most_windows = 8, .precision = 0});
    ASSERT_TRUE(energy);
    held += std::abs(energy->joules - 0.5) <= *energy->half_width;
  }
  EXPECT_GT(held, kRounds * 0.92);
  EXPECT_LT(held, kRounds * 0.98);
}

TEST(MeasureEnergy, GoesOnUntilThePrecisionIsReached) {
  Machine machine;
  machine.noise = 0.3;
  const auto meter = machine.meter();
  const auto energy = measure_energy(*meter, [&] { return machine.run(); }, {.idle_s = 20, .precision = 0.02});
  ASSERT_TRUE(energy);
  EXPECT_GT(energy->windows, 5);
  EXPECT_TRUE(energy->is_within(0.02));
  EXPECT_NEAR(energy->joules, 0.5, 0.5 * 0.04);
}

TEST(MeasureEnergy, SaysWhenNothingCanBeToldFromIdle) {
  Machine machine;
  machine.run_j = 0, machine.noise = 0;
  const auto meter = machine.meter();
  const auto energy = measure_energy(*meter, [&] { return machine.run(); });
  ASSERT_TRUE(energy);
  EXPECT_FALSE(energy->is_within(0.03));
  EXPECT_NEAR(energy->joules, 0, *energy->half_width);
  EXPECT_GE(energy->measured_s, 25 - 1e-6) << "all windows, then it ends";
}

TEST(MeasureEnergy, RefusesAMeterThatStandsStill) {
  Machine machine;
  machine.idle = 0, machine.run_j = 0;
  const auto meter = machine.meter();
  const auto idle = measure_idle(*meter, 2);
  ASSERT_TRUE(idle) << "a rail may be off";
  EXPECT_EQ(idle->watts, 0);
  const auto energy = measure_energy(*meter, [&] { return machine.run(); });
  ASSERT_FALSE(energy);
  EXPECT_EQ(energy.error().code, "E0909");
  EXPECT_THAT(energy.error().message, HasSubstr("fake: 0 W in all for"));
  EXPECT_THAT(energy.error().help, HasSubstr("stands still"));
  machine.run_j = 0.5;
  const auto drawn = measure_energy(*meter, [&] { return machine.run(); });
  ASSERT_TRUE(drawn) << "0 W while idle and some while it computes";
  EXPECT_NEAR(drawn->joules, 0.5, 0.01);
  EXPECT_TRUE(drawn->stands_out());
}

// Of so many watts, always.
std::unique_ptr<EnergyMeter> power_meter(const HandClock& clock, Watts watts) {
  MeterSource source{.label = "rail"};
  source.rails.push_back({.name = "rail", .watts = [watts]() -> Result<Watts> { return watts; }});
  return std::make_unique<EnergyMeter>(std::move(source), clock.clock(), false);
}

TEST(MeasureEnergy, RefusesPowerBelowZero) {
  const HandClock clock;
  const auto idle = measure_idle(*power_meter(clock, -4), 2);
  ASSERT_FALSE(idle);
  EXPECT_EQ(idle.error().code, "E0909");
  EXPECT_EQ(idle.error().message, "rail: -4 W while idle, below zero");
  EXPECT_THAT(idle.error().help, HasSubstr("the other way round"));
  const auto meter = power_meter(clock, -0.02);
  EXPECT_TRUE(measure_idle(*meter, 2)) << "the offset of a sensor";
  const auto energy = measure_energy(*meter, [&]() -> Result<void> { return clock.pass(0.1), Result<void>{}; });
  EXPECT_EQ(energy.error().code, "E0909") << "no offset computes";
}

TEST(MeasureEnergy, TellsWhatStandsOutFromIdle) {
  EXPECT_TRUE((MeasuredEnergy{.joules = 1, .half_width = 0.9}.stands_out()));
  EXPECT_FALSE((MeasuredEnergy{.joules = 1, .half_width = 1.1}.stands_out()));
  EXPECT_FALSE((MeasuredEnergy{.joules = -1, .half_width = 0.1}.stands_out()));
  EXPECT_TRUE(MeasuredEnergy{.joules = 1}.stands_out());
  EXPECT_FALSE(MeasuredEnergy{.joules = 0}.stands_out());
}

TEST(MeasureEnergy, OneRunMayBeLongerThanAllWindows) {
  Machine machine;
  machine.run_s = 45, machine.run_j = 100;
  const auto meter = machine.meter();
  const auto energy = measure_energy(*meter, [&] { return machine.run(); });
  ASSERT_TRUE(energy);
  EXPECT_EQ(energy->runs, 2);
  EXPECT_NEAR(energy->joules, 100, 1);
}

TEST(MeasureEnergy, PassesErrorsOn) {
  Machine machine;
  const auto meter = machine.meter();
  EXPECT_EQ(measure_energy(*meter, [] { return Result<void>(fail("E0003", "kernel")); }).error().code, "E0003");
  int runs = 0;
  const auto vanished = measure_energy(*meter, [&] { return machine.gone = ++runs > 30, machine.run(); });
  EXPECT_EQ(vanished.error().message, "rail is gone");
  machine.gone = false;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(measure_energy(*meter, [&] { return machine.run(); }, {.stop = stop.get_token()}).error().code, "E0999");
  EXPECT_EQ(measure_energy(*meter, [&] { return machine.run(); }, {.fewest_windows = 1}).error().code, "E0120");
  EXPECT_EQ(measure_idle(*meter, 0).error().code, "E0120");
  EXPECT_EQ(measure_idle(*meter, std::nan("")).error().code, "E0120");
}

TEST(MeasureStepEnergy, LeavesOutWhatIsNoStep) {
  Machine machine;
  const auto meter = machine.meter();
  StepEnergy steps(*meter, {.watts = 10, .half_width = 0.05, .seconds = 2});
  for (int epoch = 0; epoch < 4; ++epoch) {
    steps.go_on();
    steps.go_on();  // again changes nothing
    for (int step = 0; step < 25; ++step) {
      ASSERT_TRUE(machine.run());
      steps.step();
    }
    steps.pause();
    machine.clock.pass(7), machine.extra += 1000;  // an evaluation
  }
  const auto energy = steps.result();
  ASSERT_TRUE(energy) << energy.error().message;
  EXPECT_EQ(energy->runs, 100);
  EXPECT_NEAR(energy->joules, 0.5, 1e-3);
  EXPECT_NEAR(energy->measured_s, 2, 1e-6);
  EXPECT_NEAR(energy->seconds, 0.02, 1e-9);
  EXPECT_GT(energy->windows, 10);
}

TEST(MeasureStepEnergy, EndsWithTheMeterAndNotWithTheTraining) {
  Machine machine;
  const auto meter = machine.meter();
  StepEnergy steps(*meter, {});
  steps.go_on();
  machine.gone = true;
  for (int step = 0; step < 50; ++step) {
    ASSERT_TRUE(machine.run());
    steps.step();
  }
  EXPECT_EQ(steps.result().error().message, "rail is gone");
}

TEST(MeasureStepEnergy, RefusesAMeterThatStandsStill) {
  Machine machine;
  machine.idle = 0, machine.run_j = 0;
  const auto meter = machine.meter();
  StepEnergy steps(*meter, {.watts = 0, .seconds = 2});
  steps.go_on();
  for (int step = 0; step < 50; ++step) {
    ASSERT_TRUE(machine.run());
    steps.step();
  }
  const auto energy = steps.result();
  ASSERT_FALSE(energy);
  EXPECT_EQ(energy.error().code, "E0909");
  EXPECT_THAT(energy.error().message, HasSubstr("0 W in all for"));
}

TEST(MeasureStepEnergy, RefusesNoStepAtAll) {
  Machine machine;
  const auto meter = machine.meter();
  StepEnergy steps(*meter, {});
  EXPECT_FALSE(steps.result());
  steps.go_on();
  EXPECT_FALSE(steps.result());
}

TEST(EnergyOfARecording, DividesByTheSteps) {
  Recording recording{.label = "recording a.csv",
                      .windows = {{.begin_s = 1, .end_s = 2, .joules = 5}, {.begin_s = 3, .end_s = 4, .joules = 7}},
                      .triggered = true,
                      .period_s = 1e-3,
                      .idle_w = 2,
                      .idle_s = 1};
  const auto all = energy_of(recording, 100);
  ASSERT_TRUE(all);
  EXPECT_NEAR(all->joules, 0.08, 1e-12);
  EXPECT_FALSE(all->half_width);
  const auto each = energy_of(recording, 2);
  EXPECT_NEAR(each->joules, 4, 1e-12);
  EXPECT_NEAR(*each->half_width, 12.706, 0.01);
  recording.idle_w.reset();
  EXPECT_NEAR(energy_of(recording, 100)->joules, 0.12, 1e-12);
  EXPECT_THAT(to_text(*energy_of(recording, 100)), HasSubstr("idle included"));
  EXPECT_FALSE(energy_of(recording, 0));
}

}  // namespace
}  // namespace pantoum::cost
