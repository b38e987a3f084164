// What a joule and a second count beside each other.
#pragma once

#include "base/quantities.h"
#include "problem/objective.h"

namespace pantoum::plan {

using base::Joules;
using base::Seconds;
using problem::Objective;

// What a joule and a second count where two ways to do the same are compared; of edp near a plan of these figures.
struct Prices {
  double joule = 1, second = 0;
  [[nodiscard]] double operator()(Joules energy, Seconds time) const { return joule * energy + second * time; }
};
[[nodiscard]] inline Prices prices_of(Objective objective, Joules energy, Seconds time) {
  if (objective == Objective::kEdp) return {.joule = time, .second = energy};
  return objective == Objective::kTime ? Prices{0, 1} : Prices{1, 0};
}

}  // namespace pantoum::plan
