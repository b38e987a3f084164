// The lower bound by linear programming: the relaxation with its cuts, solved in rounds.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/plan_options.h"
#include "problem/certificate.h"
#include "problem/separator_count.h"

namespace pantoum::plan {

using problem::Certificate;

class Relaxation;
struct Model;

struct LpLimits {
  std::function<double()> seconds_left;  // <= 0: stop
  int64_t iterations = 0;                // > 0: iterations of the method in place of the clock
  std::function<double()> target;        // good enough: a bound at or above
  std::function<void(double)> raised;    // told of every better bound

  [[nodiscard]] bool clocked() const { return iterations <= 0; }
};

// What `effort` > 0 buys: fewer where an iteration costs more. About as long as the search for a plan takes by it.
[[nodiscard]] int64_t iterations_for(int64_t effort, const Model& model);

struct LpBound {
  double bound = 0;                                 // proved; of the objective
  std::optional<Certificate> certificate;           // of the bound
  int64_t iterations = 0;                           // of the simplex
  Point point;                                      // of the last solution
  std::vector<problem::SeparatorCount> separators;  // in the order of separators()
};

// Solves `relaxation` and separates until the target, the limits, or a tail of rounds that bring little. `options`:
// those of the relaxation's model.
[[nodiscard]] LpBound lp_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits);

}  // namespace pantoum::plan
