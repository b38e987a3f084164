#include "plan/bound/proof_tree.h"

#include "plan/bound/certify.h"

namespace pantoum::plan {

ProofTree::Parts ProofTree::parts(const LinearProgram& program) {
  Parts parts;
  for (size_t row = 0; row < program.rows(); ++row) {
    const double multiplier = program.multiplier(row);
    if (multiplier <= 0) continue;
    const auto [at, added] = known_.try_emplace(key_of(program.row(row)), rows_.next_index());
    if (added) rows_.push_back(&*at);
    parts.push_back({at->second, multiplier});
  }
  return parts;
}

std::pair<ProofTree::CaseIndex, ProofTree::CaseIndex> ProofTree::split(CaseIndex place, ColumnIndex column) {
  const CaseIndex zero = cases_.push_back({}), one = cases_.push_back({});
  cases_[place] = {.column = column, .zero = zero, .one = one, .parts = {}};
  return {zero, one};
}

Certificate ProofTree::certificate(double bound, const PlanOptions& options) const {
  Certificate certificate = empty_certificate(relaxation_, options);
  certificate.bound = bound;
  Indexed<int32_t, int32_t> number(rows_.size(), -1);  // of a row here: in the certificate
  const std::optional<Certificate::Row> work = work_row(relaxation_);
  if (work) certificate.rows.push_back({.rule = work->rule, .of = work->of});
  std::vector<CaseIndex> rest{kRoot};
  while (!rest.empty()) {
    const Case& entry = cases_[rest.back()];
    rest.pop_back();
    Certificate::Case& added = certificate.cases.emplace_back();
    if (entry.column.exists()) {
      added.decision = relaxation_.decision(entry.column);
      rest.insert(rest.end(), {entry.one, entry.zero});
      continue;
    }
    if (work) added.parts.push_back({0, work->multiplier});
    for (const Certificate::Part& part : entry.parts) {
      int32_t& row = number[part.row];
      if (row < 0) {
        row = static_cast<int32_t>(certificate.rows.size());
        const auto& [rule, of] = rows_[part.row]->first;
        certificate.rows.push_back({.rule = rule, .of = of});
      }
      added.parts.push_back({row, part.multiplier});
    }
  }
  return certificate;
}

}  // namespace pantoum::plan
