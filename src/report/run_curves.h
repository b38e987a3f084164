// Run logs as curves: what `pantoum train` and a device wrote, run by run.
//
//   {"event":"step","step":20,"loss":0.9,"lr":0.05,"seconds":0.6}        a host's or a device's
//   {"event":"epoch","epoch":1,"step":468,"train_loss":..,"test_loss":..,"test_accuracy":..}
//   {"event":"device","board":"nrf52840","ram_bytes":..,"stack_bytes":..,"flash_bytes":..,"storage_written_bytes":..}
//
// A run begins with each file, with "resume" or "plan" behind steps, and where the numbers of the steps begin anew.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pantoum::report {

struct NamedLog {
  std::string name;  // of the file, for people
  std::string text;  // JSON lines
};

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

}  // namespace pantoum::report
