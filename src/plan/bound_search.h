// Raises the proved bound while plans are sought: relaxations with more and more epochs; each is followed by branch and
// bound on the few epochs that pressed in it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "plan/lp_bound.h"
#include "plan/planner.h"

namespace pantoum::plan {

class BoundSearch {
 public:
  // `least`: a bound that is known already.
  BoundSearch(const Model& model, const PlanOptions& options, double least);

  struct Limits {
    std::function<double()> seconds_left;  // <= 0: stop
    std::function<double()> value;         // of the best plan so far; infinity before the first
    int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
  };
  // Until the bound is within options.gap of the value, or nothing helps, or the limits. One thread.
  void run(const Limits& limits);

  [[nodiscard]] double bound() const { return bound_.load(); }                                  // from any thread
  [[nodiscard]] const std::optional<Certificate>& certificate() const { return certificate_; }  // after run()

 private:
  // What one relaxation or tree may spend.
  struct Share {
    double until = 0;        // of seconds left
    int64_t iterations = 0;  // in place of the clock
  };
  [[nodiscard]] double pays() const;  // for a second, in the objective, where that caps the makespan
  [[nodiscard]] RelaxationOptions asked(const Limits& limits) const;
  [[nodiscard]] LpLimits share(const Limits& limits, const RelaxationOptions& asked, const Share& share);
  void keep(std::optional<Certificate>& certificate);
  // Branches on these boundaries; returns the iterations spent.
  int64_t branch(const Limits& limits, std::vector<int32_t> boundaries, const Share& share);

  const Model& model_;
  const PlanOptions& options_;
  std::atomic<double> bound_;
  std::optional<Certificate> certificate_;
};

}  // namespace pantoum::plan
