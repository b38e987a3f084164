#include "report/sweep_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/foreign_text.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "plan/simulate/switches.h"
#include "problem/objective_values.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 5> kStatus{"optimal", "feasible", "infeasible", "not_found", "not_applicable"};

const char* name_of(SweepStatus status) {
  return kStatus[static_cast<size_t>(status)];
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Visits the figures of a row with their names: written and read in this order.
template <class Row, class Visit>
void each_figure(Row& row, const Visit& visit) {
  if (!row.has_plan()) {
    visit("min_ram_bytes", row.none.min_ram_bytes);
    visit("min_ram_bound_bytes", row.none.min_ram_bound_bytes);
    visit("why", row.none.why);
    return;
  }
  visit("arena_bytes", row.found.arena_bytes);
  visit("peak_bytes", row.found.peak_bytes);
  visit("energy_j", row.found.energy_j);
  visit("time_s", row.found.time_s);
  visit("bound_energy_j", row.bound.energy_j);
  visit("bound_time_s", row.bound.time_s);
  visit("bound_edp_js", row.bound.edp_js);
  visit("bound_weighted", row.bound.weighted);
  visit("gap", row.gap);
  visit("recomputed", row.found.counts.recompute);
  visit("bytes_paged_in", row.found.bytes_in);
  visit("bytes_paged_out", row.found.bytes_out);
  visit("carried", row.carried);
  visit("seconds", row.seconds);
}

void write(const SweepRow& row, Json& json) {
  each_figure(row, [&]<class T>(const char* key, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>) json[key] = or_null(value);
    else json[key] = value;
  });
  if (row.has_plan()) json["bound_order"] = row.bound.any_order ? "any" : "plan";
  if (row.has_plan() && !row.bound.weighted) json.erase("bound_weighted");
  if (!row.has_plan() && row.none.min_ram_bytes <= 0) json["min_ram_bytes"] = nullptr;
}

void read(const nlohmann::json& json, SweepRow& row) {
  each_figure(row, [&]<class T>(const char* key, T& value) {
    if (key == std::string_view("bound_weighted") && !json.contains(key)) return;
    const nlohmann::json& found = json.at(key);
    if (found.is_null() && (std::is_same_v<T, std::optional<double>> || key == std::string_view("min_ram_bytes"))) return;
    if constexpr (std::is_same_v<T, std::optional<double>>) value = found.get<double>();
    else value = found.get<T>();
  });
  if (row.has_plan()) row.bound.any_order = json.at("bound_order") == "any";
}

// A field of a row as CSV has it.
std::string field(const Json& row, const char* key) {
  if (!row.contains(key) || row[key].is_null()) return "";
  return row[key].is_string() ? base::csv_field(row[key].get<std::string>()) : row[key].dump();
}

// "+4.2%" of the unplanned step's.
std::string overhead(double value, double unplanned) {
  return unplanned > 0 ? fmt::format("{:+.2f}%", 100 * (value - unplanned) / unplanned) : "";
}

// Time first, as it may be measured. Joules are modelled: without them where nobody asked for less energy.
std::string line_of(const SweepRow& row, const problem::Predicted& unplanned, bool by_time) {
  std::string text = fmt::format("{:<20} {:>10}  {:<14}", base::one_line(row.planner), base::show_bytes(row.ram_bytes),
                                 name_of(row.status));
  if (!row.has_plan()) {
    if (row.none.min_ram_bytes > 0) text += fmt::format(" smallest known {}", base::show_bytes(row.none.min_ram_bytes));
    return text + "\n";
  }
  text += fmt::format(" {:>10} {:>9}", base::show_seconds(row.found.time_s),
                      overhead(row.found.time_s, unplanned.time_s));
  if (!by_time)
    text += fmt::format(" {:>10} {:>9}", base::show_joules(row.found.energy_j),
                        overhead(row.found.energy_j, unplanned.energy_j));
  if (row.bound.energy_j || row.bound.time_s) text += fmt::format("  gap {:.3g}%", row.gap * 100);
  return text + "\n";
}

// What is asked of every budget.
void get_question(const nlohmann::json& json, problem::Question& question) {
  const std::string objective = json.value("objective", "energy");
  for (const problem::Objective each :
       {problem::Objective::kEnergy, problem::Objective::kTime, problem::Objective::kEdp, problem::Objective::kRam})
    if (objective == name_of(each)) question.objective = each;
  if (const auto weights = json.find("weights"); weights != json.end() && weights->is_object())
    question.objective = problem::Objective::kWeighted,
    question.weights = {weights->value("energy", 1.0), weights->value("time", 0.0)};
  const auto limit = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? std::optional(json[key].get<double>()) : std::nullopt;
  };
  question.deadline = limit("deadline_s");
  question.energy_limit = limit("most_energy_j");
  question.freedoms.paging = json.value("paging", true);
  question.freedoms.recomputing = json.value("remat", true);
  question.freedoms.in_place = json.value("in_place", true);
  question.freedoms.reordering = json.value("reorder", true);
  question.freedoms.numerics = json.value("numerics", false);
}

Result<SweepHead> parse_head(std::string_view line, const std::string& where) {
  try {
    const nlohmann::json json = base::parse_json(line, "E0281", where).value_or(nullptr);
    SweepHead head{.version = json.at("version"),
                   .question = json.at("question"),
                   .name = json.at("name"),
                   .device = json.at("device")};
    head.time_source = json.at("time_source");
    get_question(json, head.options.question);
    head.reserve = json.value("reserve_bytes", problem::Bytes{0});
    head.budgets = json.at("budgets").get<std::vector<problem::Bytes>>();
    const nlohmann::json& all = json.at("unplanned");
    head.unplanned = {.peak_bytes = all.at("peak_bytes"), .time_s = all.at("time_s"), .energy_j = all.at("energy_j")};
    return head;
  } catch (const nlohmann::json::exception&) {
    return fail("E0281", "the first line of the sweep is no question", where, "give the folder of a sweep");
  }
}

void keep_latest(SweepRow row, std::vector<SweepRow>& rows) {
  for (SweepRow& old : rows)
    if (old.planner == row.planner && old.ram_bytes == row.ram_bytes) {
      old = std::move(row);
      return;
    }
  rows.push_back(std::move(row));
}

std::vector<std::string> names_of(const plan::Without& without) {
  std::vector<std::string> names;
  for (const plan::SwitchInfo& each : plan::all_switches())
    if (without.has(each.rule)) names.emplace_back(each.name);
  return names;
}

}  // namespace

Json to_json(const SweepHead& head) {
  const plan::PlanOptions& options = head.options;
  Json json{{"schema", "pantoum.sweep/1"},
            {"version", head.version},
            {"question", head.question},
            {"name", head.name},
            {"device", head.device},
            {"objective", name_of(options.question.objective)},
            {"deadline_s", or_null(options.question.deadline)},
            {"most_energy_j", or_null(options.question.energy_limit)},
            {"reserve_bytes", head.reserve},
            {"paging", options.question.freedoms.paging},
            {"remat", options.question.freedoms.recomputing},
            {"in_place", options.question.freedoms.in_place},
            {"reorder", options.question.freedoms.reordering},
            {"without", names_of(options.without)},
            {"gap", options.gap},
            {"time_limit_s", options.time_limit},
            {"effort", options.effort},
            {"energy_source", "modelled"},
            {"time_source", head.time_source},
            {"unplanned",
             {{"peak_bytes", head.unplanned.peak_bytes},
              {"time_s", head.unplanned.time_s},
              {"energy_j", head.unplanned.energy_j}}},
            {"budgets", head.budgets}};
  if (options.question.freedoms.numerics) json["numerics"] = true;
  if (options.question.objective == problem::Objective::kWeighted)
    json["weights"] = {{"energy", options.question.weights.joule}, {"time", options.question.weights.second}};
  return json;
}

Json to_json(const SweepRow& row) {
  Json json{{"planner", row.planner}, {"ram_bytes", row.ram_bytes}, {"status", name_of(row.status)}};
  write(row, json);
  return json;
}

Json to_json(const Sweep& sweep) {
  Json json = to_json(sweep.head);
  json["rows"] = Json::array();
  for (const SweepRow& row : sweep.rows) json["rows"].push_back(to_json(row));
  return json;
}

Result<SweepRow> parse_sweep_row(std::string_view line, const std::string& where) {
  try {
    const nlohmann::json json = base::parse_json(line, "E0281", where).value_or(nullptr);
    SweepRow row{.planner = json.at("planner"), .ram_bytes = json.at("ram_bytes")};
    const std::string status = json.at("status");
    size_t known = 0;
    while (known < kStatus.size() && status != kStatus[known]) ++known;
    if (known < kStatus.size()) {
      row.status = static_cast<SweepStatus>(known);
      read(json, row);
      return row;
    }
  } catch (const nlohmann::json::exception&) {
    // told below, as an unknown status is
  }
  return fail("E0281", "a line of the sweep is no row", where, "give another folder, or remove the damaged one");
}

Result<Sweep> parse_sweep(std::string_view lines, const std::string& where) {
  Sweep sweep;
  for (size_t number = 1; !lines.empty(); ++number) {
    const size_t end = lines.find('\n');
    if (end == std::string_view::npos && number > 1) break;  // cut short
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const std::string place = fmt::format("{}, line {}", where, number);
    if (number == 1) {
      PANTOUM_ASSIGN(sweep.head, parse_head(line, place));
      continue;
    }
    PANTOUM_ASSIGN(SweepRow row, parse_sweep_row(line, place));
    keep_latest(std::move(row), sweep.rows);
  }
  if (sweep.head.question.empty()) return fail("E0281", "the sweep is empty", where, "give the folder of a sweep");
  std::map<std::string, size_t> place;  // of each planner: where it was first met
  for (const SweepRow& row : sweep.rows) place.emplace(row.planner, place.size());
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    return std::pair(place.at(a.planner), a.ram_bytes) < std::pair(place.at(b.planner), b.ram_bytes);
  });
  return sweep;
}

std::string to_csv(const Sweep& sweep) {
  constexpr std::array kColumns{
      "planner",        "ram_bytes",       "status",       "arena_bytes", "peak_bytes",    "energy_j",
      "time_s",         "bound_energy_j",  "bound_time_s", "bound_order", "gap",           "recomputed",
      "bytes_paged_in", "bytes_paged_out", "carried",      "seconds",     "min_ram_bytes", "min_ram_bound_bytes"};
  std::string text = fmt::format("{},energy_source\n", fmt::join(kColumns, ","));
  for (const SweepRow& row : sweep.rows) {
    const Json json = to_json(row);
    for (const char* column : kColumns) text += field(json, column) + ",";
    text += row.has_plan() ? "modelled\n" : "\n";
  }
  return text;
}

std::string to_text(const Sweep& sweep) {
  const problem::Predicted& all = sweep.head.unplanned;
  const bool by_time = sweep.head.options.question.objective == problem::Objective::kTime;
  std::string text = fmt::format("unplanned: {}, {}{} a step (time {}{})\n", base::show_bytes(all.peak_bytes),
                                 base::show_seconds(all.time_s), by_time ? "" : ", " + base::show_joules(all.energy_j),
                                 base::one_line(sweep.head.time_source), by_time ? "" : "; energy modelled");
  for (const SweepRow& row : sweep.rows) text += line_of(row, all, by_time);
  return text;
}

}  // namespace pantoum::report
