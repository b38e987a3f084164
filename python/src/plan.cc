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

// The plan that `work` makes; Ctrl-C ends it.
OwnedPlan* made_by(WorkFor<Plan> work, nb::handle progress = nb::none()) {
  value_of(enter_process());
  return new OwnedPlan(value_of_stoppable<Plan>(std::move(work), progress));
}

OwnedPlan* make_plan(const Model& model, const std::string& device, const PlanOptions& options, nb::handle progress) {
  return made_by(
      [model, device, options](std::stop_token stop, const Tell& tell) {
        return Plan::make(model, {device}, watched(options, std::move(stop), tell));
      },
      progress);
}

OwnedPlan* load_plan(nb::handle path, const std::optional<Model>& model) {
  return made_by([file = path_of(path), model](const std::stop_token&, const Tell&) {
    return model ? Plan::load(file, *model) : Plan::load(file);
  });
}

OwnedPlan* plan_from_json(const std::string& json, const std::optional<Model>& model) {
  return made_by([json, model](const std::stop_token&, const Tell&) {
    return model ? Plan::from_json(json, *model) : Plan::from_json(json);
  });
}

std::string plan_graph(const std::string& json, const PlanOptions& options, nb::handle progress, KnownPlans* known) {
  const auto plans = std::make_shared<KnownPlans>(known == nullptr ? KnownPlans{} : *known);
  Result<std::string> plan = result_of_stoppable<std::string>(
      [json, options, plans](std::stop_token stop, const Tell& tell) {
        return plan_cost_graph(json, watched(options, std::move(stop), tell), plans.get());
      },
      progress);
  if (known != nullptr) *known = *plans;
  return value_of(std::move(plan));
}

Row facts_of(const OwnedPlan& self) {
  const PlanFacts facts = plan_of(self).facts();
  return row_of("budget_bytes", facts.budget_bytes, "peak_bytes", facts.peak_bytes, "arena_bytes", facts.arena_bytes,
                "time_s", facts.time_s, "energy_j", facts.energy_j, "computed", facts.computed, "recomputed",
                facts.recomputed, "pages_out", facts.pages_out, "pages_in", facts.pages_in, "bytes_paged_out",
                facts.bytes_paged_out, "bytes_paged_in", facts.bytes_paged_in, "proved_energy_j", facts.proved_energy_j,
                "proved_time_s", facts.proved_time_s, "any_order", facts.any_order, "gap", facts.gap, "optimal",
                facts.optimal, "unplanned_peak_bytes", facts.unplanned_peak_bytes, "unplanned_time_s",
                facts.unplanned_time_s, "unplanned_energy_j", facts.unplanned_energy_j, "device", facts.device,
                "time_source", facts.time_source);
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
      .def_static("load", &load_plan, "path"_a, "model"_a.none(), nb::rv_policy::take_ownership)
      .def_static("from_json", &plan_from_json, "json"_a, "model"_a.none(), nb::rv_policy::take_ownership)
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
