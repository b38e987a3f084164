#include "cli/planning.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/line/suggestions.h"
#include "cli/output.h"
#include "cli/plan_summary.h"
#include "cost/device.h"
#include "pipeline/planned_step.h"
#include "plan/attempts/planners.h"
#include "plan/planner.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "report/timeline.h"

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

void attach_measuring(pipeline::Measuring& measuring, ProgressLine& line) {
  using Clock = std::chrono::steady_clock;
  measuring.progress = [&line, begin = std::optional<std::pair<Clock::time_point, size_t>>()](size_t done, size_t all,
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

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const plan::NamedPlanner& planner : plan::planners()) names.push_back(planner.name);
  return names;
}

Error Share::refused(problem::Bytes unplanned) const {
  Error error = refusal;
  if (unplanned > 0) error.help = base::help_for_share(of_unplanned, unplanned);
  return error;
}

settings::Fields with_share(settings::Fields fields, std::optional<Share>& share) {
  for (settings::Field& field : fields) {
    if (field.setting.option == nullptr || std::string_view(field.setting.option) != "--ram") continue;
    field.set = [&share, set = std::move(field.set)](const std::string& text,
                                                     const std::string& where) -> Result<void> {
      Result<void> done = set(text, where);
      const std::optional<double> part = base::share_in(text);
      if (done || !part) return done;
      share = {*part, std::move(done.error())};
      return {};
    };
  }
  return fields;
}

settings::Fields plan_fields(StepAsked& asked) {
  return with_share(settings::fields_of(asked.plan), asked.share);
}

void add_cost_graph(Verb& verb, StepAsked& asked) {
  verb.add_option("--costgraph", asked.costgraph, "a bare cost graph in place of a model");
  verb.add_flag("--one-slot", asked.one_slot,
                "with --costgraph: the result of an update may take its parameter's place in storage; a step that fails then "
                "loses both");
}

void add_step_settings(Verb& verb, StepAsked& asked, const std::vector<std::string>& without) {
  verb.add_settings(settings::fields_of(asked.options), without);
  verb.add_settings(settings::fields_of(asked.device), without);
  verb.add_settings(plan_fields(asked), without);
  const auto is_out = [&](const char* name) {
    return std::find(without.begin(), without.end(), name) != without.end();
  };
  const auto know = [&](const char* name, const char* option, const std::vector<std::string>& names) {
    if (!is_out(name)) verb.option(option).known(names);
  };
  know("device", "--device", cost::device_names());
  know("disable", "--disable", pipeline::names_to_disable());
  know("without", "--without", pipeline::names_to_leave_out());
  know("objective", "--objective", {"energy", "time", "edp", "power"});
  know("loss", "--loss", {kLossNames.begin(), kLossNames.end()});
  if (is_out("planner")) return;
  verb.option("--planner").one_of(planner_names());
}

void add_plan_input(Verb& verb, StepAsked& asked, const std::string& help,
                    std::function<void(const PlanOptions&)> taken) {
  verb.add_option("--plan", asked.plan_input, help);
  verb.begins([&asked, taken = std::move(taken)](const std::vector<Given>& given) -> Result<void> {
    const auto plan =
        std::find_if(given.begin(), given.end(), [](const Given& each) { return each.option->name() == "--plan"; });
    if (plan == given.end()) return {};
    StepAsked::Planned planned;
    PANTOUM_ASSIGN(planned.plan, problem::read_plan(plan->value));
    PANTOUM_ASSIGN(pipeline::PlanRecord record, pipeline::record_of(planned.plan, plan->value));
    PlanOptions& settings = record.request.settings;
    if (!settings.ram)
      settings.ram = Bytes(planned.plan.question.budget_bytes() + settings.reserve.count());  // the device's
    planned.options = asked.options = record.model.options;
    planned.updates = record.model.updates;
    planned.device = asked.device = {record.request.device};
    planned.settings = asked.plan = settings;
    if (taken) taken(settings);
    asked.model = record.model.path;
    asked.planned = std::make_shared<const StepAsked::Planned>(std::move(planned));
    return {};
  });
}

Result<void> check_beside_plan(const StepAsked& asked) {
  if (!asked.planned) return {};
  if (asked.share) return Failure(asked.share->refused(unplanned_peak(asked.planned->plan)));
  const auto check = [](const auto& planned, const auto& given) {
    using Options = std::remove_cvref_t<decltype(given)>;
    return settings::check_beside_plan(settings::fields_of(const_cast<Options&>(planned)),
                                       settings::fields_of(const_cast<Options&>(given)));
  };
  PANTOUM_TRY(check(asked.planned->options, asked.options));
  PANTOUM_TRY(check(asked.planned->device, asked.device));
  return check(asked.planned->settings, asked.plan);
}

pipeline::ModelRequest model_of(const StepAsked& asked) {
  return {.path = asked.model,
          .options = asked.options,
          .updates = asked.planned ? asked.planned->updates : std::nullopt};
}

Result<problem::Bytes> unplanned_peak(const StepAsked& asked) {
  StepAsked unlimited = asked;
  unlimited.share.reset(), unlimited.plan.ram.reset();
  unlimited.plan.measure = Measure::off;  // what is told has no times
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_of(unlimited));
  if (!asked.costgraph.empty()) {
    PANTOUM_ASSIGN(const problem::CostGraph graph, problem::read_cost_graph(asked.costgraph));
    PANTOUM_ASSIGN(const problem::Predicted step, pipeline::unplanned_step(graph, request));
    return step.peak_bytes + request.reserve;
  }
  request.rewrite.search = false;  // nothing is planned
  PANTOUM_ASSIGN(const pipeline::Compiled compiled, pipeline::compile_model(model_of(unlimited), request));
  PANTOUM_ASSIGN(const problem::Predicted step, pipeline::unplanned_step(compiled.training().cost.graph, request));
  return step.peak_bytes + request.reserve;
}

problem::Bytes unplanned_peak(const problem::Plan& plan) {
  if (plan.unplanned) return plan.unplanned->figures.peak_bytes;
  const Result<problem::UnplannedStep> step =
      report::unplanned_step(plan.graph, plan.question.freedoms.in_place);
  return step ? step->figures.peak_bytes : 0;
}

Result<pipeline::PlanRequest> plan_of(const StepAsked& asked, const std::string& usual_objective) {
  if (asked.share) return Failure(asked.share->refused(unplanned_peak(asked).value_or(0)));
  PANTOUM_TRY(pipeline::check_model_options(asked.options));
  if (asked.one_slot && asked.costgraph.empty())
    return fail("E0119", "--one-slot is a freedom of cost graphs whose choices stream", "--one-slot",
                "give a cost graph with --costgraph, or leave out --one-slot");
  PANTOUM_ASSIGN(pipeline::PlanRequest request, pipeline::plan_request(asked.device.name, asked.plan, usual_objective));
  request.options.question.freedoms.one_slot = asked.one_slot;
  if (!asked.plan.profile_store) request.measuring.cache_store = default_profile_store();
  return request;
}

namespace {

const std::vector<std::string> kPasses{"import", "autodiff", "rewrite", "cost", "plan"};

}  // namespace

void add_dump_option(Verb& verb, std::vector<std::string>& passes) {
  verb.add_option("--dump-after", passes, "print what a pass made: import, autodiff, rewrite, cost, plan")
      .known(kPasses);
}

Result<pipeline::Dump> dump_of(const std::vector<std::string>& passes) {
  for (const std::string& name : passes)
    if (std::find(kPasses.begin(), kPasses.end(), name) == kPasses.end())
      return fail("E0115", fmt::format("'{}' is not known here", name), "--dump-after", help_with_names(name, kPasses));
  if (passes.empty()) return pipeline::Dump{};
  return pipeline::Dump{[passes](const std::string& pass, const std::string& text) {
    if (std::find(passes.begin(), passes.end(), pass) != passes.end())
      notes_are_json() ? print_message(text + "\n") : print_result(text + "\n");
  }};
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
  if (!infeasible.min_plan) {
    print_warning(files.min_plan + " was not written: no plan for any budget is known");
    return {};
  }
  return problem::write_plan(*infeasible.min_plan, files.min_plan);
}

// The place follows the XDG base directory specification.
std::string default_profile_store() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
  };
  const std::filesystem::path cache = folder("XDG_CACHE_HOME"), home = folder("HOME");
  if (cache.empty() && home.empty()) return "";
  return ((cache.empty() ? home / ".cache" : cache) / "pantoum" / "times.db").string();
}

}  // namespace pantoum::cli
