#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/foreign_text.h"
#include "base/units.h"
#include "report/lifetimes.h"
#include "report/sweep_rows.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMuchMore = 3;  // a budget of more than so many peaks is no line of the chart
constexpr int kBudgetStyle = 1, kKeptStyle = 5, kStyles = 8;
constexpr size_t kFewPoints = 30;  // each has a mark

struct Unit {
  const char* name;
  double size;
};

Unit unit_of_bytes(double most) {
  constexpr std::array kUnits{Unit{"GiB", 1 << 30}, Unit{"MiB", 1 << 20}, Unit{"KiB", 1 << 10}};
  for (const Unit& unit : kUnits)
    if (most >= unit.size) return unit;
  return {"B", 1};
}

Unit unit_of_seconds(double most) {
  constexpr std::array kUnits{Unit{"h", 3600}, Unit{"min", 60}, Unit{"s", 1}, Unit{"ms", 1e-3},
                              Unit{"us", 1e-6}};
  for (const Unit& unit : kUnits)
    if (most >= 2 * unit.size) return unit;
  return {"ns", 1e-9};
}

constexpr int kThisPlanStyle = 3;  // no planner has it
constexpr int kSweepStyles = 7;    // of planners

Unit unit_of_ram(const Sweep& sweep) {
  problem::Bytes largest = 0;
  for (const SweepRow& row : sweep.rows) largest = std::max(largest, row.ram_bytes);
  if (largest >= problem::Bytes{4} << 30) return {"GiB", 1 << 30};
  if (largest >= problem::Bytes{4} << 20) return {"MiB", 1 << 20};
  return {"KiB", 1 << 10};
}

Unit unit_of_values(double most, const char* large, const char* small) {
  return most < 1 ? Unit{small, 1e-3} : Unit{large, 1};
}

// The planners in the order of their rows.
std::vector<std::string> planners_of(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweepRow& row : sweep.rows)
    if (std::find(names.begin(), names.end(), row.planner) == names.end()) names.push_back(row.planner);
  return names;
}

int style_of_planner(size_t at) {
  const int style = static_cast<int>(at % kSweepStyles);
  return style < kThisPlanStyle ? style : style + 1;
}

class Painter {
 public:
  Painter(const Sweep& sweep, bool energy) : sweep_(sweep), energy_(energy), ram_(unit_of_ram(sweep)) {
    double most = value_of(sweep.head.unplanned.energy_j, sweep.head.unplanned.time_s);
    for (const SweepRow& row : sweep.rows)
      if (row.has_plan()) most = std::max(most, value_of(row.found.energy_j, row.found.time_s));
    unit_ = energy ? unit_of_values(most, "J", "mJ") : unit_of_values(most, "s", "ms");
  }

  Chart paint() {
    const char* what = energy_ ? "Energy" : "Time";
    Chart chart{.title = fmt::format("{} of a step over RAM: {} on {}", what, sweep_.head.name, sweep_.head.device),
                .x_label = fmt::format("RAM budget, {}", ram_.name),
                .y_label = fmt::format("{} of a step, {} ({})", energy_ ? "energy" : "time", unit_.name,
                                       energy_ ? "modelled" : sweep_.head.time_source),
                .from_zero = false};
    const std::vector<std::string> planners = planners_of(sweep_);
    for (size_t at = 0; at < planners.size(); ++at) add(planners[at], style_of_planner(at), chart);
    const double all = value_of(sweep_.head.unplanned.energy_j, sweep_.head.unplanned.time_s);
    if (all > 0)
      chart.rules.push_back(
          {fmt::format("unplanned ({:.2f} {})", ram(sweep_.head.unplanned.peak_bytes), ram_.name),
           all / unit_.size});
    add_refusals(chart);
    return chart;
  }

  // Call it after paint().
  [[nodiscard]] Series this_plan(problem::Bytes budget, double energy_j, double time_s) const {
    return {.label = "the plan of this page",
            .style = kThisPlanStyle,
            .points = {{ram(budget), value_of(energy_j, time_s) / unit_.size}},
            .marked = true};
  }

 private:
  [[nodiscard]] double value_of(double energy_j, double time_s) const { return energy_ ? energy_j : time_s; }
  [[nodiscard]] double ram(problem::Bytes bytes) const { return static_cast<double>(bytes) / ram_.size; }

  void add(const std::string& planner, int style, Chart& chart) const {
    Series values{.label = planner, .style = style, .shape = Shape::kSteps, .marked = true};
    Series bounds{.label = planner + ": proved bound", .style = style, .shape = Shape::kStepsBack, .dashed = true};
    for (const SweepRow& row : sweep_.rows) {
      if (row.planner != planner) continue;
      if (!row.has_plan()) {
        values.none.push_back(ram(row.ram_bytes));
        continue;
      }
      values.points.push_back({ram(row.ram_bytes), value_of(row.found.energy_j, row.found.time_s) / unit_.size});
      if (const auto& bound = energy_ ? row.bound.energy_j : row.bound.time_s)
        bounds.points.push_back({ram(row.ram_bytes), *bound / unit_.size});
    }
    chart.series.push_back(std::move(values));
    if (!bounds.points.empty()) chart.series.push_back(std::move(bounds));
  }

  // Up to here it is proved that there is no plan, whichever planner is asked; none: for some budget is one.
  [[nodiscard]] problem::Bytes refused_below() const {
    std::optional<problem::Bytes> smallest;
    problem::Bytes bound = 0;
    for (const SweepRow& row : sweep_.rows) {
      if (row.has_plan()) smallest = std::min(smallest.value_or(row.ram_bytes), row.ram_bytes);
      if (row.status == SweepStatus::kInfeasible)
        bound = std::max(bound, std::max(row.ram_bytes, row.none.min_ram_bound_bytes));
    }
    return smallest ? std::min(bound, *smallest) : bound;
  }

  void add_refusals(Chart& chart) const {
    const problem::Bytes refused = refused_below();
    const problem::Bytes least = sweep_.head.budgets.empty() ? 0 : sweep_.head.budgets.front();
    if (refused > 0) chart.regions.push_back({"proved: no plan", ram(std::min(least, refused)), ram(refused), true});
    for (Series& series : chart.series)
      if (!series.none.empty()) series.label += " (\u00d7: no plan)";
  }

  const Sweep& sweep_;
  bool energy_;
  Unit ram_, unit_{"", 1};
};

// The sweep that a report holds, as far as its picture needs it.
Sweep sweep_of(const Json& json) {
  Sweep sweep;
  sweep.head.name = json["name"], sweep.head.device = json["device"], sweep.head.time_source = json["time_source"];
  const Json& all = json["unplanned"];
  sweep.head.unplanned = {.peak_bytes = all["peak_bytes"], .time_s = all["time_s"], .energy_j = all["energy_j"]};
  for (const Json& each : json["rows"])
    if (auto row = parse_sweep_row(each.dump(), "sweep")) {
      sweep.head.budgets.push_back(row->ram_bytes);
      sweep.rows.push_back(std::move(*row));
    }
  std::sort(sweep.head.budgets.begin(), sweep.head.budgets.end());
  return sweep;
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

Series steps_of(const Json& curve, const std::string& label, int style, Shape shape, const Unit& time,
                const Unit& ram, double end_s) {
  Series series{.label = label, .style = style, .shape = shape};
  const Json &seconds = curve["seconds"], &bytes = curve["bytes"];
  for (size_t at = 0; at < seconds.size(); ++at)
    series.points.push_back({number(seconds[at]) / time.size, number(bytes[at]) / ram.size});
  if (!series.points.empty()) series.points.push_back({end_s / time.size, series.points.back().y});
  return series;
}

// Forward, and what follows it: updates stand among the ops of backward.
std::vector<Region> phase_regions(const Json& report, const Unit& time) {
  double boundary = -1;
  for (const Json& phase : report["schedule"]["phases"])
    if (phase["phase"] == "backward") boundary = phase["begin_s"];
  const double end = report["outcome"]["time_s"];
  if (boundary <= 0 || boundary >= end) return {};
  return {{"forward", 0, boundary / time.size}, {"backward and updates", boundary / time.size, end / time.size}};
}

void add_lines(const Json& report, const Unit& ram, double most, Chart& chart) {
  const Json &budget = report["asked"]["budget_bytes"], &all = report["outcome"]["unplanned"];
  if (budget.is_number() && number(budget) <= kMuchMore * most)
    chart.rules.push_back({"budget " + base::show_bytes(budget), number(budget) / ram.size, kBudgetStyle});
  if (all.is_object())
    chart.rules.push_back(
        {"unplanned peak " + base::show_bytes(all["peak_bytes"]),
         number(all["peak_bytes"]) / ram.size, kKeptStyle});
}

}  // namespace

std::vector<Chart> sweep_charts(const Sweep& sweep) {
  return {Painter(sweep, false).paint(), Painter(sweep, true).paint()};
}

std::string to_svg(const Sweep& sweep) {
  return svg_document(sweep_charts(sweep));
}

PageChart memory_chart(const Json& report) {
  const Json &outcome = report["outcome"], &memory = report["memory"], &all = outcome["unplanned"];
  double most = outcome["peak_bytes"], longest = outcome["time_s"];
  if (all.is_object())
    most = std::max(most, number(all["peak_bytes"])), longest = std::max(longest, number(all["time_s"]));
  const Unit ram = unit_of_bytes(most), time = unit_of_seconds(longest);
  Chart chart{.title = "RAM over one step",
              .x_label = fmt::format("time, {}", time.name),
              .y_label = fmt::format("RAM, {}", ram.name)};
  chart.series.push_back(steps_of(memory["planned"], "this plan", 0, Shape::kArea, time, ram, outcome["time_s"]));
  if (memory["unplanned"].is_object()) {
    chart.series.push_back(steps_of(memory["unplanned"], "unplanned", kKeptStyle,
                                    Shape::kSteps, time, ram, all["time_s"]));
    chart.series.back().dashed = true;
  }
  if (memory["peak"].is_object())
    chart.series.push_back(
        {.label = "peak",
         .style = 3,
         .points = {{number(memory["peak"]["at_s"]) / time.size, number(outcome["peak_bytes"]) / ram.size}},
         .marked = true});
  chart.regions = phase_regions(report, time);
  add_lines(report, ram, most, chart);
  return {
      "ram", std::move(chart),
      report["questions"][0]["answer"].get<std::string>() + " " + report["questions"][1]["answer"].get<std::string>(),
      time.size};
}

std::vector<PageChart> sweep_page_charts(const Json& report) {
  const Json &json = report["more_ram"]["sweep"], &outcome = report["outcome"];
  if (!json.is_object() || json["rows"].empty()) return {};
  const Sweep sweep = sweep_of(json);
  std::vector<PageChart> charts;
  for (const bool energy : {false, true}) {
    Painter painter(sweep, energy);
    charts.push_back(
        {energy ? "pareto-energy" : "pareto-time", painter.paint(), report["questions"][4]["answer"].get<std::string>(), 1});
    if (const Json& budget = report["asked"]["budget_bytes"]; budget.is_number())
      charts.back().chart.series.push_back(painter.this_plan(budget, outcome["energy_j"], outcome["time_s"]));
  }
  return charts;
}

std::string name_of_run(const Json& report, size_t run) {
  const Json& each = report["runs"][run];
  const std::string board = each["board"].is_string() ? each["board"].get<std::string>() : "";
  std::string name = each["board"].is_string() ? (board.empty() ? "device" : board) : "host";
  size_t alike = 0, before = 0;
  for (size_t at = 0; at < report["runs"].size(); ++at)
    if (report["runs"][at]["board"] == each["board"]) ++alike, before += at < run ? 1 : 0;
  if (alike > 1) name += fmt::format(", run {}", before + 1);
  if (each["resumed_from"].is_number()) name += fmt::format(" (from step {:.0f})", number(each["resumed_from"]));
  return name;
}

namespace {

// One series a run, of those that have the curve.
void add_curves(const Json& report, const char* key, const std::string& what, bool marked, double size, Chart& chart) {
  for (size_t at = 0; at < report["runs"].size(); ++at) {
    const Json& curves = report["runs"][at]["curves"];
    if (!curves.contains(key)) continue;
    Series series{.label = report["runs"].size() > 1 ? what + ", " + name_of_run(report, at) : what,
                  .style = static_cast<int>(chart.series.size()) % kStyles,
                  .marked = marked};
    const Json &steps = curves[key]["steps"], &values = curves[key]["values"];
    for (size_t point = 0; point < steps.size(); ++point)
      series.points.push_back({number(steps[point]), number(values[point]) / size});
    chart.series.push_back(std::move(series));
  }
}

bool has_points(const Chart& chart) {
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (std::isfinite(point.y)) return true;
  return false;
}

double largest_of(const Json& report, const char* key) {
  double most = 0;
  for (const Json& run : report["runs"])
    if (run["curves"].contains(key))
      for (const Json& value : run["curves"][key]["values"])
        if (value.is_number()) most = std::max(most, value.get<double>());
  return most;
}

std::string ends_of(const Chart& chart) {
  std::string text;
  for (const Series& series : chart.series) {
    std::vector<Point> points;
    std::copy_if(series.points.begin(), series.points.end(), std::back_inserter(points),
                 [](const Point& point) { return std::isfinite(point.y); });
    if (!points.empty())
      text += fmt::format("{}: {:.4g} at step {:.0f} to {:.4g} at step {:.0f}. ", series.label, points.front().y,
                          points.front().x, points.back().y, points.back().x);
  }
  return text;
}

}  // namespace

std::vector<PageChart> run_charts(const Json& report) {
  std::vector<PageChart> charts;
  const auto add = [&](const char* id, Chart chart) {
    if (!has_points(chart)) return;
    std::string text = ends_of(chart);
    charts.push_back({id, std::move(chart), std::move(text), 1});
  };
  Chart loss{.title = "Loss", .x_label = "step", .y_label = "loss", .from_zero = false};
  add_curves(report, "loss", "loss", false, 1, loss);
  add_curves(report, "train_loss", "mean of an epoch", true, 1, loss);
  add_curves(report, "test_loss", "test loss", true, 1, loss);
  add("loss", std::move(loss));
  Chart accuracy{.title = "Evaluation", .x_label = "step", .y_label = "share of the test set, %", .from_zero = false};
  add_curves(report, "test_accuracy", "accuracy", true, 0.01, accuracy);
  add_curves(report, "test_top5", "top 5", true, 0.01, accuracy);
  add("evaluation", std::move(accuracy));
  for (const auto& [key, title] : {std::pair{"test_mae", "Mean absolute error"}, {"test_perplexity", "Perplexity"}}) {
    Chart chart{.title = title, .x_label = "step", .y_label = title, .from_zero = false};
    add_curves(report, key, title, true, 1, chart);
    add(key, std::move(chart));
  }
  Chart rate{.title = "Learning rate", .x_label = "step", .y_label = "learning rate"};
  add_curves(report, "lr", "learning rate", false, 1, rate);
  add("rate", std::move(rate));
  const Unit ram = unit_of_bytes(largest_of(report, "ram_bytes")),
                 storage = unit_of_bytes(largest_of(report, "storage_written_bytes"));
  Chart device{.title = "RAM on the device", .x_label = "step", .y_label = fmt::format("RAM, {}", ram.name)};
  add_curves(report, "ram_bytes", "in use, stack included", true, ram.size, device);
  add_curves(report, "stack_bytes", "stack", true, ram.size, device);
  add("device-ram", std::move(device));
  Chart written{.title = "Written to the device's storage",
                .x_label = "step",
                .y_label = fmt::format("written, {}", storage.name)};
  add_curves(report, "storage_written_bytes", "written since the start", true, storage.size, written);
  add("device-storage", std::move(written));
  return charts;
}

std::vector<PageChart> comparison_charts(const Json& comparison) {
  struct Kind {
    const char *key, *title, *y_label;
    double size;
  };
  constexpr std::array<Kind, 8> kKinds{{{"loss", "Loss", "loss", 1},
                                        {"train_loss", "Mean loss of an epoch", "loss", 1},
                                        {"test_loss", "Loss on the test set", "loss", 1},
                                        {"test_accuracy", "Accuracy", "share of the test set, %", 0.01},
                                        {"test_top5", "Top-5 accuracy", "share of the test set, %", 0.01},
                                        {"test_mae", "Mean absolute error", "error", 1},
                                        {"test_perplexity", "Perplexity", "perplexity", 1},
                                        {"lr", "Learning rate", "learning rate", 1}}};
  std::vector<PageChart> charts;
  for (const Kind& kind : kKinds) {
    Chart chart{.title = kind.title, .x_label = "step", .y_label = kind.y_label, .from_zero = false};
    const Json& runs = comparison["runs"];
    for (size_t at = 0; at < runs.size(); ++at) {
      if (!runs[at]["curves"].contains(kind.key)) continue;
      const Json& curve = runs[at]["curves"][kind.key];
      Series series{.label = runs[at]["name"],
                    .style = static_cast<int>(at) % kStyles,
                    .dashed = at >= kStyles,
                    .marked = curve["steps"].size() < kFewPoints};
      for (size_t point = 0; point < curve["steps"].size(); ++point)
        series.points.push_back({number(curve["steps"][point]), number(curve["values"][point]) / kind.size});
      chart.series.push_back(std::move(series));
    }
    if (!has_points(chart)) continue;
    std::string text = ends_of(chart);
    charts.push_back({kind.key, std::move(chart), std::move(text), 1});
  }
  return charts;
}

namespace {

constexpr size_t kMostRows = 60;
constexpr double kRowHeight = 11, kNameColumn = 250, kSheet = 900, kHead = 20;

// The tensors of the largest lifetimes, in the order in which they begin.
std::vector<int64_t> largest_tensors(const Json& tensors, const Json& bars) {
  std::vector<int64_t> chosen;
  for (const Json& tensor : bars["tensor"]) chosen.push_back(tensor);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::stable_sort(chosen.begin(), chosen.end(), [&](int64_t a, int64_t b) {
    return tensors["bytes"][static_cast<size_t>(a)].get<int64_t>() >
           tensors["bytes"][static_cast<size_t>(b)].get<int64_t>();
  });
  chosen.resize(std::min(kMostRows, chosen.size()));
  std::vector<int64_t> ordered;
  for (const Json& tensor : bars["tensor"])
    if (std::find(chosen.begin(), chosen.end(), tensor.get<int64_t>()) != chosen.end() &&
        std::find(ordered.begin(), ordered.end(), tensor.get<int64_t>()) == ordered.end())
      ordered.push_back(tensor);
  return ordered;
}

std::string end_of_name(const std::string& name) {
  constexpr size_t kLetters = 38;
  const std::string line = base::one_line(name);
  if (line.size() <= kLetters) return line;
  size_t from = line.size() - kLetters;
  while (from < line.size() && (static_cast<unsigned char>(line[from]) & 0xC0U) == 0x80U)
    ++from;  // not inside a letter
  return "\u2026" + line.substr(from);
}

constexpr std::array<const char*, 3> kLanes{"compute", "to storage", "from storage"};

// Ops and the storage are drawn above the tensors where ops are computed in slices.
size_t lanes_of(const Json& report) {
  return report["streamed"].empty() ? 0 : kLanes.size();
}

// A box of a lane, filled from below to a share of its height.
std::string lane_box(size_t lane, double x, double width, double share, const char* style) {
  const double tall = (kRowHeight - 2) * share;
  return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' class='{}'/>\n", x,
                     kHead + kRowHeight * static_cast<double>(lane + 1) - 1 - tall, std::max(0.3, width), tall, style);
}

// What is computed, in slices or at once, and the share of each op's time in which the storage moves its slices; whole tensors take the storage alone.
std::string slice_lanes(const Json& report, double scale) {
  if (lanes_of(report) == 0) return "";
  std::string text;
  for (size_t lane = 0; lane < kLanes.size(); ++lane)
    text += fmt::format("<text x='0' y='{:.0f}' class='small'>{}</text>\n",
                        kHead + kRowHeight * static_cast<double>(lane) + 9, kLanes[lane]);
  const Json &computes = report["schedule"]["computes"], &transfers = report["schedule"]["transfers"];
  const auto box = [&](const Json& of, size_t at, size_t lane, double share, const char* style) {
    const double begin = number(of["begin"][at]), end = number(of["end"][at]);
    text += lane_box(lane, kNameColumn + begin * scale, (end - begin) * scale, share, style);
  };
  for (size_t at = 0; at < computes["op"].size(); ++at) {
    box(computes, at, 0, 1, "how1");
    if (computes["slices"][at] == 0) continue;
    box(computes, at, 0, 0.5, "how3");
    const double time = std::max(1.0, number(computes["end"][at]) - number(computes["begin"][at]));
    for (const auto& [lane, key] : {std::pair(1, "to_storage"), std::pair(2, "from_storage")})
      if (computes[key][at] > 0)
        box(computes, at, static_cast<size_t>(lane), std::clamp(number(computes[key][at]) / time, 0.1, 1.0), "how3");
  }
  for (size_t at = 0; at < transfers["tensor"].size(); ++at)
    box(transfers, at, transfers["out"][at] == 1 ? 1 : 2, 1, "how3");
  return text;
}

}  // namespace

std::string schedule_svg(const Json& report) {
  const Json &schedule = report["schedule"], &tensors = schedule["tensors"], &bars = schedule["bars"];
  const std::vector<int64_t> rows = largest_tensors(tensors, bars);
  const double end = number(report["outcome"]["time_s"]) / number(schedule["tick_s"]);
  const double scale = end > 0 ? (kSheet - kNameColumn) / end : 0,
               top = kHead + kRowHeight * static_cast<double>(lanes_of(report)),
               height = top + kRowHeight * static_cast<double>(rows.size()) + 6;
  std::string text = fmt::format(
      "<svg viewBox='0 0 {} {}' class='chart' role='img' aria-label='Lifetimes of the {} largest tensors'>\n", kSheet,
      height, rows.size());
  text += fmt::format(
      "<text x='0' y='12' class='label'>the {} largest tensors</text><text x='{}' y='12' class='label'>0</text><text "
      "x='{}' y='12' class='y'>{}</text>\n",
      rows.size(), kNameColumn, kSheet, show_time(report["outcome"]["time_s"]));
  for (size_t row = 0; row < rows.size(); ++row)
    text +=
        fmt::format("<text x='0' y='{:.0f}' class='small'>{}</text>\n", top + kRowHeight * static_cast<double>(row) + 9,
                    base::html_text(end_of_name(tensors["name"][static_cast<size_t>(rows[row])])));
  for (size_t at = 0; at < bars["tensor"].size(); ++at) {
    const auto row = std::find(rows.begin(), rows.end(), bars["tensor"][at].get<int64_t>());
    if (row == rows.end()) continue;
    const double x = kNameColumn + number(bars["begin"][at]) * scale,
                 width = (number(bars["end"][at]) - number(bars["begin"][at])) * scale;
    const int how = bars["how"][at];
    const double thick = how < static_cast<int>(How::kInStorage) ? kRowHeight - 3 : 2;
    const double y = top + kRowHeight * static_cast<double>(row - rows.begin()) + (kRowHeight - thick) / 2;
    text += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' class='how{}'/>\n", x, y,
                        std::max(0.5, width), thick, how);
  }
  return text + slice_lanes(report, scale) + "</svg>\n";
}

}  // namespace pantoum::report
