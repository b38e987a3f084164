// Running statistics of a batch norm that the model calls several times in a step (twin networks, a head shared by levels).
#pragma once

#include "ir/builder.h"

namespace pantoum::import {

// The buffer of which earlier calls left this value, its mean (0) or variance (1); kNone: of none.
[[nodiscard]] ir::ValueId kept_statistic(const ir::Graph& graph, ir::ValueId value, size_t which);

// Every call has a batch_norm_stats of its own, on the same buffers or on what an earlier call left of them. One that stands
// for all of them takes their place, since a buffer is updated once a step: m' = W m + (1 - W) sum_i c_i m_i, where w_i is what
// call i keeps of the old, W = product of all w_i, and c_i = (1 - w_i) (product of w_j behind i) / (1 - W).
void merge_statistics(ir::Builder& builder);

}  // namespace pantoum::import
