#include "pipeline/measure_machine.h"

#include <gtest/gtest.h>

namespace pantoum::pipeline {
namespace {

PlanRequest request_of(Measure measure, int64_t effort) {
  PlanRequest request;
  request.settings.measure = measure;
  request.options.effort = effort;
  return request;
}

TEST(MeasureMachine, IsForThisMachineAndForPlansThatAClockEnds) {
  EXPECT_EQ(measure_of(request_of(Measure::automatic, 0), true), Measure::missing);
  EXPECT_EQ(measure_of(request_of(Measure::automatic, 1), true), Measure::off);
  EXPECT_EQ(measure_of(request_of(Measure::automatic, 0), false), Measure::off);
  EXPECT_EQ(measure_of(request_of(Measure::all, 1), true), Measure::all);
  EXPECT_EQ(measure_of(request_of(Measure::missing, 1), false), Measure::missing);  // which begin() refuses
  EXPECT_EQ(measure_of(request_of(Measure::off, 0), true), Measure::off);
}

TEST(MeasureMachine, RefusesADeviceThatIsNotThisMachine) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("m4").value();
  const auto refused = MachineMeasurement::begin(request_of(Measure::missing, 0), **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0114");
  EXPECT_TRUE(MachineMeasurement::begin(request_of(Measure::automatic, 0), **kernels, device));
}

TEST(MeasureMachine, WarnsOfACacheThatCannotBeUsedAndRefusesANamedStore) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("host").value();
  PlanRequest request = request_of(Measure::missing, 0);
  request.measuring.cache_store = "/proc/none/times.db";
  const auto begun = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_TRUE(begun);
  std::vector<std::string> warnings;
  begun->tell(warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].find("measured times are not kept: "), 0U) << warnings[0];
  request.settings.profile_store = "/proc/none/times.db";
  const auto refused = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0275");
}

TEST(MeasureMachine, RefusesAStoreThatIsNotThereWhereKnownTimesWereAskedFor) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("m4").value();
  PlanRequest request = request_of(Measure::known, 0);
  request.settings.profile_store = "/proc/none/times.db";
  const auto refused = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0201");
  request.settings.measure = Measure::automatic;
  EXPECT_TRUE(MachineMeasurement::begin(request, **kernels, device)) << "nobody asked for what is known";
}

}  // namespace
}  // namespace pantoum::pipeline
