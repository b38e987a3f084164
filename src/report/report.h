// A plan, and the runs that followed it, as one document (`pantoum.report/1`) and as one self-contained HTML page.
//
// The page is made from the document alone, which has all that the page shows.
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

// Run logs as curves: what `pantoum train` and a device wrote, run by run.
//
//   {"event":"step","step":20,"loss":0.9,"lr":0.05,"seconds":0.6}        a host's or a device's
//   {"event":"epoch","epoch":1,"step":468,"train_loss":..,"test_loss":..,"test_accuracy":..}
//   {"event":"device","board":"nrf52840","ram_bytes":..,"stack_bytes":..,"flash_bytes":..,"storage_written_bytes":..}
//
// A run begins with each file, with "resume" or "plan" behind steps, and where the numbers of the steps begin anew.

struct NamedLog {
  std::string name;  // of the file, for people
  std::string text;  // JSON lines
};

// E0201 a file that cannot be read.
[[nodiscard]] Result<std::vector<NamedLog>> read_logs(const std::vector<std::string>& paths);

inline constexpr size_t kMostCurvePoints = 2000;  // of one curve: within each part the least and the most are kept

inline constexpr size_t kMostRuns = 40;  // of all logs: the last ones

// Words of the event that ends a run: the log's key, and what the page calls it.
inline constexpr std::array<std::pair<const char*, const char*>, 3> kEndWords{
    {{"kernels", "kernels"},
     {"io_backend", "storage is read and written by"},
     {"page_encryption", "pages are encrypted by"}}};

// What a log's plan is held against.
struct PlanOfRuns {
  size_t ops = 0;
  std::string device;
  int64_t budget_bytes = 0, arena_bytes = 0;
};

// {"runs": [...], "notes": [...], "warnings": [...]} as docs/schema/report-1.schema.json has it; a loss that is no number (null, NaN) is null.
// A last line that was cut short is left out, with a note; a log of another plan than `planned` is a warning. E0290 another line that is no JSON object, with its number.
[[nodiscard]] Result<nlohmann::ordered_json> read_runs(const std::vector<NamedLog>& logs,
                                                       const PlanOfRuns* planned = nullptr);

struct Sweep;

struct ReportRequest {
  const CheckedPlan& plan;
  std::vector<NamedLog> logs = {};  // in this order
  const Sweep* sweep = nullptr;    // of the same step; may be null
  std::optional<NextBytes> next;   // what more RAM buys, where that was planned
  std::string version, plan_file;  // of the program; the plan's name, for people
};

// Everything that the page shows, with full names and digits. E0290 a file that is no log.
[[nodiscard]] Result<nlohmann::ordered_json> report_json(const ReportRequest& request);

// The page: no network, no other file; charts without JavaScript, too. `report` is report_json's.
[[nodiscard]] std::string to_html(const nlohmann::ordered_json& report);

// The command line that asks a plan's question again.

enum class Followed { kByNothing, kByTraining, kByBoard };  // a plan, as its logs tell

// "pantoum train cnn.onnx --batch 128 ...", from the options that the plan keeps (`model`, `request`; null: a bare cost
// graph's, of which `asked` tells what can be told). What is as it is by default is left out; the data's place is not kept.
[[nodiscard]] std::string command_of(const nlohmann::ordered_json& model, const nlohmann::ordered_json& request,
                                     const nlohmann::ordered_json& asked, Followed followed);

}  // namespace pantoum::report
