// Proves a bound for an instance. The bound rises during the search, or after it.
//
// First proves a bound for plans of the model's order, because the search makes such plans. If plans may choose their order, then proves a bound for
// all orders, in the time that is left, or in a little more time if the first bound is proved. If the ops that determine the bound form a chain
// beside which no op can move, the two bounds are equal, and it proves the bound for all orders directly.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "plan/bound/bound_search.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/edp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/row.h"
#include "plan/instance.h"
#include "plan/search/search.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan {

class Prover {
 public:
  // Keeps the instance by reference.
  explicit Prover(const Instance& instance)
      : instance_(instance),
        same_(same_in_any_order(instance)),
        sum_(instance.model, instance.options, of_objective(instance.objective(), instance.limited), same_),
        product_(instance.model, instance.options, instance.limited),
        any_order_sum_(instance.model, instance.options, of_objective(instance.objective(), instance.limited), true),
        any_order_product_(instance.model, instance.options, instance.limited, true) {}

  // Raises the bound until it is within the gap of the value, cannot be raised further, or no seconds are left. Uses one thread, and calls
  // `seconds_left` and `value` repeatedly.
  void run(const std::function<double()>& seconds_left, const std::function<double()>& value) {
    ProofLimits limits{.seconds_left = seconds_left, .value = value, .effort = instance_.options.effort};
    {
      const Running running(running_);
      instance_.doing.proof = "raising the bound";
      limits.solved = [this](const Relaxation& relaxation, const Point& point) {
        if (instance_.by_clock()) offer_near_policy(relaxation, point);
      };
      by_product() ? product_.run(limits) : sum_.run(limits);
    }
    if (!instance_.options.question.freedoms.reordering || (same_ && !by_product())) return;
    const ProofLimits more = any_order_limits(limits);
    by_product() ? any_order_product_.run(more) : any_order_sum_.run(more);
  }

  // Returns whether run() is running. Any thread may call it.
  bool running() const { return running_.load(); }
  // Returns the bound of the objective for plans of the model's order. Any thread may ask.
  double bound() const { return by_product() ? product_.bound() : sum_.bound(); }

  // Returns a policy near the relaxation's last solution, each only once. Any thread may call it. Without a time limit returns nullopt, because the
  // moment of a solution would depend on the machine.
  std::optional<Policy> take_near_policy() {
    const std::lock_guard lock(near_mutex_);
    return std::exchange(near_policy_, std::nullopt);
  }

  // The proof for a plan: the bound for any order if that bound is as high or high enough; otherwise the bound for the model's order.
  struct Proof {
    double bound = 0;                        // of the objective
    Bounds bounds;                           // of energy and time both
    std::optional<Certificate> certificate;  // proves the bound, if a linear program proved it
    std::vector<Certificate> lines;          // the same for edp
    bool any_order = false;
  };
  // Returns the proof for a plan of this value. Call it after run().
  Proof proof(double value) const {
    Proof any = any_order_proof();
    const double enough = std::min(enough_for(value, instance_.options.gap), bound() * kAsGood);
    if (any.bound >= enough) return any;
    return order_proof();
  }

  // Returns the bound for plans of any order, which may be lower. Call it after run().
  Proof any_order_proof() const { return proof_by(same_ ? sum_ : any_order_sum_, any_order_product_, true); }

  // Returns the bound for plans of the model's order. Call it after run().
  Proof order_proof() const { return proof_by(sum_, product_, false); }

  // Returns what the separators of the bound did.
  const std::vector<SeparatorCount>& separators() const {
    return by_product() ? product_.separators() : sum_.separators();
  }

 private:
  static constexpr double kAsGood = 1 - 1e-9;  // share of the bound of one order that counts as equally good
  static constexpr Seconds kLeastMore = 0.05;  // for a bound of any order, once the plan's own is proved

  static double of_objective(Objective objective, const Bounds& bounds) {
    return objective == Objective::kEnergy ? bounds.energy : bounds.time;
  }

  // Does the relaxation of any order have the columns and rows of that of the model's, whichever stages end its segments?
  static bool same_in_any_order(const Instance& instance) {
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
      if (op.stage == boundaries[position_of(segment)]) ++segment;
    }
    return true;
  }

  class Running {
   public:
    explicit Running(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
    ~Running() { flag_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::atomic<bool>& flag_;
  };

  bool by_product() const { return instance_.objective() == Objective::kEdp; }
  Proof proof_by(const BoundSearch& sum, const EdpBound& product, bool any_order) const {
    Proof proof{.bounds = instance_.limited, .any_order = any_order};
    if (by_product()) {
      proof.bound = product.bound();
      proof.bounds = product.least();
      proof.lines = product.hyperplanes();
      return proof;
    }
    proof.bound = sum.bound();
    (instance_.objective() == Objective::kEnergy ? proof.bounds.energy : proof.bounds.time) = proof.bound;
    const std::optional<Certificate>& certificate = sum.certificate();
    if (certificate && certificate->bound >= proof.bound) proof.certificate = certificate;
    return proof;
  }

  // Gives the proof for any order a little more time once the plan's own order is proved.
  ProofLimits any_order_limits(const ProofLimits& limits) const {
    ProofLimits more{.seconds_left = limits.seconds_left, .value = limits.value, .effort = limits.effort};
    if (bound() < enough_for(limits.value(), instance_.options.gap)) return more;
    const double share = share_of(Attempt::kProveAnyOrder);
    const Seconds until = instance_.elapsed() + std::max(kLeastMore, share * instance_.elapsed());
    more.seconds_left = [this, until, left = limits.seconds_left] {
      return std::min(left(), until - instance_.elapsed());
    };
    if (limits.effort > 0)
      more.effort = std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(limits.effort)));
    return more;
  }

  void offer_near_policy(const Relaxation& relaxation, const Point& point) {
    Policy near = round_lp(relaxation, point, first_choices(instance_.model, instance_.options.question));
    const std::lock_guard lock(near_mutex_);
    near_policy_ = std::move(near);
  }

  const Instance& instance_;
  const bool same_;            // sum_ is of any order, and proves of one no less
  BoundSearch sum_;            // of energy, or of time
  EdpBound product_;           // replaces sum_ for edp
  BoundSearch any_order_sum_;  // the same two for all orders
  EdpBound any_order_product_;
  std::atomic<bool> running_ = false;
  std::mutex near_mutex_;
  std::optional<Policy> near_policy_;
};

}  // namespace pantoum::plan
