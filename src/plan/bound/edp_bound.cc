#include "plan/bound/edp_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/bound/boundaries.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"
#include "plan/bound/tolerances.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kAllStages = 60;     // ops up to which every pressed stage is a boundary at once
constexpr int kMostHyperplanes = 8;    // of one set of boundaries, beside those of energy and makespan alone
constexpr int64_t kShares = 4;         // a hyperplane takes at most one share of the iterations
constexpr double kGain = 1e-6;         // a hyperplane that cuts off less is the last one
constexpr double kMostPrice = 1e30;    // of a second, in joules: no certificate has a higher one
constexpr double kLongest = 64;        // times the least makespan: what takes longer is far above every hyperplane
constexpr double kLongestByValue = 4;  // times the makespan at which the least energy alone exceeds the value

}  // namespace

Corner least_corner(const std::vector<Hyperplane>& hyperplanes, Seconds least_time) {
  Corner start{.energy = 0, .time = least_time};
  for (const Hyperplane& plane : hyperplanes)
    if (plane.price == 0) start.energy = std::max(start.energy, plane.least);
  const auto at = [&](Joules energy) {
    Corner corner{.energy = energy, .time = least_time};
    for (const Hyperplane& plane : hyperplanes)
      if (plane.price > 0) corner.time = std::max(corner.time, (plane.least - energy) / plane.price);
    return corner;
  };
  Corner best = at(start.energy);
  const auto consider = [&](Joules energy) {
    if (energy <= start.energy) return;
    if (const Corner corner = at(energy); corner.product() < best.product()) best = corner;
  };
  for (const Hyperplane& plane : hyperplanes) {
    consider(plane.least - plane.price * least_time);
    for (const Hyperplane& other : hyperplanes)
      if (plane.price > other.price && other.price > 0)
        consider((plane.price * other.least - other.price * plane.least) / (plane.price - other.price));
  }
  return best;
}

EdpBound::EdpBound(const Model& model, const PlanOptions& options, const Bounds& least, bool any_order)
    : model_(model), options_(options), any_order_(any_order), least_(least), bound_(least.product) {}

Corner EdpBound::corner() const {
  std::vector<Hyperplane> hyperplanes = hyperplanes_;
  hyperplanes.push_back({.least = least_.energy});
  return least_corner(hyperplanes, least_.time);
}

bool EdpBound::finished(const Limits& limits) const {
  if (bound() >= enough_for(limits.value(), options_.gap)) return true;
  return limits.effort > 0 ? iterations_ >= iterations_for(limits.effort, model_) : limits.seconds_left() <= 0;
}

RelaxationOptions EdpBound::asked(const Limits& limits, Objective objective, double second_price) const {
  const double value = limits.value();
  const Seconds by_value = std::isfinite(value) && least_.energy > 0 ? kLongestByValue * value / least_.energy : 0;
  RelaxationOptions asked{.question = options_.question,
                          .second_price = second_price,
                          .most_seconds = std::max(kLongest * least_.time, by_value),
                          .any_order = any_order_};
  asked.question.objective = objective;
  return asked;
}

void EdpBound::run(const Limits& limits) {
  const bool small = model_.stages() <= kAllStages;
  std::vector<Stage> last;
  for (int32_t most = small ? model_.end() : kFewestSegments; most <= kMostSegments; most *= 2) {
    std::vector<Stage> boundaries = choose_boundaries(model_, options_.question.budget_bytes(), most, any_order_);
    if (boundaries == last || !refine(boundaries, limits) || small) return;
    last = std::move(boundaries);
  }
}

bool EdpBound::refine(const std::vector<Stage>& boundaries, const Limits& limits) {
  for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
    if (finished(limits)) return false;
    add_hyperplane(asked(limits, objective, 0), boundaries, limits);
  }
  for (int each = 0; each < kMostHyperplanes; ++each) {
    if (finished(limits)) return false;
    const Corner before = corner();
    const double price = before.energy / before.time;
    if (before.product() <= 0 || price > kMostPrice) return false;
    add_hyperplane(asked(limits, Objective::kEnergy, price), boundaries, limits);
    if (corner().product() <= before.product() * (1 + kGain)) return true;
  }
  return true;
}

void EdpBound::add_hyperplane(const RelaxationOptions& asked, const std::vector<Stage>& boundaries,
                              const Limits& limits) {
  const Relaxation relaxation(model_, asked, boundaries);
  const int64_t most = iterations_for(limits.effort, model_);
  const int64_t left = limits.effort > 0 ? std::clamp<int64_t>(most - iterations_, 1, most / kShares) : 0;
  keep(lp_bound(relaxation, options_,
                {.seconds_left = limits.seconds_left,
                 .iterations = left,
                 .target = [] { return HUGE_VAL; },
                 .raised = [](double) {}}),
       relaxation.options(), relaxation.constant());
}

void EdpBound::keep(LpBound found, const RelaxationOptions& asked, double constant) {
  const bool timed = asked.question.objective == Objective::kTime;
  for (SeparatorCount& count : found.separators)
    if (timed) count.bound_moved = 0;  // seconds, where the others are joules
  add_counts(separators_, found.separators);
  iterations_ += found.iterations;
  if (!found.certificate) return;
  const double second = timed ? 1 : model_.idle_w + asked.second_price;
  double& bound = found.certificate->bound;  // of all plans: those that take longer cost no less than by that alone
  if (!asked.question.deadline && asked.most_seconds && second > 0)
    bound = std::min(bound, constant * kMargin + second * *asked.most_seconds);
  const double least = bound * kMargin;
  if (timed)
    least_.time = std::max(least_.time, least);
  else if (asked.second_price > 0)
    hyperplanes_.push_back({.price = asked.second_price, .least = least});
  else
    least_.energy = std::max(least_.energy, least);
  certified_.push_back(std::move(*found.certificate));
  bound_ = std::max(bound_.load(), corner().product() * kMargin);
}

std::vector<Certificate> EdpBound::hyperplanes() const {
  std::vector<Hyperplane> proved;
  Seconds least_time = 0;
  for (const Certificate& certificate : certified_) {
    if (certificate.question.objective == Objective::kTime)
      least_time = std::max(least_time, certificate.bound);
    else
      proved.push_back({certificate.second_price, certificate.bound});
  }
  return least_corner(proved, least_time).product() >= bound() ? certified_ : std::vector<Certificate>{};
}

}  // namespace pantoum::plan
