#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSeconds = 1e15, kMostBytes = 9e18;  // the largest values that are shown, even if a log has larger ones
constexpr double kWorthTelling = 1e-3;                    // a relative saving below this is none

std::string bytes(const Json& value) {
  return base::show_bytes(value.get<int64_t>());
}

// The model's file says more than the graph's name, which exporters choose.
std::string title_of(const Json& report) {
  const Json& model = report["made_with"]["model"];
  const std::string path =
      model.is_object() && model.contains("path") && model["path"].is_string() ? model["path"] : "";
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::string name = report["asked"]["name"];
  return !stem.empty() ? stem : !name.empty() ? name : "A training step";
}

double of_objective(const Json& report, const Json& figures) {
  const std::string objective = report["asked"]["objective"];
  const double energy = figures["energy_j"], time = figures["time_s"];
  if (objective == "weighted") {
    const Json& weights = report["asked"]["weights"];
    return weights["energy"].get<double>() * energy + weights["time"].get<double>() * time;
  }
  return objective == "energy" ? energy : objective == "time" ? time : energy * time;
}

std::string least_of(const Json& report) {
  const std::string objective = report["asked"]["objective"];
  return objective == "edp" ? "energy times time" : objective == "weighted" ? "weighted sum" : objective;
}

// The gap is a share of the plan's value; what the plan costs above the least is a share of the least.
std::string proof(const Json& report) {
  const Json& gap = report["outcome"]["gap"];
  const std::string above = show_above_least(gap.is_number() ? gap.get<double>() : 1);
  if (above.empty()) return "how near it is to the least is not proved";
  const std::string order = report["outcome"]["bound_order"] == "any" ? "any order" : "this order of ops";
  if (above == "0% above") return fmt::format("proved to be the least {} for {}", least_of(report), order);
  if (above.ends_with(" above"))
    return fmt::format("proved within {} of the least {} for {}", above.substr(0, above.find(' ')), least_of(report), order);
  return fmt::format("proved at most {} the least {} for {}", above, least_of(report), order);
}

std::string beside_unlimited(const Json& report) {
  const Json &outcome = report["outcome"], &all = outcome["unplanned"];
  if (all.is_null() || all["time_s"] <= 0.0) return "";
  const double time = outcome["time_s"].get<double>() / all["time_s"].get<double>();
  const double energy = all["energy_j"] > 0.0 ? outcome["energy_j"].get<double>() / all["energy_j"].get<double>() : 1;
  const char* other = outcome["begins_in_storage_bytes"] > 0 ? "the step with everything else kept" : "unlimited RAM";
  if (!tells_energy(report)) return fmt::format("{} the time of {}", show_ratio(time), other);
  return fmt::format("{} the time and {} the energy of {}", show_ratio(time), show_ratio(energy), other);
}

// The bytes of RAM that --reserve keeps for the rest of the program.
int64_t reserved(const Json& report) {
  const Json& request = report["made_with"]["request"];
  const bool there = request.is_object() && request.contains("reserve_bytes") &&
                     request["reserve_bytes"].is_number_integer() && request["reserve_bytes"] > 0;
  return there ? std::min(request["reserve_bytes"].get<int64_t>(), int64_t{1} << 60) : 0;
}

bool has_micro_batches(const Json& report) {
  const Json& count = report["asked"]["micro_batches"];
  return count.is_number() && count > 1;
}

// "at batch 8": with --accumulate a batch is a part of a step, and plan and figures are of the last one.
std::string batch_of(const Json& report) {
  const Json& asked = report["asked"];
  if (asked["batch"].is_null()) return "";
  const std::string batch = fmt::format("batch {}", asked["batch"].get<int64_t>());
  if (!has_micro_batches(report)) return batch;
  return fmt::format("{}, {} micro-batches a step (the figures are of the last one)", batch,
                     asked["micro_batches"].get<int64_t>());
}

// Do some tensors begin in storage? They stay there, however much RAM there is.
bool begins_in_storage(const Json& report) {
  return report["outcome"]["begins_in_storage_bytes"] > 0;
}

std::string asked_for(const Json& report) {
  const Json& asked = report["asked"];
  if (asked["budget_bytes"].is_null()) return "asked for no budget";
  std::string text = "asked for " + show_ram_asked(report);
  if (const int64_t kept = reserved(report); kept > 0)
    text += fmt::format(", {} of it reserved", base::show_bytes(kept));
  if (!asked["deadline_s"].is_null()) text += fmt::format(" and {} a step", show_time(asked["deadline_s"]));
  if (!asked["most_energy_j"].is_null()) text += fmt::format(" and {} a step", show_energy(asked["most_energy_j"]));
  return text;
}

// "Asked for 10.00 MiB at batch 128; the step peaks at ..."
std::string lead(const Json& report) {
  const Json &outcome = report["outcome"], &all = outcome["unplanned"];
  std::string text = asked_for(report);
  text.front() = 'A';
  if (const std::string batch = batch_of(report); !batch.empty()) text += ", at " + batch;
  text += fmt::format(". The step peaks at {}", bytes(outcome["peak_bytes"]));
  if (all.is_object() && all["peak_bytes"] > 0)
    text += fmt::format(", {} of the unplanned step's {}",
                        show_percent(outcome["peak_bytes"].get<double>() / all["peak_bytes"].get<double>()),
                        bytes(all["peak_bytes"]));
  if (const std::string beside = beside_unlimited(report); !beside.empty()) text += ", at " + beside;
  std::string proved = proof(report);
  proved.front() = static_cast<char>(proved.front() - 'a' + 'A');
  return text + ". " + proved + ".";
}

std::string headline(const Json& report) {
  std::string text = report["title"];
  if (const std::string batch = batch_of(report); !batch.empty()) text += ", " + batch;
  text += fmt::format(", {}: fits, peak {}", asked_for(report), bytes(report["outcome"]["peak_bytes"]));
  if (const std::string beside = beside_unlimited(report); !beside.empty()) text += ", " + beside;
  return text + ", " + proof(report) + ".";
}

// "52.0 KiB asked for", "46.0 KiB that are left (52.0 KiB asked for, 6.0 KiB of it reserved)".
std::string ram_for_arena(const Json& report) {
  const std::string asked = show_ram_asked(report) + " asked for";
  const int64_t kept = reserved(report);
  if (kept == 0) return asked;
  return fmt::format("{} that are left ({}, {} of it reserved)", bytes(report["asked"]["budget_bytes"]), asked,
                     base::show_bytes(kept));
}

std::string fitted(const Json& report) {
  const Json &outcome = report["outcome"], &budget = report["asked"]["budget_bytes"];
  std::string text =
      budget.is_null()
          ? fmt::format("No budget was asked for; the arena is {}.", bytes(outcome["arena_bytes"]))
          : fmt::format("Yes: the arena takes {} of the {}", bytes(outcome["arena_bytes"]), ram_for_arena(report));
  if (!budget.is_null() && !outcome["unplanned"].is_null())
    text += fmt::format(", where the unplanned step takes {}.", bytes(outcome["unplanned"]["peak_bytes"]));
  else if (!budget.is_null())
    text += ".";
  const Json* end = last_end(report);
  if (end != nullptr && end->contains("rss_growth_bytes"))
    text += fmt::format(" Measured: the process grew by {} in training.", bytes((*end)["rss_growth_bytes"]));
  for (const Json& run : report["runs"])
    if (!run["board"].is_null() && run["curves"].contains("ram_bytes")) {
      const Json& values = run["curves"]["ram_bytes"]["values"];
      double most = 0;
      for (const Json& value : values)
        if (value.is_number()) most = std::max(most, value.get<double>());
      text += fmt::format(" On {} it took {}, stack included.", run["board"].get<std::string>(),
                          base::show_bytes(static_cast<int64_t>(std::min(most, kMostBytes))));
      break;
    }
  return text;
}

std::string peak(const Json& report) {
  const Json& peak = report["memory"]["peak"];
  std::string text = bytes(report["outcome"]["peak_bytes"]);
  if (peak.is_null()) return text + ".";
  text += fmt::format(", {} into the step of {} ({}).", show_time(peak["at_s"]), show_time(report["outcome"]["time_s"]),
                      peak["does"].get<std::string>());
  std::string kinds;
  for (const Json& kind : peak["kinds"])
    kinds += fmt::format("{}{} {}", kinds.empty() ? " Held then: " : ", ", kind["kind"].get<std::string>(),
                         bytes(kind["bytes"]));
  return kinds.empty() ? text : text + kinds + ".";
}

std::string names_of_first(const Json& list, size_t most) {
  std::string text;
  for (size_t at = 0; at < std::min(most, list.size()); ++at)
    text += fmt::format("{}{} ({})", at == 0 ? "" : ", ", list[at]["name"].get<std::string>(),
                        show_time(list[at]["seconds"]));
  return text;
}

std::string returned(const Json& report) {
  const Json &outcome = report["outcome"], &costs = report["costs"];
  std::string text = "Nothing.";
  if (const int64_t again = outcome["recomputed"]; again > 0)
    text = fmt::format("{} {}, for {} and {} a step; the dearest: {}.", show_count(again),
                       again == 1 ? "computation" : "computations", show_time(costs["time"]["again_s"]),
                       show_energy(costs["energy"]["again_j"]), names_of_first(report["recomputed"], 3));
  const Json& transfers = costs["transfers"];
  if (transfers["count"] == 0) return text + " Nothing was paged.";
  return text + fmt::format(" Paged: {} out and {} in, in {} transfers of {}, {} of it beside computing.",
                            bytes(outcome["bytes_paged_out"]), bytes(outcome["bytes_paged_in"]),
                            transfers["count"].get<int64_t>(), show_time(transfers["seconds"]),
                            show_time(transfers["hidden_s"]));
}

std::string cost(const Json& report) {
  const Json& outcome = report["outcome"];
  const std::string beside = beside_unlimited(report);
  std::string text;
  if (const std::optional<double> measured = measured_step(report))
    text = fmt::format("Measured: {} a step. Planned: ", show_time(*measured));
  const std::string source = outcome["time_source"];
  text += tells_energy(report) ? fmt::format("{} and {} a step (time {}; energy modelled)", show_time(outcome["time_s"]),
                                             show_energy(outcome["energy_j"]), source)
                               : fmt::format("{} a step (time {})", show_time(outcome["time_s"]), source);
  if (!beside.empty()) text += ": " + beside;
  text += fmt::format("; {}.", proof(report));
  if (has_micro_batches(report))
    text += fmt::format(" A step has {} micro-batches; these figures are of the last one.",
                        report["asked"]["micro_batches"].get<int64_t>());
  return text;
}

// The share of `own` that `other` saves.
std::string saving(double own, double other) {
  if (!(own > 0 && other < own)) return "0%";
  return (own - other) / own < 1e-4 ? "under 0.01%" : show_percent((own - other) / own);
}

std::string saving(const Json& report, const Json& figures) {
  return saving(of_objective(report, report["outcome"]), of_objective(report, figures));
}

// Each planner has a curve of its own: a plan is set beside pantoum's, or, where that was not asked, the first one's.
std::string planner_of_answer(const Json& rows) {
  for (const Json& row : rows)
    if (row["planner"] == "pantoum") return "pantoum";
  return rows.empty() ? "" : rows[0]["planner"].get<std::string>();
}

// The rows of a sweep with more RAM than the plan's that cost less than `best`, each less than the one before.
std::vector<const Json*> better_rows(const Json& report, double best) {
  const Json &budget = report["asked"]["budget_bytes"], &all = report["more_ram"]["sweep"]["rows"];
  const std::string planner = planner_of_answer(all);
  std::vector<const Json*> rows;
  for (const Json& row : all)
    if (row["planner"] == planner && row.contains("energy_j") &&
        (budget.is_null() || row["ram_bytes"] > budget.get<int64_t>() + reserved(report)))
      rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Json* a, const Json* b) { return (*a)["ram_bytes"] < (*b)["ram_bytes"]; });
  std::vector<const Json*> better;
  best *= 1 - kWorthTelling;
  for (const Json* row : rows)
    if (const double value = of_objective(report, *row); value < best) better.push_back(row), best = value;
  return better;
}

// A longer search in the plan's own RAM saves something too. Its saving is named separately, and not counted for more RAM.
std::string searched_on(const Json& report, double own, double searched) {
  if (!(searched < own * (1 - kWorthTelling))) return "";
  return fmt::format("Searching on in the same RAM saves {} of the {}. Beside that: ", saving(own, searched),
                     least_of(report));
}

std::string planned_with_more(const Json& report) {
  const Json& budget = report["asked"]["budget_bytes"];
  const double own = of_objective(report, report["outcome"]);
  double searched = own;
  for (const Json& probe : report["more_ram"]["probes"])
    if (probe["more"] == 0.0) searched = std::min(searched, of_objective(report, probe));
  std::string text;
  for (const Json& probe : report["more_ram"]["probes"])
    if (probe["more"] > 0.0 && !budget.is_null())
      text += fmt::format("{}{} more ({:.3g}%) saves {}", text.empty() ? "" : "; ",
                          base::show_bytes(probe["ram_bytes"].get<int64_t>() - budget.get<int64_t>()),
                          probe["more"].get<double>() * 100, saving(searched, of_objective(report, probe)));
  if (text.empty()) return text;
  return searched_on(report, own, searched) + text +
         fmt::format(" of the {}, planned and modelled. ", least_of(report));
}

std::string swept_with_more(const Json& report) {
  const Json &rows = report["more_ram"]["sweep"]["rows"], &budget = report["asked"]["budget_bytes"];
  const std::string planner = planner_of_answer(rows);
  const double own = of_objective(report, report["outcome"]);
  double searched = own;
  for (const Json& row : rows)
    if (row["planner"] == planner && row.contains("energy_j") && !budget.is_null() &&
        row["ram_bytes"] <= budget.get<int64_t>() + reserved(report))
      searched = std::min(searched, of_objective(report, row));
  const std::vector<const Json*> better = better_rows(report, searched);
  std::string text;
  for (size_t at = 0; at < better.size(); ++at)
    if (at < 2 || at + 1 == better.size())
      text += fmt::format("{}{} saves {}", text.empty() ? "" : "; ", bytes((*better[at])["ram_bytes"]),
                          saving(searched, of_objective(report, *better[at])));
  const std::string whose = planner == "pantoum" ? "the sweep's plans" : "the sweep's plans by " + planner;
  return searched_on(report, own, searched) + (text.empty()
                                                   ? "No larger budget of the sweep costs less. "
                                                   : text + fmt::format(" of the {} ({}). ", least_of(report), whose));
}

// What RAM does not change.
std::string stays_in_storage(const Json& report) {
  if (!begins_in_storage(report)) return "";
  const std::string size = bytes(report["outcome"]["begins_in_storage_bytes"]);
  if (!report["made_with"]["model"].is_object())
    return fmt::format(" The tensors that begin in storage ({}) are paged in every step, whatever RAM there is.", size);
  return fmt::format(
      " Parameters and optimizer state ({}) live in storage and are paged in every step, whatever RAM there is; "
      "--params-in ram keeps them in RAM.",
      size);
}

std::string more(const Json& report) {
  const Json& all = report["outcome"]["unplanned"];
  std::string planned = planned_with_more(report);
  if (planned.empty() && !report["more_ram"]["sweep"].is_null()) planned = swept_with_more(report);
  if (all.is_null()) return (planned.empty() ? "Not known." : planned) + stays_in_storage(report);
  const double own = of_objective(report, report["outcome"]), least = of_objective(report, all);
  if (least >= own * (1 - kWorthTelling))
    return planned + (begins_in_storage(report) ? "RAM alone: nothing." : "Nothing: unlimited RAM costs the same.") +
           stays_in_storage(report);
  return planned +
         fmt::format("At the most {} of the {}: the unplanned step takes {}, in {}{} a step.", saving(report, all),
                     least_of(report), bytes(all["peak_bytes"]), show_time(all["time_s"]),
                     tells_energy(report) ? " and " + show_energy(all["energy_j"]) : "") +
         stays_in_storage(report);
}

std::string step_energy(const Json& end) {
  const auto has = [&](const char* key) { return end.contains(key) && end[key].is_number(); };
  if (!has("step_energy_j")) return "";
  std::string text = show_energy(end["step_energy_j"]);
  if (has("step_energy_half_width_j")) text += ", +- " + show_energy(end["step_energy_half_width_j"]) + " with 95%";
  if (has("idle_w")) text += fmt::format(", above {:.3g} W idle", end["idle_w"].get<double>());
  if (has("step_energy_modelled_j")) text += "; modelled: " + show_energy(end["step_energy_modelled_j"]);
  return text;
}

}  // namespace

bool tells_energy(const Json& report) {
  const Json* end = last_end(report);
  return report["asked"]["objective"] != "time" || (end != nullptr && end->contains("step_energy_j"));
}

const Json* last_end(const Json& report) {
  const Json* found = nullptr;
  for (const Json& run : report["runs"])
    if (run["board"].is_null() && run["end"].is_object()) found = &run["end"];
  return found;
}

std::optional<double> measured_step(const Json& report) {
  const Json* end = last_end(report);
  if (end == nullptr || !end->contains("step_s") || !(*end)["step_s"].is_number()) return std::nullopt;
  return (*end)["step_s"].get<double>();
}

std::string show_ratio(double ratio) {
  return fmt::format("{:.2f}x", ratio);
}

std::string show_percent(double fraction) {
  const double percent = fraction * 100;
  if (percent != 0 && std::abs(percent) < 0.01) return "0.01%";
  return fmt::format("{:.{}f}%", percent, percent >= 10 ? 0 : percent >= 1 ? 1 : 2);
}

std::string show_above_least(double gap) {
  if (!(gap < 1)) return "";
  const double times = 1 / (1 - std::max(0.0, gap));
  if (times >= 1e6) return "";
  if (times >= 2) return fmt::format("{:.1f} times", std::ceil(times * 10 - 1e-9) / 10);
  const double percent = (times - 1) * 100, digits = percent >= 10 ? 1 : percent >= 1 ? 10 : 100;
  if (percent < 1e-9) return "0% above";
  return fmt::format("{:.{}f}% above", std::ceil(percent * digits - 1e-9) / digits,
                     digits == 1    ? 0
                     : digits == 10 ? 1
                                    : 2);
}

std::string show_ram_asked(const Json& report) {
  return base::show_bytes(report["asked"]["budget_bytes"].get<int64_t>() + reserved(report));
}

std::string show_count(int64_t count) {
  std::string text = fmt::format("{}", count);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string show_energy(double joules) {
  return joules == 0 ? "0 J" : base::show_joules(joules);
}

std::string show_time(double seconds) {
  return seconds == 0 ? "0 s" : base::show_seconds(std::min(seconds, kMostSeconds));
}

std::vector<std::pair<const char*, std::string>> measured_energy(const Json& end) {
  if (!end.is_object()) return {};
  std::vector<std::pair<const char*, std::string>> rows;
  if (end.contains("energy_j") && end["energy_j"].is_number()) {
    const bool source = end.contains("energy_source") && end["energy_source"].is_string();
    rows.emplace_back("energy, measured", show_energy(end["energy_j"]) +
                                              (source ? " (" + end["energy_source"].get<std::string>() + ")" : ""));
  }
  if (std::string step = step_energy(end); !step.empty()) rows.emplace_back("energy of a step", std::move(step));
  return rows;
}

void put_words(Json& report) {
  report["title"] = title_of(report);
  report["headline"] = headline(report);
  report["lead"] = lead(report);
  report["questions"] = {{{"question", "Did it fit?"}, {"answer", fitted(report)}},
                         {{"question", "What was the peak?"}, {"answer", peak(report)}},
                         {{"question", "What was recomputed?"}, {"answer", returned(report)}},
                         {{"question", "What did it cost?"}, {"answer", cost(report)}},
                         {{"question", "What would more RAM buy?"}, {"answer", more(report)}}};
}

}  // namespace pantoum::report
