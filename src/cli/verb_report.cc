#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/planning.h"
#include "pipeline/next_bytes.h"
#include "pipeline/sweep.h"
#include "problem/plan_json.h"
#include "report/report.h"
#include "report/sweep_rows.h"
#include "report/trace_events.h"

namespace pantoum::cli {
namespace {

constexpr int kProbes = 5;  // of next_bytes: four budgets, and one without the deadline

struct ReportOptions {
  Common common;
  std::string plan, output, sweep, trace, next_ram;
  std::vector<std::string> logs;
  bool compare = false;
};

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path != "-") return base::write_file_atomically(path, text);
  std::fwrite(text.data(), 1, text.size(), stdout);  // what was not written, main tells at the end
  return {};
}

// The folder that was named; else the one of which the plan is a part.
std::string sweep_folder_of(const ReportOptions& options) {
  if (!options.sweep.empty()) return options.sweep;
  const std::filesystem::path plan = std::filesystem::absolute(options.plan), folder = plan.parent_path().parent_path();
  std::error_code ignored;
  const bool part =
      plan.parent_path().filename() == "plans" && std::filesystem::exists(folder / "sweep.jsonl", ignored);
  return part ? folder.string() : "";
}

bool is_limit(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || std::abs(*a - *b) <= 1e-9 * std::abs(*b));
}

// The part of the question, RAM excepted, in which the sweep differs from the plan; "": they ask the same.
std::string apart_from(const report::SweepHead& head, const problem::Plan& plan) {
  const problem::Question &swept = head.options.question, &own = plan.question;
  const problem::Freedoms &free = swept.freedoms, &own_free = own.freedoms;
  if (head.question != pipeline::question_of(plan.graph)) return "step";
  if (swept.objective != own.objective) return "objective";
  if (!is_limit(swept.deadline, own.deadline)) return "deadline";
  if (!is_limit(swept.energy_limit, own.energy_limit)) return "limit of energy";
  const bool as_free = free.paging == own_free.paging && free.recomputing == own_free.recomputing &&
                       free.in_place == own_free.in_place && free.reordering == own_free.reordering;
  return as_free ? "" : "freedom (--no-paging, --no-remat, --no-inplace, --no-reorder)";
}

Result<std::optional<report::Sweep>> sweep_of(const ReportOptions& options, const problem::Plan& plan) {
  const std::string folder = sweep_folder_of(options);
  if (folder.empty()) return std::optional<report::Sweep>();
  const std::string path = (std::filesystem::path(folder) / "sweep.jsonl").string();
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  PANTOUM_ASSIGN(report::Sweep sweep, report::parse_sweep(text, path));
  const std::string apart = apart_from(sweep.head, plan);
  if (apart.empty()) return std::optional(std::move(sweep));
  if (options.sweep.empty()) return std::optional<report::Sweep>();
  return fail("E0280", "the sweep is of another " + apart + " than the plan", path,
              "give the folder of a sweep that asks the same of this step, or leave --sweep out");
}

Result<std::optional<report::NextBytes>> next_of(const ReportOptions& options, const problem::Plan& plan) {
  if (options.next_ram.empty()) return std::optional<report::NextBytes>();
  PANTOUM_ASSIGN(const double seconds, base::parse_seconds(options.next_ram, "--next-ram"));
  plan::PlanOptions probing;
  probing.question.freedoms = plan.question.freedoms;
  probing.time_limit = seconds / kProbes;
  probing.stop = interrupted();
  PANTOUM_ASSIGN(report::NextBytes next, pipeline::next_bytes(plan, probing));
  return std::optional(std::move(next));
}

// The trace's file as the page's folder sees it; "": one of them is no file.
std::string trace_beside(const ReportOptions& options) {
  if (options.trace.empty() || options.trace == "-" || options.output.empty() || options.output == "-") return "";
  const std::filesystem::path page = std::filesystem::absolute(options.output).lexically_normal(),
                              trace = std::filesystem::absolute(options.trace).lexically_normal();
  return trace.lexically_relative(page.parent_path()).generic_string();
}

Result<int> compare_runs(const ReportOptions& options) {
  for (const auto& [name, value] : {std::pair{"--sweep", &options.sweep}, {"--next-ram", &options.next_ram}, {"--trace", &options.trace}})
    if (!value->empty())
      return fail("E0100", fmt::format("{} is of a plan, and --compare has run logs alone", name), "report", "leave it out");
  PANTOUM_ASSIGN(const std::vector<report::NamedLog> logs, report::read_logs(options.logs));
  PANTOUM_ASSIGN(const nlohmann::ordered_json json, report::comparison_json(logs, PANTOUM_VERSION));
  const std::string text = options.common.json() ? base::ascii_json(json) + "\n" : report::comparison_html(json);
  PANTOUM_TRY(write_text(options.output.empty() ? "-" : options.output, text));
  if (!options.output.empty() && options.output != "-") print_note(fmt::format("wrote {}", options.output));
  return 0;
}

Result<int> write_report(const ReportOptions& options) {
  const bool nothing = options.output.empty() && options.trace.empty() && !options.common.json();
  if (nothing)
    return fail("E0100", "-o is missing: where the page goes", "report", "-o report.html, or -o - for stdout");
  if (options.compare) return compare_runs(options);
  PANTOUM_ASSIGN(problem::Plan plan, problem::read_plan(options.plan));
  PANTOUM_ASSIGN(const report::CheckedPlan checked, report::check_plan(std::move(plan)));
  report::ReportRequest request{.plan = checked, .next = {}, .version = PANTOUM_VERSION, .plan_file = options.plan};
  PANTOUM_ASSIGN(request.logs, report::read_logs(options.logs));
  if (!options.trace.empty())
    PANTOUM_TRY(write_text(options.trace, base::ascii_json(report::trace_events(checked)) + "\n"));
  request.trace_file = trace_beside(options);
  if (options.output.empty() && !options.common.json()) return 0;
  PANTOUM_ASSIGN(const std::optional<report::Sweep> sweep, sweep_of(options, checked.plan));
  if (sweep) request.sweep = &*sweep;
  PANTOUM_ASSIGN(request.next, next_of(options, checked.plan));
  PANTOUM_ASSIGN(const nlohmann::ordered_json json, report::report_json(request));
  for (const nlohmann::ordered_json& warning : json["warnings"]) print_warning(warning.get<std::string>());
  const std::string text = options.common.json() ? base::ascii_json(json) + "\n" : report::to_html(json);
  PANTOUM_TRY(write_text(options.output.empty() ? "-" : options.output, text));
  if (!options.output.empty() && options.output != "-") print_note(fmt::format("wrote {}", options.output));
  return interrupted().stop_requested() ? 130 : 0;
}

}  // namespace

void add_report(CommandLine& line) {
  auto options = std::make_shared<ReportOptions>();
  Verb verb = line.add_verb("report", "one HTML page about a plan and the runs that followed it");
  verb.add_option("PLAN", options->plan, "a plan file (JSON); none with --compare").required("--compare");
  verb.add_option("LOG", options->logs, "run logs (JSON lines): of pantoum train, of a device");
  verb.add_flag("--compare", options->compare, "2 to 12 run logs side by side, without a plan");
  verb.add_option("-o,--output", options->output, "the page (-: stdout), or with --format json a file of its figures");
  verb.add_option("--sweep", options->sweep,
                  "the folder of a sweep of this step, to draw; found by itself for a plan that lies in one");
  verb.add_option("--next-ram", options->next_ram,
                  "plan again with 1, 5 and 10% more RAM, for so long in all, as in 10s");
  verb.add_option("--trace", options->trace, "a trace for Perfetto (https://ui.perfetto.dev); -: stdout");
  add_common(verb, options->common);
  verb.does([options] { return write_report(*options); });
}

}  // namespace pantoum::cli
