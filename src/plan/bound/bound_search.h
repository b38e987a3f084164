// Raises the proved bound while plans are sought.
//
// Boundary refinement: relaxations with more and more segments. Each is followed by branch and bound on the few
// segments that pressed in it. Where nothing is ever transferred, boundaries come where the last solution holds more
// than the budget: a few stages decide, and branching on these, which comes last, closes the most.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

class Relaxation;
struct LpLimits;
struct RelaxationOptions;

class BoundSearch {
 public:
  // `least`: a bound that is known already. `any_order`: of all orders of first computations, not of the model's alone.
  BoundSearch(const Model& model, const PlanOptions& options, double least, bool any_order = false);

  struct Limits {
    std::function<double()> seconds_left;  // <= 0: stop
    std::function<double()> value;         // of the best plan so far; infinity before the first
    int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
    // Told of the solution of each relaxation, and of branching's where it leaves nothing to decide; may be empty.
    std::function<void(const Relaxation&, const Point& point)> solved;
  };
  // Until the bound is within options.gap of the value, or nothing helps, or the limits. One thread.
  void run(const Limits& limits);

  double bound() const { return bound_.load(); }  // from any thread
  // After run().
  const std::optional<Certificate>& certificate() const { return certificate_; }
  // What the separators did in all relaxations. After run().
  const std::vector<SeparatorCount>& separators() const { return separators_; }

 private:
  // What one relaxation or tree may spend.
  struct Share {
    double until = 0;        // of seconds left
    int64_t iterations = 0;  // in place of the clock
  };
  // Objective per second of the makespan, where that caps it; else 0.
  double second_cost() const;
  RelaxationOptions asked(const Limits& limits) const;
  LpLimits limits_of(const Limits& limits, const RelaxationOptions& asked, const Share& share);
  // Plans that take longer than `most_seconds` cost more than this, and nothing else is known of them.
  double most_proved(const RelaxationOptions& asked) const;
  void keep(std::optional<Certificate>& certificate, const RelaxationOptions& asked);
  // The boundaries of the next refinement; empty: there is none.
  std::vector<Stage> refined(const std::vector<Stage>& boundaries, int32_t most) const;
  std::vector<Stage> with_overfull(const std::vector<Stage>& boundaries) const;
  // Solves the relaxation of these boundaries, and adds the iterations to `spent`; the stages that press.
  std::vector<Stage> relax(const Limits& limits, const std::vector<Stage>& boundaries, int64_t& spent);
  // Of branching after a relaxation: as long as all took so far.
  Share as_much_again(const Limits& limits, double begin, int64_t spent) const;
  // Branches on these boundaries; adds the iterations to `spent`. True: no more can come of them.
  bool branch(const Limits& limits, std::vector<Stage> boundaries, const Share& share, int64_t& spent);
  // Branches on each of the sets, which were left undone, and on all boundaries last.
  void branch_on_all(const Limits& limits, const std::vector<std::vector<Stage>>& sets, int64_t spent);
  void find_overfull(const Relaxation& relaxation, const Point& point);
  // Boundaries by number: few, then twice as many, with branching after each.
  void run_by_number(const Limits& limits);
  // Boundaries where a point holds too much; branching when that raises the bound no more.
  void run_by_overfull(const Limits& limits);
  double overhead() const;
  bool done(const Limits& limits, int64_t spent) const;

  const Model& model_;
  const PlanOptions& options_;
  const bool any_order_;
  const double least_;
  std::atomic<double> bound_;
  std::optional<Certificate> certificate_;
  std::vector<SeparatorCount> separators_;
  const bool adaptive_;          // are boundaries put where a point holds too much?
  std::vector<Stage> overfull_;  // such stages, of the last relaxation and of branching after it
};

}  // namespace pantoum::plan
