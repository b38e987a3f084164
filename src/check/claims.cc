#include "check/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "check/certificate.h"
#include "check/least_costs.h"
#include "problem/objective_values.h"

namespace pantoum::check {
namespace {

constexpr double kPrediction = 1e-9;  // relative

Failure forbidden(const char* does, const char* option, int64_t instruction) {
  return fail("E0807", fmt::format("the plan {}, and its question forbids it ({})", does, option),
              fmt::format("instruction {}", instruction));
}

Result<void> check_freedoms_used(const Freedoms& allowed, const Found& found) {
  const FreedomsUsed& used = found.used;
  if (used.paging && !allowed.paging) return forbidden("pages", "paging", *used.paging);
  if (used.recomputing && !allowed.recomputing) return forbidden("recomputes", "recomputing", *used.recomputing);
  if (used.in_place && !allowed.in_place) return forbidden("computes in place", "in_place", *used.in_place);
  if (used.numerics && !allowed.numerics)
    return forbidden("uses a choice of another numerics class than its op's first", "numerics", *used.numerics);
  if (!found.keeps_order && !allowed.reordering)
    return fail("E0807", "the plan leaves the order of the cost graph, and its question forbids it (reordering)",
                "instructions");
  return {};
}

Result<void> check_limit(const std::optional<double>& limit, const Interval& found, const char* unit) {
  if (!limit || found.high <= *limit) return {};
  return fail("E0802", fmt::format("the step takes up to {} {}, rounding included, and may take {} {}", found.high,
                                   unit, *limit, unit));
}

Result<void> check_predictions(const Plan& plan, const Found& found) {
  const auto refute = [](const char* what, auto claimed, auto real) {
    return fail("E0803", fmt::format("the plan predicts {} {}, and the replay finds {}", what, claimed, real),
                "predicted");
  };
  const auto off = [](double claimed, double real) {
    return !std::isnan(claimed) && !(std::abs(claimed - real) <= kPrediction * std::abs(real));
  };
  const auto& [peak, arena, time, energy] = plan.predicted;
  if (peak >= 0 && peak != found.peak_bytes) return refute("peak_bytes", peak, found.peak_bytes);
  if (arena >= 0 && arena != found.arena_bytes) return refute("arena_bytes", arena, found.arena_bytes);
  if (off(time, found.time_s)) return refute("time_s", time, found.time_s);
  if (off(energy, found.energy_j)) return refute("energy_j", energy, found.energy_j);
  return {};
}

// Returns what the objective is worth; products are rounded outwards. Nothing times anything is nothing.
Interval value_of(Objective objective, const Found& found) {
  if (objective == Objective::kEnergy) return found.energy;
  if (objective == Objective::kTime) return found.time;
  const double high = std::min(found.energy.high, found.time.high) > 0 ? up(found.energy.high * found.time.high) : 0;
  return {std::max(0.0, down(found.energy.low * found.time.low)), high};
}

Result<void> check_claimed(const std::optional<double>& claimed, double proved, const Interval& found, const char* unit,
                           bool any_order) {
  if (!claimed) return {};
  if (!(*claimed <= proved))
    return fail("E0806",
                fmt::format("the plan claims a bound of {} {}{}, and {} is proved", *claimed, unit,
                            any_order ? " for any order" : "", proved),
                "bound");
  if (!(*claimed <= found.low))
    return fail("E0806", fmt::format("the plan claims a bound of {} {}, and takes {}", *claimed, unit, found.low),
                "bound");
  return {};
}

// Returns at least (value - bound) / value.
double gap_of(const Interval& value, double bound) {
  if (value.high <= 0) return 0;
  return std::clamp(up(up(value.high - bound) / value.high), 0.0, 1.0);
}

Result<void> check_gap(const Plan& plan, double gap) {
  if (plan.gap < gap)
    return fail("E0808", fmt::format("the plan claims a gap of {}, and {} is proved", plan.gap, gap), "solver.gap");
  if (plan.status == Status::kOptimal && gap > plan.asked_gap)
    return fail("E0808",
                fmt::format("the plan claims to be optimal within {}, and a gap of {} is proved", plan.asked_gap, gap),
                "status");
  return {};
}

Result<void> check_bounds(const Plan& plan, const Found& found, const ProvedBounds& proved) {
  const Bound& bound = plan.bound;
  PANTOUM_TRY(check_claimed(bound.energy_j, proved.energy_j, found.energy, "J", bound.any_order));
  PANTOUM_TRY(check_claimed(bound.time_s, proved.time_s, found.time, "s", bound.any_order));
  return check_claimed(bound.edp_js, proved.edp_js, value_of(Objective::kEdp, found), "J s", bound.any_order);
}

}  // namespace

Result<void> check_question_kept(const Question& question, const Found& found) {
  if (question.budget && found.arena_bytes > *question.budget)
    return fail("E0802",
                fmt::format("the arena takes {} bytes and the budget is {}", found.arena_bytes, *question.budget));
  PANTOUM_TRY(check_limit(question.deadline, found.time, "s"));
  PANTOUM_TRY(check_limit(question.energy_limit, found.energy, "J"));
  return check_freedoms_used(question.freedoms, found);
}

namespace {

Result<Judgement> judge_plain(const Plan& plan) {
  Judgement judged;
  PANTOUM_ASSIGN(judged.found, replay(plan.graph, plan));
  PANTOUM_TRY(check_question_kept(plan.question, judged.found));
  PANTOUM_TRY(check_predictions(plan, judged.found));
  if (judged.found.uses_storage && plan.storage.empty())
    return fail("E0804", "tensors are in storage, and the plan gives them no place there", "storage");
  PANTOUM_ASSIGN(judged.proved, prove_bounds(plan));
  PANTOUM_TRY(check_bounds(plan, judged.found, judged.proved));
  const Objective objective = plan.question.objective;
  judged.bound = objective == Objective::kEnergy ? judged.proved.energy_j
                 : objective == Objective::kTime ? judged.proved.time_s
                                                 : judged.proved.edp_js;
  const Interval value = value_of(objective, judged.found);
  if (judged.bound > value.high)
    return fail("E0806", fmt::format("a bound of {} is proved, and the plan takes {}", judged.bound, value.high),
                "x-certificate");
  judged.gap = gap_of(value, judged.bound);
  PANTOUM_TRY(check_gap(plan, judged.gap));
  return judged;
}

// A weighted plan's claims of itself are claims of the same instructions on the weighted graph's energy.
Result<Judgement> judge_weighted(const Plan& plan) {
  if (plan.question.energy_limit)
    return fail("E0807", "a weighted objective has no limit on the energy beside it", "question.energy_limit_j");
  if (plan.bound.energy_j || plan.bound.edp_js)
    return fail("E0806", "a weighted plan claims a bound of something else", "bound");
  Judgement judged;
  PANTOUM_ASSIGN(judged.found, replay(plan.graph, plan));
  PANTOUM_TRY(check_predictions(plan, judged.found));
  Plan weighted = plan;
  weighted.graph = problem::weighted_graph(plan.graph, plan.question.weights);
  weighted.question.objective = Objective::kEnergy;
  weighted.question.weights = {};
  weighted.bound.energy_j = plan.bound.weighted;
  weighted.bound.weighted.reset();
  weighted.predicted.energy_j = std::nan("");  // nobody said
  PANTOUM_ASSIGN(Judgement of_sum, judge_plain(weighted));
  // Added up from what was found apart, it is the same.
  const double sum = problem::value_of(plan.question, judged.found.energy_j, judged.found.time_s);
  if (!(std::abs(sum - of_sum.found.energy_j) <= kPrediction * std::abs(sum)))
    return fail("E0001", fmt::format("the weighted sum is {} in one way and {} in another", sum, of_sum.found.energy_j),
                "question.weights", "this is a bug of Pantoum's; please report it with the plan");
  judged.proved = {.energy_j = 0, .time_s = of_sum.proved.time_s, .certificates = of_sum.proved.certificates};
  judged.bound = of_sum.bound;
  judged.gap = of_sum.gap;
  return judged;
}

}  // namespace

Result<Judgement> judge(const Plan& plan) {
  return plan.question.objective == Objective::kWeighted ? judge_weighted(plan) : judge_plain(plan);
}

namespace {

constexpr const char* kUnits[] = {"J", "s", "J s", "bytes", ""};

// Returns what the question allows of a figure; nothing: any number.
std::optional<double> allowed(const Question& question, Objective of) {
  if (of == Objective::kTime) return question.deadline;
  if (of == Objective::kEnergy) return question.energy_limit;
  if (of == Objective::kRam && question.budget) return static_cast<double>(*question.budget);
  return std::nullopt;
}

// Read off the cost graph: of any order.
double least_of(const Refusal& refusal) {
  const LeastCosts least = least_costs(refusal.graph, refusal.question.freedoms, refusal.question.budget_bytes());
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
