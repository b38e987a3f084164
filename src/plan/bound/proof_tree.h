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

  using CaseIndex = Index<struct CaseTag>;
  static constexpr CaseIndex kRoot{0};
  // Splits a case by a column; the cases of 0 and of 1.
  std::pair<CaseIndex, CaseIndex> split(CaseIndex place, ColumnIndex column);
  void prove(CaseIndex place, Parts parts) { cases_[place].parts = std::move(parts); }

  // The cases and the rows that they use, of `bound`; to be called once each case was split or proved.
  [[nodiscard]] Certificate certificate(double bound, const PlanOptions& options) const;

 private:
  struct Case {
    ColumnIndex column;   // by which it is split; none: it is not
    CaseIndex zero, one;  // then
    Parts parts;
  };

  const Relaxation& relaxation_;
  using Numbers = std::map<RowKey, int32_t>;
  Numbers known_;
  Indexed<int32_t, const Numbers::value_type*> rows_;  // of known_, by number
  Indexed<CaseIndex, Case> cases_ = Indexed<CaseIndex, Case>(1);
};

}  // namespace pantoum::plan
