#include "plan/infeasibility_report.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace pantoum::plan {
namespace {

bool beyond(const std::optional<Infeasible::Least>& least, const std::optional<double>& limit,
            double Infeasible::Least::*proved = &Infeasible::Least::proved) {
  return least && limit && (*least).*proved > *limit;
}

// The certificate, where it is of what is proved of all plans.
std::optional<Certificate> of_all(const std::optional<Infeasible::Least>& least) {
  const bool any_order = least->certificate && least->certificate->any_order;
  return any_order || least->proved >= least->of_order ? least->certificate : std::nullopt;
}

std::string limits_of(const PlanOptions& options) {
  std::string text;
  if (options.question.deadline) text += fmt::format(" and {:.6g} s", *options.question.deadline);
  if (options.question.energy_limit) text += fmt::format(" and {:.6g} J", *options.question.energy_limit);
  return text;
}

// Six digits that are no less than the value, or no more: what is told as known can be asked for, and what is told as proved is.
double six_digits(double value, double (*rounded)(double)) {
  constexpr double kRounding = 1e-9;  // a limit is kept rounding included
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 5);
  return unit > 0 ? rounded(value / unit * (rounded(0.5) > 0 ? 1 + kRounding : 1 - kRounding)) * unit : value;
}

void note_least(const std::optional<Infeasible::Least>& least, const char* what, const char* unit, Error& error) {
  if (!least) return;
  const std::string known =
      least->known ? fmt::format("{:.6g} {}", six_digits(*least->known, &std::ceil), unit) : "no plan";
  error.notes.push_back(
      fmt::format("the least {} known in this RAM: {}; below {:.6g} {} it is proved that there is none", what, known,
                  six_digits(least->proved, &std::floor), unit));
  if (least->of_order > least->proved)
    error.notes.push_back(
        fmt::format("below {:.6g} {} there is none that first computes the ops in the planned order; "
                    "of other orders it is not known",
                    six_digits(least->of_order, &std::floor), unit));
}

// What to ask for instead.
std::string help_of(const PlanOptions& options, const Infeasible& known) {
  std::string help;
  if (known.min_ram_bytes > options.question.budget_bytes())
    help = fmt::format("--ram {}KiB", (known.min_ram_bytes + 1023) / 1024);
  const bool enough = !known.without_limits && !help.empty();
  const auto add = [&](const char* what) {
    help += (help.empty() ? "" : enough ? " or " : " and ") + std::string(what);
  };
  if (options.question.deadline) add("a later --deadline");
  if (options.question.energy_limit) add("more --at-most energy=");
  return help.empty() ? "a longer --time-limit" : help + ", or a smaller --batch";
}

}  // namespace

bool proved_infeasible(const PlanOptions& options, const Infeasible& known) {
  return options.question.budget_bytes() < known.min_ram_bound_bytes ||
         beyond(known.time_s, options.question.deadline) || beyond(known.energy_j, options.question.energy_limit);
}

bool proved_for_one_order(const PlanOptions& options, const Infeasible& known) {
  constexpr auto kOfOrder = &Infeasible::Least::of_order;
  return options.question.budget_bytes() < known.order_ram_bound_bytes ||
         beyond(known.time_s, options.question.deadline, kOfOrder) ||
         beyond(known.energy_j, options.question.energy_limit, kOfOrder);
}

std::optional<problem::Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options,
                                           const Infeasible& known) {
  const Question& asked = options.question;
  if (!proved_infeasible(options, known)) return std::nullopt;
  problem::Refusal refusal{.question = asked, .any_order = true, .plan = known.min_plan, .graph = graph};
  refusal.question.budget = asked.budget_bytes();
  const auto prove = [&](Objective of, double least, const std::optional<Certificate>& certificate) {
    refusal.of = of;
    refusal.least = least;
    refusal.certificate = certificate;
    refusal.any_order = !certificate || certificate->any_order;
    return refusal;
  };
  if (beyond(known.time_s, asked.deadline)) return prove(Objective::kTime, known.time_s->proved, of_all(known.time_s));
  if (beyond(known.energy_j, asked.energy_limit))
    return prove(Objective::kEnergy, known.energy_j->proved, of_all(known.energy_j));
  return prove(Objective::kRam, static_cast<double>(known.min_ram_bound_bytes), known.ram_certificate);
}

Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known) {
  const bool proved = proved_infeasible(options, known);
  Error error{.code = proved ? "E0301" : "E0302"};
  error.message =
      proved ? fmt::format("no plan fits in {} bytes", options.question.budget_bytes())
             : fmt::format("no plan was found for {} bytes within the limits", options.question.budget_bytes());
  error.message += limits_of(options);
  if (!proved && proved_for_one_order(options, known))
    error.message += ": it is proved of the planned order of first computations that there is none, and not of others";
  error.where = graph;
  if (known.min_plan)
    error.notes.push_back(fmt::format(
        "the smallest RAM for which a plan is known{}: {} bytes ({:.1f} KiB){}",
        known.without_limits ? ", whatever time and energy it takes" : "", known.min_ram_bytes,
        static_cast<double>(known.min_ram_bytes) / 1024,
        known.without_limits ? ""
                             : fmt::format("; below {} it is proved that there is none", known.min_ram_bound_bytes)));
  if (known.order_ram_bound_bytes > known.min_ram_bound_bytes)
    error.notes.push_back(
        fmt::format("below {} bytes there is none that first computes the ops in the planned order; of "
                    "other orders it is not known",
                    known.order_ram_bound_bytes));
  note_least(known.time_s, "time", "s", error);
  note_least(known.energy_j, "energy", "J", error);
  error.notes.push_back("at the tightest point: " + known.why);
  if (known.min_plan) error.help = help_of(options, known);
  return error;
}

}  // namespace pantoum::plan
