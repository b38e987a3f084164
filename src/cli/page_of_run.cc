#include "cli/page_of_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "problem/plan_json.h"

namespace pantoum::cli {

Result<PageOfRun> PageOfRun::read(const std::string& plan, const std::vector<std::string>& logs) {
  PageOfRun page;
  page.plan_file_ = plan;
  PANTOUM_ASSIGN(page.plan_, problem::read_plan(plan));
  PANTOUM_ASSIGN(page.found_, check::replay(page.plan_.graph, page.plan_, page.plan_.question, &page.spans_));
  page.plan_.predicted = {page.found_.peak_bytes, page.found_.arena_bytes, page.found_.time_s, page.found_.energy_j};
  for (const std::string& log : logs) {
    PANTOUM_ASSIGN(std::string text, base::read_file(log));
    page.logs_.push_back({log, std::move(text)});
  }
  return page;
}

Result<nlohmann::ordered_json> PageOfRun::report(const report::Sweep* sweep,
                                                 std::optional<report::NextBytes> next) const {
  return report::report_json({.plan = plan_,
                              .found = found_,
                              .spans = spans_,
                              .logs = logs_,
                              .sweep = sweep,
                              .next = std::move(next),
                              .version = PANTOUM_VERSION,
                              .plan_file = plan_file_});
}

}  // namespace pantoum::cli
