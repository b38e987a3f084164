// A lower bound on energy times makespan, from supporting hyperplanes: lines that no plan lies below.
//
//   energy |  .  plans            The relaxation proves   energy + price * makespan >= least   for any price of a
//          |\  .   .              second. Price 0 bounds the energy alone, the objective `time` the makespan alone.
//          | \. .    .            What a few such hyperplanes leave is a convex region, and the product is least at
//          |  \__.______          one of its corners. The next hyperplane is sought at the corner of the least
//          +------------ time     product, with the slope of the product there: it cuts the corner off, or is the
//                                 last.
//
// After Benson's outer approximation (J. Global Optimization, 1998).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "plan/bound/boundaries.h"
#include "plan/bound/bounds.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/row.h"
#include "plan/bound/separator.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct Hyperplane {
  double price = 0, least = 0;  // energy + price * makespan >= least
};

struct Corner {
  Joules energy = 0;
  Seconds time = 0;
  double product() const { return energy * time; }
};
// The corner of the least product of what hyperplanes and a least makespan leave; those without a price bound the
// energy.
inline Corner least_corner(const std::vector<Hyperplane>& hyperplanes, Seconds least_time) {
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

class EdpBound {
 public:
  // `least`: bounds that are known already. `any_order`: of all orders of first computations, not of the model's alone.
  EdpBound(const Model& model, const PlanOptions& options, const Bounds& least, bool any_order = false)
      : model_(model), options_(options), any_order_(any_order), least_(least), bound_(least.product) {}

  // Raises the bound until it is within options.gap of the value, nothing helps, or the limits end it. One thread.
  void run(const ProofLimits& limits) {
    limits_ = limits;
    const bool small = model_.stages() <= kAllStages;
    std::vector<Stage> last;
    for (int32_t most = small ? model_.end() : kFewestSegments; most <= kMostSegments; most *= 2) {
      std::vector<Stage> boundaries = choose_boundaries(model_, options_.question.budget_bytes(), most, any_order_);
      if (boundaries == last || !refine(boundaries) || small) return;
      last = std::move(boundaries);
    }
  }

  double bound() const { return bound_.load(); }  // from any thread
  Bounds least() const { return least_; }         // after run()
  // Returns the certificates that prove the bound, after run(); empty if they prove less.
  std::vector<Certificate> hyperplanes() const {
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

  // Returns what the separators did in all relaxations, after run().
  const std::vector<SeparatorCount>& separators() const { return separators_; }

 private:
  static constexpr int32_t kAllStages = 60;   // ops up to which every pressed stage is a boundary at once
  static constexpr int kMostHyperplanes = 8;  // of one set of boundaries, beside those of energy and makespan alone
  static constexpr int64_t kShares = 4;       // a hyperplane takes at most one share of the iterations
  static constexpr double kGain = 1e-6;       // a hyperplane that cuts off less is the last one
  static constexpr double kMostPrice = 1e30;  // of a second, in joules: no certificate has a higher one
  static constexpr double kLongest = 64;  // times the least makespan: what takes longer is far above every hyperplane
  static constexpr double kLongestByValue = 4;  // times the makespan at which the least energy alone exceeds the value

  // False: finished.
  bool refine(const std::vector<Stage>& boundaries) {
    for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
      if (finished()) return false;
      add_hyperplane(asked(objective, 0), boundaries);
    }
    for (int each = 0; each < kMostHyperplanes; ++each) {
      if (finished()) return false;
      const Corner before = corner();
      const double price = before.energy / before.time;
      if (before.product() <= 0 || price > kMostPrice) return false;
      add_hyperplane(asked(Objective::kEnergy, price), boundaries);
      if (corner().product() <= before.product() * (1 + kGain)) return true;
    }
    return true;
  }

  void add_hyperplane(const RelaxationOptions& asked, const std::vector<Stage>& boundaries) {
    const Relaxation relaxation(model_, asked, boundaries);
    const int64_t most = iterations_for(limits_.effort, model_);
    const int64_t left = limits_.effort > 0 ? std::clamp<int64_t>(most - iterations_, 1, most / kShares) : 0;
    keep(lp_bound(relaxation, options_,
                  {.seconds_left = limits_.seconds_left,
                   .iterations = left,
                   .target = [] { return HUGE_VAL; },
                   .raised = [](double) {}}),
         relaxation.options(), relaxation.constant());
  }

  void keep(LpBound found, const RelaxationOptions& asked, double constant) {
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

  RelaxationOptions asked(Objective objective, double second_price) const {
    const double value = limits_.value();
    const Seconds by_value = std::isfinite(value) && least_.energy > 0 ? kLongestByValue * value / least_.energy : 0;
    RelaxationOptions asked{.question = options_.question,
                            .second_price = second_price,
                            .most_seconds = std::max(kLongest * least_.time, by_value),
                            .any_order = any_order_};
    asked.question.objective = objective;
    return asked;
  }

  Corner corner() const {
    std::vector<Hyperplane> hyperplanes = hyperplanes_;
    hyperplanes.push_back({.least = least_.energy});
    return least_corner(hyperplanes, least_.time);
  }
  bool finished() const {
    if (bound() >= enough_for(limits_.value(), options_.gap)) return true;
    return limits_.effort > 0 ? iterations_ >= iterations_for(limits_.effort, model_) : limits_.seconds_left() <= 0;
  }

  const Model& model_;
  const PlanOptions& options_;
  const bool any_order_;
  ProofLimits limits_;
  Bounds least_;
  std::vector<Hyperplane> hyperplanes_;  // with a price
  std::vector<Certificate> certified_;   // of energy, makespan and hyperplanes_
  std::vector<SeparatorCount> separators_;
  std::atomic<double> bound_{0};
  int64_t iterations_ = 0;  // of the simplex
};

}  // namespace pantoum::plan
