#include "plan/bound/proof_tree.h"

#include "plan/bound/certify.h"

namespace pantoum::plan {

ProofTree::Parts ProofTree::parts(const LinearProgram& program) {
  Parts parts;
  for (size_t row = 0; row < program.rows(); ++row) {
    const double multiplier = program.multiplier(row);
    if (multiplier <= 0) continue;
    const auto [at, added] =
        known_.try_emplace({program.row(row).rule, program.row(row).of}, static_cast<int32_t>(rows_.size()));
    if (added) rows_.push_back(&*at);
    parts.push_back({at->second, multiplier});
  }
  return parts;
}

std::pair<int32_t, int32_t> ProofTree::split(int32_t place, int32_t column) {
  const auto zero = static_cast<int32_t>(places_.size());
  places_.resize(places_.size() + 2);
  Place& parent = places_[static_cast<size_t>(place)];
  parent = {.column = column, .zero = zero, .one = zero + 1, .parts = {}};
  return {zero, zero + 1};
}

Certificate ProofTree::certificate(double bound, const PlanOptions& options) const {
  Certificate certificate = empty_certificate(relaxation_, options);
  certificate.bound = bound;
  std::vector<int32_t> number(rows_.size(), -1), rest{kRoot};
  while (!rest.empty()) {
    const Place& place = places_[static_cast<size_t>(rest.back())];
    rest.pop_back();
    Certificate::Case& added = certificate.cases.emplace_back();
    if (place.column >= 0) {
      added.decision = relaxation_.decision(place.column);
      rest.insert(rest.end(), {place.one, place.zero});
      continue;
    }
    for (const Certificate::Part& part : place.parts) {
      int32_t& row = number[static_cast<size_t>(part.row)];
      if (row < 0) {
        row = static_cast<int32_t>(certificate.rows.size());
        const auto& [rule, of] = rows_[static_cast<size_t>(part.row)]->first;
        certificate.rows.push_back({.rule = rule, .of = of});
      }
      added.parts.push_back({row, part.multiplier});
    }
  }
  return certificate;
}

}  // namespace pantoum::plan
