// The bound that a plan claims: its certificates are of its question, and prove it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "check/certificate.h"
#include "check/certificate_faults.h"

namespace pantoum::check {
namespace {

using problem::Certificate;

struct Freedom {
  bool problem::Freedoms::*allowed;
  const char *key, *does;
};
constexpr Freedom kFreedoms[] = {{&problem::Freedoms::paging, "paging", "page"},
                                 {&problem::Freedoms::recomputing, "recomputing", "recompute"},
                                 {&problem::Freedoms::in_place, "in_place", "compute in place"},
                                 {&problem::Freedoms::reordering, "reordering", "reorder"},
                                 {&problem::Freedoms::numerics, "numerics", "change numerics"}};

// A plan that does what no plan of the certificate does may be below its bound.
Result<void> check_freedoms(const problem::Freedoms& asked, const problem::Freedoms& of) {
  for (const auto& [allowed, key, does] : kFreedoms)
    if (asked.*allowed && !(of.*allowed))
      return broken(fmt::format("is for plans that may not {}, and the plan may", does),
                    fmt::format(".question.freedoms.{}", key));
  return {};
}

Result<void> check_same_order(const problem::Plan& plan, const Certificate& certificate) {
  std::set<int64_t> computed;
  size_t next = 0;
  for (const problem::Instruction& step : plan.instructions) {
    if (step.what != problem::Do::kCompute || !computed.insert(step.subject).second) continue;
    while (next < certificate.order.size() && certificate.order[next] != step.subject) ++next;
    if (next == certificate.order.size())
      return broken(fmt::format("the plan computes op {} first in another order", step.subject), ".order");
  }
  return {};
}

// The certificate's question includes the plan's: no less RAM, no tighter limits, no fewer freedoms, the same objective
// and order.
Result<void> check_same_question(const problem::Plan& plan, const Certificate& certificate) {
  const problem::Question &asked = plan.question, &of = certificate.question;
  if (asked.objective != problem::Objective::kEdp && (of.objective != asked.objective || certificate.second_price > 0))
    return broken("bounds another objective than the plan's", ".question.objective");
  if (of.budget_bytes() < asked.budget_bytes())
    return broken(fmt::format("is for {} bytes, and the plan's budget is {}", of.budget_bytes(), asked.budget_bytes()),
                  ".question.budget_bytes");
  if (of.deadline && !(asked.deadline && *asked.deadline <= *of.deadline))
    return broken(fmt::format("is for plans within {} s, and the plan need not be", *of.deadline),
                  ".question.deadline_s");
  if (of.energy_limit && !(asked.energy_limit && *asked.energy_limit <= *of.energy_limit))
    return broken(fmt::format("is for plans of at most {} J, and the plan need not be", *of.energy_limit),
                  ".question.energy_limit_j");
  PANTOUM_TRY(check_freedoms(asked.freedoms, of.freedoms));
  return certificate.any_order ? Result<void>{} : check_same_order(plan, certificate);
}

// energy + price * makespan >= least, for every plan.
struct Line {
  double price = 0, least = 0;
};

// The least product of energy and time above all lines. The makespan that the lines leave at an energy is convex in it,
// with its kinks where two lines meet, and the product of both is least at one of these.
double least_product(const std::vector<Line>& lines, double least_time) {
  double least_energy = 0;
  for (const Line& line : lines)
    if (line.price == 0) least_energy = std::max(least_energy, line.least);
  const auto time_at = [&](double energy) {
    double time = least_time;
    for (const Line& line : lines)
      if (line.price > 0) time = std::max(time, (line.least - energy) / line.price);
    return time;
  };
  double least = least_energy * time_at(least_energy);
  const auto try_energy = [&](double energy) {
    if (energy > least_energy) least = std::min(least, energy * time_at(energy));
  };
  for (const Line& line : lines) {
    try_energy(line.least - line.price * least_time);
    for (const Line& other : lines)
      if (line.price > other.price && other.price > 0)
        try_energy((line.price * other.least - other.price * line.least) / (line.price - other.price));
  }
  return least * (1 - kTolerance / 8);  // what the divisions may err
}

Result<double> check_lines(const problem::Plan& plan) {
  std::vector<Line> lines;
  double least_time = 0;
  for (size_t at = 0; at < plan.lines.size(); ++at) {
    const Certificate& certificate = plan.lines[at];
    const auto proved = [&]() -> Result<double> {
      PANTOUM_TRY(check_same_question(plan, certificate));
      return check_certificate(plan.graph, certificate);
    }();
    if (!proved) {
      Error error = proved.error();
      error.where += fmt::format(" {}", at);
      return Failure(std::move(error));
    }
    if (certificate.question.objective == problem::Objective::kTime)
      least_time = std::max(least_time, *proved);
    else if (certificate.question.objective == problem::Objective::kEnergy)
      lines.push_back({certificate.second_price, *proved});
  }
  return least_product(lines, least_time);
}

bool of_any_order(const Certificate& certificate) {
  return certificate.any_order;
}

}  // namespace

Result<double> check_bound(const problem::Plan& plan, double value) {
  const bool product = plan.question.objective == problem::Objective::kEdp;
  if (product ? plan.lines.empty() : !plan.certificate) return broken("the plan has none");
  if (!product) PANTOUM_TRY(check_same_question(plan, *plan.certificate));
  PANTOUM_ASSIGN(const double proved, product ? check_lines(plan) : check_certificate(plan.graph, *plan.certificate));
  const std::optional<double>& claimed = product                                                  ? plan.bound.edp_js
                                         : plan.question.objective == problem::Objective::kEnergy ? plan.bound.energy_j
                                                                                                  : plan.bound.time_s;
  const bool any_order =
      product ? std::all_of(plan.lines.begin(), plan.lines.end(), of_any_order) : of_any_order(*plan.certificate);
  if (claimed && plan.bound.any_order && !any_order)
    return fail("E0806", "the bound is claimed for any order, and the certificate proves it for one", "bound.order");
  if (claimed && above(*claimed, proved))
    return fail("E0806", fmt::format("the plan claims a bound of {}, and its certificate proves {}", *claimed, proved),
                "bound");
  if (above(proved, value))
    return fail("E0806", fmt::format("a bound of {} is proved, and the plan takes {}", proved, value), "x-certificate");
  return proved;
}

}  // namespace pantoum::check
