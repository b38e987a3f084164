// Wide steps without structure and without storage: ops in random layers, with far edges.
#pragma once

#include <cstdint>

#include "problem/cost_graph.h"

namespace pantoum::plan_test {

// So many ops, each of which writes one tensor of its own size and takes its own time; the last one reads what nobody else
// reads. The same seed, the same graph.
[[nodiscard]] problem::CostGraph wide_graph(uint64_t seed, int32_t ops);

}  // namespace pantoum::plan_test
