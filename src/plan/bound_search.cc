#include "plan/bound_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>

#include "plan/branch.h"
#include "plan/certify.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kAllStages = 60;  // ops up to which every pressed stage is a boundary at once
constexpr int32_t kFewest = 8, kMost = 256;
constexpr int64_t kIterationsPerEffort = 2000;
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

RelaxationOptions BoundSearch::asked(const Limits& limits) const {
  const double value = limits.value(), pays = options_.objective == Objective::kTime ? 1 : model_.idle_w;
  return {.ram = options_.ram,
          .deadline = options_.deadline.value_or(0),
          .objective = options_.objective,
          .most_seconds = pays > 0 && std::isfinite(value) ? value / pays : 0};
}

LpLimits BoundSearch::share(const Limits& limits, const RelaxationOptions& asked, const Share& share) {
  // Plans that take longer than `most_seconds` cost more than the value then, and nothing else is known of them.
  const double most = asked.most_seconds > 0 && !options_.deadline ? limits.value() : HUGE_VAL;
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
  std::vector<int32_t> boundaries = choose_boundaries(model_, options_.ram, small ? model_.end() : kFewest);
  for (int32_t slices = small ? kMost : kFewest;; slices *= 2) {
    if (done()) return;
    const Relaxation relaxation(model_, asked(limits), boundaries);
    LpBound found =
        lp_bound(relaxation, options_, share(limits, relaxation.options(), {.iterations = clocked ? 0 : all - spent}));
    spent += found.iterations;
    const std::vector<int32_t> pressing = found.certificate ? pressing_stages(*found.certificate) : boundaries;
    keep(found.certificate);
    if (done()) return;
    std::vector<int32_t> next = slices < kMost ? choose_boundaries(model_, options_.ram, slices * 2) : boundaries;
    const bool last = next == boundaries;
    Share rest{.iterations = clocked ? 0 : all - spent};
    if (!last) {
      const double now = limits.seconds_left();
      rest.until = std::max(0.0, now - std::max(kLeastSeconds, begin - now));
      if (!clocked) rest.iterations = std::min(rest.iterations, std::max(kLeastIterations, spent));
    }
    const bool planned = wait_for_value(limits, rest.until);
    if (planned) spent += branch(limits, pressing, rest);
    // Where that left nothing to decide: beside them more and more of the others.
    for (int32_t more = kFewest; last && planned && !done(); more *= 2) {
      const std::vector<int32_t> others = choose_boundaries(model_, options_.ram, more);
      std::vector<int32_t> joined;
      std::set_union(pressing.begin(), pressing.end(), others.begin(), others.end(), std::back_inserter(joined));
      spent += branch(limits, joined, {.iterations = clocked ? 0 : all - spent});
      if (joined.size() >= boundaries.size()) break;
    }
    if (last) return;
    boundaries = std::move(next);
  }
}

}  // namespace pantoum::plan
