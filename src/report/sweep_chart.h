// The picture of a sweep: energy and time over RAM.
#pragma once

#include <string>

#include "report/sweep_rows.h"

namespace pantoum::report {

// One SVG document of two charts; one line per planner, its proved bounds dashed in the same colour.
[[nodiscard]] std::string to_svg(const Sweep& sweep);

}  // namespace pantoum::report
