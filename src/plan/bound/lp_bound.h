// The lower bound by linear programming: the relaxation with its cuts, solved in rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
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

// Limits of a proof that runs beside the search for a plan. They are asked again and again.
struct ProofLimits {
  std::function<double()> seconds_left;  // <= 0: stop
  std::function<double()> value;         // of the best plan so far; infinity before the first
  int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
  // Told of the solution of each relaxation, and of branching's where it leaves nothing to decide; may be empty.
  std::function<void(const Relaxation& relaxation, const Point& point)> solved = {};
};

// Returns the iterations that `effort` > 0 buys: fewer if an iteration costs more. They take about as long as the
// search for a plan by that effort.
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

// Branch and bound: what the cuts leave of the gap is closed by telling plans apart by what they decide.
//
// Best first. A case's program is that of the relaxation with the decided columns fixed; cuts hold for all cases and
// are shared. The column to branch on is the one whose two cases raise the bound most (strong branching: a few simplex
// iterations for each candidate; what a column brought so far, per unit, stands in once it was tried: reliability
// branching, Achterberg, Koch and Martin, 2005). A candidate with a case that is closed at once is decided for good. A
// case without solution is closed by its ray.

struct Branched {
  double bound = 0;                        // proved; of the objective
  std::optional<Certificate> certificate;  // of the bound
  int64_t iterations = 0;                  // of the simplex, and a few for each solve
  Point whole;                             // where a case left nothing to decide below the target: its point
  std::vector<SeparatorCount> separators;  // in the order of separators()
};

// Raises the bound until it is at the target, the limits end it, or a case leaves nothing to decide. In the last case
// the relaxation has too few boundaries, or the target is above the optimum. `options`: those of the relaxation's
// model.
Branched branch_and_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits);

// The RAM that every plan needs, where limits on time or energy, or what may not be paged, ask for more than the
// largest working set: the relaxation with the RAM itself as its objective.

struct RamBound {
  Bytes bytes = 0;                         // no plan of the model's order, or of any, needs less
  std::string why;                         // the ops at which it is needed
  std::optional<Certificate> certificate;  // objective kRam
};

// At most `seconds`, or `iterations` of the simplex where that is > 0. The budget of `options`: where RAM is short, for
// the boundaries of the segments. `any_order`: of all orders of first computations.
RamBound ram_bound(const Model& model, const PlanOptions& options, double seconds, int64_t iterations,
                   bool any_order = false);

class LinearProgram;
class PrimalDual;

// What a linear program proves, as a certificate that a plan can carry and anyone can check.

// The question, order and boundaries of the relaxation, and as yet no bound and no row.
Certificate empty_certificate(const Relaxation& relaxation, const PlanOptions& options);
// Returns the time row where R pays for its seconds (Relaxation::work_price). Every case has it with that multiplier.
std::optional<Certificate::Row> work_row(const Relaxation& relaxation);

// The rows with a multiplier, of the solution that `program` holds now: to be called where its proved() is taken,
// before rows are added or forgotten (of a PrimalDual: the best multipliers, at any time). `options` are those that the
// relaxation's model was made with. No column's bounds were changed: cases are for a ProofTree.
Certificate certify(const Relaxation& relaxation, const LinearProgram& program, const PlanOptions& options);
Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options);

// The stages that end segments of the certificate whose memory it uses (rows of memory with a multiplier). Few do
// nearly all of the work: a relaxation of these segments alone proves about as much, and is small. Those whose rows
// weigh more than `least`: multiplier times right side, of the objective. Multipliers that are not exact are seldom 0.
std::vector<int32_t> pressing_stages(const Certificate& certificate, double least = 0);

}  // namespace pantoum::plan
