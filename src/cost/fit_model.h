// Fits the analytic model to measured ops, so that it predicts ops that were not measured.
//
// A row is an op, what it does, and how long it took. The model says factor[family] x seconds(rates, work), with the
// roofline's formula (roofline.h) and three rates at most: flops, bytes (caches along with RAM), overhead. The logarithms are
// fitted, because kernels take 1 us to 1 s and errors are percentages:
//
//   minimize  sum_i rho((log t_i - log model_i) / s)  +  |log rates - log profile's|^2 / 1^2  +  |log factors|^2 / 0.5^2
//
//   rho   Cauchy's: a row that is off by far more than others (another program ran) has little weight
//   s     how much rows scatter about the model: 1.4826 x the median of |error|, anew in each round
//
// The two last sums decide what the rows do not decide. Without rows the profile stays as it is. A family of one row that scatters
// moves half the way. A rate that no row depends on (say that no op is limited by memory) stays in the profile's proportion.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/roofline.h"

namespace pantoum::cost {

struct MeasuredRow {
  std::string family;  // ops of one family share a factor: an operator, or an operator with its algorithm
  Work work;
  Seconds seconds = 0;
};

struct FittedFamily {
  double factor = 1;  // seconds over those that the fitted rates say
  size_t rows = 0;
};

struct FittedModel {
  Compute compute;                               // the profile's, with fitted rates
  std::map<std::string, FittedFamily> families;  // those that have rows; others have the factor 1
  size_t rows = 0, left_out = 0;                 // left out: rows without a time, a finite number or work
  double scatter = 0;                            // s, about the relative error of a typical row; 0: fewer than two rows

  [[nodiscard]] Seconds seconds(const std::string& family, const Work& work) const;
};

// Fits the model. Never fails: unusable rows are left out. Cost: about 50 rounds over the rows. The same rows in the same order give the same model.
[[nodiscard]] FittedModel fit_model(const std::vector<MeasuredRow>& rows, const Compute& profile);

}  // namespace pantoum::cost
