// Samples of a data set as a project for a device stores them.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "data/preparation.h"
#include "emit/firmware.h"
#include "pipeline/planned_step.h"

namespace pantoum::pipeline {

// The first `count` samples (all, where there are fewer; 0: all) for the batch of this step. E0262, E0260 as
// training has them.
[[nodiscard]] Result<emit::Samples> sample_rows(const data::Dataset& data, const PlannedStep& step,
                                                const data::Preparation& preparation, int64_t count);

}  // namespace pantoum::pipeline
