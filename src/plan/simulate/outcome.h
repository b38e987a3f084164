// The limits that judge a policy, its figures, and what these are worth.
#pragma once

#include <limits>
#include <memory>

#include "base/quantities.h"
#include "plan/simulate/indices.h"

namespace pantoum::plan {

struct Limit {
  Question question;  // as the search asks it: less RAM or time than the user's where placing takes its part
  // Bytes of the budget that the policy may not use in each stage, because offsets need them. Null: none.
  std::shared_ptr<const Indexed<Stage, Bytes>> reserve = nullptr;
  bool clock = false;  // the time is told even where nothing asks for it
};

// Lexicographic in spirit: a plan counts when `sound` and all excesses are 0.
struct Outcome {
  bool sound = false;        // the instruction stream exists (nothing lost for good is asked for)
  double value = 0;          // what is minimised
  double excess = 0;         // bytes over the budget, summed over the stages; storage beyond its capacity
  Seconds time_excess = 0;   // after the deadline
  Joules energy_excess = 0;  // above the energy limit
  Joules energy = 0;
  Seconds time = 0;  // 0 unless time matters
  // Does the plan meet the question?
  bool fits() const { return sound && excess == 0 && time_excess == 0 && energy_excess == 0; }
};

// The objective with a price on every byte over the budget, and every second and joule over their limits.
struct Priced {
  double byte_price = 0, second_price = 0, joule_price = 0;
  double operator()(const Outcome& outcome) const {
    return outcome.value + byte_price * outcome.excess + second_price * outcome.time_excess +
           joule_price * outcome.energy_excess;
  }
};

// A neighbour that costs more than `most` is of no interest: where that shows before its time is known, it is not timed.
struct Interest {
  Priced price;
  double most = std::numeric_limits<double>::infinity();
};

// Prices of a joule and a second that compare two ways to do the same. For edp they hold near a plan of these
// figures.
struct Prices {
  double joule = 1, second = 0;
  double operator()(Joules energy, Seconds time) const { return joule * energy + second * time; }
};
inline Prices prices_of(Objective objective, Joules energy, Seconds time) {
  if (objective == Objective::kEdp) return {.joule = time, .second = energy};
  return objective == Objective::kTime ? Prices{0, 1} : Prices{1, 0};
}

}  // namespace pantoum::plan
