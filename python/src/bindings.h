// The parts of module pantoum._core, a file each.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pantoum/pantoum.hpp"
#include "process.h"
#include "settings/fields.h"

namespace pantoum::python {

// What stubs say of dicts and lists of figures.
using Row = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;
using Rows = nanobind::typed<nanobind::list, Row>;
template <class... Types>
using TupleOf = nanobind::typed<nanobind::tuple, Types...>;

using OwnedPlan = Owned<Plan>;
using OwnedTrainer = Owned<Trainer>;

void bind_custom(nanobind::module_& module);
void bind_units(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_deploy(nanobind::module_& module);
void bind_data(nanobind::module_& module);
void bind_trainer(nanobind::module_& module);

// The plan of a handle. E0108 of a forked process.
[[nodiscard]] const Plan& plan_of(const OwnedPlan& handle);

// Files are named by bytes: os.fsencode() keeps those that are no UTF-8.
[[nodiscard]] std::string path_of(nanobind::handle path);

// Sets the field `name` of a structure. E0100: there is no such field; E0116: the value is of another kind; else the errors
// of its option, at the place `name`.
void set_field(const settings::Fields& fields, const std::string& name, nanobind::handle value);

// A structure of settings, as an object whose fields are set by name.
template <class Options>
nanobind::class_<Options> bind_settings(nanobind::module_& module, const char* structure) {
  return nanobind::class_<Options>(module, structure)
      .def(nanobind::init<>())
      .def(
          "set",
          [](Options& self, const std::string& name, nanobind::handle value) {
            set_field(settings::fields_of(self), name, value);
          },
          nanobind::arg("name"), nanobind::arg("value"));
}

}  // namespace pantoum::python
