// A plan, and the runs that followed it, as one document (`pantoum.report/1`) and as one self-contained HTML page.
//
// The page is made only from the document, which contains everything that the page shows.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "check/replay.h"
#include "problem/plan.h"
#include "report/explain.h"

namespace pantoum::report {

// Makes curves, run by run, from the logs of `pantoum train` and of devices.
//
//   {"event":"step","step":20,"loss":0.9,"lr":0.05,"seconds":0.6}        a host's or a device's
//   {"event":"epoch","epoch":1,"step":468,"train_loss":..,"test_loss":..,"test_accuracy":..}
//   {"event":"device","board":"nrf52840","ram_bytes":..,"stack_bytes":..,"flash_bytes":..,"storage_written_bytes":..}
//
// A new run begins with each file, with an event "resume" or "plan" after steps, and where the step numbers restart.

struct NamedLog {
  std::string name;  // of the file, for people
  std::string text;  // JSON lines
};

// E0201: a file cannot be read.
[[nodiscard]] Result<std::vector<NamedLog>> read_logs(const std::vector<std::string>& paths);

inline constexpr size_t kMostCurvePoints =
    2000;  // of one curve; each section of the curve keeps its least and its largest value

inline constexpr size_t kMostRuns = 40;  // of all logs: the last ones

// Fields of the event that ends a run: the key in the log, and its name on the page.
inline constexpr std::array<std::pair<const char*, const char*>, 3> kEndWords{
    {{"kernels", "kernels"},
     {"io_backend", "storage is read and written by"},
     {"page_encryption", "pages are encrypted by"}}};

// The plan with which a log's plan is compared.
struct PlanOfRuns {
  size_t ops = 0;
  std::string device;
  int64_t budget_bytes = 0, arena_bytes = 0;
};

// {"runs": [...], "notes": [...], "warnings": [...]} as docs/schema/report-1.schema.json has it; a loss that is no number (null, NaN) is null.
// A last line that was cut short is left out, with a note; a log of another plan than `planned` causes a warning. E0290: any other line is not a JSON
// object (the error has its number).
[[nodiscard]] Result<nlohmann::ordered_json> read_runs(const std::vector<NamedLog>& logs,
                                                       const PlanOfRuns* planned = nullptr);

struct Sweep;

struct ReportRequest {
  const CheckedPlan& plan;
  std::vector<NamedLog> logs = {};  // in this order
  const Sweep* sweep = nullptr;     // of the same step; may be null
  std::optional<NextBytes> next;    // the effect of more RAM, if that was planned
  std::string version, plan_file;   // of the program; the plan's name, for people
  std::string trace_file = {};      // of the step, seen from the page's folder; "": none is there
};

// Returns everything that the page shows, with full names and digits. E0290: a file is not a log.
[[nodiscard]] Result<nlohmann::ordered_json> report_json(const ReportRequest& request);

// Runs side by side, from their logs alone.

inline constexpr size_t kLeastCompared = 2, kMostCompared = 12;

// Returns a `pantoum.comparison/1`: for each log its last run, with the curves of the runs that it resumed; what was measured, what was planned, and the
// options in which the commands differ. E0100: not 2 to 12 logs; E0290 as read_runs.
[[nodiscard]] Result<nlohmann::ordered_json> comparison_json(const std::vector<NamedLog>& logs, const std::string& version);
// Returns its page, of the same kind as a report's.
[[nodiscard]] std::string comparison_html(const nlohmann::ordered_json& comparison);

// Returns the page. It needs no network and no other file, and shows its charts without JavaScript, too. `report` is a result of report_json.
[[nodiscard]] std::string to_html(const nlohmann::ordered_json& report);

// Returns "pantoum WORDS", as a shell reads it. An option of letters, digits and plain marks stays an option.
[[nodiscard]] std::string line_of(const std::vector<std::string>& words);

// The command line that plans the question of a plan again.

enum class Followed { kByNothing, kByTraining, kByBoard };  // a plan, as its logs tell

// "pantoum train cnn.onnx --batch 128 ...", from the options that the plan keeps (`model`, `request`; null: a bare cost
// graph's, whose options follow from `asked`). Options with default values are left out; the plan does not contain the path of the data.
[[nodiscard]] std::string command_of(const nlohmann::ordered_json& model, const nlohmann::ordered_json& request,
                                     const nlohmann::ordered_json& asked, Followed followed);

}  // namespace pantoum::report
