// A plan, and the runs that followed it, as one document (`pantoum.report/1`) and as one self-contained HTML page.
//
// The page is made from the document alone: what it shows stands there, too.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/replay.h"
#include "problem/plan.h"
#include "report/explain.h"
#include "report/run_curves.h"

namespace pantoum::report {

struct Sweep;

struct ReportRequest {
  const problem::Plan& plan;  // has passed the checker, whose figures and spans follow
  const check::Found& found;
  const std::vector<check::Span>& spans;
  std::vector<NamedLog> logs;      // in this order
  const Sweep* sweep = nullptr;    // of the same step; may be null
  std::optional<NextBytes> next;   // what more RAM buys, where that was planned
  std::string version, plan_file;  // of the program; the plan's name, for people
};

// Everything that the page shows, with full names and digits. E0290 a log that is none.
[[nodiscard]] Result<nlohmann::ordered_json> report_json(const ReportRequest& request);

// The page: no network, no other file; charts without JavaScript, too. `report` is report_json's.
[[nodiscard]] std::string to_html(const nlohmann::ordered_json& report);

}  // namespace pantoum::report
