#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/access.h"
#include "base/files.h"
#include "base/json_text.h"
#include "emit/export_onnx.h"
#include "pantoum/deploy.hpp"
#include "pipeline/ini_files.h"
#include "pipeline/prepare_firmware.h"
#include "pipeline/sweep.h"
#include "pipeline/training_data.h"
#include "problem/plan_json.h"
#include "report/report.h"

namespace pantoum {

Result<void> export_onnx(const Model& model, const std::string& weights, const std::string& path, bool external_data) {
  const Access::ModelImpl& impl = Access::impl(model);
  emit::ExportOptions options{.model = impl.path,
                              .weights = weights,
                              .output = path,
                              .external_data = external_data,
                              .shapes = impl.options.shapes};
  std::shared_ptr<const base::TemporaryPath> built;
  if (impl.bytes) {
    PANTOUM_ASSIGN(built, base::TemporaryPath::create("model.onnx"));
    PANTOUM_TRY(base::write_file_atomically(built->path(), *impl.bytes));
    options.model = built->path();
  }
  PANTOUM_ASSIGN(const pipeline::ExportSource source, pipeline::export_source(options.model, options.weights));
  options.model = source.model, options.weights = source.weights;
  PANTOUM_TRY(emit::export_onnx(options));
  return {};
}

namespace {

FirmwareSizes public_sizes(const emit::FirmwareSizes& sizes) {
  return {.ram_bytes = sizes.ram,
          .stack_bytes = sizes.stack,
          .arena_bytes = sizes.arena,
          .plan_bytes = sizes.plan,
          .weight_bytes = sizes.weights,
          .sample_bytes = sizes.samples};
}

// `step` takes the request, and returns the step whose first weights are in the project.
template <class Step>
Result<FirmwareSizes> write_project(const FirmwareOptions& options, const std::string& plan_file, const Step& step) {
  PANTOUM_ASSIGN(const auto cache, base::TemporaryPath::create("cache"));
  const pipeline::FirmwareRequest request{
      .options = options, .data = {.cache_folder = cache->path()}, .plan_path = plan_file};
  base::InputsInUse inputs;
  inputs.add(plan_file);
  inputs.add(options.data.value_or(""));
  std::optional<pipeline::PlannedStep> read;
  {
    const base::RecordInputs recorded(&inputs);
    PANTOUM_ASSIGN(read, step(request));
  }
  const pipeline::PlannedStep& made = *read;
  PANTOUM_ASSIGN(const emit::FirmwareSizes sizes, pipeline::prepare_firmware(made, request));
  return public_sizes(sizes);
}

}  // namespace

Result<FirmwareSizes> emit_project(const std::string& plan_file, const FirmwareOptions& options) {
  return write_project(options, plan_file,
                       [&](const pipeline::FirmwareRequest& request) -> Result<pipeline::PlannedStep> {
                         PANTOUM_ASSIGN(const problem::Plan plan, problem::read_plan(plan_file));
                         return pipeline::step_for_firmware(plan, request, {});
                       });
}

Result<FirmwareSizes> emit_project(const Plan& plan, const FirmwareOptions& options) {
  PANTOUM_TRY(pipeline::check_for_firmware(Access::impl(plan).step, "emit_project"));
  if (options.weights) {  // others than the plan was compiled with
    PANTOUM_ASSIGN(const Model model, Access::model(Access::impl(plan), *options.weights));
    PANTOUM_ASSIGN(const Plan with, Plan::from_json(plan.to_json(), model));
    FirmwareOptions others = options;
    others.weights.reset();
    return emit_project(with, others);
  }
  return write_project(options, "", [&](const pipeline::FirmwareRequest&) -> Result<pipeline::PlannedStep> {
    const Access::PlanImpl& impl = Access::impl(plan);
    PANTOUM_ASSIGN(const std::string contents, pipeline::contents_path(options.folder));
    PANTOUM_TRY(plan.save_initial_weights(contents));
    return impl.step;
  });
}

namespace {

Result<nlohmann::ordered_json> figures_of(const Plan& plan, const std::vector<std::string>& logs) {
  PANTOUM_ASSIGN(const report::CheckedPlan made, report::check_plan(Access::impl(plan).step.plan));
  report::ReportRequest request{.plan = made, .next = {}, .version = version(), .plan_file = ""};
  PANTOUM_ASSIGN(request.logs, report::read_logs(logs));
  return report::report_json(request);
}

}  // namespace

Result<void> write_report(const Plan& plan, const std::string& path, const std::vector<std::string>& logs) {
  base::InputsInUse inputs;
  for (const std::string& log : logs) inputs.add(log);
  PANTOUM_ASSIGN(const nlohmann::ordered_json report, figures_of(plan, logs));
  return base::write_file_atomically(path, report::to_html(report));
}

Result<std::string> report_json(const Plan& plan, const std::vector<std::string>& logs) {
  PANTOUM_ASSIGN(const nlohmann::ordered_json report, figures_of(plan, logs));
  return base::ascii_json(report);
}

namespace {

SweepRow public_row(const report::SweepRow& row) {
  return {.planner = row.planner,
          .ram_bytes = row.ram_bytes,
          .has_plan = row.has_plan(),
          .proved_infeasible = row.status == report::SweepStatus::kInfeasible,
          .peak_bytes = row.has_plan() ? row.found.peak_bytes : 0,
          .time_s = row.has_plan() ? row.found.time_s : 0,
          .energy_j = row.has_plan() ? row.found.energy_j : 0,
          .gap = row.gap};
}

Result<pipeline::SweepRequest> sweep_request(const Device& device, const SweepOptions& options) {
  pipeline::SweepRequest request{.version = version(), .folder = options.folder.value_or("")};
  PlanOptions settings = options.plan;
  settings.ram.reset();
  PANTOUM_ASSIGN(request.plan, pipeline::plan_request(device.name, std::move(settings)));
  for (const Bytes& budget : options.budgets) {
    if (budget.count() <= 0)
      return fail("E0300", "a budget of no bytes", "SweepOptions::budgets", "give positive budgets");
    request.budgets.push_back(budget.count());
  }
  std::sort(request.budgets.begin(), request.budgets.end());
  request.budgets.erase(std::unique(request.budgets.begin(), request.budgets.end()), request.budgets.end());
  PANTOUM_ASSIGN(request.planners, plan::planners_named(options.planners));
  return request;
}

Result<std::vector<SweepRow>> rows_of(const pipeline::SweptGraphs& graphs, pipeline::SweepRequest request) {
  std::shared_ptr<const base::TemporaryPath> nowhere;
  if (request.folder.empty()) {
    PANTOUM_ASSIGN(nowhere, base::TemporaryPath::create("sweep"));
    request.folder = nowhere->path();
  }
  PANTOUM_ASSIGN(const report::Sweep found, pipeline::run_sweep(graphs, request));
  std::vector<SweepRow> rows;
  rows.reserve(found.rows.size());
  for (const report::SweepRow& row : found.rows) rows.push_back(public_row(row));
  return rows;
}

}  // namespace

Result<std::vector<SweepRow>> api::swept_rows(const pipeline::SweptGraphs& graphs, const pipeline::PlanRequest& request,
                                              std::vector<int64_t> budgets) {
  pipeline::SweepRequest asked{.version = version(), .plan = request, .budgets = std::move(budgets), .folder = ""};
  PANTOUM_ASSIGN(asked.planners, plan::planners_named({"pantoum"}));
  return rows_of(graphs, std::move(asked));
}

Result<std::vector<SweepRow>> sweep_budgets(const Model& model, const Device& device, const SweepOptions& options) {
  PANTOUM_ASSIGN(const pipeline::ModelRequest asked, api::model_request(Access::impl(model)));
  base::InputsInUse inputs;
  if (device.name.ends_with(".toml")) inputs.add(device.name);
  PANTOUM_ASSIGN(pipeline::SweepRequest request, sweep_request(device, options));
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(asked, request.plan));
  request.plan.reserve += pipeline::prefetch_bytes(request.plan.settings.prefetch, compiled.training().graph);
  const pipeline::SweptGraphs graphs = pipeline::swept_graphs(compiled);
  request.in_slices = pipeline::graphs_in_slices(compiled, request.plan, graphs.front());
  if (request.budgets.empty()) {
    PANTOUM_ASSIGN(request.budgets, pipeline::budgets_by_themselves(graphs.front(), request.plan, request.in_slices));
  }
  return rows_of(graphs, std::move(request));
}

std::string version() {
  return PANTOUM_VERSION;
}

}  // namespace pantoum
