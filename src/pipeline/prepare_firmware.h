// From a planned step to a C project that trains as planned (emit/firmware.h).
#pragma once

#include <string>

#include "emit/firmware.h"
#include "pantoum/deploy.hpp"
#include "pipeline/planned_step.h"

namespace pantoum::pipeline {

struct FirmwareRequest {
  FirmwareOptions options;  // data: the samples' path
  DataOptions data;         // with a cache folder, where there are samples
  data::Preparation preparation = {};
  std::string plan_path = {};  // of the plan's file, which the project names; "": it is none
};

// E0291 the step is of micro-batches, or of two programs, or of kernels that firmware does not have.
[[nodiscard]] Result<void> check_for_firmware(const PlannedStep& step, const std::string& where);

// A plan's step with the kernels that firmware has. The first weights are written into the project. E0293, E0230 what the
// plan says of itself; E0231, E0291 it is of another step, or of none that firmware can make. `model`: where the model is,
// if it is no longer where it was; none: there.
[[nodiscard]] Result<PlannedStep> step_for_firmware(const problem::Plan& plan, const FirmwareRequest& request,
                                                    const std::optional<std::string>& model);

// The file of the first contents of a project's parameters. Makes its folder. E0901, E0295.
[[nodiscard]] Result<std::string> contents_path(const std::string& project);

// Writes the project of a step, whose first weights are in contents_path(). E0289 the samples' features are more than the
// plan allows; the errors of emit_firmware.
[[nodiscard]] Result<emit::FirmwareSizes> prepare_firmware(const PlannedStep& step, const FirmwareRequest& request);

}  // namespace pantoum::pipeline
