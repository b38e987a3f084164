// What the objectives mean: names, values, bounds.
#pragma once

#include <optional>
#include <string>

#include "problem/plan.h"

namespace pantoum::problem {

const char* name_of(Objective objective);  // "energy", "time", "edp", "weighted"
// "3.91 J", "12 ms", "47 mJ s".
std::string show_value(Objective objective, double value);

// In joules, seconds, or joules times seconds. A weighted sum has weights: the other forms know them.
inline double value_of(Objective objective, Joules energy, Seconds time) {
  return objective == Objective::kEnergy ? energy : objective == Objective::kTime ? time : energy * time;
}
inline double value_of(Objective objective, const Predicted& predicted) {
  return value_of(objective, predicted.energy_j, predicted.time_s);
}
inline double value_of(const Question& question, Joules energy, Seconds time) {
  return question.objective == Objective::kWeighted ? question.weights.joule * energy + question.weights.second * time
                                                    : value_of(question.objective, energy, time);
}
inline double value_of(const Question& question, const Predicted& predicted) {
  return value_of(question, predicted.energy_j, predicted.time_s);
}
inline double value_of(const Plan& plan) {
  return value_of(plan.question, plan.predicted);
}

inline const std::optional<double>& bound_of(const Bound& bound, Objective objective) {
  return objective == Objective::kEnergy     ? bound.energy_j
         : objective == Objective::kTime     ? bound.time_s
         : objective == Objective::kWeighted ? bound.weighted
                                             : bound.edp_js;
}
inline std::optional<double>& bound_of(Bound& bound, Objective objective) {
  return objective == Objective::kEnergy     ? bound.energy_j
         : objective == Objective::kTime     ? bound.time_s
         : objective == Objective::kWeighted ? bound.weighted
                                             : bound.edp_js;
}
inline const std::optional<double>& bound_of(const Plan& plan) {
  return bound_of(plan.bound, plan.question.objective);
}

}  // namespace pantoum::problem
