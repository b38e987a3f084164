#include "pipeline/measure_machine.h"

#include <gtest/gtest.h>

namespace pantoum::pipeline {
namespace {

PlanRequest request_of(Measure measure, int64_t effort) {
  PlanRequest request;
  request.measure.measure = measure;
  request.options.effort = effort;
  return request;
}

TEST(MeasureMachine, IsForThisMachineAndForPlansThatAClockEnds) {
  EXPECT_EQ(measure_of(request_of(Measure::kAuto, 0), true), Measure::kMissing);
  EXPECT_EQ(measure_of(request_of(Measure::kAuto, 1), true), Measure::kOff);
  EXPECT_EQ(measure_of(request_of(Measure::kAuto, 0), false), Measure::kOff);
  EXPECT_EQ(measure_of(request_of(Measure::kAll, 1), true), Measure::kAll);
  EXPECT_EQ(measure_of(request_of(Measure::kMissing, 1), false), Measure::kMissing);  // which begin() refuses
  EXPECT_EQ(measure_of(request_of(Measure::kOff, 0), true), Measure::kOff);
  EXPECT_EQ(measure_of({}, true), Measure::kOff);
}

TEST(MeasureMachine, RefusesADeviceThatIsNotThisMachine) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("m4").value();
  const auto refused = MachineMeasurement::begin(request_of(Measure::kMissing, 0), **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0114");
  EXPECT_TRUE(MachineMeasurement::begin(request_of(Measure::kAuto, 0), **kernels, device));
}

TEST(MeasureMachine, WarnsOfACacheThatCannotBeUsedAndRefusesANamedStore) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("host").value();
  PlanRequest request = request_of(Measure::kMissing, 0);
  request.measure.cache_store = "/proc/none/times.db";
  const auto begun = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_TRUE(begun);
  std::vector<std::string> warnings;
  begun->tell(warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].find("measured times are not kept: "), 0U) << warnings[0];
  request.measure.profile_store = "/proc/none/times.db";
  const auto refused = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0275");
}

TEST(MeasureMachine, RefusesAStoreThatIsNotThereWhereKnownTimesWereAskedFor) {
  const auto kernels = host::KernelSet::open(host::KernelSet::Choice::kPortable, 1);
  ASSERT_TRUE(kernels);
  const cost::DeviceProfile device = cost::load_device("m4").value();
  PlanRequest request = request_of(Measure::kKnown, 0);
  request.measure.profile_store = "/proc/none/times.db";
  const auto refused = MachineMeasurement::begin(request, **kernels, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0201");
  request.measure.measure = Measure::kAuto;
  EXPECT_TRUE(MachineMeasurement::begin(request, **kernels, device)) << "nobody asked for what is known";
}

}  // namespace
}  // namespace pantoum::pipeline
