// What is proved of an instance: a bound that rises beside the search, or after it.
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
  [[nodiscard]] bool running() const { return running_.load(); }
  // Of the objective. From any thread.
  [[nodiscard]] double bound() const;
  // A policy near the relaxation's last solution, given once. From any thread. None without a clock: when a solution
  // comes would depend on the machine.
  [[nodiscard]] std::optional<Policy> take_near_policy();

  // After run(): of energy and time both; what proves bound(), where a linear program or lines have.
  [[nodiscard]] Bounds bounds() const;
  [[nodiscard]] std::optional<Certificate> certificate() const;
  [[nodiscard]] std::vector<Certificate> lines() const;
  // What the separators of the bound did.
  [[nodiscard]] const std::vector<problem::SeparatorCount>& separators() const;

 private:
  [[nodiscard]] bool by_product() const;
  void offer_near_policy(const Relaxation& relaxation, const Point& point);

  const Instance& instance_;
  BoundSearch sum_;   // of energy, or of time
  EdpBound product_;  // in its place for edp
  std::atomic<bool> running_ = false;
  std::mutex near_mutex_;
  std::optional<Policy> near_policy_;
};

}  // namespace pantoum::plan
