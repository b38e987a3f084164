#include "plan/prover.h"

#include <utility>

#include "plan/instance.h"
#include "plan/search/lp_rounding.h"

namespace pantoum::plan {

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
      sum_(instance.model, instance.options,
           instance.objective() == Objective::kEnergy ? instance.bounds.energy : instance.bounds.time),
      product_(instance.model, instance.options, instance.bounds) {}

void Prover::run(const std::function<double()>& seconds_left, const std::function<double()>& value) {
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

std::optional<Policy> Prover::take_near_policy() {
  const std::lock_guard lock(near_mutex_);
  return std::exchange(near_policy_, std::nullopt);
}

Bounds Prover::bounds() const {
  if (by_product()) return product_.least();
  Bounds proved = instance_.bounds;
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

const std::vector<problem::SeparatorCount>& Prover::separators() const {
  return by_product() ? product_.separators() : sum_.separators();
}

bool Prover::by_product() const {
  return instance_.objective() == Objective::kEdp;
}

void Prover::offer_near_policy(const Relaxation& relaxation, const Point& point) {
  Policy near = round_lp(relaxation, point, first_choices(instance_.model, instance_.objective()));
  const std::lock_guard lock(near_mutex_);
  near_policy_ = std::move(near);
}

}  // namespace pantoum::plan
