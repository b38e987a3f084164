// The numbers of the things of a model; each is of a type of its own.
#pragma once

#include <cstdint>

#include "base/index.h"

namespace pantoum::plan {

using base::Index;
using base::Indexed;
using base::IndexRange;

using OpIndex = Index<struct OpTag>;              // of an op, by its place in the order of first computations
using TensorIndex = Index<struct TensorTag>;      // of a tensor, as the cost graph lists them
using IntervalIndex = Index<struct IntervalTag>;  // of an interval between two uses of a tensor
// 0 is the start, stage s in 1..n first computes the op at place s - 1 of the order, n + 1 is the end. One counts with
// stages, so they are plain numbers.
using Stage = int32_t;
using Choices = Indexed<OpIndex, int32_t>;  // by op: into OpModel::choices

}  // namespace pantoum::plan
