// The results of a sweep: one row per planner and budget, as JSON, JSON lines and CSV (`pantoum.sweep/1`).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/replay.h"
#include "plan/planner.h"

namespace pantoum::report {

// The question that every row answers. Two sweeps with the same head have the same rows, unless searches are limited by time.
struct SweepHead {
  std::string version;   // of the program
  std::string question;  // a hash of the cost graph
  std::string name, device;
  std::string time_source = "modelled";  // problem/cost_graph.h
  plan::PlanOptions options;             // ram is not used
  problem::Bytes reserve = 0;            // subtracted from every budget
  std::vector<problem::Bytes> budgets;
  problem::Predicted unplanned;
};

enum class SweepStatus {
  kOptimal,
  kFeasible,
  kInfeasible,     // proved that no plan fits
  kNotFound,       // none was found within the limits
  kNotApplicable,  // the method does not apply to this graph
};

struct SweepRow {
  std::string planner;
  problem::Bytes ram_bytes = 0;
  SweepStatus status = SweepStatus::kFeasible;
  check::Found found;  // of the plan, as replayed
  problem::Bound bound;
  double gap = 1;         // of the objective; 1 without a bound
  double seconds = 0;     // planning; 0 with a fixed effort
  bool carried = false;   // the plan of a smaller budget, because no better plan was found for this budget
  plan::Infeasible none;  // what is known if there is no plan
  [[nodiscard]] bool has_plan() const { return status == SweepStatus::kOptimal || status == SweepStatus::kFeasible; }
};

struct Sweep {
  SweepHead head;
  std::vector<SweepRow> rows;  // by planner, budgets upward
};

[[nodiscard]] nlohmann::ordered_json to_json(const SweepHead& head);
[[nodiscard]] nlohmann::ordered_json to_json(const SweepRow& row);
[[nodiscard]] nlohmann::ordered_json to_json(const Sweep& sweep);
// E0281: a line is not a row; `where` names the line.
[[nodiscard]] Result<SweepRow> parse_sweep_row(std::string_view line, const std::string& where);

// A sweep.jsonl: the question, then rows, of which a later one of a planner and budget stands for the earlier; a last line
// that was cut short is left out. Of the head what a picture needs. E0281 it is no sweep.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view lines, const std::string& where);

// Returns CSV: a line of names, then one line per row; values that a row does not have are empty.
[[nodiscard]] std::string to_csv(const Sweep& sweep);

// Returns the rows as text: one aligned line each.
[[nodiscard]] std::string to_text(const Sweep& sweep);

}  // namespace pantoum::report
