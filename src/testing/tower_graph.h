// Small steps whose order is free: towers beside each other that meet at the end, with gradients and updates behind.
#pragma once

#include <cstdint>

#include "problem/cost_graph.h"

namespace pantoum::plan_test {

// Two or three towers of one or two ops, five to nine ops in all. The same seed, the same graph.
[[nodiscard]] problem::CostGraph tower_graph(uint64_t seed);

}  // namespace pantoum::plan_test
