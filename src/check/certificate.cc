#include "check/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "check/certificate_rows.h"

namespace pantoum::check {
namespace {

using problem::Certificate;

Result<void> check_question(const Certificate& certificate) {
  const auto bad = [](double seconds) { return !(seconds >= 0 && seconds <= kMostQuantity); };
  if (bad(certificate.question.deadline.value_or(0))) return broken("is no time", ".question.deadline_s");
  if (bad(certificate.most_seconds.value_or(0))) return broken("is no time", ".most_seconds");
  if (bad(certificate.question.energy_limit.value_or(0))) return broken("is no energy", ".question.energy_limit_j");
  if (bad(certificate.second_price)) return broken("is no price", ".second_price_w");
  if (certificate.second_price > 0 && certificate.question.objective != problem::Objective::kEnergy)
    return broken("counts beside energy alone", ".second_price_w");
  if (certificate.question.objective == problem::Objective::kEdp)
    return broken("is proved by lines", ".question.objective");
  if (certificate.question.objective == problem::Objective::kRam && !certificate.question.budget)
    return broken("bounds RAM up to a budget, and has none", ".question.budget_bytes");
  if (!std::isfinite(certificate.bound)) return broken("is no bound", ".bound");
  return {};
}

Result<void> add_row(CertificateRows& rows, const Certificate& certificate, size_t row, double multiplier) {
  auto added = rows.add(certificate.rows[row], multiplier);
  if (added) return {};
  Error error = std::move(added).error();
  error.where += fmt::format(".rows[{}]", row);
  return Failure(std::move(error));
}

Result<double> prove_rows(CertificateRows& rows, const Certificate& certificate) {
  for (size_t row = 0; row < certificate.rows.size(); ++row)
    PANTOUM_TRY(add_row(rows, certificate, row, certificate.rows[row].multiplier));
  if (!std::isfinite(rows.total())) return broken("the rows bound nothing: their sum is not finite", ".rows");
  return rows.total();
}

struct Decided {
  Certificate::Decision decision;
  bool value = false;
};

Result<double> prove_case(CertificateRows& rows, const Certificate& certificate, const Certificate::Case& entry,
                          const std::vector<Decided>& decided, const std::string& where) {
  rows.begin_case();
  for (const auto& [decision, value] : decided) rows.decide(decision, value);
  if (rows.too_large()) return broken("the cases have too many decisions to be checked", where);
  for (const Certificate::Part& part : entry.parts) {
    if (part.row < 0 || static_cast<size_t>(part.row) >= certificate.rows.size())
      return broken(fmt::format("{} is no row", part.row), where);
    PANTOUM_TRY(add_row(rows, certificate, static_cast<size_t>(part.row), part.multiplier));
  }
  if (!std::isfinite(rows.total())) return broken("its rows bound nothing: their sum is not finite", where);
  return rows.total();
}

// Every plan decides each variable one way, so it is in exactly one of the cases that decide nothing more; what is
// proved of all of them is the least.
Result<double> prove_cases(CertificateRows& rows, const Certificate& certificate) {
  for (const Certificate::Row& row : certificate.rows)
    if (row.multiplier != 0) return broken("rows of cases have their multipliers there", ".rows");
  std::vector<Decided> decided;
  double least = std::numeric_limits<double>::infinity();
  bool complete = false;
  for (size_t index = 0; index < certificate.cases.size(); ++index) {
    const std::string where = fmt::format(".cases[{}]", index);
    const Certificate::Case& entry = certificate.cases[index];
    if (complete) return broken("no decision leads to the case", where);
    if (entry.decision) {
      if (!entry.parts.empty()) return broken("a case that is decided further has no rows", where);
      auto decides = rows.check_decision(*entry.decision);
      if (!decides) return broken(decides.error().message, where);
      decided.push_back({*entry.decision, false});
      continue;
    }
    PANTOUM_ASSIGN(const double total, prove_case(rows, certificate, entry, decided, where));
    least = std::min(least, total);
    while (!decided.empty() && decided.back().value) decided.pop_back();
    complete = decided.empty();
    if (!complete) decided.back().value = true;
  }
  if (!complete) return broken("a decision has no case of its second way", ".cases");
  return least;
}

}  // namespace

Result<double> check_certificate(const problem::CostGraph& graph, const Certificate& certificate) {
  PANTOUM_TRY(problem::validate(graph));
  PANTOUM_TRY(check_question(certificate));
  PANTOUM_ASSIGN(const StepFacts facts, StepFacts::make(graph, certificate));
  CertificateRows rows(graph, certificate, facts);
  PANTOUM_ASSIGN(const double total,
                 certificate.cases.empty() ? prove_rows(rows, certificate) : prove_cases(rows, certificate));
  const double proved = std::max(0.0, total);  // no plan costs less than nothing
  if (above(certificate.bound, proved))
    return fail("E0806", fmt::format("the certificate claims {} and its rows prove {}", certificate.bound, proved),
                "x-certificate.bound");
  return proved;
}

}  // namespace pantoum::check
