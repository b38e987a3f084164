// What another program of the same arena holds in RAM, so that one placement serves both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "place/place.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

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

}  // namespace pantoum::plan
