#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_text.h"
#include "base/units.h"
#include "report/charts.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

enum class Unit : uint8_t { kCount, kValue, kShare, kBytes, kSeconds, kJoules, kWord };

// A row of the table: where its value stands in a run, and how a reader sees it.
struct Measure {
  const char *what, *part, *key;  // part: "plan", "data", "end", or a curve's last value: "curves"
  Unit unit;
  bool drawn = false;  // as bars, too
};

constexpr auto kMeasures = std::to_array<Measure>({
    {"accuracy on the test set", "curves", "test_accuracy", Unit::kShare, true},
    {"top-5 accuracy", "curves", "test_top5", Unit::kShare},
    {"loss on the test set", "curves", "test_loss", Unit::kValue},
    {"mean absolute error", "curves", "test_mae", Unit::kValue},
    {"perplexity", "curves", "test_perplexity", Unit::kValue},
    {"mean loss of the last epoch", "curves", "train_loss", Unit::kValue},
    {"last loss", "end", "final_loss", Unit::kValue},
    {"epochs", "", "epochs", Unit::kCount},
    {"steps", "", "last_step", Unit::kCount},
    {"losses that are no number", "", "losses_that_are_no_number", Unit::kCount},
    {"samples to train on", "data", "train_samples", Unit::kCount},
    {"samples to test on", "data", "test_samples", Unit::kCount},
    {"time of a step, measured", "end", "step_s", Unit::kSeconds, true},
    {"time of a step, planned", "plan", "time_s", Unit::kSeconds},
    {"time of the unplanned step", "plan", "unplanned_time_s", Unit::kSeconds},
    {"duration", "", "seconds", Unit::kSeconds, true},
    {"RAM asked for", "plan", "budget_bytes", Unit::kBytes},
    {"peak RAM of the step", "plan", "peak_bytes", Unit::kBytes, true},
    {"arena", "plan", "arena_bytes", Unit::kBytes},
    {"peak RAM of the unplanned step", "plan", "unplanned_peak_bytes", Unit::kBytes},
    {"the process grew by (RSS)", "end", "rss_growth_bytes", Unit::kBytes},
    {"process at its largest (RSS)", "end", "resident_bytes", Unit::kBytes},
    {"RAM in use on the device", "curves", "ram_bytes", Unit::kBytes},
    {"ops computed again in a step", "plan", "recomputed", Unit::kCount},
    {"paged out in a step", "plan", "bytes_paged_out", Unit::kBytes},
    {"paged in in a step", "plan", "bytes_paged_in", Unit::kBytes},
    {"energy of a step, measured", "end", "step_energy_j", Unit::kJoules},
    {"energy of a step, modelled", "plan", "energy_j", Unit::kJoules},
    {"device", "plan", "device", Unit::kWord},
    {"ops of the step", "plan", "ops", Unit::kCount},
    {"made least", "plan", "objective", Unit::kWord},
    {"times of the plan", "plan", "time_source", Unit::kWord},
    {"kernels", "end", "kernels", Unit::kWord},
    {"storage is read and written by", "end", "io_backend", Unit::kWord},
    {"pages are encrypted by", "end", "page_encryption", Unit::kWord},
    {"ended with", "end", "how", Unit::kWord},
});

// The value of a run; null: its log does not tell it.
Json value_of(const Json& run, const Measure& measure) {
  const std::string part = measure.part;
  const Json& all = part.empty() ? run : run[part];
  if (!all.is_object() || !all.contains(measure.key)) return nullptr;
  const Json& found = all[measure.key];
  if (part == "curves") return found["values"].empty() ? Json(nullptr) : found["values"].back();
  return measure.unit == Unit::kWord ? (found.is_string() ? found : Json(nullptr)) : found.is_number() ? found : Json(nullptr);
}

std::string show(const Json& value, Unit unit) {
  if (value.is_null()) return "";
  if (unit == Unit::kWord) return value;
  const double number = value;
  if (unit == Unit::kShare) return fmt::format("{:.4f}", number);
  if (unit == Unit::kValue || std::abs(number) >= 9e18) return fmt::format("{:.4g}", number);
  if (unit == Unit::kCount) return show_count(std::llround(number));
  if (unit == Unit::kBytes) return base::show_bytes(std::llround(number));
  return unit == Unit::kSeconds ? show_time(number) : show_energy(number);
}

// What came before a resumed run, up to the step from which it went on, and the run.
Json joined(const Json& before, Json run) {
  const double from = run["resumed_from"];
  for (const auto& [key, curve] : before["curves"].items()) {
    Json steps = Json::array(), values = Json::array();
    for (size_t at = 0; at < curve["steps"].size(); ++at)
      if (curve["steps"][at].get<double>() <= from) steps.push_back(curve["steps"][at]), values.push_back(curve["values"][at]);
    if (run["curves"].contains(key)) {
      const Json& own = run["curves"][key];
      steps.insert(steps.end(), own["steps"].begin(), own["steps"].end());
      values.insert(values.end(), own["values"].begin(), own["values"].end());
    }
    run["curves"][key] = {{"steps", std::move(steps)}, {"values", std::move(values)}};
  }
  run["first_step"] = before["first_step"];
  run["losses_that_are_no_number"] =
      run["losses_that_are_no_number"].get<int64_t>() + before["losses_that_are_no_number"].get<int64_t>();
  for (const char* part : {"plan", "data"})
    if (run[part].is_null()) run[part] = before[part];
  return run;
}

// The last run of a log with the runs that it went on from; a log without one is a run of nothing.
Json run_of_log(const Json& runs, const std::string& log) {
  if (runs.empty())
    return {{"log", log},          {"board", nullptr},   {"resumed_from", nullptr},
            {"first_step", nullptr}, {"last_step", nullptr}, {"seconds", nullptr},
            {"losses_that_are_no_number", 0}, {"curves", Json::object()}, {"plan", nullptr},
            {"data", nullptr},     {"end", nullptr}};
  size_t first = runs.size() - 1;
  while (first > 0 && runs[first]["resumed_from"].is_number()) --first;
  Json run = runs[first];
  for (size_t at = first + 1; at < runs.size(); ++at) run = joined(run, runs[at]);
  return run;
}

double epochs_of(const Json& run) {
  size_t epochs = 0;
  for (const char* key : {"train_loss", "test_loss"})
    if (run["curves"].contains(key)) epochs = std::max(epochs, run["curves"][key]["steps"].size());
  return static_cast<double>(epochs);
}

// The file's name without its endings, or its path where two are named alike.
std::vector<std::string> names_of(const std::vector<NamedLog>& logs) {
  std::vector<std::string> names;
  for (const NamedLog& log : logs) {
    std::string name = std::filesystem::path(log.name).filename().string();
    for (const char* ending : {".jsonl", ".safetensors"})
      if (name.ends_with(ending) && name.size() > std::string_view(ending).size())
        name.resize(name.size() - std::string_view(ending).size());
    names.push_back(name.empty() ? log.name : name);
  }
  const std::vector<std::string> shorts = names;
  for (size_t at = 0; at < logs.size(); ++at)
    if (std::count(shorts.begin(), shorts.end(), shorts[at]) > 1) names[at] = logs[at].name;
  const std::vector<std::string> longs = names;
  for (size_t at = 0; at < logs.size(); ++at)  // the same file twice
    if (std::count(longs.begin(), longs.end(), longs[at]) > 1) names[at] += fmt::format(" ({})", at + 1);
  return names;
}

// "--lr" -> "0.05", "MODEL" -> "net.onnx" of a command's words; an option without a value is "given".
std::map<std::string, std::string> options_of(const Json& run) {
  std::map<std::string, std::string> options;
  if (!run["plan"].is_object() || !run["plan"].contains("command")) return options;
  const auto words = run["plan"]["command"].get<std::vector<std::string>>();
  const auto add = [&](const std::string& option, const std::string& value) {
    std::string& all = options[option];
    all += (all.empty() ? "" : ", ") + value;
  };
  for (size_t at = 1; at < words.size(); ++at) {
    const std::string& word = words[at];
    const size_t equals = word.find('=');
    const bool option = word.size() > 1 && word[0] == '-';
    if (!option) {
      add("MODEL", word);
    } else if (word.starts_with("--") && equals != std::string::npos) {
      add(word.substr(0, equals), word.substr(equals + 1));
    } else if (at + 1 < words.size() && !(words[at + 1].size() > 1 && words[at + 1][0] == '-' && std::isdigit(static_cast<unsigned char>(words[at + 1][1])) == 0)) {
      add(word, words[++at]);
    } else {
      add(word, "given");
    }
  }
  return options;
}

// The options in which the commands that are known differ.
Json differing_options(const Json& runs) {
  std::vector<std::map<std::string, std::string>> all;
  std::map<std::string, bool> named;
  for (const Json& run : runs) {
    all.push_back(options_of(run));
    for (const auto& [option, value] : all.back()) named[option] = true;
  }
  Json rows = Json::array();
  for (const auto& [option, ignored] : named) {
    Json values = Json::array();
    std::optional<std::string> first;
    bool differs = false;
    for (const auto& options : all) {
      const auto found = options.find(option);
      const std::string value = found == options.end() ? "" : found->second;
      values.push_back(options.empty() ? Json(nullptr) : Json(value));
      if (options.empty()) continue;
      differs = differs || (first && *first != value);
      first = value;
    }
    if (differs) rows.push_back({{"option", option}, {"values", std::move(values)}});
  }
  return rows;
}

// As bars from zero, one below the other: "": no run has the value.
std::string bars(const Json& runs, const Measure& measure) {
  double most = 0;
  for (const Json& run : runs)
    if (const Json value = value_of(run, measure); value.is_number()) most = std::max(most, value.get<double>());
  if (!(most > 0)) return "";
  std::string made = fmt::format("<div class='bars'><h3>{}</h3><ul>\n", base::html_text(measure.what));
  for (size_t at = 0; at < runs.size(); ++at) {
    const Json value = value_of(runs[at], measure);
    if (!value.is_number()) continue;
    made += fmt::format(
        "<li><span class='of'>{}</span><svg class='meter' aria-hidden='true'><rect width='{:.2f}%' height='100%' class='fill{}'/></svg>"
        "<b>{}</b></li>\n",
        base::html_text(runs[at]["name"].get<std::string>()),
        std::clamp(value.get<double>() / most, 0.0, 1.0) * 100, at % 8, base::html_text(show(value, measure.unit)));
  }
  return made + "</ul></div>\n";
}

std::vector<std::string> heads_of(const Json& comparison, const char* first) {
  std::vector<std::string> heads{first};
  for (const Json& run : comparison["runs"]) heads.push_back("*" + base::one_line(run["name"].get<std::string>()));
  return heads;
}

std::string measured_table(const Json& comparison) {
  Table table("What was measured and planned", heads_of(comparison, "what"));
  for (const Json& row : comparison["rows"]) {
    const auto* const measure = std::find_if(kMeasures.begin(), kMeasures.end(), [&](const Measure& each) { return row["what"] == each.what; });
    Cells cells{row["what"]};
    for (const Json& value : row["values"]) cells.push_back(show(value, measure->unit));
    table.row(cells, row["differs"] ? "" : "alike");
  }
  return table.end();
}

std::string options_table(const Json& comparison) {
  const Json& options = comparison["options"];
  if (options.empty()) return "<p class='soft'>The logs tell of no option that differs. A log of Python or of a board tells no command.</p>\n";
  Table table("Where the commands differ", heads_of(comparison, "option"));
  for (const Json& row : options) {
    Cells cells{row["option"]};
    for (const Json& value : row["values"]) cells.push_back(value.is_null() ? "not told" : value.get<std::string>());
    table.row(cells);
  }
  return table.end();
}

// The page's first sentence: the best accuracy, else the least loss; and the quickest step.
std::string lead_of(const Json& comparison) {
  const auto best = [&](const char* key, bool most) -> const Json* {
    const Json* found = nullptr;
    double value = 0;
    const auto* const measure = std::find_if(kMeasures.begin(), kMeasures.end(), [&](const Measure& each) { return std::string_view(each.key) == key; });
    for (const Json& run : comparison["runs"])
      if (const Json own = value_of(run, *measure); own.is_number() && (found == nullptr || (most ? own > value : own < value)))
        found = &run, value = own;
    return found;
  };
  const auto last = [](const Json& run, const char* key) { return run["curves"][key]["values"].back().get<double>(); };
  std::string text;
  if (const Json* run = best("test_accuracy", true))
    text += fmt::format("The highest accuracy is {:.4f}: {}. ", last(*run, "test_accuracy"), (*run)["name"].get<std::string>());
  else if (const Json* lowest = best("test_loss", false))
    text += fmt::format("The least loss on the test set is {:.4g}: {}. ", last(*lowest, "test_loss"), (*lowest)["name"].get<std::string>());
  if (const Json* run = best("step_s", false))
    text += fmt::format("The quickest step takes {}: {}. ", show_time((*run)["end"]["step_s"]), (*run)["name"].get<std::string>());
  if (const Json* run = best("peak_bytes", false); run != nullptr && (*run)["plan"]["peak_bytes"].get<double>() < 9e18)
    text += fmt::format("The smallest step takes {}: {}.", show((*run)["plan"]["peak_bytes"], Unit::kBytes), (*run)["name"].get<std::string>());
  return text;
}

}  // namespace

Result<Json> comparison_json(const std::vector<NamedLog>& logs, const std::string& version) {
  if (logs.size() < kLeastCompared || logs.size() > kMostCompared)
    return fail("E0100", fmt::format("{} to {} run logs are compared, and {} {} given", kLeastCompared, kMostCompared, logs.size(), logs.size() == 1 ? "is" : "are"),
                "--compare", "pantoum report --compare one.jsonl other.jsonl -o compare.html");
  Json json{{"schema", "pantoum.comparison/1"}, {"version", version}, {"runs", Json::array()}, {"rows", Json::array()}};
  Json notes = Json::array();
  const std::vector<std::string> names = names_of(logs);
  for (size_t at = 0; at < logs.size(); ++at) {
    PANTOUM_ASSIGN(const Json found, read_runs({logs[at]}));
    for (const Json& note : found["notes"]) notes.push_back(note);
    Json run{{"name", names[at]}};
    run.update(run_of_log(found["runs"], logs[at].name));
    if (const double epochs = epochs_of(run); epochs > 0) run["epochs"] = epochs;
    json["runs"].push_back(std::move(run));
  }
  for (const Measure& measure : kMeasures) {
    Json values = Json::array();
    for (const Json& run : json["runs"]) values.push_back(value_of(run, measure));
    const bool none = std::all_of(values.begin(), values.end(), [](const Json& value) { return value.is_null() || value == 0; });
    const auto first = std::find_if(values.begin(), values.end(), [](const Json& value) { return !value.is_null(); });
    const bool differs = std::any_of(values.begin(), values.end(), [&](const Json& value) { return !value.is_null() && value != *first; });
    if (!none) json["rows"].push_back({{"what", measure.what}, {"values", std::move(values)}, {"differs", differs}});
  }
  json["options"] = differing_options(json["runs"]);
  json["notes"] = std::move(notes);
  return json;
}

std::string comparison_html(const Json& comparison) {
  const Json& runs = comparison["runs"];
  const std::string title = fmt::format("{} runs compared", runs.size());
  std::string body = fmt::format("<header class='hero' id='summary'>\n<h1>{}</h1>\n<p class='lead'>{}</p>\n</header>\n", title, base::html_text(lead_of(comparison)));
  for (const Json& note : comparison["notes"]) body += fmt::format("<p class='soft'>{}.</p>\n", base::html_text(note.get<std::string>()));
  std::string drawn;
  for (const Measure& measure : kMeasures)
    if (measure.drawn) drawn += bars(runs, measure);
  if (!drawn.empty()) drawn = "<div class='pair'>\n" + drawn + "</div>\n";
  body += section("table", "Side by side", drawn + measured_table(comparison) + options_table(comparison));
  Json charts = Json::object();
  std::string curves;
  for (const PageChart& chart : comparison_charts(comparison)) {
    charts[chart.id] = to_json(chart.chart), charts[chart.id]["x_unit"] = chart.x_unit;
    curves += chart_figure(chart);
  }
  body += section("curves", "Curves", curves.empty() ? "<p class='soft'>The logs have no steps.</p>\n" : curves);
  std::string commands;
  for (const Json& run : runs)
    if (run["plan"].is_object() && run["plan"].contains("command"))
      commands += fmt::format("<h3>{}</h3>\n{}", base::html_text(run["name"].get<std::string>()),
                              command_box(line_of(run["plan"]["command"].get<std::vector<std::string>>())));
  if (!commands.empty()) body += section("commands", "Make them again", commands);
  std::string navigation = "<nav aria-label='Sections'><ul><li><a href='#summary'>Summary</a></li><li><a href='#table'>Side by side</a></li><li><a href='#curves'>Curves</a></li>";
  if (!commands.empty()) navigation += "<li><a href='#commands'>Make them again</a></li>";
  return whole_page({.title = title + " - Pantoum report",
                     .version = comparison["version"],
                     .navigation = navigation + "</ul></nav>",
                     .body = body,
                     .data = {{"charts", std::move(charts)}}});
}

}  // namespace pantoum::report
