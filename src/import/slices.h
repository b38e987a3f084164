// Pieces of a tensor, as lowerings of several operators take them.
#pragma once

#include "import/node.h"
#include "import/shapes.h"

namespace pantoum::import {

// A slice op, or `x` itself where the pieces are the whole.
[[nodiscard]] Result<ir::ValueId> sliced(Node& node, ir::ValueId x, const std::vector<SlicePiece>& pieces);

}  // namespace pantoum::import
