// What a finished plan needs: peak, arena, time and energy, offsets included.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

// Runs the plan's instructions as semantics.md says. nullopt: one of them cannot be issued (a tensor is not where it
// must be; overlaps are the placement's business). Cost: linear but for the freed bytes that are still being written.
// `taken`: what a transfer of so many bytes, written or read, takes of the engine from its issue on, which semantics.md does
// not count; in mode async.
using EngineSeconds = std::function<Seconds(bool out, Bytes bytes)>;
std::optional<Predicted> predict(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken = {});

// At least the exact seconds or joules that plain sums have as `value`, and what sums rounded up have: an instruction adds
// by no more than four operations, each of which errs by half a unit in the last place, or by one where it is rounded up.
inline double upper_end(const Plan& plan, double value) {
  const auto operations = static_cast<double>(8 * (plan.instructions.size() + 2));
  return value * (1 + operations * std::numeric_limits<double>::epsilon());
}

}  // namespace pantoum::plan
