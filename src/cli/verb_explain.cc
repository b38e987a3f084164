#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "pipeline/next_bytes.h"
#include "problem/plan_json.h"
#include "report/explain.h"

namespace pantoum::cli {
namespace {

struct ExplainOptions {
  Common common;
  std::string plan;
  int64_t effort = 2;
  PlanOptions made;  // how the plan was made
};

plan::PlanOptions probing(const ExplainOptions& options) {
  plan::PlanOptions probing;
  probing.question.freedoms.paging = options.made.paging;
  probing.question.freedoms.recomputing = options.made.recomputing;
  probing.question.freedoms.in_place = options.made.in_place;
  probing.question.freedoms.reordering = options.made.reordering;
  probing.effort = options.effort;
  probing.stop = interrupted();
  return probing;
}

Result<int> explain(const ExplainOptions& options) {
  PANTOUM_ASSIGN(problem::Plan plan, problem::read_plan(options.plan));
  PANTOUM_ASSIGN(const report::CheckedPlan checked, report::check_plan(std::move(plan)));
  ProgressLine line(options.common.json());
  line.phase("asking what more RAM would buy");
  PANTOUM_ASSIGN(report::NextBytes next, pipeline::next_bytes(checked.plan, probing(options)));
  const report::Explanation why = report::explain(checked, std::move(next));
  options.common.json() ? print_json(report::to_json(why)) : print_result(report::to_text(why));
  if (was_interrupted())
    return fail("E0999", "interrupted; what was not asked yet is missing above", options.plan,
                "a smaller --effort is quicker");
  return 0;
}

}  // namespace

void add_explain(CommandLine& line) {
  auto options = std::make_shared<ExplainOptions>();
  Verb verb = line.add_verb("explain", "what binds in a plan, what waits, and what more RAM would buy");
  verb.add_option("PLAN", options->plan, "a plan file (JSON)").required();
  add_plugins(verb);
  verb.add_option("--effort", options->effort, "search spent on each question about more RAM").within(1, 1'000'000'000);
  verb.add_settings_of(settings::fields_of(options->made), {"paging", "recomputing", "in_place", "reordering"});
  add_common(verb, options->common);
  verb.does([options] { return explain(*options); });
}

}  // namespace pantoum::cli
