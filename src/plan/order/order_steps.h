// How much may be done yet: a count that is the same on every machine, and a stop from outside.
#pragma once

#include <cstdint>
#include <stop_token>

namespace pantoum::plan {

class OrderSteps {
 public:
  // A step is an op that is run, taken back or looked at.
  OrderSteps(int64_t steps, const std::stop_token& stop) : left_(steps), stop_(stop) {}
  void take(int64_t steps) { left_ -= steps; }
  [[nodiscard]] bool spent() const { return left_ <= 0 || stop_.stop_requested(); }
  [[nodiscard]] int64_t left() const { return left_; }

 private:
  int64_t left_;
  const std::stop_token& stop_;
};

}  // namespace pantoum::plan
