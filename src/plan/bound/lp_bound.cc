#include "plan/bound/lp_bound.h"

#include <algorithm>
#include <utility>

#include "plan/bound/certify.h"
#include "plan/bound/linear_program.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr int kSlackRounds = 4;  // a cut that was slack for so long is forgotten
constexpr size_t kFewColumns = 3000;
constexpr int64_t kFewestPerEffort = 8, kIterationsPerEffort = 600, kSmall = 64;  // stages

LinearProgram::Start start_of(const Relaxation& relaxation) {
  const bool large = relaxation.columns().size() > kFewColumns && !transfers(relaxation.model());
  return large ? LinearProgram::Start::kUpper : LinearProgram::Start::kLower;
}

class LpRounds {
 public:
  LpRounds(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        options_(options),
        limits_(limits),
        program_(relaxation.columns(), start_of(relaxation)),
        separation_(relaxation, {.violation = kSimplexViolation, .clocked = limits.clocked()}) {
    program_.add(relaxation.rows());
  }

  LpBound run() {
    while (solve() && cut()) {
    }
    best_.iterations = program_.iterations();
    best_.separators = separation_.counts();
    return std::move(best_);
  }

 private:
  // False: no cut is wanted after this.
  bool solve() {
    const double left = limits_.clocked() ? limits_.seconds_left() : 0;
    if (limits_.clocked() ? left <= 0 : program_.iterations() >= limits_.iterations) return false;
    const LinearProgram::Answer answer =
        program_.solve(left, limits_.clocked() ? 0 : limits_.iterations - program_.iterations());
    if (answer == LinearProgram::Answer::kInfeasible) return false;
    if (const double bound = program_.proved() + relaxation_.constant(); bound > best_.bound) {
      best_.bound = bound;
      best_.certificate = certify(relaxation_, program_, options_);
      limits_.raised(best_.bound);
    }
    separation_.solved(best_.bound);
    if (answer == LinearProgram::Answer::kStopped) return false;
    best_.point = program_.point();
    if (best_.bound >= limits_.target()) return false;
    return !model_.uses(Switch::kTail) || !tail_.ends(best_.bound, best_.bound - relaxation_.paid());
  }

  // False: the point violates nothing that is known. In-out separation: cuts are sought halfway to a running mean.
  bool cut() {
    if (mean_.empty() || !model_.uses(Switch::kInOut)) mean_ = best_.point;
    for (const ColumnIndex column : mean_.indices()) mean_[column] = (mean_[column] + best_.point[column]) / 2;
    std::vector<Row> cuts = separation_.violated(mean_);
    std::erase_if(cuts, [&](const Row& row) { return !separation_.violates(best_.point, row); });
    if (cuts.empty()) cuts = separation_.violated(best_.point);
    if (cuts.empty()) return false;
    if (model_.uses(Switch::kForgetSlack)) program_.forget_slack(relaxation_.rows().size(), kSlackRounds);
    separation_.kept(cuts);
    program_.add(std::move(cuts));
    return true;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const PlanOptions& options_;
  const LpLimits& limits_;
  LinearProgram program_;
  Separation separation_;
  LpBound best_;
  Tail tail_;
  Point mean_;  // of the solutions
};

}  // namespace

int64_t iterations_for(int64_t effort, const Model& model) {
  return effort * std::max(kFewestPerEffort, kIterationsPerEffort * kSmall / (kSmall + model.stages()));
}

LpBound lp_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  return LpRounds(relaxation, options, limits).run();
}

}  // namespace pantoum::plan
