#include "report/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/svg.h"

namespace pantoum::report {
namespace {

constexpr std::array kColours{"#2266aa", "#dd8800", "#229955", "#bb2222", "#7744aa", "#886644",
                              "#cc4499", "#777777", "#88aa00", "#0099aa", "#444444", "#aa7700"};

struct Unit {
  const char* name;
  double bytes;
};

Unit unit_of(const Sweep& sweep) {
  problem::Bytes largest = 0;
  for (const SweepRow& row : sweep.rows) largest = std::max(largest, row.ram_bytes);
  if (largest >= 4 << 20) return {"MiB", 1 << 20};
  return {"KiB", 1 << 10};
}

// The planners in the order of their rows.
std::vector<std::string> planners_of(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweepRow& row : sweep.rows)
    if (std::find(names.begin(), names.end(), row.planner) == names.end()) names.push_back(row.planner);
  return names;
}

struct Curves {
  Series values, bounds;
};

Curves curves_of(const Sweep& sweep, const std::string& planner, bool energy, double unit_bytes) {
  Curves curves{{.label = planner}, {.label = "proved bound", .dashed = true}};
  for (const SweepRow& row : sweep.rows) {
    if (row.planner != planner || !row.has_plan()) continue;
    const double x = static_cast<double>(row.ram_bytes) / unit_bytes;
    curves.values.points.push_back({x, energy ? row.found.energy_j : row.found.time_s});
    if (const auto& bound = energy ? row.bound.energy_j : row.bound.time_s) curves.bounds.points.push_back({x, *bound});
  }
  return curves;
}

Chart chart_of(const Sweep& sweep, bool energy) {
  const Unit unit = unit_of(sweep);
  Chart chart{.title = fmt::format("{} on {}: {} of a step over RAM ({})", sweep.head.name, sweep.head.device,
                                   energy ? "energy" : "time", energy ? "modelled" : sweep.head.time_source),
              .x_label = fmt::format("RAM, {}", unit.name),
              .y_label = energy ? "J" : "s",
              .from_zero = false};
  size_t colour = 0;
  for (const std::string& planner : planners_of(sweep)) {
    Curves curves = curves_of(sweep, planner, energy, unit.bytes);
    curves.values.colour = curves.bounds.colour = kColours[colour++ % kColours.size()];
    chart.series.push_back(std::move(curves.values));
    if (!curves.bounds.points.empty()) chart.series.push_back(std::move(curves.bounds));
  }
  return chart;
}

}  // namespace

std::string to_svg(const Sweep& sweep) {
  return svg_document({chart_of(sweep, true), chart_of(sweep, false)});
}

}  // namespace pantoum::report
