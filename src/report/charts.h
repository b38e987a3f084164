// The charts of a sweep's picture and of a report's page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/svg.h"

namespace pantoum::report {

struct Sweep;

// Energy over RAM, then time over RAM. A planner's value holds from its budget to the next larger one, a proved bound from
// the next smaller budget to its own. The unplanned step is a horizontal line, and where it is proved that no planner has a
// plan, a hatched band.
[[nodiscard]] std::vector<Chart> sweep_charts(const Sweep& sweep);
// Both as one SVG document.
[[nodiscard]] std::string to_svg(const Sweep& sweep);

// A chart of the page. `report` is a `pantoum.report/1`.
struct PageChart {
  std::string id;  // of its element
  Chart chart;
  std::string text;  // what it shows, in a sentence, for who does not see it
};

[[nodiscard]] PageChart memory_chart(const nlohmann::ordered_json& report);
// The sweep's charts, with the report's own plan marked; empty where there is no sweep.
[[nodiscard]] std::vector<PageChart> sweep_page_charts(const nlohmann::ordered_json& report);
// Loss, evaluation, learning rate; a device's RAM and storage. Only those that have points.
[[nodiscard]] std::vector<PageChart> run_charts(const nlohmann::ordered_json& report);

// The lifetimes of the largest tensors: the picture in place of the interactive schedule without JavaScript, and in print.
[[nodiscard]] std::string schedule_svg(const nlohmann::ordered_json& report);

// "host", "nrf52840", "run 2 (from step 400)".
[[nodiscard]] std::string name_of_run(const nlohmann::ordered_json& report, size_t run);

}  // namespace pantoum::report
