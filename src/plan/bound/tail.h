// Ends rounds of cuts that bring little.
#pragma once

#include <cstddef>
#include <deque>

namespace pantoum::plan {

class Tail {
 public:
  // After a round: did the last kRounds of them raise the bound by less than kGain of `overhead`, the part of the bound
  // that is not paid anyway?
  [[nodiscard]] bool ends(double bound, double overhead) {
    bounds_.push_back(bound);
    if (bounds_.size() <= kRounds) return false;
    const double raised = bound - bounds_.front();
    bounds_.pop_front();
    return raised < kGain * overhead;
  }

 private:
  static constexpr size_t kRounds = 8;
  static constexpr double kGain = 3e-5;
  std::deque<double> bounds_;
};

}  // namespace pantoum::plan
