// Tuples of indices, as GatherND and ScatterND have them in their second input: each names a row of the data.
#pragma once

#include <vector>

#include "import/node.h"

namespace pantoum::import {

// The first `depth` dimensions of the data as one, and the row there that each tuple of constant indices names.
struct Rows {
  int64_t count = 1, inner = 1;
  std::vector<int64_t> named;
};
// E0211 where an index is out of range.
[[nodiscard]] Result<Rows> named_rows(Node& node, const ir::Shape& data, size_t depth);

// The first `depth` dimensions of a value as one, and the others.
[[nodiscard]] Result<ir::ValueId> as_rows(Node& node, ir::ValueId x, size_t depth);
// Constant row numbers, as a vector.
[[nodiscard]] Result<ir::ValueId> row_constant(Node& node, const std::vector<int64_t>& rows);
// Index `d` of every tuple, in the shape of the tuples without their last dimension.
[[nodiscard]] Result<ir::ValueId> index_of_tuples(Node& node, ir::ValueId tuples, int64_t d);
// Indices that the model computes: rows of the data with its first `batch` + `depth` dimensions as one, in the shape of
// the tuples without their last dimension. Kernels refuse an index that is out of range.
[[nodiscard]] Result<ir::ValueId> computed_rows(Node& node, const ir::Shape& data, size_t batch, size_t depth);

}  // namespace pantoum::import
