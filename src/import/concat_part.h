// One index along an axis of something concatenated is often a value of its own: the last time step of a sequence.
#pragma once

#include "ir/builder.h"

namespace pantoum::import {

// x at `index` of `axis`, which keeps its place with extent 1; looked for through transposes, reshapes that leave the
// axis whole, and concats, through a few ops at most. kNone where only a slice of x would do; then nothing of use was
// appended.
[[nodiscard]] ir::ValueId concat_part(ir::Builder& builder, ir::ValueId x, size_t axis, int64_t index);

}  // namespace pantoum::import
