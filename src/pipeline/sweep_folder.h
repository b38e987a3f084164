// The folder of a sweep: rows that are finished stay finished, whatever ends the program.
//
//   sweep.jsonl   the question, then one line per finished row, appended; a later line of a row replaces it
//   plans/        the plan of every row that has one: PLANNER-BYTES.plan.json
//   sweep.csv, sweep.json, sweep.svg   made from the rows
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/sweep_rows.h"

namespace pantoum::pipeline {

class SweepFolder {
 public:
  // Makes the folder, or takes up the rows that an earlier run of the same question finished; a line cut short is
  // dropped. E0280 it holds another question, or another program is writing there; E0281 it is damaged; E0901.
  [[nodiscard]] static Result<SweepFolder> open(const std::string& path, const report::SweepHead& head);

  [[nodiscard]] const std::vector<report::SweepRow>& rows() const { return rows_; }
  [[nodiscard]] const report::SweepRow* find(const std::string& planner, problem::Bytes ram) const;
  // The plan first, then the row: a row that is there has its plan. In place of an older one of its planner and budget.
  [[nodiscard]] Result<void> add(const report::SweepRow& row, const problem::Plan* plan);
  [[nodiscard]] Result<problem::Plan> plan_of(const report::SweepRow& row) const;
  [[nodiscard]] Result<void> write_results(const report::Sweep& sweep) const;

 private:
  struct Log;
  void keep(report::SweepRow row);
  SweepFolder(std::string path, std::shared_ptr<Log> log) : path_(std::move(path)), log_(std::move(log)) {}
  [[nodiscard]] std::string plan_path(const report::SweepRow& row) const;
  [[nodiscard]] Result<void> read_rows(std::string_view text, const report::SweepHead& head);

  std::string path_;
  std::shared_ptr<Log> log_;
  std::vector<report::SweepRow> rows_;
};

}  // namespace pantoum::pipeline
