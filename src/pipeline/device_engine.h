// The OpenCL device among the engines of a request: what planning asks of it. It is open while it is asked, and no longer.
#pragma once

#include <optional>
#include <vector>

#include "cost/device_engine.h"
#include "cost/host_engines.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// The alignment in bytes that operands need on the engines; 1 without a device.
//   errors  E0412, E0413: as opencl::find_device
[[nodiscard]] Result<problem::Bytes> alignment_of(const std::vector<cost::HostEngine>& engines);

// Finds the ways to compute the training step's ops on the device; none without one. Keeps its kernels in `compiled`, and tells there of the times.
//   `seconds`  that measuring may take; none, or a request that measures nothing: the times are assumed
//   errors     E0412, E0413; E0414: the device fails while it is measured; errors of MachineMeasurement::begin
[[nodiscard]] Result<std::vector<cost::DeviceWay>> ways_on_device(Compiled& compiled, const PlanRequest& request,
                                                                  const cost::DeviceProfile& profile,
                                                                  std::optional<problem::Seconds> seconds);

}  // namespace pantoum::pipeline
