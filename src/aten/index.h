// Indexing by several tensors at once, as x[a, :, b] reads and writes it.
#pragma once

#include <vector>

#include "aten/node.h"

namespace pantoum::aten {

struct Indexed {
  std::vector<int64_t> perm;         // brings the indexed dimensions together
  size_t first = 0, count = 0;       // of them, after that
  std::vector<ir::ValueId> indices;  // one for each, in their order
  ir::ValueId single = ir::kNone;    // the first
};

// E0401 for masks; E0211.
[[nodiscard]] Result<Indexed> read_indexed(Node& node, ir::ValueId x, Slot slot);
// The indices as one, into the indexed dimensions of `shape` read as one. Indices below 0 count from the end of their dimension; the
// bounds of each are not checked, those of all together are.
[[nodiscard]] Result<ir::ValueId> row_of(Node& node, const Indexed& indexed, const ir::Shape& shape);

}  // namespace pantoum::aten
