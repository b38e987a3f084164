// What is proved of an instance: a bound that rises beside the search, or after it.
//
// First of plans of the model's order, as the search seeks these. Then, where plans may choose their order, of all: in
// the time that is left, or in a little more once the first is proved. At once of all where the ops that press are a
// chain and no op floats beside it: then both are the same.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "plan/bound/bound_search.h"
#include "plan/bound/edp_bound.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan {

struct Instance;

class Prover {
 public:
  // Keeps the instance by reference.
  explicit Prover(const Instance& instance);

  // Raises the bound until it is within the gap of the value, or nothing helps, or no seconds are left. One thread;
  // `seconds_left` and `value` are asked again and again.
  void run(const std::function<double()>& seconds_left, const std::function<double()>& value);

  // Is run() at work? From any thread.
  bool running() const { return running_.load(); }
  // Of the objective, and of plans of the model's order. From any thread.
  double bound() const;
  // A policy near the relaxation's last solution, given once. From any thread. None without a clock: when a solution
  // comes would depend on the machine.
  std::optional<Policy> take_near_policy();

  // What is said of a plan: of any order where that proves as much, or enough; else of the model's order alone.
  struct Proof {
    double bound = 0;                        // of the objective
    Bounds bounds;                           // of energy and time both
    std::optional<Certificate> certificate;  // of the bound, where a linear program has proved it
    std::vector<Certificate> lines;          // the same for edp
    bool any_order = false;
  };
  // After run(). Of a plan of this value.
  Proof proof(double value) const;
  // After run(). Of all plans, whatever their order: may be less.
  Proof any_order_proof() const;
  // After run(), of the model's order: of energy and time both; what proves bound(), where a linear program or lines have.
  Bounds bounds() const;
  std::optional<Certificate> certificate() const;
  std::vector<Certificate> lines() const;
  // What the separators of the bound did.
  const std::vector<SeparatorCount>& separators() const;

 private:
  bool by_product() const;
  void run_in_order(const std::function<double()>& seconds_left, const std::function<double()>& value);
  void run_in_any_order(const std::function<double()>& seconds_left, const std::function<double()>& value);
  void offer_near_policy(const Relaxation& relaxation, const Point& point);

  const Instance& instance_;
  const bool same_;            // sum_ is of any order, and proves of one no less
  BoundSearch sum_;            // of energy, or of time
  EdpBound product_;           // in its place for edp
  BoundSearch any_order_sum_;  // the same two for all orders
  EdpBound any_order_product_;
  std::atomic<bool> running_ = false;
  std::mutex near_mutex_;
  std::optional<Policy> near_policy_;
};

}  // namespace pantoum::plan
