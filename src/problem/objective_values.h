// What the objectives mean: names, values, bounds.
#pragma once

#include <optional>
#include <string>

#include "problem/plan.h"

namespace pantoum::problem {

inline const char* name_of(Objective objective) {
  return kObjectiveNames[static_cast<size_t>(objective)];
}
// "3.91 J", "12 ms", "47 mJ s".
std::string show_value(Objective objective, double value);

// Returns the value in joules, seconds, or joules times seconds. The overloads with a question know the weights of a
// weighted sum.
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

template <class AnyBound>  // Bound, constant or not
auto& bound_of(AnyBound& bound, Objective objective) {
  return objective == Objective::kEnergy     ? bound.energy_j
         : objective == Objective::kTime     ? bound.time_s
         : objective == Objective::kWeighted ? bound.weighted
                                             : bound.edp_js;
}
inline const std::optional<double>& bound_of(const Plan& plan) {
  return bound_of(plan.bound, plan.question.objective);
}

// A weighted sum of energy and makespan is the energy of another graph.
// The graph whose every plan takes as many joules as the same plan of `graph` takes in joules times weights.joule and
// seconds times weights.second: each cost is multiplied, and idling counts the seconds. Times, bytes and structure stay.
CostGraph weighted_graph(const CostGraph& graph, const Weights& weights);

}  // namespace pantoum::problem
