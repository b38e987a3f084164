// The picture of a sweep: energy and time over RAM.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/svg.h"

namespace pantoum::report {

struct Sweep;

// Energy, then time. A planner's value holds from its budget to the next larger one, a proved bound from the next smaller
// one to its budget; the unplanned step is a rule, and where it is proved that no planner has a plan, a hatched band.
[[nodiscard]] std::vector<Chart> sweep_charts(const Sweep& sweep);

// The same of the sweep in a `pantoum.report/1`, with the report's own plan marked.
[[nodiscard]] std::vector<Chart> sweep_charts_of_report(const nlohmann::ordered_json& report);

// One SVG document of the two.
[[nodiscard]] std::string to_svg(const Sweep& sweep);

}  // namespace pantoum::report
