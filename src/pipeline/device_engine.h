// The engines of a request: the seconds of a hand-off, and what planning asks of the OpenCL device among them, which is open while it is asked, and
// no longer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/device_engine.h"
#include "cost/host_engines.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// The alignment in bytes that operands need on the engines; 1 without a device.
//   errors  E0412, E0413: as opencl::find_device
[[nodiscard]] Result<problem::Bytes> alignment_of(const std::vector<cost::HostEngine>& engines);

// The most bytes of an arena that the engines can share; the greatest number without a device.
//   errors  E0412, E0413: as opencl::find_device
[[nodiscard]] Result<problem::Bytes> largest_arena_of(const std::vector<cost::HostEngine>& engines);

// What one engine waits until it knows that another has ended: measured, unless the request measures nothing.
[[nodiscard]] Result<problem::Seconds> hand_off_of(const PlanRequest& request, const pt_pool& pool);

struct DeviceAnswer {
  std::string engine, name;  // "opencl0", and the device's own
  std::vector<cost::DeviceWay> ways;
  cost::DeviceTimes times = {};
  std::optional<problem::Seconds> launch_s = {};  // a part of the time of every kernel; none: it was not measured
};

// Finds the ways to compute the training step's ops on the device, and their times; nothing without a device. Keeps its kernels in `compiled`, and
// tells there of the times.
//   `seconds`  that measuring may take; none, or a request that measures nothing: the times are assumed
//   errors     E0412, E0413; E0414: the device fails while it is measured; errors of MachineMeasurement::begin
[[nodiscard]] Result<std::optional<DeviceAnswer>> ask_device(Compiled& compiled, const PlanRequest& request,
                                                             const cost::DeviceProfile& profile,
                                                             std::optional<problem::Seconds> seconds);

}  // namespace pantoum::pipeline
