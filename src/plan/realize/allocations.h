// Instruction stream -> allocations in RAM -> offsets.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "place/place.h"
#include "plan/simulate/event.h"
#include "plan/simulate/model.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Plan;

// The allocations of a stream, and which instruction or start each of them belongs to, by their positions in `all`.
struct Allocations {
  std::vector<place::Allocation> all;
  std::optional<size_t> staging;
  std::map<TensorIndex, size_t> initial;
  std::vector<std::vector<size_t>> outputs;      // by event: of what it writes, or of the page_in
  std::vector<std::optional<size_t>> workspace;  // by event
};

// Takeovers, and what ends where it began, share a group. `fixed`: initial offsets that are given, by tensor id.
// `until`: by event, for a free the one until which the bytes stay taken; empty: until the free itself.
[[nodiscard]] Allocations make_allocations(const Model& model, const std::vector<Event>& events,
                                           const std::map<int64_t, Bytes>& fixed, const std::vector<size_t>& until);

// Fills initial, staging_at and instructions.
void write_instructions(const Model& model, const std::vector<Event>& events, const Allocations& allocations,
                        const place::Placement& placement, Plan& plan);

}  // namespace pantoum::plan
