#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/access.h"
#include "base/files.h"
#include "emit/export_onnx.h"
#include "pantoum/deploy.hpp"
#include "pipeline/import_model.h"
#include "pipeline/prepare_firmware.h"
#include "pipeline/request_json.h"
#include "pipeline/sweep.h"
#include "problem/plan_json.h"
#include "report/report.h"

namespace pantoum {

Result<void> export_onnx(const Model& model, const std::string& weights, const std::string& path, bool external_data) {
  const Access::ModelImpl& impl = Access::impl(model);
  emit::ExportOptions options{.model = impl.path, .weights = weights, .output = path, .external_data = external_data};
  std::shared_ptr<const api::PrivateFile> built;
  if (impl.bytes) {
    PANTOUM_ASSIGN(built, api::PrivateFile::create("model.onnx"));
    PANTOUM_TRY(base::write_file_atomically(built->path(), *impl.bytes));
    options.model = built->path();
  }
  PANTOUM_TRY(pipeline::check_exportable({options.model}));
  PANTOUM_TRY(emit::export_onnx(options));
  return {};
}

Result<FirmwareSizes> emit_project(const std::string& plan_file, const FirmwareOptions& options) {
  PANTOUM_ASSIGN(const auto cache, api::PrivateFile::create("cache"));
  pipeline::FirmwareRequest request{.plan_path = plan_file,
                                    .weights = options.weights,
                                    .data = {.path = options.data, .cache_folder = cache->path()},
                                    .samples = options.samples,
                                    .test_samples = options.test_samples,
                                    .lr = options.lr,
                                    .steps = options.steps,
                                    .target = options.target,
                                    .board = options.board,
                                    .folder = options.folder};
  if (options.ram) request.ram_bytes = options.ram->count();
  PANTOUM_ASSIGN(const emit::FirmwareSizes sizes, pipeline::prepare_firmware(request, {}, {}));
  return FirmwareSizes{.ram_bytes = sizes.ram,
                       .stack_bytes = sizes.stack,
                       .arena_bytes = sizes.arena,
                       .plan_bytes = sizes.plan,
                       .weight_bytes = sizes.weights,
                       .sample_bytes = sizes.samples};
}

// A plan file and the model it names, for as long as the project is made.
Result<FirmwareSizes> emit_project(const Plan& plan, const FirmwareOptions& options) {
  const Access::PlanImpl& impl = Access::impl(plan);
  PANTOUM_ASSIGN(const auto file, api::PrivateFile::create("step.plan.json"));
  problem::Plan named = impl.plan;
  if (impl.model.bytes) {
    pipeline::ModelOptions model = impl.model;
    model.path = file->folder() + "/model.onnx";
    PANTOUM_TRY(base::write_file_atomically(model.path, *impl.model.bytes));
    named.model = pipeline::model_json(model);
  }
  PANTOUM_TRY(problem::write_plan(named, file->path()));
  return emit_project(file->path(), options);
}

Result<void> write_report(const Plan& plan, const std::string& path, const std::vector<std::string>& logs) {
  const Access::PlanImpl& impl = Access::impl(plan);
  std::vector<check::Span> spans;
  PANTOUM_ASSIGN(const check::Found found, check::replay(impl.plan.graph, impl.plan, impl.plan.question, &spans));
  report::ReportRequest request{
      .plan = impl.plan, .found = found, .spans = spans, .logs = {}, .next = {}, .version = version(), .plan_file = ""};
  for (const std::string& log : logs) {
    PANTOUM_ASSIGN(std::string lines, base::read_file(log));
    request.logs.push_back({log, std::move(lines)});
  }
  PANTOUM_ASSIGN(const nlohmann::ordered_json report, report::report_json(request));
  return base::write_file_atomically(path, report::to_html(report));
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
  pipeline::SweepRequest request{.version = version(), .folder = options.folder};
  PANTOUM_ASSIGN(request.plan, api::plan_request(device, options.plan));
  for (const Bytes& budget : options.budgets) {
    if (budget.count() <= 0)
      return fail("E0300", "a budget of no bytes", "SweepOptions::budgets", "give positive budgets");
    request.budgets.push_back(budget.count());
  }
  if (request.budgets.empty()) return fail("E0300", "there is no budget", "SweepOptions::budgets", "give one or more");
  std::sort(request.budgets.begin(), request.budgets.end());
  request.budgets.erase(std::unique(request.budgets.begin(), request.budgets.end()), request.budgets.end());
  PANTOUM_ASSIGN(request.planners, pipeline::planners_named(options.planners));
  return request;
}

Result<std::vector<SweepRow>> rows_of(const pipeline::SweptGraphs& graphs, pipeline::SweepRequest request) {
  std::shared_ptr<const api::PrivateFile> nowhere;
  if (request.folder.empty()) {
    PANTOUM_ASSIGN(nowhere, api::PrivateFile::create("sweep"));
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
  PANTOUM_ASSIGN(asked.planners, pipeline::planners_named({"pantoum"}));
  return rows_of(graphs, std::move(asked));
}

Result<std::vector<SweepRow>> sweep_budgets(const Model& model, const Device& device, const SweepOptions& options) {
  PANTOUM_ASSIGN(const pipeline::ModelOptions asked, api::model_options(Access::impl(model)));
  PANTOUM_ASSIGN(pipeline::SweepRequest request, sweep_request(device, options));
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(asked, request.plan));
  return rows_of(pipeline::swept_graphs(std::move(compiled)), std::move(request));
}

std::string version() {
  return PANTOUM_VERSION;
}

}  // namespace pantoum
