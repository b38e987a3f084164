// Which runs of a project made what its storage holds. A schedule follows the number of steps that a run was told, so the
// host needs the runs of before to compute what the device computed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "emit/host_run.h"

namespace pantoum::pipeline {

struct FirmwareRuns {
  std::vector<emit::Stretch> stretches;  // the last one is that of this run
  bool are_known = true;                 // false: others ran in between, by make
};

// Of a run that went on from step `resumed` and was told that the training has `steps`.
[[nodiscard]] FirmwareRuns firmware_runs(const std::string& folder, uint64_t resumed, uint64_t steps);
// Keeps them beside the project's storage for the next run; `reached` is the last step that was done. E0901.
[[nodiscard]] Result<void> keep_firmware_runs(const std::string& folder, const FirmwareRuns& runs, uint64_t reached);

}  // namespace pantoum::pipeline
