// pantoum._core: the C++ library (include/pantoum/*.hpp), name by name. The package around it is what users see.

#include "bindings.h"
#include "stoppable.h"

namespace nb = nanobind;
namespace python = pantoum::python;

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // kernels of custom operators stay, and all that their modules name
  module.doc() = "The C++ library of Pantoum, name by name; use the package `pantoum`.";
  module.def("version", &pantoum::version, "The version of the library.");
  python::bind_units(module);
  python::bind_model(module);
  python::bind_plan(module);
  python::bind_deploy(module);
  python::bind_data(module);
  python::bind_trainer(module);
  python::bind_custom(module);
  module.def("join_abandoned", &python::join_abandoned, "Waits for plans that were interrupted and still compute.");
}
