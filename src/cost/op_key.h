// Under what an op's time is kept.
#pragma once

#include <pantoum/pantoum.h>

#include <cstdint>
#include <string>

#include "cost/profile_store.h"
#include "ir/graph.h"

namespace pantoum::cost {

[[nodiscard]] OpKey op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads,
                           const std::string& machine);

// Of this process alone: no part of a key has such a character.
[[nodiscard]] std::string text_of(const OpKey& key);

}  // namespace pantoum::cost
