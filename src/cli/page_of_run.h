// What a report is made from: a plan that the checker accepts, with its figures, and run logs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/replay.h"
#include "problem/plan.h"
#include "report/report.h"

namespace pantoum::cli {

class PageOfRun {
 public:
  // E0201, E0220, E0221, E0230 the plan; E08xx the checker's; E0201 a log that cannot be read.
  [[nodiscard]] static Result<PageOfRun> read(const std::string& plan, const std::vector<std::string>& logs);

  [[nodiscard]] const problem::Plan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<check::Span>& spans() const { return spans_; }
  // `pantoum.report/1`. E0290 a log that is none.
  [[nodiscard]] Result<nlohmann::ordered_json> report(const report::Sweep* sweep,
                                                      std::optional<report::NextBytes> next) const;

 private:
  problem::Plan plan_;
  check::Found found_;
  std::vector<check::Span> spans_;
  std::vector<report::NamedLog> logs_;
  std::string plan_file_;
};

}  // namespace pantoum::cli
