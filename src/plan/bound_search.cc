#include "plan/bound_search.h"

#include <algorithm>
#include <cmath>

#include "plan/primal_dual_bound.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kAllStages = 60;  // ops up to which every pressed stage is a boundary at once
constexpr int32_t kSimplex = 100;   // ops up to which the simplex is as fast as the first-order method
constexpr int32_t kFewest = 8, kMost = 256;
constexpr int64_t kMostCells =
    100'000;  // stages times slices: more have not raised a bound in any time they were given
constexpr int64_t kIterationsPerEffort = 2000, kStepsPerEffort = 8000;  // of the simplex; of the first-order method
constexpr double kMargin = 1 - 1e-9;  // a plan's energy is a sum with rounding of its own

}  // namespace

BoundSearch::BoundSearch(const Model& model, const PlanOptions& options, double least)
    : model_(model), options_(options), bound_(least) {}

void BoundSearch::run(const Limits& limits) {
  const double gap = std::max(options_.gap, 1e-9);
  const auto target = [&] { return limits.value() * (1 - gap); };
  const bool small = model_.stages() <= kAllStages;
  const bool simplex = model_.stages() <= kSimplex;
  int64_t iterations = limits.effort * (simplex ? kIterationsPerEffort : kStepsPerEffort);
  std::vector<int32_t> last;
  for (int32_t slices = small ? model_.end() : kFewest; slices <= kMost; slices *= 2) {
    if (!small && slices > kFewest && int64_t{slices} * model_.stages() > kMostCells) return;
    if (bound_.load() >= target() || (limits.effort == 0 && limits.seconds_left() <= 0)) return;
    std::vector<int32_t> boundaries = choose_boundaries(model_, options_.ram, slices);
    if (boundaries == last) return;
    const bool timed = options_.objective == Objective::kTime;
    const double value = limits.value(), pays = timed ? 1 : model_.idle_w;
    const Relaxation relaxation(model_,
                                {.ram = options_.ram,
                                 .deadline = options_.deadline.value_or(0),
                                 .objective = options_.objective,
                                 .most_seconds = pays > 0 && std::isfinite(value) ? value / pays : 0},
                                boundaries);
    // Plans that take longer than `most_seconds` cost more than `value`, and nothing else is known of them.
    const double most = relaxation.options().most_seconds > 0 && !options_.deadline ? value : HUGE_VAL;
    const auto method = simplex ? lp_bound : primal_dual_bound;
    LpBound found = method(
        relaxation, options_,
        {.seconds_left = limits.seconds_left, .iterations = iterations, .target = target, .raised = [&](double bound) {
           bound_.store(std::max(bound_.load(), std::min(bound, most) * kMargin));
         }});
    if (found.certificate && (!certificate_ || found.certificate->bound > certificate_->bound))
      certificate_ = std::move(found.certificate);
    if (limits.effort > 0) iterations -= found.iterations;
    if (small || (limits.effort > 0 && iterations <= 0)) return;
    last = std::move(boundaries);
  }
}

}  // namespace pantoum::plan
