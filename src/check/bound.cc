// The bound that a plan claims: its certificates are of its question, and prove it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "check/certificate.h"
#include "check/least_costs.h"
#include "check/words.h"

namespace pantoum::check {
namespace {

struct Freedom {
  bool Freedoms::*allowed;
  const char *key, *does;
};
constexpr Freedom kFreedoms[] = {{&Freedoms::paging, "paging", "page"},
                                 {&Freedoms::recomputing, "recomputing", "recompute"},
                                 {&Freedoms::in_place, "in_place", "compute in place"},
                                 {&Freedoms::reordering, "reordering", "reorder"},
                                 {&Freedoms::numerics, "numerics", "change numerics"},
                                 {&Freedoms::one_slot, "one_slot", "write results over parameters in storage"}};

bool several_numerics(const CostGraph& graph) {
  return std::ranges::any_of(graph.ops, [](const Op& op) {
    return std::ranges::any_of(op.choices,
                               [&](const Choice& choice) { return choice.numerics != op.choices.front().numerics; });
  });
}

// A plan that does what no plan of the certificate does may be below its bound.
Result<void> check_freedoms(const CostGraph& graph, Freedoms asked, const Freedoms& of) {
  if (!several_numerics(graph)) asked.numerics = false;  // nothing could be made of it
  for (const auto& [allowed, key, does] : kFreedoms)
    if (asked.*allowed && !(of.*allowed))
      return broken(fmt::format("is for plans that may not {}, and the plan may", does),
                    fmt::format(".question.freedoms.{}", key));
  return {};
}

Result<void> check_same_order(const Plan& plan, const Certificate& certificate) {
  std::set<int64_t> computed;
  size_t next = 0;
  for (const Instruction& step : plan.instructions) {
    if (step.what != Do::kCompute || !computed.insert(step.subject).second) continue;
    while (next < certificate.order.size() && certificate.order[next] != step.subject) ++next;
    if (next == certificate.order.size())
      return broken(fmt::format("the plan computes op {} first in another order", step.subject), ".order");
  }
  return {};
}

// The certificate's question includes the plan's, and so do its objective (a line may bound the other figure) and its order.
Result<void> check_same_question(const Plan& plan, const Certificate& certificate, bool line) {
  const Question &asked = plan.question, &of = certificate.question;
  const bool other = of.objective != asked.objective && !line;
  if (asked.objective != Objective::kEdp && (other || certificate.second_price > 0))
    return broken("bounds another objective than the plan's", ".question.objective");
  PANTOUM_TRY(check_covers(plan.graph, certificate, asked));
  return certificate.any_order ? Result<void>{} : check_same_order(plan, certificate);
}

// energy + price * makespan >= least, for every plan.
struct Line {
  double price = 0, least = 0;
};

// The least product of energy and time above all lines, rounded down. The makespan that the lines leave at an energy is convex
// in it, with its kinks where two lines meet, and the product of both is least at one of these. A kink's energy is known to
// within an error: the least that it may be, times the makespan at the most that it may be, is no more than its product.
double least_product(const std::vector<Line>& lines, double least_time) {
  constexpr double kRounding = 0x1p-50;  // some operations, relative
  double least_energy = 0;
  for (const Line& line : lines)
    if (line.price == 0) least_energy = std::max(least_energy, line.least);
  const auto time_at = [&](double energy) {
    double time = least_time;
    for (const Line& line : lines) {
      if (line.price <= 0) continue;
      const double error = kRounding * (std::abs(line.least) + energy);
      time = std::max(time, (line.least - energy - error) / line.price * (1 - kRounding));
    }
    return time;
  };
  double least = least_energy * time_at(least_energy);
  const auto try_energy = [&](double energy, double error) {
    if (energy + error <= least_energy) return;
    least = std::min(least, std::max(least_energy, energy - error) * time_at(energy + error));
  };
  for (const Line& line : lines) {
    const double early = line.price * least_time;
    try_energy(line.least - early, kRounding * (line.least + early));
    for (const Line& other : lines) {
      const double apart = line.price - other.price;
      if (!(apart > 0 && other.price > 0)) continue;
      const double steep = line.price * other.least, flat = other.price * line.least;
      try_energy((steep - flat) / apart, kRounding * (steep + flat) / apart);
    }
  }
  return std::max(0.0, least * (1 - kRounding));
}

double product_of(const ProvedBounds& proved, std::vector<Line> lines, const PricedCosts* costs) {
  if (costs != nullptr)
    for (const auto& [price, least] : costs->lines_below_product()) lines.push_back({price, least});
  lines.push_back({0, proved.energy_j});
  return least_product(lines, proved.time_s);
}

Error at_line(Error error, size_t line) {
  error.where += fmt::format(" {}", line);
  return error;
}

// Adds what one certificate proves.
Result<void> add_certificate(const Plan& plan, const Certificate& certificate, ProvedBounds& proved,
                             std::vector<Line>& lines, bool line) {
  PANTOUM_TRY(check_same_question(plan, certificate, line));
  PANTOUM_ASSIGN(const double bound, check_certificate(plan.graph, certificate));
  if (plan.bound.any_order && !certificate.any_order) return {};
  ++proved.certificates;
  if (certificate.question.objective == Objective::kTime)
    proved.time_s = std::max(proved.time_s, bound);
  else if (certificate.question.objective == Objective::kEnergy && certificate.second_price > 0)
    lines.push_back({certificate.second_price, bound});
  else if (certificate.question.objective == Objective::kEnergy)
    proved.energy_j = std::max(proved.energy_j, bound);
  return {};
}

Result<void> add_certificates(const Plan& plan, ProvedBounds& proved, std::vector<Line>& lines) {
  if (plan.certificate) PANTOUM_TRY(add_certificate(plan, *plan.certificate, proved, lines, false));
  for (size_t line = 0; line < plan.lines.size(); ++line) {
    auto added = add_certificate(plan, plan.lines[line], proved, lines, true);
    if (!added) return Failure(at_line(std::move(added).error(), line));
  }
  return {};
}

}  // namespace

Result<void> check_covers(const CostGraph& graph, const Certificate& certificate, const Question& asked) {
  const Question& of = certificate.question;
  const bool any_budget = of.objective == Objective::kRam;  // it is of whoever needs less than it proves
  if (!any_budget && of.budget_bytes() < asked.budget_bytes())
    return broken(fmt::format("is for {} bytes, and the plan's budget is {}", of.budget_bytes(), asked.budget_bytes()),
                  ".question.budget_bytes");
  if (of.deadline && !(asked.deadline && *asked.deadline <= *of.deadline))
    return broken(fmt::format("is for plans within {} s, and the plan need not be", *of.deadline),
                  ".question.deadline_s");
  if (of.energy_limit && !(asked.energy_limit && *asked.energy_limit <= *of.energy_limit))
    return broken(fmt::format("is for plans of at most {} J, and the plan need not be", *of.energy_limit),
                  ".question.energy_limit_j");
  return check_freedoms(graph, asked.freedoms, of.freedoms);
}

namespace {

// `costs`: null where certificates alone count.
Result<ProvedBounds> prove_from(const Plan& plan, const PricedCosts* costs) {
  const Question& asked = plan.question;
  ProvedBounds proved;
  if (costs != nullptr) {
    const bool in_time = asked.objective == Objective::kEnergy && asked.deadline;
    const bool spared = asked.objective == Objective::kTime && asked.energy_limit;
    proved = {.energy_j = costs->at(1, 0).cost, .time_s = costs->at(0, 1).cost};
    if (in_time) proved.energy_j = std::max(proved.energy_j, costs->energy_within(*asked.deadline));
    if (spared) proved.time_s = std::max(proved.time_s, costs->time_within(*asked.energy_limit));
  }
  std::vector<Line> lines;
  PANTOUM_TRY(add_certificates(plan, proved, lines));
  proved.edp_js = product_of(proved, lines, asked.objective == Objective::kEdp ? costs : nullptr);
  return proved;
}

}  // namespace

Result<ProvedBounds> prove_bounds(const Plan& plan) {
  PANTOUM_TRY(problem::validate(plan.graph));
  const PricedCosts costs = priced_costs(plan.graph, plan.question.freedoms, plan.question.budget_bytes());
  return prove_from(plan, &costs);
}

Result<double> check_bound(const Plan& plan, double value) {
  const Objective objective = plan.question.objective;
  const bool product = objective == Objective::kEdp;
  if (product ? plan.lines.empty() : !plan.certificate) return broken("the plan has none");
  PANTOUM_ASSIGN(const ProvedBounds bounds, prove_from(plan, nullptr));
  const bool energy = objective == Objective::kEnergy;
  const double proved = product ? bounds.edp_js : energy ? bounds.energy_j : bounds.time_s;
  const std::optional<double>& claimed = product ? plan.bound.edp_js : energy ? plan.bound.energy_j : plan.bound.time_s;
  if (claimed && plan.bound.any_order && bounds.certificates == 0)
    return fail("E0806", "the bound is claimed for any order, and the certificate proves it for one", "bound.order");
  if (claimed && *claimed > proved)
    return fail("E0806", fmt::format("the plan claims a bound of {}, and its certificate proves {}", *claimed, proved),
                "bound");
  if (above(proved, value))
    return fail("E0806", fmt::format("a bound of {} is proved, and the plan takes {}", proved, value), "x-certificate");
  return proved;
}

}  // namespace pantoum::check
