#include <cstdio>

#include "base/files.h"
#include "check/replay.h"
#include "cli/cli.h"
#include "problem/plan_json.h"
#include "report/report.h"

namespace pantoum::cli {
namespace {

struct ReportOptions {
  Common common;
  std::string plan, log, output;
};

Result<int> write_report(const ReportOptions& options) {
  PANTOUM_ASSIGN(const problem::Plan plan, problem::read_plan(options.plan));
  PANTOUM_ASSIGN(const check::Found found, check::replay(plan.graph, plan));
  std::string log;
  if (!options.log.empty()) {
    PANTOUM_ASSIGN(log, base::read_file(options.log));
  }
  PANTOUM_ASSIGN(const std::string page, report::to_html(plan, found, log));
  PANTOUM_TRY(base::write_file_atomically(options.output, page));
  return 0;
}

}  // namespace

void add_report(CommandLine& line) {
  auto options = std::make_shared<ReportOptions>();
  Verb verb = line.add_verb("report", "one HTML page about a plan and the run that followed it");
  verb.add_option("PLAN", options->plan, "a plan file (JSON)").required();
  verb.add_option("LOG", options->log, "the run log (JSON lines) of pantoum train");
  verb.add_option("-o,--output", options->output, "the page").required();
  add_common(verb, options->common);
  verb.does([options] { return write_report(*options); });
}

}  // namespace pantoum::cli
