// What the cost of a step is worth under a limit.
#pragma once

#include "plan/simulate/outcome.h"
#include "plan/simulate/trial_record.h"

namespace pantoum::plan {

class Valuation {
 public:
  Valuation(const Model& model, const Limit& limit);

  const Limit& limit() const { return limit_; }
  Bytes budget() const { return budget_; }
  // What is left of it in the stage.
  Bytes budget(Stage stage) const { return budget_ - (limit_.reserve ? (*limit_.reserve)[stage] : 0); }
  // Does time matter?
  bool timed() const { return timed_; }
  // Is the makespan more than a sum: does a transfer ever run beside a compute?
  bool clocked() const { return clocked_; }
  // Live bytes before the step.
  Bytes first_live() const { return first_live_; }
  // What a joule and a second count where two ways to do the same are compared.
  const Prices& prices() const { return prices_; }
  // `time`: the makespan; of no account unless time matters.
  Outcome outcome(const StageCost& totals, Seconds time) const;

 private:
  const Model& model_;
  const Limit limit_;
  const Bytes budget_;
  const bool timed_, clocked_;
  Bytes first_live_ = 0, first_stored_ = 0;
  double tie_ = 0;  // of equal makespans the one with fewer bytes moved
  Prices prices_;
};

}  // namespace pantoum::plan
