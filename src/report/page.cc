#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/units.h"
#include "report/charts.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostLines = 15;     // of a table that opens with the page
constexpr size_t kMostHeld = 200;     // of one that a reader opens
constexpr size_t kLongestName = 160;  // bytes of a name in the schedule's data; its end is kept

std::string text(const std::string& value) {
  return base::html_text(value);
}
std::string bytes(const Json& value) {
  return base::show_bytes(value.get<int64_t>());
}

// "10.00 MiB": the unit in small letters.
std::string with_small_unit(const std::string& value) {
  const size_t space = value.find(' ');
  if (space == std::string::npos || value.find_first_of("0123456789") != 0) return text(value);
  return fmt::format("{} <small>{}</small>", text(value.substr(0, space)), text(value.substr(space + 1)));
}

struct Part {
  std::string label;
  double value = 0;
  int style = 0;
};

// One bar of parts, with a legend that says the figures. "": there is nothing.
std::string stacked(const std::string& title, const std::vector<Part>& parts,
                    const std::function<std::string(double)>& show) {
  double sum = 0;
  for (const Part& part : parts) sum += std::max(0.0, part.value);
  std::string bar, legend;
  double left = 0;
  for (const Part& part : parts) {
    if (part.value <= 0 || sum <= 0) continue;
    const double share = 100 * part.value / sum;
    bar += fmt::format("<rect x='{:.3f}%' width='{:.3f}%' height='100%' class='fill{}'/>", left, share, part.style);
    legend += fmt::format("<li><span class='swatch back{}'></span>{} <b>{}</b> <span class='soft'>{}</span></li>",
                          part.style, text(part.label), text(show(part.value)), show_percent(part.value / sum));
    left += share;
  }
  if (legend.empty()) return "";
  return fmt::format(
      "<div class='stack'><h3>{0} <span class='soft'>{1}</span></h3><svg class='bar' role='img' "
      "aria-label='{0}'>{2}</svg><ul class='legend'>{3}</ul></div>\n",
      text(title), text(show(sum)), bar, legend);
}

struct Tile {
  std::string label, value, note;
  double share = -1;  // of what there is; < 0: no meter
};

std::string tiles(const std::vector<Tile>& all) {
  std::string made = "<ul class='tiles'>\n";
  for (const Tile& tile : all) {
    made += fmt::format("<li><span class='label'>{}</span><b>{}</b>", text(tile.label), with_small_unit(tile.value));
    if (tile.share >= 0)
      made += fmt::format(
          "<svg class='meter' aria-hidden='true'><rect width='100%' height='100%' class='empty'/><rect width='{:.2f}%' "
          "height='100%' class='fill0'/></svg>",
          std::clamp(tile.share, 0.0, 1.0) * 100);
    made += fmt::format("<span class='note'>{}</span></li>\n", text(tile.note));
  }
  return made + "</ul>\n";
}

std::string more_than(size_t all, size_t shown) {
  return all > shown
             ? fmt::format("<p class='soft'>and {} more; <code>pantoum report --format json</code> has all.</p>\n",
                           show_count(static_cast<int64_t>(all - shown)))
             : "";
}

std::string ratio_note(double own, const Json& all, const char* key) {
  if (!all.is_object() || all[key] <= 0.0) return "";
  return show_ratio(own / all[key].get<double>()) + " unplanned";
}

std::string join(std::string first, const std::string& second) {
  return second.empty() ? first : std::move(first) + ", " + second;
}

// "52.0 KiB asked for", "46.0 KiB left of 52.0 KiB".
std::string budget_note(const Json& report) {
  const std::string budget = bytes(report["asked"]["budget_bytes"]), asked = show_ram_asked(report);
  return budget == asked ? asked + " asked for" : fmt::format("{} left of {}", budget, asked);
}

Tile proof_tile(const Json& outcome) {
  const Json& gap = outcome["gap"];
  const std::string above = show_above_least(gap.is_number() ? gap.get<double>() : 1);
  const std::string order = outcome["bound_order"] == "any" ? "any order" : "this order";
  if (above.empty()) return {"Proved", "nothing", "no bound is known"};
  const size_t space = above.find(' ');  // the number is large, its word is in the note
  const std::string number = above.substr(0, space);
  if (number == "0%") return {"Proved", "optimal", "no plan is better, " + order};
  if (above.ends_with(" above")) return {"Proved within", number, "of the best possible plan, " + order};
  return {"Proved at most", number, "times the best possible plan, " + order};
}

// "planned: 15.1 ms, 1.03x unplanned", with what is modelled called so.
Tile time_tile(const Json& report) {
  const Json& outcome = report["outcome"];
  const std::string planned = show_time(outcome["time_s"]), beside = ratio_note(outcome["time_s"], outcome["unplanned"], "time_s");
  const bool modelled = outcome["time_source"] == "modelled";
  const std::optional<double> measured = measured_step(report);
  if (!measured) return {"Time of a step", planned, join(modelled ? "modelled" : "by measured times", beside)};
  return {"Time of a step", show_time(*measured),
          join(fmt::format("measured; {}: {}", modelled ? "modelled" : "planned", planned), beside)};
}

Tile energy_tile(const Json& report) {
  const Json &outcome = report["outcome"], *end = last_end(report);
  if (end != nullptr && end->contains("step_energy_j") && (*end)["step_energy_j"].is_number())
    return {"Energy of a step", show_energy((*end)["step_energy_j"]), "measured; modelled: " + show_energy(outcome["energy_j"])};
  return {"Energy of a step", show_energy(outcome["energy_j"]),
          join("modelled", ratio_note(outcome["energy_j"], outcome["unplanned"], "energy_j"))};
}

// With the digits of the terminal. A run of several losses has no accuracy of its own.
std::optional<Tile> accuracy_tile(const Json& report) {
  const Json* end = last_end(report);
  if (end == nullptr || !end->contains("test_accuracy") || !(*end)["test_accuracy"].is_number()) return std::nullopt;
  return Tile{"Test accuracy", fmt::format("{:.4f}", (*end)["test_accuracy"].get<double>()), "at the end of the run"};
}

std::vector<Tile> plan_tiles(const Json& report) {
  const Json &outcome = report["outcome"], &asked = report["asked"], &costs = report["costs"],
             &all = outcome["unplanned"];
  std::vector<Tile> made;
  if (std::optional<Tile> accuracy = accuracy_tile(report)) made.push_back(std::move(*accuracy));
  const double peak = outcome["peak_bytes"].get<double>();
  const bool limited = asked["budget_bytes"].is_number();
  made.push_back({"Peak RAM", bytes(outcome["peak_bytes"]),
                  limited ? "of the " + budget_note(report) : "no budget asked for",
                  limited ? peak / asked["budget_bytes"].get<double>() : -1});
  if (all.is_object()) {
    const double kept = all["peak_bytes"];
    made.push_back({"RAM saved", kept > 0 ? show_percent(std::max(0.0, 1 - peak / kept)) : "0%",
                    "of the unplanned step's " + bytes(all["peak_bytes"]),
                    kept > 0 ? 1 - peak / kept : 0});
  }
  made.push_back(time_tile(report));
  if (tells_energy(report)) made.push_back(energy_tile(report));
  made.push_back({"Recomputed", show_count(outcome["recomputed"]),
                  outcome["recomputed"] == 0   ? "nothing runs twice"
                  : outcome["recomputed"] == 1 ? "op again, " + show_time(costs["time"]["again_s"])
                                               : "ops again, " + show_time(costs["time"]["again_s"])});
  const int64_t moved = outcome["bytes_paged_in"].get<int64_t>() + outcome["bytes_paged_out"].get<int64_t>();
  made.push_back({"Paged", base::show_bytes(moved),
                  moved == 0 ? "nothing leaves RAM" : show_time(costs["time"]["stall_s"]) + " waited for"});
  made.push_back(proof_tile(outcome));
  return made;
}

std::string summary(const Json& report) {
  const Json& asked = report["asked"];
  const std::string title = report["title"];
  std::string made = fmt::format(
      "<header class='hero' id='summary'>\n<p class='eyebrow'>{}</p>\n<h1><span class='name'>{}</span>{}</h1>\n<p "
      "class='lead'>{}</p>\n",
      text(asked["name"].get<std::string>() + " on " + asked["device"].get<std::string>()), text(title),
      asked["budget_bytes"].is_number() ? text(" fits in " + show_ram_asked(report)) : "", text(report["lead"]));
  for (const Json& warning : report["warnings"]) made += fmt::format("<p class='warning'>{}.</p>\n", text(warning));
  made += tiles(plan_tiles(report)) + "</header>\n";
  std::string questions = "<dl class='questions'>\n";
  for (const Json& each : report["questions"])
    questions += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", text(each["question"]), text(each["answer"]));
  return made + section("answers", "Five questions", questions + "</dl>\n");
}

constexpr std::array<std::pair<const char*, int>, 8> kKindStyles{{{"parameters", 0},
                                                                  {"optimizer state", 6},
                                                                  {"inputs", 5},
                                                                  {"activations", 2},
                                                                  {"gradients", 1},
                                                                  {"workspace", 4},
                                                                  {"in flight", 3},
                                                                  {"staging", 7}}};

int style_of_kind(const std::string& kind) {
  for (const auto& [name, style] : kKindStyles)
    if (kind == name) return style;
  return 5;
}

// "activation" of "activations"; what is not counted stays as it is.
std::string one_of_kind(const std::string& kind) {
  const bool many = kind == "parameters" || kind == "inputs" || kind == "activations" || kind == "gradients";
  return many ? kind.substr(0, kind.size() - 1) : kind;
}

// What a tensor is to the instruction that makes the peak.
std::string words_of_role(const std::string& role) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kWords{
      {{"held", "kept for later"},
       {"read", "read now"},
       {"written", "written now"},
       {"arriving", "comes back from storage"},
       {"leaving", "goes to storage"},
       {"workspace", "scratch space of the op"},
       {"staging", "buffer between RAM and storage"}}};
  for (const auto& [name, words] : kWords)
    if (role == name) return words;
  return role;
}

std::string memory(const Json& report) {
  std::string body = chart_figure(memory_chart(report));
  body += "<div class='live' id='live-list'></div>\n";
  const Json& peak = report["memory"]["peak"];
  if (!peak.is_object()) return section("memory", "RAM over time", body);
  std::vector<Part> parts;
  for (const Json& kind : peak["kinds"])
    parts.push_back({kind["kind"], kind["bytes"].get<double>(), style_of_kind(kind["kind"])});
  body += stacked("At the peak", parts, [](double value) { return base::show_bytes(static_cast<int64_t>(value)); });
  body += fmt::format("<p>The peak is at {} while this runs: <code>{}</code></p>\n", show_time(peak["at_s"]),
                      text(peak["does"]));
  Table kinds("What the bytes are at the peak", {"kind", "bytes", "tensors"});
  for (const Json& kind : peak["kinds"]) kinds.row({kind["kind"], bytes(kind["bytes"]), show_count(kind["tensors"])});
  body += kinds.end();
  Table held("In RAM at the peak", {"tensor", "*kind", "*at that moment", "bytes"});
  const Json& holds = peak["holds"];
  held.rows(holds, kMostHeld, [](const Json& each) -> Cells {
    return {each["name"], one_of_kind(each["kind"]), words_of_role(each["role"]), bytes(each["bytes"])};
  });
  body += fmt::format("<details><summary>All that is in RAM at the peak: {}</summary>\n{}{}</details>\n",
                      show_count(static_cast<int64_t>(holds.size())), held.end(), more_than(holds.size(), kMostHeld));
  return section("memory", "RAM over time", body);
}

// "3 x 8", or a dash where the plan's graph does not tell.
std::string counts_of(const Json& slices) {
  std::string counts;
  for (const Json& count : slices) counts += (counts.empty() ? "" : " x ") + show_count(count);
  return counts.empty() ? "\u2013" : counts;
}

std::string slices_table(const Json& report) {
  const Json& streamed = report["streamed"];
  if (streamed.empty()) return "";
  Table table(
      "Computed in slices, those that move for longest first",
      {"op", "slices", "RAM", "RAM as a whole", "from storage", "to storage", "time", "moving", "energy of it"});
  table.rows(streamed, kMostLines, [](const Json& each) -> Cells {
    return {each["name"],
            counts_of(each["slices"]),
            bytes(each["needs_bytes"]),
            each["whole_bytes"].is_number() ? bytes(each["whole_bytes"]) : "",
            bytes(each["bytes_in"]),
            bytes(each["bytes_out"]),
            show_time(each["seconds"]),
            show_time(each["moving_s"]),
            show_energy(each["energy_j"])};
  });
  return table.end() + more_than(streamed.size(), kMostLines);
}

std::string returned_tables(const Json& report) {
  std::string body;
  const Json &again = report["recomputed"], &paged = report["paged"];
  if (!again.empty()) {
    Table table("Recomputed, the dearest first", {"op", "times more", "time", "energy"});
    table.rows(again, kMostLines, [](const Json& each) -> Cells {
      return {each["name"], show_count(each["times"]), show_time(each["seconds"]), show_energy(each["energy_j"])};
    });
    body += table.end() + more_than(again.size(), kMostLines);
  }
  if (!paged.empty()) {
    Table table("Paged, the dearest first",
                {"tensor", "bytes", "out", "in", "transfers", "hidden", "waited for", "energy"});
    table.rows(paged, kMostLines, [](const Json& each) -> Cells {
      return {each["name"],
              bytes(each["bytes"]),
              show_count(each["out"]),
              show_count(each["in"]),
              show_time(each["seconds"]),
              show_time(each["hidden_s"]),
              show_time(each["stall_s"]),
              show_energy(each["energy_j"])};
    });
    body += table.end() + more_than(paged.size(), kMostLines);
  }
  return body + slices_table(report);
}

// A piece of a bar as the schedule draws it: leaning stripes, upright stripes, a line, a line of dashes.
std::string sample_of(int how) {
  if (how == 4) return "<rect class='how4' y='5' width='100%' height='2'/>";
  if (how == 5)
    return "<rect class='how5' y='5' width='6' height='2'/><rect class='how5' x='10' y='5' width='6' height='2'/><rect "
           "class='how5' x='20' y='5' width='6' height='2'/>";
  std::string made = fmt::format("<rect class='how{}' width='100%' height='12'/>", how);
  for (int x = how < 2 ? 40 : 0; x < 40; x += 6)
    made += fmt::format("<line class='stripe' x1='{}' x2='{}' y1='12' y2='0'/>", x - (how == 2 ? 6 : 0),
                        x + (how == 2 ? 6 : 0));
  return made;
}

// What the parts mean that Pantoum adds to a model's names: those that this step has.
std::string names_legend(const Json& report) {
  struct NamePart {
    const char *form, *meaning;
    bool (*is_in)(std::string_view name);
  };
  constexpr std::array<NamePart, 12> kParts{{
      {"grad.NAME", "the gradient of the loss by NAME", [](std::string_view name) { return name.starts_with("grad."); }},
      {"NAME'", "the value of NAME after this step's update", [](std::string_view name) { return name.ends_with('\''); }},
      {"optim.STATE.NAME", "what the optimizer keeps for NAME from step to step, such as its momentum",
       [](std::string_view name) { return name.starts_with("optim."); }},
      {"NAME.again", "NAME, made again in backward in place of being kept",
       [](std::string_view name) { return name.ends_with(".again"); }},
      {"OP:1, OP:2", "the second and the third output of OP; the first has OP's name",
       [](std::string_view name) {
         const size_t at = name.find_last_not_of("0123456789");
         return at != name.npos && at + 1 < name.size() && name[at] == ':';
       }},
      {"OP#2", "the second of several ops that stand for one node of the model",
       [](std::string_view name) {
         const size_t at = name.rfind('#');
         return at != name.npos && at + 1 < name.size() && name[at + 1] >= '0' && name[at + 1] <= '9';
       }},
      {"OP.dx", "the op that computes the gradient of OP's input", [](std::string_view name) { return name.ends_with(".dx"); }},
      {"OP.dw", "the op that computes the gradient of OP's weights", [](std::string_view name) { return name.ends_with(".dw"); }},
      {"OP.db", "the op that computes the gradient of OP's bias", [](std::string_view name) { return name.ends_with(".db"); }},
      {"OP.grad", "the op that computes all gradients of OP", [](std::string_view name) { return name.ends_with(".grad"); }},
      {"OP.sum", "the op that adds up gradients of OP", [](std::string_view name) { return name.ends_with(".sum"); }},
      {"/module/layer/Op", "the modules in which an op or its output stands, as the model's exporter tells them",
       [](std::string_view name) { return name.starts_with('/'); }},
  }};
  std::string rows;
  for (const NamePart& part : kParts) {
    const auto has = [&](const Json& names) {
      return std::any_of(names.begin(), names.end(),
                         [&](const Json& name) { return part.is_in(name.get_ref<const std::string&>()); });
    };
    if (has(report["schedule"]["tensors"]["name"]) || has(report["schedule"]["ops"]["name"]))
      rows += fmt::format("<div><dt><code>{}</code></dt><dd>{}</dd></div>\n", text(part.form), part.meaning);
  }
  if (rows.empty()) return "";
  return "<details id='names'><summary>What the names mean</summary>\n<dl class='questions'>\n" + rows + "</dl></details>\n";
}

std::string schedule(const Json& report) {
  const bool slices = !report["streamed"].empty();
  constexpr std::array<const char*, 6> kHow{
      "kept from the start of the step", "computed and kept", "computed again",
      "read back from storage",          "in storage",        "dropped until computed again"};
  std::string body =
      "<p class='soft'>A bar is a tensor in RAM. Rows are in the order in which tensors are first there.</p>\n<ul "
      "class='legend hows'>";
  for (size_t how = 0; how < kHow.size(); ++how)
    body += fmt::format("<li><svg class='sample' aria-hidden='true'>{}</svg>{}</li>", sample_of(static_cast<int>(how)),
                        kHow[how]);
  if (slices)
    body +=
        "<li><svg class='sample' aria-hidden='true'><rect class='how1' width='100%' height='6'/><rect class='how3' "
        "y='6' width='100%' height='6'/></svg>computed in slices; in the lanes of the storage, the share of the time "
        "in which it moves them</li>";
  body +=
      "</ul>\n<div class='live' id='schedule-chart'></div>\n<div class='static'>" + schedule_svg(report) + "</div>\n";
  return section("schedule", "Schedule", body + names_legend(report) + returned_tables(report));
}

// What the end of an op's name says that autodiff or the optimizer added; "": nothing.
std::string words_of_ending(std::string_view ending) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kWords{{{"dx", "gradient of its input"},
                                                                       {"dw", "gradient of its weights"},
                                                                       {"db", "gradient of its bias"},
                                                                       {"grad", "all its gradients"},
                                                                       {"sum", "sum of gradients"}}};
  for (const auto& [name, words] : kWords)
    if (ending == name) return words;
  return "";
}

// "Conv: gradient of its weights" of "Conv.dw".
std::string words_of_op_kind(const std::string& kind) {
  if (kind == "again") return "normalization and activation, made again";
  const size_t dot = kind.rfind('.');
  const std::string words = dot == std::string::npos ? "" : words_of_ending(std::string_view(kind).substr(dot + 1));
  return words.empty() ? kind : kind.substr(0, dot) + ": " + words;
}

// What each engine computes and what it waits for; what several of them bought.
std::string engines_table(const Json& costs) {
  Table table("Engines", {"engine", "computes", "waits for a value", "for bytes", "for a hand-off", "to be launched",
                          "for its gang", "after its last op"});
  table.rows(costs["engines"], kMostLines, [](const Json& each) -> Cells {
    const Json& idle = each["idle_s"];
    return {each["name"],
            show_time(each["busy_s"]),
            show_time(idle["value"]),
            show_time(idle["bytes"]),
            show_time(idle["hand_off"]),
            show_time(idle["launch"]),
            show_time(idle["gang"]),
            show_time(idle["over"])};
  });
  std::string body = table.end();
  if (costs.contains("one_engine_s"))
    body += fmt::format("<p>On one engine the step takes {}.</p>\n", show_time(costs["one_engine_s"]));
  return body;
}

// What the storage does during the step; nothing for a step without slices, whose transfers are told apart.
std::string storage_bar(const Json& report) {
  if (report["streamed"].empty()) return "";
  const Json& storage = report["costs"]["storage"];
  double busy = 0;
  for (const Json& seconds : storage) busy += seconds.get<double>();
  const double step = report["outcome"]["time_s"];
  std::vector<Part> parts{{"reads slices", storage["sliced_in_s"], 2},
                          {"writes slices", storage["sliced_out_s"], 4},
                          {"reads tensors", storage["paged_in_s"], 6},
                          {"writes tensors", storage["paged_out_s"], 3}};
  if (busy < step) parts.push_back({"idle", step - busy, 5});
  return stacked("The storage during a step", parts, show_time);
}

std::string costs(const Json& report) {
  const Json& costs = report["costs"];
  const Json &time = costs["time"], &energy = costs["energy"], &transfers = costs["transfers"];
  std::string body = stacked("Time of a step",
                             {{"computing", time["first_s"], 0},
                              {"computing again", time["again_s"], 4},
                              {"waiting for transfers", time["stall_s"], 1}},
                             show_time);
  body += stacked("Energy of a step",
                  {{"computing", energy["first_j"], 0},
                   {"computing again", energy["again_j"], 4},
                   {"paging", energy["paging_j"], 2},
                   {"idle", energy["idle_j"], 5}},
                  show_energy);
  const double hidden = transfers["hidden_s"], seconds = transfers["seconds"];
  if (seconds > 0)
    body +=
        stacked("Transfers", {{"beside computing", hidden, 2}, {"beside nothing", std::max(0.0, seconds - hidden), 1}},
                show_time);
  body += storage_bar(report);
  if (costs.contains("engines")) body += engines_table(costs);
  body +=
      fmt::format("<p class='soft'>Times are {}. Energy is modelled.</p>\n", text(report["outcome"]["time_source"]));
  Table table("Where the time goes, by kind of op",
              {"kind of op", "computed", "of them again", "time", "share", "of it again", "energy"});
  const Json& kinds = costs["kinds"];
  const double all = time["first_s"].get<double>() + time["again_s"].get<double>();
  table.rows(kinds, kMostLines, [&](const Json& each) -> Cells {
    const double own = each["seconds"];
    return {words_of_op_kind(each["kind"]),
            show_count(each["computed"]),
            show_count(each["recomputed"]),
            show_time(own),
            all > 0 ? show_percent(own / all) : "",
            show_time(each["recomputed_s"]),
            show_energy(each["energy_j"])};
  });
  return section("costs", "Where time and energy go", body + table.end() + more_than(kinds.size(), kMostLines));
}

std::string probes_table(const Json& report) {
  const Json& outcome = report["outcome"];
  Table table(report["more_ram"]["probes"].empty() ? "This plan beside unlimited RAM" : "More RAM, planned again",
              {"RAM", "more", "time", "energy", "saves time", "saves energy"});
  const auto row = [&](const std::string& ram, const std::string& more, const Json& figures) {
    table.row({ram, more, show_time(figures["time_s"]), show_energy(figures["energy_j"]),
               show_time(std::max(0.0, outcome["time_s"].get<double>() - figures["time_s"].get<double>())),
               show_energy(std::max(0.0, outcome["energy_j"].get<double>() - figures["energy_j"].get<double>()))});
  };
  row(report["asked"]["budget_bytes"].is_number() ? bytes(report["asked"]["budget_bytes"]) : "no budget", "this plan",
      outcome);
  for (const Json& probe : report["more_ram"]["probes"])
    row(bytes(probe["ram_bytes"]),
        probe["more"] == 0.0 ? "searched on" : fmt::format("{:.3g}%", probe["more"].get<double>() * 100), probe);
  if (outcome["unplanned"].is_object())
    row(bytes(outcome["unplanned"]["peak_bytes"]), "unplanned", outcome["unplanned"]);
  return table.end();
}

std::string more_ram(const Json& report) {
  std::string body = fmt::format("<p class='lead'>{}</p>\n", text(report["questions"][4]["answer"]));
  const std::vector<PageChart> charts = sweep_page_charts(report);
  for (const PageChart& chart : charts) body += chart_figure(chart);
  body += probes_table(report);
  if (charts.empty() && report["more_ram"]["probes"].empty())
    body +=
        "<p class='soft'><code>pantoum report --next-ram 10s</code> plans again with 1, 5 and 10% more RAM; "
        "<code>pantoum sweep</code> draws the whole curve.</p>\n";
  return section("more-ram", "What more RAM buys", body);
}

// The figures at the end of a run: their keys in the log, and what a reader calls them.
constexpr std::array<std::pair<const char*, const char*>, 6> kEndMeasures{{{"final_loss", "last loss"},
                                                                           {"test_loss", "loss on the test set"},
                                                                           {"test_accuracy", "accuracy"},
                                                                           {"test_top5", "top-5 accuracy"},
                                                                           {"test_mae", "mean absolute error"},
                                                                           {"test_perplexity", "perplexity"}}};

bool is_share(std::string_view key) {
  return key == "test_accuracy" || key == "test_top5";
}

std::string run_facts(const Json& report, size_t at) {
  const Json& run = report["runs"][at];
  const Json& end = run["end"];
  Table table(name_of_run(report, at), {"what was measured", "*value"});
  const auto put = [&](const char* what, const std::string& value) { table.row({what, value}); };
  const auto put_bytes = [&](const char* what, const Json& from, const char* key) {
    if (from.is_object() && from.contains(key) && from[key].is_number() && std::abs(from[key].get<double>()) < 9e18)
      put(what, base::show_bytes(static_cast<int64_t>(from[key].get<double>())));
  };
  if (run["first_step"].is_number())
    put("steps in the log",
        fmt::format("{:.0f} to {:.0f}", run["first_step"].get<double>(), run["last_step"].get<double>()));
  if (run["losses_that_are_no_number"] > 0)
    put("losses that are no number", show_count(run["losses_that_are_no_number"]));
  const Json& batch = report["asked"]["batch"];
  const Json& parts = report["asked"]["micro_batches"];
  const double micro_batches = parts.is_number() ? parts.get<double>() : 1;
  const double begun = run["resumed_from"].is_number() ? run["resumed_from"].get<double>() : 0;
  if (batch.is_number() && run["board"].is_null() && run["last_step"].is_number() && run["seconds"].is_number() &&
      run["seconds"] > 0.0)
    put("samples a second", fmt::format("{:.4g}", (run["last_step"].get<double>() - begun) * batch.get<double>() *
                                                      micro_batches / run["seconds"].get<double>()));
  if (end.is_object() && end.contains("seconds")) put("duration", show_time(end["seconds"]));
  if (end.is_object() && end.contains("step_s") && end["step_s"].is_number()) put("time of a step", show_time(end["step_s"]));
  put_bytes("arena", end, "arena_bytes");
  put_bytes("the process grew by (RSS)", end, "rss_growth_bytes");
  put_bytes("process at its largest (RSS)", end, "resident_bytes");
  put_bytes("batches made ahead", end, "queue_bytes");
  put_bytes("kernels' own memory", end, "back_end_bytes");
  put_bytes("page encryption's memory", end, "encryption_bytes");
  put_bytes("paged out", end, "bytes_paged_out");
  put_bytes("paged in", end, "bytes_paged_in");
  for (const auto& [what, value] : measured_energy(end)) put(what, value);
  for (const auto& [key, what] : kEndMeasures)
    if (end.is_object() && end.contains(key) && end[key].is_number())
      put(what, is_share(key) ? fmt::format("{:.4f}", end[key].get<double>()) : fmt::format("{:.4g}", end[key].get<double>()));
  const auto put_word = [&](const char* key, const char* what) {
    if (end.is_object() && end.contains(key)) put(what, end[key]);
  };
  for (const auto& [key, what] : kEndWords) put_word(key, what);
  put_word("how", "ended with");
  const auto last = [&](const char* what, const char* key) {
    if (!run["curves"].contains(key) || run["curves"][key]["values"].empty()) return;
    const Json& value = run["curves"][key]["values"].back();
    if (value.is_number() && value < 9e18) put(what, base::show_bytes(static_cast<int64_t>(value.get<double>())));
  };
  last("RAM in use, stack included", "ram_bytes");
  last("stack", "stack_bytes");
  last("flash", "flash_bytes");
  last("written to storage", "storage_written_bytes");
  return table.end();
}

std::string training(const Json& report) {
  if (report["runs"].empty() && report["notes"].empty()) return "";
  std::string body;
  for (const Json& note : report["notes"]) body += fmt::format("<p class='soft'>{}.</p>\n", text(note));
  for (size_t at = 0; at < report["runs"].size(); ++at)
    if (const Json& bad = report["runs"][at]["losses_that_are_no_number"]; bad > 0)
      body += fmt::format(
          "<p class='warning'>{}: {} losses are no number (NaN or infinite) and leave gaps in the curve.</p>\n",
          text(name_of_run(report, at)), show_count(bad));
  const std::vector<PageChart> charts = run_charts(report);
  if (charts.empty())
    body += "<p class='soft'>The log has no steps.</p>\n";
  else
    body += chart_figure(charts.front());
  std::string others;
  for (size_t at = 1; at < charts.size(); ++at) others += chart_figure(charts[at]);
  if (!others.empty()) body += "<div class='pair'>\n" + others + "</div>\n";
  for (size_t at = 0; at < report["runs"].size(); ++at) body += run_facts(report, at);
  return section("training", "Training", body);
}

void put_options(const Json& options, const std::string& prefix, Table& table) {
  for (const auto& [key, value] : options.items()) {
    if (value.is_object()) {
      put_options(value, prefix + key + ".", table);
      continue;
    }
    const std::string shown = value.is_string() ? value.get<std::string>() : base::ascii_json(value);
    if (!value.is_null() && !shown.empty() && shown != "[]") table.row({prefix + key, shown});
  }
}

// A relative path as an address: it names no scheme and no host, whatever the path holds.
std::string address_of(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string address = "./";
  for (const char byte : path)
    address += kPlain.find(byte) != kPlain.npos ? std::string(1, byte) : fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  return address;
}

std::string reproduce(const Json& report) {
  const Json& made = report["made_with"];
  std::string body = command_box(made["command"]);
  if (made["model"].is_object() && !made["command_of_log"])
    body +=
        "<p class='soft'>A plan does not keep the data, their augmentation, the schedule of the learning rate or the "
        "target of a board: add what was given of these.</p>\n";
  Table table("Made with", {"what", "*value"});
  table.row({"pantoum", report["version"]});
  table.row({"planner", report["outcome"]["planner"]});
  if (report["outcome"]["planning_s"] > 0.0) table.row({"planned in", show_time(report["outcome"]["planning_s"])});
  table.row({"plan", made["plan_file"].get<std::string>() + " (" + made["plan_schema"].get<std::string>() + ")"});
  table.row({"hash of the step", made["structure_hash"]});
  for (const Json& run : report["runs"]) table.row({"run log", run["log"]});
  body += table.end();
  if (made["trace_file"].is_string())
    body += fmt::format("<p><a href='{0}'>{1}</a>: the step as a trace, which <a href='https://ui.perfetto.dev'>Perfetto</a> opens.</p>\n",
                        text(address_of(made["trace_file"])), text(made["trace_file"]));
  Table options("Options", {"option", "*value"});
  if (made["model"].is_object()) put_options(made["model"], "", options);
  if (made["request"].is_object()) put_options(made["request"], "", options);
  if (made["model"].is_object() || made["request"].is_object())
    body += "<details><summary>All options</summary>\n" + options.end() + "</details>\n";
  return section("reproduce", "Make it again", body);
}

std::string navigation(const Json& report) {
  std::string made = "<nav aria-label='Sections'><ul>";
  const bool trained = !report["runs"].empty() || !report["notes"].empty();
  for (const auto& [id, name] : {std::pair{"summary", "Summary"},
                                 {"memory", "Memory"},
                                 {"schedule", "Schedule"},
                                 {"costs", "Costs"},
                                 {"more-ram", "More RAM"},
                                 {"training", "Training"},
                                 {"reproduce", "Make it again"}})
    if (trained || id != std::string_view("training")) made += fmt::format("<li><a href='#{}'>{}</a></li>", id, name);
  return made + "</ul></nav>";
}

// Names as a reader may see them, and short enough for a card.
Json shown_names(const Json& names) {
  Json shown = Json::array();
  for (const Json& name : names) {
    std::string line = base::one_line(name.get<std::string>());
    if (line.size() > kLongestName) {
      size_t from = line.size() - kLongestName;
      while (from < line.size() && (static_cast<unsigned char>(line[from]) & 0xC0U) == 0x80U) ++from;
      line = "\u2026" + line.substr(from);
    }
    shown.push_back(std::move(line));
  }
  return shown;
}

Json page_data(const Json& report) {
  Json charts = Json::object();
  const auto add = [&](const std::vector<PageChart>& all) {
    for (const PageChart& chart : all) charts[chart.id] = to_json(chart.chart), charts[chart.id]["x_unit"] = chart.x_unit;
  };
  add({memory_chart(report)});
  add(sweep_page_charts(report));
  add(run_charts(report));
  Json schedule = report["schedule"];
  schedule["ops"]["name"] = shown_names(schedule["ops"]["name"]);
  schedule["tensors"]["name"] = shown_names(schedule["tensors"]["name"]);
  schedule["time_s"] = report["outcome"]["time_s"];
  schedule["peak_bytes"] = report["outcome"]["peak_bytes"];
  schedule["peak_s"] = report["memory"]["peak"].is_object() ? report["memory"]["peak"]["at_s"] : Json(nullptr);
  return {{"charts", std::move(charts)}, {"schedule", std::move(schedule)}};
}

}  // namespace

std::string to_html(const Json& report) {
  const std::string body = summary(report) + memory(report) + schedule(report) + costs(report) + more_ram(report) +
                           training(report) + reproduce(report);
  return whole_page({.title = report["title"].get<std::string>() + " - Pantoum report",
                     .version = report["version"],
                     .navigation = navigation(report),
                     .body = body,
                     .data = page_data(report)});
}

}  // namespace pantoum::report
