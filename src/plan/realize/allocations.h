// Instruction stream -> allocations in RAM -> offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "place/place.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

// What another program of the same arena holds in RAM, so that one placement serves both.

// A program that runs before or after the one that is planned, never beside it, and finds tensors that both start with at
// the same offsets: an evaluation finds the parameters where training leaves them.
struct OtherProgram {
  std::vector<place::Allocation> all;  // in its own time
  std::map<int64_t, size_t>
      shared;  // by tensor id of the program that is planned: the position in `all` of the same tensor
};

// Offsets of its allocations where those that it shares have these, by tensor id. Nothing: none were found soon, the same on
// every machine.
std::optional<std::vector<place::Bytes>> offsets_beside(const OtherProgram& other,
                                                        const std::map<int64_t, place::Bytes>& initial,
                                                        place::Bytes align, place::Bytes budget);

// A plan of another program of the same arena, as what that program holds in RAM.
// `shared` has the tensors in RAM when the program starts, by their ids in `graph`. Nothing: no policy makes the plan's
// instructions again. Cost: a simulation.
std::optional<OtherProgram> other_program(const CostGraph& graph, const Plan& plan, const PlanOptions& options);

// The allocations of a stream, and which instruction or start each of them belongs to, by their positions in `all`.
struct Allocations {
  std::vector<place::Allocation> all;
  size_t own = 0;  // so many are of the stream; those of other programs follow
  std::optional<size_t> staging;
  std::map<TensorIndex, size_t> initial;
  std::vector<std::vector<size_t>> outputs;      // by event: of what it writes, or of the page_in
  std::vector<std::optional<size_t>> workspace;  // by event
};

// What one placement has to respect beside the instructions of its stream.
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
