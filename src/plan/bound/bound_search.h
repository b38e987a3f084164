// Raises the proved bound while plans are sought.
//
// Boundary refinement: relaxations with more and more segments. Each is followed by branch and bound on the few
// segments that pressed in it. Where nothing is ever transferred, boundaries come where the last solution holds more
// than the budget: a few stages decide, and branching on these, which comes last, closes the most.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "plan/bound/boundaries.h"
#include "plan/bound/bounds.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/row.h"
#include "plan/bound/separator.h"
#include "plan/simulate/model.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

class BoundSearch {
 public:
  // `least`: a bound that is known already. `any_order`: of all orders of first computations, not of the model's alone.
  BoundSearch(const Model& model, const PlanOptions& options, double least, bool any_order = false)
      : model_(model),
        options_(options),
        any_order_(any_order),
        least_(least),
        bound_(least),
        // Stages that a solution presses on are no chain.
        adaptive_(!any_order && !transfers(model) && model.uses(Switch::kOverfullBoundaries)) {}

  // Raises the bound until it is within options.gap of the value, nothing helps, or the limits end it. One thread.
  void run(const ProofLimits& limits) {
    limits_ = limits;
    spent_ = 0;
    adaptive_ ? run_by_overfull() : run_by_number();
  }

  double bound() const { return bound_.load(); }  // from any thread
  // After run().
  const std::optional<Certificate>& certificate() const { return certificate_; }
  // Returns what the separators did in all relaxations, after run().
  const std::vector<SeparatorCount>& separators() const { return separators_; }

 private:
  static constexpr int32_t kSimplex =
      250;  // ops up to which the simplex proves more in its time than the first-order method
  static constexpr int32_t kBranching = 300;  // ops up to which branching raises a bound in the time that it takes
  static constexpr size_t kSimplexColumns = 8000, kBranchingColumns = 8000;  // the same where nothing is transferred
  static constexpr double kPressing = 1e-3;  // of the overhead proved: a stage presses whose rows weigh more
  static constexpr double kLeastRelaxationRise =
      3e-3;                             // of the overhead proved: boundaries that raise it by less are the last
  static constexpr double kAim = 1.02;  // times what is proved: in place of a plan's value there
  static constexpr int64_t kMostCells = 100'000;  // stages times segments: more have not raised a bound in any time
  static constexpr int64_t kSteps = 4;            // of the first-order method, for an iteration of the simplex
  static constexpr double kFarAbove = 64;         // times what is proved: in place of a plan's value, before the first
  static constexpr double kLeastSeconds =
      1;  // of branching between two relaxations: as long as they took, at least this
  static constexpr int64_t kLeastIterations = 1000;  // the same by effort

  // Branching has no aim before the first plan is found. False: none was, until so many seconds are left.
  bool wait_for_value(double until) const {
    while (!std::isfinite(limits_.value())) {
      if (limits_.effort > 0 || limits_.seconds_left() <= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  // What one relaxation or tree may spend.
  struct Share {
    double until = 0;        // of seconds left
    int64_t iterations = 0;  // in place of the clock
  };
  // Objective per second of the makespan, where that caps it; else 0.
  double second_cost() const {
    if (!model_.uses(Switch::kTimeCap)) return 0;
    return options_.question.objective == Objective::kTime ? 1 : model_.idle_w;
  }

  RelaxationOptions asked() const {
    const double known = limits_.value(), value = std::isfinite(known) ? known : kFarAbove * bound_.load();
    RelaxationOptions asked{.question = options_.question, .any_order = any_order_};
    if (second_cost() > 0) asked.most_seconds = value / second_cost();
    return asked;
  }

  LpLimits limits_of(const RelaxationOptions& asked, const Share& share) {
    const double most = most_proved(asked);
    return {.seconds_left = [this, until = share.until] { return limits_.seconds_left() - until; },
            .iterations = share.iterations,
            .target =
                [this] {
                  const double value = limits_.value();
                  return adaptive_ && !std::isfinite(value) ? kAim * bound_.load() : enough_for(value, options_.gap);
                },
            .raised = [this,
                       most](double bound) { bound_.store(std::max(bound_.load(), std::min(bound, most) * kMargin)); }};
  }

  // Plans that take longer than `most_seconds` cost more than this, and nothing else is known of them.
  double most_proved(const RelaxationOptions& asked) const {
    if (!asked.most_seconds || options_.question.deadline) return HUGE_VAL;
    return *asked.most_seconds * second_cost();
  }

  void keep(std::optional<Certificate>& certificate, const RelaxationOptions& asked) {
    if (certificate) certificate->bound = std::min(certificate->bound, most_proved(asked));
    if (certificate && (!certificate_ || certificate->bound > certificate_->bound))
      certificate_ = std::move(certificate);
  }

  // The boundaries of the next refinement; empty: there is none.
  std::vector<Stage> refined(const std::vector<Stage>& boundaries, int32_t most) const {
    if (most > kMostSegments || (!boundaries.empty() && int64_t{most} * model_.stages() > kMostCells)) return {};
    std::vector<Stage> next = choose_boundaries(model_, options_.question.budget_bytes(), most, any_order_);
    return next == boundaries ? std::vector<Stage>{} : next;
  }

  // Adds the stages that hold too much, or twice as many boundaries if no stage does.
  std::vector<Stage> with_overfull(const std::vector<Stage>& boundaries) const {
    std::vector<Stage> next, more = overfull_;
    if (more.empty())
      more = choose_boundaries(model_, options_.question.budget_bytes(), 2 * static_cast<int32_t>(boundaries.size()));
    std::set_union(boundaries.begin(), boundaries.end(), more.begin(), more.end(), std::back_inserter(next));
    const bool many = static_cast<int64_t>(next.size()) * model_.stages() > kMostCells;
    return many || next.size() == boundaries.size() ? std::vector<Stage>{} : next;
  }

  // Solves the relaxation of these boundaries; returns the stages that press.
  std::vector<Stage> relax(const std::vector<Stage>& boundaries) {
    const Relaxation relaxation(model_, asked(), boundaries);
    const bool small = adaptive_ ? relaxation.columns().size() <= kSimplexColumns : model_.stages() <= kSimplex;
    const bool simplex = small || !model_.uses(Switch::kFirstOrder);
    const int64_t steps = simplex ? 1 : kSteps;
    const int64_t left = limits_.effort == 0 ? 0 : (iterations_for(limits_.effort, model_) - spent_) * steps;
    LpBound found = (simplex ? lp_bound : primal_dual_bound)(relaxation, options_,
                                                             limits_of(relaxation.options(), {.iterations = left}));
    spent_ += (found.iterations + steps - 1) / steps;
    if (limits_.solved && !found.point.empty()) limits_.solved(relaxation, found.point);
    overfull_.clear();
    if (!found.point.empty()) find_overfull(relaxation, found.point);
    std::vector<Stage> pressing =
        found.certificate ? pressing_stages(*found.certificate, adaptive_ ? kPressing * overhead() : 0) : boundaries;
    keep(found.certificate, relaxation.options());
    add_counts(separators_, found.separators);
    return pressing;
  }

  // Returns the share of branching after a relaxation: as long as all took so far.
  Share as_much_again(double begin) const {
    if (limits_.effort > 0)
      return {.iterations =
                  std::min(iterations_for(limits_.effort, model_) - spent_, std::max(kLeastIterations, spent_))};
    const double now = limits_.seconds_left();
    return {.until = std::max(0.0, now - std::max(kLeastSeconds, begin - now))};
  }

  // Branches on these boundaries. True: no more can come of them.
  bool branch(std::vector<Stage> boundaries, const Share& share) {
    if (boundaries.empty() || boundaries.back() != model_.end()) boundaries.push_back(model_.end());
    const Relaxation relaxation(model_, asked(), boundaries);
    if (adaptive_ && relaxation.columns().size() > kBranchingColumns) return true;
    Branched found = branch_and_bound(relaxation, options_, limits_of(relaxation.options(), share));
    keep(found.certificate, relaxation.options());
    add_counts(separators_, found.separators);
    spent_ += found.iterations;
    if (found.whole.empty()) return false;
    if (limits_.solved) limits_.solved(relaxation, found.whole);
    find_overfull(relaxation, found.whole);
    return true;
  }

  // Branches on each of the sets, which were left undone, and on all boundaries last.
  void branch_on_all(const std::vector<std::vector<Stage>>& sets) {
    const int64_t all = iterations_for(limits_.effort, model_);
    for (size_t set = 0; set < sets.size() && !done(); ++set) {
      const bool last = set + 1 == sets.size();
      const double left = limits_.seconds_left();
      branch(sets[set], {.until = last ? 0 : left * (1 - share_of(Attempt::kBranchOnOneSet)),
                         .iterations = limits_.effort == 0 ? 0
                                       : last              ? all - spent_
                                                           : std::max<int64_t>(1, (all - spent_) / 3)});
    }
  }

  void find_overfull(const Relaxation& relaxation, const Point& point) {
    if (!adaptive_) return;
    std::vector<Stage> all, more = overfull_stages(relaxation, point, position_of(relaxation.segments()));
    std::set_union(overfull_.begin(), overfull_.end(), more.begin(), more.end(), std::back_inserter(all));
    overfull_ = std::move(all);
  }

  // Boundaries by number: few, then twice as many, with branching after each.
  void run_by_number() {
    const double begin = limits_.seconds_left();
    const bool branching = model_.stages() <= kBranching && model_.uses(Switch::kBranching);
    std::vector<std::vector<Stage>> undone;
    std::vector<Stage> boundaries;
    for (int32_t most = model_.uses(Switch::kBoundaryRefinement) ? kFewestSegments : kMostSegments;; most *= 2) {
      std::vector<Stage> next = refined(boundaries, most);
      if (next.empty()) break;
      boundaries = std::move(next);
      if (done()) return;
      std::vector<Stage> pressing = relax(boundaries);
      if (done()) return;
      if (!branching) continue;
      const Share share = as_much_again(begin);
      if (!wait_for_value(share.until) || !branch(pressing, share)) undone.push_back(std::move(pressing));
    }
    undone.push_back(boundaries);
    if (branching && wait_for_value(0)) branch_on_all(undone);
  }

  // Boundaries where a point holds too much; branching when that raises the bound no more.
  void run_by_overfull() {
    const int32_t first = model_.uses(Switch::kBoundaryRefinement) ? kFewestSegments : kMostSegments;
    std::vector<Stage> pressing, boundaries = choose_boundaries(model_, options_.question.budget_bytes(), first);
    for (double before = 0; !boundaries.empty(); before = bound_.load()) {
      pressing = relax(boundaries);
      if (done()) return;
      if (overfull_.empty() && bound_.load() - before < kLeastRelaxationRise * overhead()) break;
      boundaries = with_overfull(boundaries);
    }
    if (pressing.empty() || pressing.back() != model_.end()) pressing.push_back(model_.end());
    const bool branching = model_.uses(Switch::kBranching);
    while (branching && !done()) {
      const Share all{.iterations = limits_.effort > 0 ? iterations_for(limits_.effort, model_) - spent_ : 0};
      const double before = bound_.load();
      overfull_.clear();
      const bool decided = branch(pressing, all);
      const bool aimed = !std::isfinite(limits_.value()) && bound_.load() > (1 + kAim) / 2 * before;
      if (!decided && !aimed) return;
      if (decided) pressing = with_overfull(pressing);
      if (pressing.empty()) return;
    }
  }

  // Returns what is proved of the cost of recomputations.
  double overhead() const { return bound_.load() - least_; }

  bool done() const {
    if (bound_.load() >= enough_for(limits_.value(), options_.gap)) return true;
    return limits_.effort > 0 ? spent_ >= iterations_for(limits_.effort, model_) : limits_.seconds_left() <= 0;
  }

  const Model& model_;
  const PlanOptions& options_;
  const bool any_order_;
  const double least_;
  ProofLimits limits_;
  std::atomic<double> bound_;
  std::optional<Certificate> certificate_;
  std::vector<SeparatorCount> separators_;
  const bool adaptive_;          // are boundaries put where a point holds too much?
  int64_t spent_ = 0;            // iterations so far
  std::vector<Stage> overfull_;  // such stages, of the last relaxation and of branching after it
};

}  // namespace pantoum::plan
