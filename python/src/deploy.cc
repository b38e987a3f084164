// Devices, sweeps, estimates, and what becomes of a plan: pages, firmware, ONNX.
#include <nanobind/stl/optional.h>

#include "bindings.h"
#include "stoppable.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

Row sweep_row(const SweepRow& row) {
  return row_of("planner", row.planner, "ram_bytes", row.ram_bytes, "has_plan", row.has_plan, "proved_infeasible",
                row.proved_infeasible, "peak_bytes", row.peak_bytes, "time_s", row.time_s, "energy_j", row.energy_j,
                "gap", row.gap);
}

Rows rows_of(const std::vector<SweepRow>& rows) {
  nb::list made;
  for (const SweepRow& row : rows) made.append(sweep_row(row));
  return made;
}

Rows sweep(const Model& model, const std::string& device, const std::vector<int64_t>& budgets,
           const std::vector<std::string>& planners, const PlanOptions& options, nb::handle folder,
           nb::handle progress) {
  value_of(enter_process());
  SweepOptions asked{.planners = planners, .plan = options};
  for (const int64_t bytes : budgets) asked.budgets.emplace_back(bytes);
  if (!folder.is_none()) asked.folder = path_of(folder);
  return rows_of(value_of_stoppable<std::vector<SweepRow>>(
      [model, device, asked](std::stop_token stop, const Tell& tell) mutable {
        asked.plan = watched(asked.plan, std::move(stop), tell);
        return sweep_budgets(model, {device}, asked);
      },
      progress));
}

Row dict_of(const Estimate& found) {
  nb::list binds;
  for (const Held& held : found.binds) binds.append(nb::make_tuple(held.name, held.bytes));
  return row_of("device", found.device, "time_source", found.time_source, "unplanned_peak_bytes",
                found.unplanned_peak_bytes, "unplanned_time_s", found.unplanned_time_s, "least_ram_bytes",
                found.least_ram_bytes, "least_ram_bound_bytes", found.least_ram_bound_bytes, "binds", binds, "rows",
                rows_of(found.rows));
}

Row estimate_model(const Model& model, const std::string& device, const PlanOptions& options, int budgets,
                   nb::handle progress) {
  value_of(enter_process());
  return dict_of(value_of_stoppable<Estimate>(
      [model, device, options, budgets](std::stop_token stop, const Tell& tell) {
        return estimate(model, {device}, watched(options, std::move(stop), tell), budgets);
      },
      progress));
}

Row device_of(const DeviceInfo& info) {
  return row_of("name", info.name, "description", info.description, "source", info.source, "ram_bytes", info.ram_bytes,
                "rom_bytes", info.rom_bytes, "align_bytes", info.align_bytes, "storage", info.storage, "is_measured",
                info.is_measured);
}

Rows all_devices() {
  nb::list made;
  for (const DeviceInfo& info : devices()) made.append(device_of(info));
  return made;
}

void report(const OwnedPlan& plan, nb::handle path, const nb::typed<nb::list, nb::any>& logs) {
  std::vector<std::string> files;
  for (nb::handle log : logs) files.push_back(path_of(log));
  const std::string page = path_of(path);
  const Plan& of = plan_of(plan);
  without_gil([&] { return write_report(of, page, files); });
}

std::string report_figures(const OwnedPlan& plan) {
  const Plan& of = plan_of(plan);
  return without_gil([&] { return report_json(of); });
}

Row firmware_row(const FirmwareSizes& sizes) {
  return row_of("ram_bytes", sizes.ram_bytes, "stack_bytes", sizes.stack_bytes, "arena_bytes", sizes.arena_bytes,
                "plan_bytes", sizes.plan_bytes, "weight_bytes", sizes.weight_bytes, "sample_bytes", sizes.sample_bytes);
}

Row emit_plan(const OwnedPlan& plan, nb::handle folder, FirmwareOptions options) {
  options.folder = path_of(folder);
  const Plan& of = plan_of(plan);
  return firmware_row(without_gil([&] { return emit_project(of, options); }));
}

Row emit_file(nb::handle plan, nb::handle folder, FirmwareOptions options) {
  options.folder = path_of(folder);
  const std::string file = path_of(plan);
  return firmware_row(without_gil([&] { return emit_project(file, options); }));
}

}  // namespace

void bind_deploy(nb::module_& module) {
  module.def("devices", &all_devices);
  module.def(
      "describe_device", [](const std::string& name) { return device_of(value_of(describe({name}))); }, "name"_a);
  module.def("sweep", &sweep, "model"_a, "device"_a, "budgets"_a, "planners"_a, "options"_a, "folder"_a.none(),
             "progress"_a.none());
  module.def("estimate", &estimate_model, "model"_a, "device"_a, "options"_a, "budgets"_a, "progress"_a.none());
  module.def("write_report", &report, "plan"_a, "path"_a, "logs"_a);
  module.def("report_json", &report_figures, "plan"_a);
  module.def(
      "export_onnx",
      [](const Model& model, nb::handle weights, nb::handle path, bool external_data) {
        const std::string from = path_of(weights), to = path_of(path);
        without_gil([&] { return export_onnx(model, from, to, external_data); });
      },
      "model"_a, "weights"_a, "path"_a, "external_data"_a);
  bind_settings<FirmwareOptions>(module, "FirmwareOptions");
  module.def("emit_plan", &emit_plan, "plan"_a, "folder"_a.none(), "options"_a);
  module.def("emit_file", &emit_file, "plan"_a, "folder"_a.none(), "options"_a);
}

}  // namespace pantoum::python
