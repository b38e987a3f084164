// Instruction stream -> allocations in RAM -> offsets.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "place/place.h"
#include "plan/realize/other_program.h"
#include "plan/simulate/event.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// The allocations of a stream, and which instruction or start each of them belongs to, by their positions in `all`.
struct Allocations {
  std::vector<place::Allocation> all;
  size_t own = 0;  // so many are of the stream; those of other programs follow
  std::optional<size_t> staging;
  std::map<TensorIndex, size_t> initial;
  std::vector<std::vector<size_t>> outputs;      // by event: of what it writes, or of the page_in
  std::vector<std::optional<size_t>> workspace;  // by event
};

// What is placed beside a stream's own instructions says.
struct Surroundings {
  std::map<int64_t, Bytes> fixed;                     // initial offsets that are given, by tensor id
  const std::vector<OtherProgram>* others = nullptr;  // whose allocations follow the stream's own
};

// Takeovers, what ends where it began, and what other programs share with the stream, are of one group.
// `until`: by event, for a free the one until which the bytes stay taken; empty: until the free itself.
Allocations make_allocations(const Model& model, const std::vector<Event>& events, const Surroundings& around,
                             const std::vector<size_t>& until);

// Fills initial, staging_at and instructions.
void write_instructions(const Model& model, const std::vector<Event>& events, const Allocations& allocations,
                        const place::Placement& placement, Plan& plan);

}  // namespace pantoum::plan
