#include "check/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "check/certificate.h"
#include "check/claims.h"
#include "check/least_costs.h"

namespace pantoum::check {
namespace {

constexpr const char* kUnits[] = {"J", "s", "J s", "bytes", ""};

// What the question allows of it; none: any number.
std::optional<double> allowed(const Question& question, Objective of) {
  if (of == Objective::kTime) return question.deadline;
  if (of == Objective::kEnergy) return question.energy_limit;
  if (of == Objective::kRam && question.budget) return static_cast<double>(*question.budget);
  return std::nullopt;
}

// Read off the cost graph: of any order.
double least_of(const Refusal& refusal) {
  const LeastCosts least = least_costs(refusal.graph, refusal.question.freedoms);
  return refusal.of == Objective::kTime     ? least.time_s
         : refusal.of == Objective::kEnergy ? least.energy_j
                                            : static_cast<double>(least.ram_bytes);
}

Result<double> least_by_certificate(const Refusal& refusal) {
  const Certificate& certificate = *refusal.certificate;
  if (certificate.question.objective != refusal.of || certificate.second_price > 0)
    return fail("E0805", "bounds something else than what the refusal is of", "certificate.question.objective");
  PANTOUM_TRY(check_covers(refusal.graph, certificate, refusal.question));
  PANTOUM_ASSIGN(const double proved, check_certificate(refusal.graph, certificate));
  if (refusal.any_order && !certificate.any_order)
    return fail("E0809", "it is claimed for any order, and the certificate proves it for one", "proved.order");
  if (!certificate.any_order && certificate.order != refusal.graph.order)
    return fail("E0809", "the certificate is of another order than the graph's", "certificate.order");
  return refusal.of == Objective::kRam ? std::ceil(proved) : proved;  // bytes are whole
}

Result<void> check_known_plan(const Refusal& refusal) {
  if (!refusal.plan) return {};
  Plan plan = *refusal.plan;
  plan.graph = refusal.graph;
  const Result<Judgement> judged = judge(plan);
  if (!judged) {
    Error error = judged.error();
    error.where = "plan: " + error.where;
    return Failure(std::move(error));
  }
  if (check_question_kept(refusal.question, judged->found))
    return fail("E0809", "the plan that it knows answers the question", "plan");
  return {};
}

}  // namespace

Result<double> check_refusal(const Refusal& refusal) {
  PANTOUM_TRY(problem::validate(refusal.graph));
  if (refusal.question.freedoms.reordering && !refusal.any_order)
    return fail("E0809", "it is proved for one order, and the question allows any", "proved.order");
  double proved = least_of(refusal);
  if (refusal.certificate) {
    PANTOUM_ASSIGN(const double by_certificate, least_by_certificate(refusal));
    proved = std::max(proved, by_certificate);
  }
  const char* unit = kUnits[static_cast<size_t>(refusal.of)];
  if (!(refusal.least <= proved))
    return fail("E0809",
                fmt::format("it claims that at least {} {} are needed, and {} are proved", refusal.least, unit, proved),
                "proved.least");
  const std::optional<double> most = allowed(refusal.question, refusal.of);
  if (!most || !(refusal.least > *most))
    return fail("E0809",
                most ? fmt::format("{} {} are needed, and the question allows {}", refusal.least, unit, *most)
                     : fmt::format("the question allows any number of {}", unit),
                "proved");
  PANTOUM_TRY(check_known_plan(refusal));
  return proved;
}

}  // namespace pantoum::check
