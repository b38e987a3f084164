// Bounds of seconds and joules over several engines, in any order, with certificates.
//
// Of every op that must run, one computation takes one of the choices: a share of each, in a linear program. The makespan is at least
// what an engine runs of ops that begin late and end early enough (load), and at least any chain of ops with what an
// engine runs between two of them (relay):
//
//     |--head--|  load of one engine  |---tail---|        op -> (load of one engine between) -> op -> op
//
// The most violated of these rows are added until none is left. Where engines have idle power, each set of them is a case, as
// it counts over the whole step. RAM is left out.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/engine_chains.h"

namespace pantoum::plan {

class EngineBound {
 public:
  // Keeps the model by reference.
  explicit EngineBound(const EngineModel& model);

  // No plan takes less, read off the graph: the longest chain, the load of each engine, and of all together; the cheapest
  // choices, and idle power.
  Seconds least_seconds() const { return seconds_; }
  Joules least_joules() const { return joules_; }

  // Proves a bound of the makespan (kTime), or of the energy and a price of each second (kEnergy), for the model's question.
  //   seconds_left  asked before each solution; at 0 the search for rows ends
  //   returns       nothing where the rows prove no more than nothing
  std::optional<Certificate> prove(Objective objective, double second_price,
                                   const std::function<double()>& seconds_left) const;

 private:
  class Relaxation;

  const EngineModel& model_;
  const EngineChains chains_;
  Seconds seconds_ = 0;
  Joules joules_ = 0;
};

}  // namespace pantoum::plan
