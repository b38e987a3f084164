// What one separator of the planner's lower bound did for a plan.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantities.h"

namespace pantoum::problem {

using base::Seconds;

// Summed over all relaxations of the question.
struct SeparatorCount {
  std::string name;
  bool on = true;     // false: it was switched off, and never asked
  int64_t found = 0;  // rows that it proposed
  int64_t kept = 0;   // of these, the rows that were added to the program
  // By how much the proved bound of a relaxation rose in the rounds that this separator led, in units of the objective.
  // A round goes from one solution of the program to the next; the first separator of the list with a row kept in
  // between leads it, alone or before others. Of branch and bound only the root counts, since another case's bound is
  // not the question's. For `edp`: joules; the relaxation of the makespan alone is left out.
  double bound_moved = 0;
  Seconds seconds = 0;  // in the separator; 0 where a fixed effort stands for the clock

  friend bool operator==(const SeparatorCount&, const SeparatorCount&) = default;
};

}  // namespace pantoum::problem
