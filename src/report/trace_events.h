// A plan as a trace that Perfetto and chrome://tracing open: one track per engine and per direction of the pager, RAM as a
// counter, stalls; time in microseconds, as the checker's replay has it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/explain.h"

namespace pantoum::report {

// Returns the plan in the JSON object format ("traceEvents"). Events of a track follow each other in time and do not overlap.
[[nodiscard]] nlohmann::ordered_json trace_events(const CheckedPlan& plan);

}  // namespace pantoum::report
