// Instruction stream -> stays in RAM -> offsets.
#pragma once

#include <map>
#include <vector>

#include "place/place.h"
#include "plan/simulate/event.h"
#include "plan/simulate/model.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Plan;

// The stays of a stream, and which instruction or start each of them belongs to.
struct Stays {
  std::vector<place::Stay> stays;
  int32_t staging = -1;                       // its stay; -1: none
  std::map<int32_t, int32_t> initial;         // tensor -> stay
  std::vector<std::vector<int32_t>> outputs;  // by event: the stays of what it writes, or of the page_in
  std::vector<int32_t> workspace;             // by event; -1: none
};

// Takeovers, and what ends where it began, share a group. `fixed`: initial offsets that are given, by tensor id.
// `until`: by event, for a free the one until which the bytes stay taken; empty: until the free itself.
[[nodiscard]] Stays make_stays(const Model& model, const std::vector<Event>& events,
                               const std::map<int64_t, Bytes>& fixed, const std::vector<size_t>& until);

// Fills initial, staging_at and instructions.
void write_instructions(const Model& model, const std::vector<Event>& events, const Stays& stays,
                        const place::Placement& placement, Plan& plan);

}  // namespace pantoum::plan
