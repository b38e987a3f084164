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

#include <atomic>
#include <functional>
#include <vector>

#include "plan/bound/bounds.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct LpBound;
struct RelaxationOptions;

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
Corner least_corner(const std::vector<Hyperplane>& hyperplanes, Seconds least_time);

class EdpBound {
 public:
  // `least`: bounds that are known already. `any_order`: of all orders of first computations, not of the model's alone.
  EdpBound(const Model& model, const PlanOptions& options, const Bounds& least, bool any_order = false);

  struct Limits {
    std::function<double()> seconds_left;  // <= 0: stop
    std::function<double()> value;         // of the best plan so far; infinity before the first
    int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
  };
  // Until the bound is within options.gap of the value, or nothing helps, or the limits. One thread.
  void run(const Limits& limits);

  double bound() const { return bound_.load(); }  // from any thread
  Bounds least() const { return least_; }         // after run()
  // That prove the bound; empty where they prove less. After run().
  std::vector<Certificate> hyperplanes() const;
  // What the separators did in all relaxations. After run().
  const std::vector<SeparatorCount>& separators() const { return separators_; }

 private:
  // False: finished.
  bool refine(const std::vector<Stage>& boundaries, const Limits& limits);
  void add_hyperplane(const RelaxationOptions& asked, const std::vector<Stage>& boundaries, const Limits& limits);
  void keep(LpBound found, const RelaxationOptions& asked, double constant);
  RelaxationOptions asked(const Limits& limits, Objective objective, double second_price) const;
  Corner corner() const;
  bool finished(const Limits& limits) const;

  const Model& model_;
  const PlanOptions& options_;
  const bool any_order_;
  Bounds least_;
  std::vector<Hyperplane> hyperplanes_;  // with a price
  std::vector<Certificate> certified_;   // of energy, makespan and hyperplanes_
  std::vector<SeparatorCount> separators_;
  std::atomic<double> bound_{0};
  int64_t iterations_ = 0;  // of the simplex
};

}  // namespace pantoum::plan
