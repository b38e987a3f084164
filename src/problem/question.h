// What is asked of a plan: how much RAM, what limits, what it is to have little of, and what it may do.
//
// One question is planned, proved, checked and stored. What is absent is not asked for; no number stands for "none".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/quantities.h"

namespace pantoum::problem {

using base::Bytes;
using base::Joules;
using base::Seconds;

// What a plan is to have little of. kEdp: energy times makespan. kRam, of certificates alone: the bytes that a plan
// needs. kWeighted: a sum of energy and makespan by the question's weights.
enum class Objective : uint8_t { kEnergy, kTime, kEdp, kRam, kWeighted };
inline constexpr const char* kObjectiveNames[] = {"energy", "time", "edp", "ram", "weighted"};

// What a joule and a second count; not negative, not both 0.
struct Weights {
  double joule = 1, second = 0;
  bool operator==(const Weights&) const = default;
};

// What a plan may do. A bound that is proved for some freedoms holds for fewer, never for more.
struct Freedoms {
  bool paging = true;  // tensors go to auxiliary storage and come back
  bool recomputing = true;
  bool in_place = true;    // outputs take over inputs' bytes; updates may in any case
  bool reordering = true;  // first computations in another order than the graph's
  bool numerics = false;   // choices of another numerics class, which change bits
  bool one_slot = false;   // an update's result takes the place of its parameter in storage; a failed step loses both
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
