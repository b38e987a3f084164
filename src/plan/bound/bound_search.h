// Raises the proved bound while plans are sought: relaxations with more and more epochs; each is followed by branch and
// bound on the few epochs that pressed in it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "plan/bound/lp_bound.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

class BoundSearch {
 public:
  // `least`: a bound that is known already.
  BoundSearch(const Model& model, const PlanOptions& options, double least);

  struct Limits {
    std::function<double()> seconds_left;  // <= 0: stop
    std::function<double()> value;         // of the best plan so far; infinity before the first
    int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
    // Told of the solution of each relaxation, and of branching's where it leaves nothing to decide; may be empty.
    std::function<void(const Relaxation&, const std::vector<double>& point)> solved;
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
  [[nodiscard]] LpLimits limits_of(const Limits& limits, const RelaxationOptions& asked, const Share& share);
  // Plans that take longer than `most_seconds` cost more than this, and nothing else is known of them.
  [[nodiscard]] double most_proved(const RelaxationOptions& asked) const;
  void keep(std::optional<Certificate>& certificate, const RelaxationOptions& asked);
  // Branches on these boundaries; adds the iterations to `spent`. True: no more can come of them.
  bool branch(const Limits& limits, std::vector<int32_t> boundaries, const Share& share, int64_t& spent);
  // Branches on each of the sets, which were left undone, and on all boundaries last.
  void branch_on_all(const Limits& limits, const std::vector<std::vector<int32_t>>& sets, int64_t spent);
  [[nodiscard]] bool done(const Limits& limits, int64_t spent) const;

  const Model& model_;
  const PlanOptions& options_;
  std::atomic<double> bound_;
  std::optional<Certificate> certificate_;
};

}  // namespace pantoum::plan
