#include "plan/bound/bound_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>
#include <utility>

#include "plan/bound/boundaries.h"
#include "plan/bound/bounds.h"
#include "plan/bound/branch.h"
#include "plan/bound/certify.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"
#include "plan/bound/tolerances.h"
#include "plan/simulate/switches.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kSimplex = 250;    // ops up to which the simplex proves more in its time than the first-order method
constexpr int32_t kBranching = 300;  // ops up to which branching raises a bound in the time that it takes
constexpr size_t kSimplexColumns = 8000, kBranchingColumns = 8000;  // the same where nothing is transferred
constexpr double kPressing = 1e-3;             // of the overhead proved: a stage presses whose rows weigh more
constexpr double kLeastRelaxationRise = 3e-3;  // of the overhead proved: boundaries that raise it by less are the last
constexpr double kAim = 1.02;                  // times what is proved: in place of a plan's value there
constexpr int64_t kMostCells = 100'000;        // stages times segments: more have not raised a bound in any time
constexpr int64_t kSteps = 4;                  // of the first-order method, for an iteration of the simplex
constexpr double kFarAbove = 64;               // times what is proved: in place of a plan's value, before the first
constexpr double kLeastSeconds = 1;         // of branching between two relaxations: as long as they took, at least this
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

BoundSearch::BoundSearch(const Model& model, const PlanOptions& options, double least, bool any_order)
    : model_(model),
      options_(options),
      any_order_(any_order),
      least_(least),
      bound_(least),
      // Stages that a solution presses on are no chain.
      adaptive_(!any_order && !transfers(model) && model.uses(Switch::kOverfullBoundaries)) {}

double BoundSearch::second_cost() const {
  if (!model_.uses(Switch::kTimeCap)) return 0;
  return options_.question.objective == Objective::kTime ? 1 : model_.idle_w;
}

RelaxationOptions BoundSearch::asked(const Limits& limits) const {
  const double known = limits.value(), value = std::isfinite(known) ? known : kFarAbove * bound_.load();
  RelaxationOptions asked{.question = options_.question, .any_order = any_order_};
  if (second_cost() > 0) asked.most_seconds = value / second_cost();
  return asked;
}

LpLimits BoundSearch::limits_of(const Limits& limits, const RelaxationOptions& asked, const Share& share) {
  const double most = most_proved(asked);
  return {
      .seconds_left = [&limits, until = share.until] { return limits.seconds_left() - until; },
      .iterations = share.iterations,
      .target =
          [this, &limits] {
            const double value = limits.value();
            return adaptive_ && !std::isfinite(value) ? kAim * bound_.load() : enough_for(value, options_.gap);
          },
      .raised = [this, most](double bound) { bound_.store(std::max(bound_.load(), std::min(bound, most) * kMargin)); }};
}

double BoundSearch::most_proved(const RelaxationOptions& asked) const {
  if (!asked.most_seconds || options_.question.deadline) return HUGE_VAL;
  return *asked.most_seconds * second_cost();
}

void BoundSearch::keep(std::optional<Certificate>& certificate, const RelaxationOptions& asked) {
  if (certificate) certificate->bound = std::min(certificate->bound, most_proved(asked));
  if (certificate && (!certificate_ || certificate->bound > certificate_->bound)) certificate_ = std::move(certificate);
}

bool BoundSearch::done(const Limits& limits, int64_t spent) const {
  if (bound_.load() >= enough_for(limits.value(), options_.gap)) return true;
  return limits.effort > 0 ? spent >= iterations_for(limits.effort, model_) : limits.seconds_left() <= 0;
}

bool BoundSearch::branch(const Limits& limits, std::vector<Stage> boundaries, const Share& share, int64_t& spent) {
  if (boundaries.empty() || boundaries.back() != model_.end()) boundaries.push_back(model_.end());
  const Relaxation relaxation(model_, asked(limits), boundaries);
  if (adaptive_ && relaxation.columns().size() > kBranchingColumns) return true;
  Branched found = branch_and_bound(relaxation, options_, limits_of(limits, relaxation.options(), share));
  keep(found.certificate, relaxation.options());
  add_counts(separators_, found.separators);
  spent += found.iterations;
  if (found.whole.empty()) return false;
  if (limits.solved) limits.solved(relaxation, found.whole);
  find_overfull(relaxation, found.whole);
  return true;
}

void BoundSearch::find_overfull(const Relaxation& relaxation, const Point& point) {
  if (!adaptive_) return;
  std::vector<Stage> all, more = overfull_stages(relaxation, point, base::position_of(relaxation.segments()));
  std::set_union(overfull_.begin(), overfull_.end(), more.begin(), more.end(), std::back_inserter(all));
  overfull_ = std::move(all);
}

void BoundSearch::run(const Limits& limits) {
  adaptive_ ? run_by_overfull(limits) : run_by_number(limits);
}

void BoundSearch::run_by_number(const Limits& limits) {
  const double begin = limits.seconds_left();
  const bool branching = model_.stages() <= kBranching && model_.uses(Switch::kBranching);
  int64_t spent = 0;
  std::vector<std::vector<Stage>> undone;
  std::vector<Stage> boundaries;
  for (int32_t most = model_.uses(Switch::kBoundaryRefinement) ? kFewestSegments : kMostSegments;; most *= 2) {
    std::vector<Stage> next = refined(boundaries, most);
    if (next.empty()) break;
    boundaries = std::move(next);
    if (done(limits, spent)) return;
    std::vector<Stage> pressing = relax(limits, boundaries, spent);
    if (done(limits, spent)) return;
    if (!branching) continue;
    const Share share = as_much_again(limits, begin, spent);
    if (!wait_for_value(limits, share.until) || !branch(limits, pressing, share, spent))
      undone.push_back(std::move(pressing));
  }
  undone.push_back(boundaries);
  if (branching && wait_for_value(limits, 0)) branch_on_all(limits, undone, spent);
}

void BoundSearch::run_by_overfull(const Limits& limits) {
  int64_t spent = 0;
  const int32_t first = model_.uses(Switch::kBoundaryRefinement) ? kFewestSegments : kMostSegments;
  std::vector<Stage> pressing, boundaries = choose_boundaries(model_, options_.question.budget_bytes(), first);
  for (double before = 0; !boundaries.empty(); before = bound_.load()) {
    pressing = relax(limits, boundaries, spent);
    if (done(limits, spent)) return;
    if (overfull_.empty() && bound_.load() - before < kLeastRelaxationRise * overhead()) break;
    boundaries = with_overfull(boundaries);
  }
  if (pressing.empty() || pressing.back() != model_.end()) pressing.push_back(model_.end());
  const bool branching = model_.uses(Switch::kBranching);
  while (branching && !done(limits, spent)) {
    const Share all{.iterations = limits.effort > 0 ? iterations_for(limits.effort, model_) - spent : 0};
    const double before = bound_.load();
    overfull_.clear();
    const bool decided = branch(limits, pressing, all, spent);
    const bool aimed = !std::isfinite(limits.value()) && bound_.load() > (1 + kAim) / 2 * before;
    if (!decided && !aimed) return;
    if (decided) pressing = with_overfull(pressing);
    if (pressing.empty()) return;
  }
}

// What is proved of what recomputations cost.
double BoundSearch::overhead() const {
  return bound_.load() - least_;
}

std::vector<Stage> BoundSearch::refined(const std::vector<Stage>& boundaries, int32_t most) const {
  if (most > kMostSegments || (!boundaries.empty() && int64_t{most} * model_.stages() > kMostCells)) return {};
  std::vector<Stage> next = choose_boundaries(model_, options_.question.budget_bytes(), most, any_order_);
  return next == boundaries ? std::vector<Stage>{} : next;
}

// Where no stage holds too much: twice as many, as ever.
std::vector<Stage> BoundSearch::with_overfull(const std::vector<Stage>& boundaries) const {
  std::vector<Stage> next, more = overfull_;
  if (more.empty())
    more = choose_boundaries(model_, options_.question.budget_bytes(), 2 * static_cast<int32_t>(boundaries.size()));
  std::set_union(boundaries.begin(), boundaries.end(), more.begin(), more.end(), std::back_inserter(next));
  const bool many = static_cast<int64_t>(next.size()) * model_.stages() > kMostCells;
  return many || next.size() == boundaries.size() ? std::vector<Stage>{} : next;
}

std::vector<Stage> BoundSearch::relax(const Limits& limits, const std::vector<Stage>& boundaries, int64_t& spent) {
  const Relaxation relaxation(model_, asked(limits), boundaries);
  const bool small = adaptive_ ? relaxation.columns().size() <= kSimplexColumns : model_.stages() <= kSimplex;
  const bool simplex = small || !model_.uses(Switch::kFirstOrder);
  const int64_t steps = simplex ? 1 : kSteps;
  const int64_t left = limits.effort == 0 ? 0 : (iterations_for(limits.effort, model_) - spent) * steps;
  LpBound found = (simplex ? lp_bound : primal_dual_bound)(
      relaxation, options_, limits_of(limits, relaxation.options(), {.iterations = left}));
  spent += (found.iterations + steps - 1) / steps;
  if (limits.solved && !found.point.empty()) limits.solved(relaxation, found.point);
  overfull_.clear();
  if (!found.point.empty()) find_overfull(relaxation, found.point);
  std::vector<Stage> pressing =
      found.certificate ? pressing_stages(*found.certificate, adaptive_ ? kPressing * overhead() : 0) : boundaries;
  keep(found.certificate, relaxation.options());
  add_counts(separators_, found.separators);
  return pressing;
}

BoundSearch::Share BoundSearch::as_much_again(const Limits& limits, double begin, int64_t spent) const {
  if (limits.effort > 0)
    return {.iterations = std::min(iterations_for(limits.effort, model_) - spent, std::max(kLeastIterations, spent))};
  const double now = limits.seconds_left();
  return {.until = std::max(0.0, now - std::max(kLeastSeconds, begin - now))};
}

void BoundSearch::branch_on_all(const Limits& limits, const std::vector<std::vector<Stage>>& sets, int64_t spent) {
  const int64_t all = iterations_for(limits.effort, model_);
  for (size_t set = 0; set < sets.size() && !done(limits, spent); ++set) {
    const bool last = set + 1 == sets.size();
    const double left = limits.seconds_left();
    branch(limits, sets[set],
           {.until = last ? 0 : left * (1 - share_of(Attempt::kBranchOnOneSet)),
            .iterations = limits.effort == 0 ? 0
                          : last             ? all - spent
                                             : std::max<int64_t>(1, (all - spent) / 3)},
           spent);
  }
}

}  // namespace pantoum::plan
