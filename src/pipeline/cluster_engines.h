// Engines of a request that are on another cluster of this machine's processors than the kernels' pool, which was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/device_engine.h"
#include "cost/host_engines.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

struct ClusterAnswer {
  std::string engine;  // as --engines names it
  double slower = 1;   // by the speeds that the system tells: the first cluster's over this one's
  cost::DeviceTimes times = {};
};

struct ClusterTimes {
  std::vector<cost::EngineSeconds> seconds;  // of each engine of the request; none: as the kernels' pool
  std::vector<ClusterAnswer> answers;        // of the engines on other clusters
};

// Measures the training step's kernels on each such engine, for `seconds` in all at most. Finds nothing on a machine with one cluster. Errors as
// MachineMeasurement::begin; E0905.
[[nodiscard]] Result<ClusterTimes> measure_clusters(Compiled& compiled, const PlanRequest& request,
                                                    const cost::DeviceProfile& profile, problem::Seconds seconds);

}  // namespace pantoum::pipeline
