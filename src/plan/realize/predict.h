// What a finished plan needs: peak, arena, time and energy, offsets included.
#pragma once

#include <functional>
#include <optional>

#include "problem/plan.h"

namespace pantoum::plan {

using problem::CostGraph;
using problem::Plan;
using problem::Predicted;

// Runs the plan's instructions as semantics.md says. nullopt: one of them cannot be issued (a tensor is not where it
// must be; overlaps are the placement's business). Cost: linear but for the freed bytes that are still being written.
// `taken`: what a transfer of so many bytes, written or read, takes of the engine from its issue on, which semantics.md does
// not count; in mode async.
using EngineSeconds = std::function<problem::Seconds(bool out, problem::Bytes bytes)>;
[[nodiscard]] std::optional<Predicted> predict(const CostGraph& graph, const Plan& plan,
                                               const EngineSeconds& taken = {});

}  // namespace pantoum::plan
