// One self-contained HTML page about a plan and, when there is one, the run that followed it.
#pragma once

#include <string>
#include <string_view>

#include "check/replay.h"
#include "problem/plan.h"

namespace pantoum::report {

// RAM over the instructions under the budget line, the schedule matrix, what is largest at the peak, and from `run_log`
// (JSON lines; may be empty) loss and accuracy. E0290 a line of the log that is no JSON object.
[[nodiscard]] Result<std::string> to_html(const problem::Plan& plan, const check::Found& found,
                                          std::string_view run_log);

}  // namespace pantoum::report
