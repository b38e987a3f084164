#include "plan/bound_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "plan/branch.h"
#include "plan/certify.h"
#include "plan/primal_dual_bound.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kAllStages = 60;  // ops up to which every pressed stage is a boundary at once
constexpr int32_t kSimplex = 250;   // ops up to which the simplex proves more in its time than the first-order method
constexpr int32_t kFewest = 8, kMost = 256;
constexpr int64_t kMostCells =
    100'000;  // stages times slices: more have not raised a bound in any time they were given
constexpr int64_t kIterationsPerEffort = 2000;
constexpr double kFarAbove = 64;            // times what is proved: in place of a plan's value, before the first
constexpr double kMargin = 1 - 1e-9;        // a plan's energy is a sum with rounding of its own
constexpr double kLeastSeconds = 0.3;       // of branching between two relaxations: as long as they took, at least this
constexpr int64_t kLeastIterations = 1000;  // the same by effort

// Branching has no aim before the first plan is found. False: none was, until so many seconds are left.
bool wait_for_value(const BoundSearch::Limits& limits, double until) {
  while (!std::isfinite(limits.value())) {
    if (limits.effort > 0 || limits.seconds_left() <= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace

BoundSearch::BoundSearch(const Model& model, const PlanOptions& options, double least)
    : model_(model), options_(options), bound_(least) {}

double BoundSearch::pays() const {
  if (!model_.uses(Switch::kTimeCap)) return 0;
  return options_.objective == Objective::kTime ? 1 : model_.idle_w;
}

RelaxationOptions BoundSearch::asked(const Limits& limits) const {
  const double known = limits.value(), value = std::isfinite(known) ? known : kFarAbove * bound_.load();
  return {.ram = options_.ram,
          .deadline = options_.deadline.value_or(0),
          .most_energy = options_.most_energy.value_or(0),
          .objective = options_.objective,
          .most_seconds = pays() > 0 ? value / pays() : 0};
}

LpLimits BoundSearch::share(const Limits& limits, const RelaxationOptions& asked, const Share& share) {
  // Plans that take longer than `most_seconds` cost more than this, and nothing else is known of them.
  const double most = asked.most_seconds > 0 && !options_.deadline ? asked.most_seconds * pays() : HUGE_VAL;
  return {
      .seconds_left = [&limits, until = share.until] { return limits.seconds_left() - until; },
      .iterations = share.iterations,
      .target = [&limits, gap = std::max(options_.gap, 1e-9)] { return limits.value() * (1 - gap); },
      .raised = [this, most](double bound) { bound_.store(std::max(bound_.load(), std::min(bound, most) * kMargin)); }};
}

void BoundSearch::keep(std::optional<Certificate>& certificate) {
  if (certificate && (!certificate_ || certificate->bound > certificate_->bound)) certificate_ = std::move(certificate);
}

int64_t BoundSearch::branch(const Limits& limits, std::vector<int32_t> boundaries, const Share& spent) {
  if (boundaries.empty() || boundaries.back() != model_.end()) boundaries.push_back(model_.end());
  const Relaxation relaxation(model_, asked(limits), boundaries);
  Branched found = branch_and_bound(relaxation, options_, share(limits, relaxation.options(), spent));
  keep(found.certificate);
  return found.iterations;
}

void BoundSearch::run(const Limits& limits) {
  const bool small = model_.stages() <= kAllStages, clocked = limits.effort == 0;
  const int64_t all = limits.effort * kIterationsPerEffort;
  const double begin = limits.seconds_left();
  int64_t spent = 0;
  const auto done = [&] {
    const double gap = std::max(options_.gap, 1e-9);
    return bound_.load() >= limits.value() * (1 - gap) || (clocked ? limits.seconds_left() <= 0 : spent >= all);
  };
  const bool simplex = model_.stages() <= kSimplex || !model_.uses(Switch::kFirstOrder);
  const auto method = simplex ? lp_bound : primal_dual_bound;
  const int32_t first = small || !model_.uses(Switch::kLadder) ? kMost : kFewest;
  std::vector<int32_t> boundaries = choose_boundaries(model_, options_.ram, small ? model_.end() : first);
  for (int32_t slices = first;; slices *= 2) {
    if (done()) return;
    const Relaxation relaxation(model_, asked(limits), boundaries);
    LpBound found =
        method(relaxation, options_, share(limits, relaxation.options(), {.iterations = clocked ? 0 : all - spent}));
    spent += found.iterations;
    const std::vector<int32_t> pressing = found.certificate ? pressing_stages(*found.certificate) : boundaries;
    keep(found.certificate);
    if (done()) return;
    const bool finer = slices < kMost && int64_t{2} * slices * model_.stages() <= kMostCells;
    std::vector<int32_t> next = finer ? choose_boundaries(model_, options_.ram, slices * 2) : boundaries;
    const bool last = next == boundaries;
    Share rest{.iterations = clocked ? 0 : all - spent};
    if (!last) {
      const double now = limits.seconds_left();
      rest.until = std::max(0.0, now - std::max(kLeastSeconds, begin - now));
      if (!clocked) rest.iterations = std::min(rest.iterations, std::max(kLeastIterations, spent));
    }
    if (model_.uses(Switch::kBranching) && wait_for_value(limits, rest.until)) {
      spent += branch(limits, pressing, rest);
      if (last && !done()) branch(limits, boundaries, {.iterations = clocked ? 0 : all - spent});
    }
    if (last) return;
    boundaries = std::move(next);
  }
}

}  // namespace pantoum::plan
