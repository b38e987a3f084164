#include "plan/bound/primal_dual_bound.h"

#include <algorithm>
#include <deque>
#include <set>

#include "plan/bound/certify.h"
#include "plan/bound/flow_cuts.h"
#include "plan/bound/memory_cuts.h"
#include "plan/bound/path_cuts.h"
#include "plan/bound/primal_dual.h"

namespace pantoum::plan {
namespace {

constexpr int kRound = 200;                                   // iterations between two separations
constexpr double kViolation = 5e-4, kMemoryViolation = 2e-3;  // the point violates rows by so much anyway
constexpr int kIdleRounds = 3;                                // a cut without a multiplier for so long is forgotten
constexpr size_t kTail = 8;                                   // stop when so many rounds bring less than
constexpr double kTailGain = 3e-5;                            // this part of the overhead
constexpr size_t kKnapsackOps = 3000;  // beyond, working sets of recomputations cost more than they raise

using Key = std::pair<Rule, std::vector<int64_t>>;

// Cuts off the point that the program does not have yet.
std::vector<Row> separate(const Relaxation& relaxation, const std::vector<double>& point, std::set<Key>& known,
                          const std::function<bool()>& stop) {
  std::vector<Row> cuts = path_cuts(relaxation, point, kViolation, stop);
  if (relaxation.model().ops.size() <= kKnapsackOps)
    for (Row& row : memory_cuts(relaxation, point, kMemoryViolation, stop)) cuts.push_back(std::move(row));
  for (Row& row : flow_cuts(relaxation, point, kViolation)) cuts.push_back(std::move(row));
  std::erase_if(cuts, [&](const Row& row) { return !known.insert({row.rule, row.of}).second; });
  return cuts;
}

}  // namespace

LpBound primal_dual_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  PrimalDual program(relaxation.columns());
  program.add(relaxation.rows());
  const size_t base = program.rows();
  const auto stop = [&] { return limits.iterations <= 0 && limits.seconds_left() <= 0; };
  LpBound best;
  std::set<Key> known;
  std::deque<double> history;
  for (;;) {
    const int64_t left = limits.iterations > 0 ? limits.iterations - program.iterations() : kRound;
    if (left <= 0 || stop()) break;
    program.solve(static_cast<int>(std::min<int64_t>(left, kRound)), stop);
    const double value = program.value() + relaxation.constant();
    history.push_back(value);
    if (value > best.bound) {
      best.bound = std::max(best.bound, program.proved() + relaxation.constant());
      limits.raised(best.bound);
    }
    if (best.bound >= limits.target() || stop()) break;
    if (history.size() > kTail) {
      if (value - history.front() < kTailGain * (value - relaxation.constant())) break;
      history.pop_front();
    }
    program.forget_idle(base, kIdleRounds, [&](const Row& row) { known.erase({row.rule, row.of}); });
    program.add(separate(relaxation, program.point(), known, stop));
  }
  best.point = program.point();
  best.iterations = program.iterations();
  if (best.bound > 0) best.certificate = certify(relaxation, program, options);
  return best;
}

}  // namespace pantoum::plan
