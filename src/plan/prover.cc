#include "plan/prover.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/bound/boundaries.h"
#include "plan/bound/precedence.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/tolerances.h"
#include "plan/instance.h"
#include "plan/search/lp_rounding.h"

namespace pantoum::plan {
namespace {

constexpr double kAsGood = 1 - 1e-9;  // as the bound of one order
constexpr Seconds kLeastMore = 0.05;  // for a bound of any order, once the plan's own is proved

double of_objective(Objective objective, const Bounds& bounds) {
  return objective == Objective::kEnergy ? bounds.energy : bounds.time;
}

// Does the relaxation of any order have the columns and rows of that of the model's, whichever stages end its segments?
bool same_in_any_order(const Instance& instance) {
  const Model& model = instance.model;
  const Question& asked = instance.options.question;
  const bool timed = asked.objective == Objective::kTime || asked.deadline || model.idle_w > 0;
  if (!asked.freedoms.reordering || (timed && model.async)) return false;  // flows are of one order
  if (!transfers(model)) return false;                                     // boundaries are chosen by what presses
  const auto pressed = [&](bool any) { return choose_boundaries(model, asked.budget_bytes(), model.end(), any); };
  const std::vector<Stage> boundaries = pressed(true);
  if (boundaries != pressed(false)) return false;
  const Windows windows = windows_of(model, common_reads(model), boundaries);
  Segment segment = 0;
  for (const OpModel& op : model.ops) {
    const OpIndex index = Model::op_of(op.stage);
    if (windows.first[index] != segment || (!op.optional && windows.last[index] != segment)) return false;
    if (op.stage == boundaries[base::position_of(segment)]) ++segment;
  }
  return true;
}

}  // namespace

namespace {

class Running {
 public:
  explicit Running(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Prover::Prover(const Instance& instance)
    : instance_(instance),
      same_(same_in_any_order(instance)),
      sum_(instance.model, instance.options, of_objective(instance.objective(), instance.limited), same_),
      product_(instance.model, instance.options, instance.limited),
      any_order_sum_(instance.model, instance.options, of_objective(instance.objective(), instance.limited), true),
      any_order_product_(instance.model, instance.options, instance.limited, true) {}

void Prover::run(const std::function<double()>& seconds_left, const std::function<double()>& value) {
  run_in_order(seconds_left, value);
  const bool more = by_product() || !same_;
  if (more && instance_.options.question.freedoms.reordering) run_in_any_order(seconds_left, value);
}

void Prover::run_in_any_order(const std::function<double()>& seconds_left, const std::function<double()>& value) {
  const bool proved = bound() >= enough_for(value(), instance_.options.gap);
  const double share = share_of(Attempt::kProveAnyOrder);
  const Seconds more = proved ? std::max(kLeastMore, share * instance_.elapsed()) : HUGE_VAL;
  const Seconds until = instance_.elapsed() + more;
  const int64_t effort = instance_.options.effort;
  const auto left = [&] { return std::min(seconds_left(), until - instance_.elapsed()); };
  const int64_t most =
      proved && effort > 0 ? std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(effort))) : effort;
  if (by_product())
    any_order_product_.run({.seconds_left = left, .value = value, .effort = most});
  else
    any_order_sum_.run({.seconds_left = left, .value = value, .effort = most, .solved = {}});
}

void Prover::run_in_order(const std::function<double()>& seconds_left, const std::function<double()>& value) {
  const int64_t effort = instance_.options.effort;
  const Running running(running_);
  instance_.doing.proof = "raising the bound";
  if (by_product()) return product_.run({.seconds_left = seconds_left, .value = value, .effort = effort});
  sum_.run({.seconds_left = seconds_left,
            .value = value,
            .effort = effort,
            .solved = [this](const Relaxation& relaxation, const Point& point) {
              if (instance_.by_clock()) offer_near_policy(relaxation, point);
            }});
}

double Prover::bound() const {
  return by_product() ? product_.bound() : sum_.bound();
}

Prover::Proof Prover::any_order_proof() const {
  Proof proof{.bounds = instance_.limited, .any_order = true};
  if (by_product()) {
    proof.bound = any_order_product_.bound();
    proof.bounds = any_order_product_.least();
    proof.lines = any_order_product_.hyperplanes();
    return proof;
  }
  const BoundSearch& search = same_ ? sum_ : any_order_sum_;
  proof.bound = search.bound();
  (instance_.objective() == Objective::kEnergy ? proof.bounds.energy : proof.bounds.time) = proof.bound;
  const std::optional<Certificate>& certificate = search.certificate();
  if (certificate && certificate->bound >= proof.bound) proof.certificate = certificate;
  return proof;
}

Prover::Proof Prover::proof(double value) const {
  Proof any = any_order_proof();
  const double enough = std::min(enough_for(value, instance_.options.gap), bound() * kAsGood);
  if (any.bound >= enough) return any;
  return {.bound = bound(), .bounds = bounds(), .certificate = certificate(), .lines = lines()};
}

std::optional<Policy> Prover::take_near_policy() {
  const std::lock_guard lock(near_mutex_);
  return std::exchange(near_policy_, std::nullopt);
}

Bounds Prover::bounds() const {
  if (by_product()) return product_.least();
  Bounds proved = instance_.limited;
  (instance_.objective() == Objective::kEnergy ? proved.energy : proved.time) = bound();
  return proved;
}

std::optional<Certificate> Prover::certificate() const {
  if (by_product()) return std::nullopt;
  const std::optional<Certificate>& certificate = sum_.certificate();
  return certificate && certificate->bound >= bound() ? certificate : std::nullopt;
}

std::vector<Certificate> Prover::lines() const {
  return by_product() ? product_.hyperplanes() : std::vector<Certificate>{};
}

const std::vector<SeparatorCount>& Prover::separators() const {
  return by_product() ? product_.separators() : sum_.separators();
}

bool Prover::by_product() const {
  return instance_.objective() == Objective::kEdp;
}

void Prover::offer_near_policy(const Relaxation& relaxation, const Point& point) {
  Policy near = round_lp(relaxation, point, first_choices(instance_.model, instance_.options.question));
  const std::lock_guard lock(near_mutex_);
  near_policy_ = std::move(near);
}

}  // namespace pantoum::plan
