// The lower bound by linear programming: the relaxation with its cuts, solved in rounds.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

class Relaxation;
struct Model;

struct LpLimits {
  std::function<double()> seconds_left;  // <= 0: stop
  int64_t iterations = 0;                // > 0: iterations of the method in place of the clock
  std::function<double()> target;        // good enough: a bound at or above
  std::function<void(double)> raised;    // told of every better bound

  bool clocked() const { return iterations <= 0; }
};

// What `effort` > 0 buys: fewer where an iteration costs more. About as long as the search for a plan takes by it.
int64_t iterations_for(int64_t effort, const Model& model);

struct LpBound {
  double bound = 0;                        // proved; of the objective
  std::optional<Certificate> certificate;  // of the bound
  int64_t iterations = 0;                  // of the simplex
  Point point;                             // of the last solution
  std::vector<SeparatorCount> separators;  // in the order of separators()
};

// Solves `relaxation` and separates until the target, the limits, or a tail of rounds that bring little. `options`:
// those of the relaxation's model.
LpBound lp_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits);

// The lower bound of large relaxations: cuts in rounds, as above, around a first-order method.
//
// A simplex needs a vertex before it can be cut, and gets slower with every row; here a round is a fixed number of
// products with the matrix, cuts are taken off a point from the middle, and the multipliers stay. From some hundred ops
// on it proves in a second what the dual simplex does in thirty.
//
// As lp_bound; iterations are those of the first-order method. The point is no vertex, and only nearly within the rows.
LpBound primal_dual_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits);

// Ends rounds of cuts that bring little.
class Tail {
 public:
  // After a round: did the last kRounds of them raise the bound by less than kGain of `overhead`, the part of the bound
  // that is not paid anyway?
  bool ends(double bound, double overhead) {
    bounds_.push_back(bound);
    if (bounds_.size() <= kRounds) return false;
    const double raised = bound - bounds_.front();
    bounds_.pop_front();
    return raised < kGain * overhead;
  }

 private:
  static constexpr size_t kRounds = 8;
  static constexpr double kGain = 3e-5;
  std::deque<double> bounds_;
};

}  // namespace pantoum::plan
