// What branch and bound has proved, case by case, as it grows; in the end a certificate.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plan/bound/linear_program.h"
#include "plan/bound/relaxation.h"

namespace pantoum::plan {

class ProofTree {
 public:
  explicit ProofTree(const Relaxation& relaxation) : relaxation_(relaxation) {}

  // Rows with multipliers: what `program` proves now, for the case of its columns' bounds. Cost: linear in its rows.
  using Parts = std::vector<Certificate::Part>;
  [[nodiscard]] Parts parts(const LinearProgram& program);

  static constexpr int32_t kRoot = 0;
  // Splits a case by a column; the cases of 0 and of 1.
  std::pair<int32_t, int32_t> split(int32_t place, int32_t column);
  void prove(int32_t place, Parts parts) { places_[static_cast<size_t>(place)].parts = std::move(parts); }

  // The cases and the rows that they use, of `bound`; to be called once each case was split or proved.
  [[nodiscard]] Certificate certificate(double bound, const PlanOptions& options) const;

 private:
  struct Place {
    int32_t column = -1, zero = -1, one = -1;
    Parts parts;
  };

  const Relaxation& relaxation_;
  std::map<std::pair<Rule, std::vector<int64_t>>, int32_t> known_;
  std::vector<const std::pair<const std::pair<Rule, std::vector<int64_t>>, int32_t>*> rows_;  // of known_, by number
  std::vector<Place> places_ = std::vector<Place>(1);
};

}  // namespace pantoum::plan
