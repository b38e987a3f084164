#include "cli/planning.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/foreign_text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/plan_summary.h"
#include "plan/planner.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "problem/refusal_json.h"

namespace pantoum::cli {

void attach(plan::PlanOptions& options, ProgressLine& line, const std::string* label) {
  options.stop = interrupted();
  options.progress = [&line, label, objective = options.question.objective](const plan::Progress& progress) {
    if (!line.due()) return;
    const auto show = [&](double value) {
      return std::isfinite(value) ? show_value(objective, value) : std::string("-");
    };
    const double gap = std::isfinite(progress.best) && progress.best > 0
                           ? 100 * (progress.best - progress.bound) / progress.best
                           : 100;
    const std::string_view proof = progress.proof;
    line.show(fmt::format("{}{:.1f}s  best {}  bound {}  gap {:.2g}%  {}{}{}", label ? *label : "", progress.elapsed,
                          show(progress.best), show(progress.bound), gap, progress.search, proof.empty() ? "" : "; ",
                          proof));
  };
}

void attach_measuring(pipeline::MeasureOptions& options, ProgressLine& line) {
  using Clock = std::chrono::steady_clock;
  options.progress = [&line, begin = std::optional<std::pair<Clock::time_point, size_t>>()](size_t done, size_t all,
                                                                                            bool last) mutable {
    const std::string text = fmt::format("measured {} of {} kernels", done, all);
    if (last) return line.finish(text);
    if (!begin) begin = {Clock::now(), done};  // those before were known
    if (!line.due()) return;
    const double taken = std::chrono::duration<double>(Clock::now() - begin->first).count();
    const double left =
        done > begin->second ? taken / static_cast<double>(done - begin->second) * static_cast<double>(all - done) : 0;
    line.show(left > 0 ? fmt::format("{}, at most {:.0f} s left", text, left) : text);
  };
}

Result<void> attach_warm_start(pipeline::PlanRequest& request, const std::string& path,
                               std::optional<problem::Plan>& kept) {
  if (path.empty()) return {};
  PANTOUM_ASSIGN(kept, problem::read_plan(path));
  request.options.warm_start = &*kept;
  return {};
}

Error unless_interrupted(Error error) {
  if (error.code != "E0302" || !was_interrupted()) return error;
  return {"E0999", "interrupted before a plan was found", error.where, std::move(error.notes),
          "more time, or more --ram: " + error.help};
}

void print_note(const std::string& note) {
  print_remark("note", note);
}

void print_warning(const std::string& warning) {
  print_remark("warning", warning);
}

namespace {

Result<void> write_refusal(const Error& error, const plan::Infeasible& infeasible, const std::string& path) {
  if (error.code == "E0301" && infeasible.refusal) return problem::write_refusal(*infeasible.refusal, path);
  print_note(fmt::format("no refusal is written to {}: {}", path,
                         error.code == "E0301" ? "the planner that was asked for gives no proof"
                                               : "that there is no plan is not proved for exactly this question"));
  return {};
}

}  // namespace

Result<void> report_infeasible(const Error& error, const plan::Infeasible& infeasible, const Common& common,
                               const RefusalFiles& files) {
  if (error.code != "E0301" && error.code != "E0302") return {};
  if (common.json() && (error.code == "E0301" || infeasible.min_ram_bound_bytes > 0))
    print_json(to_json(infeasible, error.code == "E0301"));
  if (!files.refusal.empty()) PANTOUM_TRY(write_refusal(error, infeasible, files.refusal));
  if (files.min_plan.empty()) return {};
  if (!infeasible.min_plan) return fail("E0302", "no plan for the smallest budget is known", files.min_plan);
  return problem::write_plan(*infeasible.min_plan, files.min_plan);
}

}  // namespace pantoum::cli
