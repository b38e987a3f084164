#include "cli/plan_summary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/units.h"
#include "pipeline/planned_step.h"
#include "pipeline/request_json.h"
#include "plan/attempts/objective_expression.h"
#include "plan/planner.h"
#include "problem/cost_graph.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

// What a formula is worth for the plan; nothing is proved of it.
std::optional<double> formula_value(const PlanSummary& summary) {
  if (summary.expression.empty()) return std::nullopt;
  const auto formula = plan::ObjectiveExpression::parse(summary.expression, "--objective");
  if (!formula) return std::nullopt;
  return formula->at({.time_s = summary.found.time_s, .energy_j = summary.found.energy_j}).value;
}

std::string bound_text(const PlanSummary& summary) {
  const problem::Plan& plan = summary.plan;
  if (const auto value = formula_value(summary))
    return fmt::format("{}: {:.6g}; no bound proved", base::one_line(summary.expression), *value);
  const auto& bound = bound_of(plan);
  if (!bound) return "no bound proved";
  const char* order = plan.bound.any_order ? "any order" : "this order";
  constexpr double kNothing = 1e-8;
  if (plan.gap <= kNothing) return fmt::format("proved optimal, for {}", order);
  return fmt::format("the best possible plan takes {} or more ({:.2g}% less), for {}",
                     show_value(plan.question.objective, *bound), plan.gap * 100, order);
}

// "merge-equal-ops 3 times, sink-split".
std::string counted(const std::vector<pipeline::Substitution>& made_by) {
  std::map<std::string, int> times;
  for (const pipeline::Substitution& made : made_by) ++times[made.rule];
  std::string text;
  for (const auto& [rule, count] : times)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", rule, count > 1 ? fmt::format(" {} times", count) : "");
  return text;
}

}  // namespace

const char* status_of(const problem::Plan& plan) {
  return plan.status == problem::Status::kOptimal ? "optimal" : "feasible";
}

nlohmann::ordered_json to_json(const problem::Bound& bound) {
  nlohmann::ordered_json json{{"order", bound.any_order ? "any" : "plan"}};
  if (bound.energy_j) json["energy_j"] = *bound.energy_j;
  if (bound.time_s) json["time_s"] = *bound.time_s;
  if (bound.edp_js) json["edp_js"] = *bound.edp_js;
  if (bound.weighted) json["weighted"] = *bound.weighted;
  return json;
}

PlanSummary summary_of(const pipeline::Compiled& compiled) {
  const pipeline::Program& training = compiled.training();
  PlanSummary summary{training.plan, training.found, compiled.unplanned, compiled.model.options.accumulate};
  if (const auto* accumulation = find_program(compiled.programs, pipeline::kAccumulate))
    summary.micro_batch = accumulation->found;
  summary.measuring_s = compiled.measuring_s;
  summary.made_by = compiled.made_by;
  summary.updates = compiled.model.updates;
  const auto record = pipeline::record_of(training.plan, "");
  summary.ram_of_profile = record && !record->request.settings.ram;
  return summary;
}

namespace {

// Why the arena is larger than the unplanned step, from the figures of both.
std::string more_than_unplanned(const PlanSummary& summary) {
  const check::Found& found = summary.found;
  const auto less = [](double own, double other) { return other > 0 ? 100 * (other - own) / other : 0; };
  const double time = less(found.time_s, summary.unplanned.time_s), energy = less(found.energy_j, summary.unplanned.energy_j);
  const bool by_time = summary.plan.question.objective == problem::Objective::kTime;
  if (found.peak_bytes > summary.unplanned.peak_bytes && (by_time ? time : energy) > 0)
    return fmt::format("         more RAM than the unplanned step: the plan takes {:.2g}% less {}\n", by_time ? time : energy,
                       by_time ? "time" : "energy");
  if (found.peak_bytes > summary.unplanned.peak_bytes)
    return "         more RAM than the unplanned step: there is room, and less RAM would not cost less\n";
  return fmt::format("         more RAM than the unplanned step: {} of the arena, at the peak, lie between tensors\n",
                     base::show_bytes(found.arena_bytes - found.peak_bytes));
}

// Which RAM the plan may take where nobody said it, and what this machine has.
std::string ram_of_profile(const PlanSummary& summary) {
  const std::string& device = summary.plan.graph.device.name;
  std::string text = fmt::format("         no --ram was given: {} is the RAM of the profile {}",
                                 base::show_bytes(summary.plan.question.budget_bytes()), base::one_line(device));
  if (device == "host")
    text += fmt::format("; this machine has {}", base::show_bytes(int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)));
  return text + "\n";
}

// What was chosen to be trained, beside the step that trains all of it.
std::string updates_text(const pipeline::ChosenUpdates& updates) {
  return fmt::format(
      "         trains {} of {} tensors, {:.3g}% of the contributions, within {}; all of them, unplanned: {}, {}, {}\n",
      updates.tensors.size(), updates.of_tensors,
      updates.of_all > 0 ? 100 * updates.contribution / updates.of_all : 0, base::one_line(updates.within),
      base::show_bytes(updates.all.peak_bytes), base::show_seconds(updates.all.time_s),
      base::show_joules(updates.all.energy_j));
}

}  // namespace

std::string to_text(const PlanSummary& summary) {
  const problem::Plan& plan = summary.plan;
  const bool by_time = plan.question.objective == problem::Objective::kTime && summary.expression.empty();
  const check::Found& found = summary.found;
  const double smaller = summary.unplanned.peak_bytes > 0 ? 100.0 * static_cast<double>(found.arena_bytes) /
                                                                static_cast<double>(summary.unplanned.peak_bytes)
                                                          : 0;
  std::string text;
  text += fmt::format("plan     {} ops on {}: arena {} of {} ({:.0f}% of the unplanned {})\n", plan.graph.ops.size(),
                      base::one_line(plan.graph.device.name), base::show_bytes(found.arena_bytes),
                      base::show_bytes(plan.question.budget_bytes()), smaller,
                      base::show_bytes(summary.unplanned.peak_bytes));
  if (summary.ram_of_profile) text += ram_of_profile(summary);
  text += fmt::format("         {} computed again; {} paged out in {} transfers, {} in in {}\n", found.counts.recompute,
                      base::show_bytes(found.bytes_out - found.streamed_out), found.counts.page_out,
                      base::show_bytes(found.bytes_in - found.streamed_in), found.counts.page_in);
  if (found.counts.streams > 0)
    text += fmt::format("         {} computes stream: {} to storage, {} from it\n", found.counts.streams,
                        base::show_bytes(found.streamed_out), base::show_bytes(found.streamed_in));
  text +=
      by_time ? fmt::format("         {} a step (time {}), unplanned {}\n", base::show_seconds(found.time_s),
                            base::one_line(problem::time_source(plan.graph.device)),
                            base::show_seconds(summary.unplanned.time_s))
              : fmt::format("         {} and {} a step ({}), unplanned {} and {}\n", base::show_seconds(found.time_s),
                            base::show_joules(found.energy_j),
                            base::one_line(problem::time_and_energy_source(plan.graph.device)),
                            base::show_seconds(summary.unplanned.time_s), base::show_joules(summary.unplanned.energy_j));
  if (found.arena_bytes > summary.unplanned.peak_bytes) text += more_than_unplanned(summary);
  if (summary.micro_batch)
    text += fmt::format("         and {} and {} for each of {} micro-batches before it\n",
                        base::show_seconds(summary.micro_batch->time_s),
                        base::show_joules(summary.micro_batch->energy_j), summary.micro_batches - 1);
  if (summary.updates) text += updates_text(*summary.updates);
  if (!summary.made_by.empty()) text += fmt::format("         rewritten: {}\n", counted(summary.made_by));
  const std::string effort = plan.solver_seconds > 0 ? "; planned in " + base::show_seconds(plan.solver_seconds) : "";
  text += fmt::format("         {}{}\n", bound_text(summary), effort);
  return text;
}

nlohmann::ordered_json to_json(const PlanSummary& summary) {
  const problem::Plan& plan = summary.plan;
  nlohmann::ordered_json json{{"status", status_of(plan)},
                              {"objective", name_of(plan.question.objective)},
                              {"device", plan.graph.device.name},
                              {"ops", plan.graph.ops.size()},
                              {"budget_bytes", plan.question.budget_bytes()},
                              {"arena_bytes", summary.found.arena_bytes},
                              {"peak_bytes", summary.found.peak_bytes},
                              {"unplanned_peak_bytes", summary.unplanned.peak_bytes},
                              {"recomputed", summary.found.counts.recompute},
                              {"bytes_paged_in", summary.found.bytes_in},
                              {"bytes_paged_out", summary.found.bytes_out},
                              {"time_s", summary.found.time_s},
                              {"energy_j", summary.found.energy_j},
                              {"unplanned_time_s", summary.unplanned.time_s},
                              {"unplanned_energy_j", summary.unplanned.energy_j},
                              {"energy_source", "modelled"},
                              {"time_source", problem::time_source(plan.graph.device)},
                              {"measuring_s", summary.measuring_s},
                              {"gap", plan.gap},
                              {"seconds", plan.solver_seconds}};
  if (const auto value = formula_value(summary)) {
    json["status"] = "feasible", json["gap"] = 1;
    json["formula"] = summary.expression, json["formula_value"] = *value;
  }
  if (summary.micro_batch)
    json["micro_batch"] = {{"before_each_step", summary.micro_batches - 1},
                           {"arena_bytes", summary.micro_batch->arena_bytes},
                           {"time_s", summary.micro_batch->time_s},
                           {"energy_j", summary.micro_batch->energy_j}};
  json["bound"] = to_json(plan.bound);
  if (!summary.made_by.empty()) {
    json["substitutions"] = nlohmann::ordered_json::array();
    for (const pipeline::Substitution& made : summary.made_by)
      json["substitutions"].push_back({{"rule", made.rule}, {"at", made.at}});
  }
  if (summary.updates) json["updates"] = pipeline::updates_json(*summary.updates);
  if (!plan.separators.empty()) json["separators"] = problem::separators_json(plan.separators);
  return json;
}

namespace {

// What is proved of the planned order alone, where plans may choose another.
nlohmann::ordered_json of_order(const plan::Infeasible& infeasible) {
  nlohmann::ordered_json json{{"order", "plan"}};
  if (infeasible.order_ram_bound_bytes > infeasible.min_ram_bound_bytes)
    json["min_ram_bound_bytes"] = infeasible.order_ram_bound_bytes;
  const auto put = [&](const char* bound, const std::optional<plan::Infeasible::Least>& least) {
    if (least && least->of_order > least->proved) json[bound] = least->of_order;
  };
  put("min_time_bound_s", infeasible.time_s);
  put("min_energy_bound_j", infeasible.energy_j);
  return json.size() > 1 ? json : nlohmann::ordered_json();
}

}  // namespace

nlohmann::ordered_json to_json(const plan::Infeasible& infeasible, bool proved) {
  nlohmann::ordered_json json{{"status", proved ? "infeasible" : "unknown"},
                              {"min_ram_bytes", infeasible.min_ram_bytes},
                              {"min_ram_bound_bytes", infeasible.min_ram_bound_bytes},
                              {"why", infeasible.why}};
  if (infeasible.refusal) json["order"] = infeasible.refusal->any_order ? "any" : "plan";
  if (infeasible.without_limits) json["without_limits"] = true;
  const auto put = [&](const char* known, const char* bound, const std::optional<plan::Infeasible::Least>& least) {
    if (!least) return;
    json[known] = least->known ? nlohmann::ordered_json(*least->known) : nullptr;
    json[bound] = least->proved;
  };
  put("min_time_s", "min_time_bound_s", infeasible.time_s);
  put("min_energy_j", "min_energy_bound_j", infeasible.energy_j);
  if (nlohmann::ordered_json order = of_order(infeasible); !order.is_null()) json["of_order"] = std::move(order);
  return json;
}

}  // namespace pantoum::cli
