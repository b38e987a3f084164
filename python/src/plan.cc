// Plans, and plans of bare cost graphs.
#include <nanobind/stl/optional.h>

#include "bindings.h"
#include "stoppable.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

using BatchRows = nb::typed<nb::list, TupleOf<nb::str, nb::str, nb::typed<nb::list, nb::int_>, bool>>;
using Why = TupleOf<bool, bool, nb::typed<nb::list, TupleOf<nb::str, nb::int_>>, nb::str, nb::str>;

OwnedPlan* handle_of(Plan plan) {
  return new OwnedPlan(std::move(plan));
}

OwnedPlan* make_plan(const Model& model, const std::string& device, const PlanOptions& options, nb::handle progress) {
  value_of(enter_process());
  return handle_of(value_of_stoppable<Plan>(
      [model, device, options](std::stop_token stop, const Tell& tell) {
        PlanOptions asked = options;
        asked.stop = stop;
        asked.progress = tell;
        Result<Plan> plan = Plan::make(model, {device}, asked);
        return plan;
      },
      progress));
}

OwnedPlan* load_plan(nb::handle path) {
  value_of(enter_process());
  return handle_of(value_of_stoppable<Plan>(
      [file = path_of(path)](const std::stop_token&, const Tell&) { return Plan::load(file); }, nb::none()));
}

OwnedPlan* plan_from_json(const std::string& json, const Model& model) {
  value_of(enter_process());
  return handle_of(value_of_stoppable<Plan>(
      [json, model](const std::stop_token&, const Tell&) { return Plan::from_json(json, model); }, nb::none()));
}

OwnedPlan* plan_from_json_alone(const std::string& json) {
  value_of(enter_process());
  return handle_of(value_of_stoppable<Plan>(
      [json](const std::stop_token&, const Tell&) { return Plan::from_json(json); }, nb::none()));
}

std::string plan_graph(const std::string& json, const PlanOptions& options, nb::handle progress, KnownPlans* known) {
  const auto plans = std::make_shared<KnownPlans>(known == nullptr ? KnownPlans{} : *known);
  Result<std::string> plan = result_of_stoppable<std::string>(
      [json, options, plans](std::stop_token stop, const Tell& tell) {
        PlanOptions asked = options;
        asked.stop = stop;
        asked.progress = tell;
        return plan_cost_graph(json, asked, plans.get());
      },
      progress);
  if (known != nullptr) *known = *plans;
  return value_of(std::move(plan));
}

Row facts_of(const OwnedPlan& self) {
  const PlanFacts facts = plan_of(self).facts();
  nb::dict made;
  made["budget_bytes"] = facts.budget_bytes;
  made["peak_bytes"] = facts.peak_bytes;
  made["arena_bytes"] = facts.arena_bytes;
  made["time_s"] = facts.time_s;
  made["energy_j"] = facts.energy_j;
  made["computed"] = facts.computed;
  made["recomputed"] = facts.recomputed;
  made["pages_out"] = facts.pages_out;
  made["pages_in"] = facts.pages_in;
  made["bytes_paged_out"] = facts.bytes_paged_out;
  made["bytes_paged_in"] = facts.bytes_paged_in;
  made["proved_energy_j"] = facts.proved_energy_j;
  made["proved_time_s"] = facts.proved_time_s;
  made["any_order"] = facts.any_order;
  made["gap"] = facts.gap;
  made["optimal"] = facts.optimal;
  made["unplanned_peak_bytes"] = facts.unplanned_peak_bytes;
  made["unplanned_time_s"] = facts.unplanned_time_s;
  made["unplanned_energy_j"] = facts.unplanned_energy_j;
  made["device"] = facts.device;
  made["time_source"] = facts.time_source;
  return made;
}

BatchRows batch_of(const OwnedPlan& self) {
  nb::list all;
  for (const BatchTensor& tensor : plan_of(self).batch())
    all.append(
        nb::make_tuple(tensor.name, std::string(name_of(tensor.dtype)), nb::cast(tensor.shape), tensor.is_target));
  return all;
}

Why explain(const OwnedPlan& self, int64_t effort) {
  const Explanation why = value_of_stoppable<Explanation>(
      [plan = plan_of(self), effort](const std::stop_token&, const Tell&) { return plan.explain(effort); }, nb::none());
  nb::list at_peak;
  for (const Held& held : why.at_peak) at_peak.append(nb::make_tuple(held.name, held.bytes));
  return nb::make_tuple(why.ram_binds, why.deadline_binds, at_peak, why.text, why.json);
}

TupleOf<double, double, int64_t> verify(const OwnedPlan& self) {
  const Plan& plan = plan_of(self);
  const Verdict verdict = without_gil([&] { return plan.verify(); });
  return nb::make_tuple(verdict.proved, verdict.gap, verdict.certificates);
}

}  // namespace

const Plan& plan_of(const OwnedPlan& handle) {
  if (!handle.is_own()) value_of(enter_process());
  return *handle.get();
}

void bind_plan(nb::module_& module) {
  using Save = Result<void> (Plan::*)(const std::string&) const;
  const auto saves = [](Save save) {
    return [save](const OwnedPlan& self, nb::handle path) {
      const std::string file = path_of(path);
      const Plan& plan = plan_of(self);
      without_gil([&] { return (plan.*save)(file); });
    };
  };
  bind_settings<PlanOptions>(module, "PlanOptions");
  nb::class_<OwnedPlan>(module, "Plan")
      .def_static("make", &make_plan, "model"_a, "device"_a, "options"_a, "progress"_a.none(),
                  nb::rv_policy::take_ownership)
      .def_static("load", &load_plan, "path"_a, nb::rv_policy::take_ownership)
      .def_static("from_json", &plan_from_json, "json"_a, "model"_a, nb::rv_policy::take_ownership)
      .def_static("from_json_alone", &plan_from_json_alone, "json"_a, nb::rv_policy::take_ownership)
      .def("facts", &facts_of)
      .def("warnings", [](const OwnedPlan& self) { return plan_of(self).warnings(); })
      .def("notes", [](const OwnedPlan& self) { return plan_of(self).notes(); })
      .def("batch", &batch_of, "name, dtype, shape, is_target of each tensor of a batch")
      .def("samples_per_step", [](const OwnedPlan& self) { return plan_of(self).samples_per_step(); })
      .def("save", saves(&Plan::save), "path"_a.none())
      .def("save_binary", saves(&Plan::save_binary), "path"_a.none())
      .def("save_initial_weights", saves(&Plan::save_initial_weights), "path"_a.none())
      .def("to_json", [](const OwnedPlan& self) { return plan_of(self).to_json(); })
      .def("explain", &explain, "effort"_a, "ram_binds, deadline_binds, [(name, bytes)] at the peak, text, JSON")
      .def("verify", &verify, "proved, gap, certificates");
  nb::class_<KnownPlans>(module, "KnownPlans")
      .def(nb::init<>())
      .def_rw("start", &KnownPlans::start)
      .def_rw("least", &KnownPlans::least);
  module.def("plan_cost_graph", &plan_graph, "json"_a, "options"_a, "progress"_a.none() = nb::none(),
             "known"_a.none() = nb::none());
}

}  // namespace pantoum::python
