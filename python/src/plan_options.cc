// How a plan is asked for, as one object with attributes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

void set_deadline(PlanOptions& self, std::optional<double> seconds, std::optional<double> factor) {
  if (seconds) self.deadline.seconds = Seconds(*seconds);
  if (factor) self.deadline.relative = *factor;
}

void bind_enums(nb::module_& module) {
  nb::enum_<Kernels>(module, "Kernels")
      .value("auto", Kernels::automatic)
      .value("portable", Kernels::portable)
      .value("onednn", Kernels::onednn);
  nb::enum_<Measure>(module, "Measure")
      .value("off", Measure::off)
      .value("missing", Measure::missing)
      .value("all", Measure::all)
      .value("auto", Measure::automatic)
      .value("known", Measure::known);
}

}  // namespace

void bind_plan_options(nb::module_& module) {
  bind_enums(module);
  nb::class_<PlanOptions>(module, "PlanOptions")
      .def(nb::init<>())
      .def(
          "set_ram", [](PlanOptions& self, int64_t bytes) { self.ram = Bytes(bytes); }, "bytes"_a)
      .def(
          "set_reserve", [](PlanOptions& self, int64_t bytes) { self.reserve = Bytes(bytes); }, "bytes"_a)
      .def("set_deadline", &set_deadline, "seconds"_a.none(), "factor"_a.none())
      .def(
          "set_energy_limit", [](PlanOptions& self, double joules) { self.energy_limit_j = joules; }, "joules"_a)
      .def(
          "set_time_limit", [](PlanOptions& self, double seconds) { self.time_limit = Seconds(seconds); }, "seconds"_a)
      .def_rw("objective", &PlanOptions::objective)
      .def_rw("gap", &PlanOptions::gap)
      .def_rw("effort", &PlanOptions::effort, nb::for_setter(nb::arg().none()))
      .def_rw("threads", &PlanOptions::threads, nb::for_setter(nb::arg().none()))
      .def_rw("paging", &PlanOptions::paging)
      .def_rw("recomputing", &PlanOptions::recomputing)
      .def_rw("in_place", &PlanOptions::in_place)
      .def_rw("reordering", &PlanOptions::reordering)
      .def_rw("compact_activations", &PlanOptions::compact_activations)
      .def_rw("kernels", &PlanOptions::kernels)
      .def_rw("measure", &PlanOptions::measure)
      .def(
          "set_profile_store", [](PlanOptions& self, nb::handle path) { self.profile_store = path_of(path); }, "path"_a)
      .def(
          "set_page_folder", [](PlanOptions& self, nb::handle path) { self.page_file = path_of(path); }, "path"_a)
      .def_rw("page_encryption", &PlanOptions::page_encryption)
      .def_rw("prefetch", &PlanOptions::prefetch);
}

}  // namespace pantoum::python
