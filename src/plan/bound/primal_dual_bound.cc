#include "plan/bound/lp_bound.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/bound/certify.h"
#include "plan/bound/primal_dual.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"

namespace pantoum::plan {
namespace {

constexpr int kRound = 200;            // iterations between two separations
constexpr int kIdleRounds = 3;         // a cut without a multiplier for so long is forgotten
constexpr size_t kKnapsackOps = 3000;  // beyond, working sets of recomputations cost more than they raise

}  // namespace

LpBound primal_dual_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  PrimalDual program(relaxation.columns());
  program.add(relaxation.rows());
  const auto stop = [&] { return limits.clocked() && limits.seconds_left() <= 0; };
  Separation separation(
      relaxation,
      {.violation = kFirstOrderViolation, .knapsack_ops = kKnapsackOps, .clocked = limits.clocked(), .stop = stop});
  LpBound best;
  std::set<RowKey> known;  // cuts that the program has
  Tail tail;
  for (;;) {
    const int64_t left = limits.clocked() ? kRound : limits.iterations - program.iterations();
    if (left <= 0 || stop()) break;
    program.solve(static_cast<int>(std::min<int64_t>(left, kRound)), stop);
    const double value = program.value() + relaxation.constant();
    if (value > best.bound) {
      best.bound = std::max(best.bound, program.proved() + relaxation.constant());
      limits.raised(best.bound);
    }
    separation.solved(best.bound);
    if (best.bound >= limits.target() || stop() || tail.ends(value, value - relaxation.paid())) break;
    program.forget_idle(relaxation.rows().size(), kIdleRounds, [&](const Row& row) { known.erase(key_of(row)); });
    std::vector<Row> cuts = separation.violated(program.point());
    std::erase_if(cuts, [&](const Row& row) { return !known.insert(key_of(row)).second; });
    separation.kept(cuts);
    program.add(std::move(cuts));
  }
  best.point = program.point();
  best.iterations = program.iterations();
  best.separators = separation.counts();
  if (best.bound > 0) best.certificate = certify(relaxation, program, options);
  return best;
}

}  // namespace pantoum::plan
