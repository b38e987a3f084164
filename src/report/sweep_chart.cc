#include "report/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "report/sweep_rows.h"

namespace pantoum::report {
namespace {

constexpr int kThisPlanStyle = 3;  // no planner has it
constexpr int kSweepStyles = 7;    // of planners

struct Unit {
  const char* name;
  double size;
};

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
          {fmt::format("everything kept ({:.2f} {})", ram(sweep_.head.unplanned.peak_bytes), ram_.name),
           all / unit_.size});
    add_refusals(chart);
    return chart;
  }

  // After paint.
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

}  // namespace

std::vector<Chart> sweep_charts(const Sweep& sweep) {
  return {Painter(sweep, true).paint(), Painter(sweep, false).paint()};
}

std::vector<Chart> sweep_charts_of_report(const nlohmann::ordered_json& report) {
  const nlohmann::ordered_json &json = report["more_ram"]["sweep"], &outcome = report["outcome"];
  Sweep sweep;
  sweep.head.name = json["name"], sweep.head.device = json["device"], sweep.head.time_source = json["time_source"];
  const nlohmann::ordered_json& all = json["unplanned"];
  sweep.head.unplanned = {.peak_bytes = all["peak_bytes"], .time_s = all["time_s"], .energy_j = all["energy_j"]};
  for (const nlohmann::ordered_json& each : json["rows"])
    if (auto row = parse_sweep_row(each.dump(), "sweep")) {
      sweep.head.budgets.push_back(row->ram_bytes);
      sweep.rows.push_back(std::move(*row));
    }
  std::sort(sweep.head.budgets.begin(), sweep.head.budgets.end());
  std::vector<Chart> charts;
  for (const bool energy : {true, false}) {
    Painter painter(sweep, energy);
    charts.push_back(painter.paint());
    if (const nlohmann::ordered_json& budget = report["asked"]["budget_bytes"]; budget.is_number())
      charts.back().series.push_back(painter.this_plan(budget, outcome["energy_j"], outcome["time_s"]));
  }
  return charts;
}

std::string to_svg(const Sweep& sweep) {
  return svg_document(sweep_charts(sweep));
}

}  // namespace pantoum::report
