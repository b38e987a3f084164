// What the products of a recurrent operator multiply with and add, for each direction.
#pragma once

#include <vector>

#include "import/node.h"

namespace pantoum::import {

struct RecurrentSizes {
  int64_t gates, steps, batch, inputs, hidden, directions;
  bool batch_first = false;  // of X, Y and the states: layout 1
};

// Biases may be absent (kNone).
struct RecurrentWeights {
  ir::ValueId w = ir::kNone, r = ir::kNone, x_bias = ir::kNone, h_bias = ir::kNone;
  std::vector<int64_t> blocks;  // of columns, by gate in ONNX's order
};

// Of every direction; `biases_apart`: the cell wants to know them, else the inputs' product takes their sum. Where all
// are put together from the blocks of other values (PyTorch has its gates in another order) in one order, they are
// those values, so that no copy stands beside them. The shapes of W, R and B have been checked.
[[nodiscard]] Result<std::vector<RecurrentWeights>> recurrent_weights(Node& node, const RecurrentSizes& sizes,
                                                                      bool biases_apart);

// [D, ...] -> one [...] for every direction.
[[nodiscard]] std::vector<ir::ValueId> by_direction(Node& node, ir::ValueId x, int64_t directions);

}  // namespace pantoum::import
