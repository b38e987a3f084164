// Makes the charts of a sweep and of a report's page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/svg.h"

namespace pantoum::report {

struct Sweep;

// Energy over RAM, then time over RAM. A planner's value holds from its budget to the next larger one, a proved bound from
// the next smaller budget to its own. A horizontal line shows the unplanned step. A hatched band shows the budgets for which it is proved that no
// plan exists.
[[nodiscard]] std::vector<Chart> sweep_charts(const Sweep& sweep);
// Returns both charts as one SVG document.
[[nodiscard]] std::string to_svg(const Sweep& sweep);

// A chart of the page. `report` is a `pantoum.report/1`.
struct PageChart {
  std::string id;  // of its element
  Chart chart;
  std::string text;  // what the chart shows, in one sentence, for readers who cannot see it
  double x_unit = 1;  // of the chart's x, in the report's units: 1e-3 where a second is 1000
};

[[nodiscard]] PageChart memory_chart(const nlohmann::ordered_json& report);
// Returns the sweep's charts, with the report's plan marked; empty if there is no sweep.
[[nodiscard]] std::vector<PageChart> sweep_page_charts(const nlohmann::ordered_json& report);
// Returns the charts of loss, evaluation and learning rate, and of a device's RAM and storage. Charts without points are left out.
[[nodiscard]] std::vector<PageChart> run_charts(const nlohmann::ordered_json& report);

// Returns the charts of a `pantoum.comparison/1`: a line for each run, in the same colours everywhere.
[[nodiscard]] std::vector<PageChart> comparison_charts(const nlohmann::ordered_json& comparison);

// Returns the chart of the largest tensors' lifetimes, which replaces the interactive schedule without JavaScript and in print.
[[nodiscard]] std::string schedule_svg(const nlohmann::ordered_json& report);

// "host", "nrf52840", "run 2 (from step 400)".
[[nodiscard]] std::string name_of_run(const nlohmann::ordered_json& report, size_t run);

}  // namespace pantoum::report
