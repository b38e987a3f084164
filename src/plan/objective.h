// What the objectives mean: names, values, bounds.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"

namespace pantoum::plan {

[[nodiscard]] const char* name_of(Objective objective);  // "energy", "time", "edp"
// "3.91 J", "12 ms", "47 mJ s".
[[nodiscard]] std::string show_value(Objective objective, double value);

// In joules, seconds, or joules times seconds.
[[nodiscard]] inline double value_of(Objective objective, Joules energy, Seconds time) {
  return objective == Objective::kEnergy ? energy : objective == Objective::kTime ? time : energy * time;
}
[[nodiscard]] inline double value_of(Objective objective, const Predicted& predicted) {
  return value_of(objective, predicted.energy_j, predicted.time_s);
}
[[nodiscard]] inline double value_of(const Plan& plan) {
  return value_of(plan.objective, plan.predicted);
}

[[nodiscard]] inline const std::optional<double>& bound_of(const Bound& bound, Objective objective) {
  return objective == Objective::kEnergy ? bound.energy_j : objective == Objective::kTime ? bound.time_s : bound.edp_js;
}
[[nodiscard]] inline std::optional<double>& bound_of(Bound& bound, Objective objective) {
  return objective == Objective::kEnergy ? bound.energy_j : objective == Objective::kTime ? bound.time_s : bound.edp_js;
}
[[nodiscard]] inline const std::optional<double>& bound_of(const Plan& plan) {
  return bound_of(plan.bound, plan.objective);
}

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
