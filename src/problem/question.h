// What is asked of a plan: how much RAM, what limits, what it is to have little of, and what it may do.
//
// One question is planned, proved, checked and stored. What is absent is not asked for; no number stands for "none".
#pragma once

#include <limits>
#include <optional>

#include "base/quantities.h"
#include "problem/objective.h"

namespace pantoum::problem {

using base::Bytes;
using base::Joules;
using base::Seconds;

// What a plan may do. A bound that is proved for some freedoms holds for fewer, never for more.
struct Freedoms {
  bool paging = true;  // tensors go to auxiliary storage and come back
  bool recomputing = true;
  bool in_place = true;    // outputs take over inputs' bytes; updates may in any case
  bool reordering = true;  // first computations in another order than the graph's
  bool numerics = false;   // choices of another numerics class, which change bits
  bool operator==(const Freedoms&) const = default;
};

struct Question {
  std::optional<Bytes> budget;         // of RAM; > 0
  std::optional<Seconds> deadline;     // on the makespan of a step
  std::optional<Joules> energy_limit;  // on the energy of a step
  Objective objective = Objective::kEnergy;
  Weights weights = {};  // of kWeighted
  Freedoms freedoms;
  bool operator==(const Question&) const = default;

  // The budget as a number: where there is none, more than any graph takes, and small enough to be added to.
  Bytes budget_bytes() const { return budget.value_or(std::numeric_limits<Bytes>::max() / 4); }
};

}  // namespace pantoum::problem
