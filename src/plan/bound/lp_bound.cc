#include "plan/bound/lp_bound.h"

#include <algorithm>
#include <deque>

#include "plan/bound/certify.h"
#include "plan/bound/flow_cuts.h"
#include "plan/bound/memory_cuts.h"
#include "plan/bound/path_cuts.h"

namespace pantoum::plan {
namespace {

constexpr double kViolation = 1e-4, kMemoryViolation = 1e-3;
constexpr int kSlackRounds = 4;  // a cut that was slack for so long is forgotten
constexpr size_t kTail = 8;      // stop when so many rounds bring less than kTailGain of the overhead
constexpr double kTailGain = 3e-5;
constexpr int64_t kFewestPerEffort = 8, kIterationsPerEffort = 600, kSmall = 64;  // stages

std::vector<Row> separate(const Relaxation& relaxation, const std::vector<double>& point) {
  std::vector<Row> cuts = path_cuts(relaxation, point, kViolation);
  for (Row& row : memory_cuts(relaxation, point, kMemoryViolation)) cuts.push_back(std::move(row));
  for (Row& row : flow_cuts(relaxation, point, kViolation)) cuts.push_back(std::move(row));
  return cuts;
}

}  // namespace

int64_t iterations_for(int64_t effort, const Model& model) {
  return effort * std::max(kFewestPerEffort, kIterationsPerEffort * kSmall / (kSmall + model.stages()));
}

LpBound lp_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  const Model& model = relaxation.model();
  LinearProgram program(relaxation.columns());
  program.add(relaxation.rows());
  const size_t base = program.rows();
  LpBound best{.bound = 0};
  std::deque<double> history;
  std::vector<double> mean;
  for (int round = 0;; ++round) {
    const double left = limits.iterations > 0 ? 0 : limits.seconds_left();
    if (limits.iterations > 0 ? program.iterations() >= limits.iterations : left <= 0) break;
    const LinearProgram::Answer answer =
        program.solve(left, limits.iterations > 0 ? limits.iterations - program.iterations() : 0);
    if (answer == LinearProgram::Answer::kInfeasible) break;
    if (const double bound = program.proved() + relaxation.constant(); bound > best.bound) {
      best.bound = bound;
      best.certificate = certify(relaxation, program, options);
      limits.raised(best.bound);
    }
    if (answer == LinearProgram::Answer::kStopped) break;
    best.point = program.point();
    if (best.bound >= limits.target()) break;
    history.push_back(best.bound);
    if (model.uses(Switch::kTail) && history.size() > kTail) {
      if (best.bound - history.front() < kTailGain * (best.bound - relaxation.constant())) break;
      history.pop_front();
    }
    if (mean.empty() || !model.uses(Switch::kInOut)) mean = best.point;
    std::vector<double> middle(mean.size());
    for (size_t column = 0; column < mean.size(); ++column) middle[column] = (mean[column] + best.point[column]) / 2;
    std::vector<Row> cuts = separate(relaxation, middle);
    const auto violated = [&](const Row& row) {
      double sum = -row.lower;
      for (const Term& term : row.terms) sum += term.factor * best.point[static_cast<size_t>(term.column)];
      const bool seconds = row.rule == Rule::kFlow;
      return sum < -kViolation * (seconds ? relaxation.columns()[static_cast<size_t>(relaxation.makespan())].upper : 1);
    };
    std::erase_if(cuts, [&](const Row& row) { return !violated(row); });
    if (cuts.empty()) cuts = separate(relaxation, best.point);
    if (cuts.empty()) break;
    mean = middle;
    if (model.uses(Switch::kForgetSlack)) program.forget_slack(base, kSlackRounds);
    program.add(std::move(cuts));
  }
  best.iterations = program.iterations();
  return best;
}

}  // namespace pantoum::plan
