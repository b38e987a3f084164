// The parts of module pantoum._core, a file each.
#pragma once

#include <nanobind/nanobind.h>

#include "pantoum/pantoum.hpp"
#include "process.h"

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
void bind_plan_options(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_deploy(nanobind::module_& module);
void bind_data(nanobind::module_& module);
void bind_trainer(nanobind::module_& module);

// The plan of a handle. E0108 of a forked process.
[[nodiscard]] const Plan& plan_of(const OwnedPlan& handle);

// Files are named by bytes: os.fsencode() keeps those that are no UTF-8.
[[nodiscard]] std::string path_of(nanobind::handle path);

}  // namespace pantoum::python
