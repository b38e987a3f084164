// A part of a data set that is kept from training, to evaluate with.
#pragma once

#include "data/dataset.h"

namespace pantoum::data {

// Takes a share of the samples off, spread evenly over the set, so that data in the order of their classes leave some of
// each: of k that are held out, the last of each of k groups of neighbours. At least one, and never all. No sample is copied.
//   errors  E0117 the share is not between 0 and 1; E0262 the set has fewer than two samples
[[nodiscard]] Result<TrainTest> hold_out(Dataset data, double share, const std::string& where);

}  // namespace pantoum::data
