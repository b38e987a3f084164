// Instruction stream -> allocations in RAM -> offsets.
#pragma once

#include <map>
#include <vector>

#include "place/place.h"
#include "plan/simulate/simulate.h"
#include "problem/plan.h"

namespace pantoum::plan {

// The allocations of a stream, and which instruction or start each of them belongs to.
struct Allocations {
  std::vector<place::Allocation> all;
  int32_t staging = -1;                       // its allocation; -1: none
  std::map<int32_t, int32_t> initial;         // tensor -> allocation
  std::vector<std::vector<int32_t>> outputs;  // by event: the allocations of what it writes, or of the page_in
  std::vector<int32_t> workspace;             // by event; -1: none
};

// Takeovers, and what ends where it began, share a group. `fixed`: initial offsets that are given, by tensor id.
// `until`: by event, for a free the one until which the bytes stay taken; empty: until the free itself.
[[nodiscard]] Allocations make_allocations(const Model& model, const std::vector<Event>& events,
                                           const std::map<int64_t, Bytes>& fixed, const std::vector<size_t>& until);

// Fills initial, staging_at and instructions.
void write_instructions(const Model& model, const std::vector<Event>& events, const Allocations& allocations,
                        const place::Placement& placement, Plan& plan);

}  // namespace pantoum::plan
