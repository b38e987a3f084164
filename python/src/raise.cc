#include "raise.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>

namespace nb = nanobind;

namespace pantoum::python {
namespace {

// Names of files, tensors and columns may be no UTF-8: they are shown, not lost.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

nb::list texts(const std::vector<std::string>& lines) {
  nb::list all;
  for (const std::string& line : lines) all.append(text(line));
  return all;
}

}  // namespace

void raise(const Error& error) {
  const nb::object made =
      nb::module_::import_("pantoum.errors")
          .attr("from_core")(text(error.code), text(error.message), text(error.where), texts(error.notes),
                             text(error.help), exit_code(error), error.min_ram_bytes);
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

Error error_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr)
    return {.code = "E0906", .message = "out of memory", .help = "free some RAM, or use a smaller batch"};
  return {.code = "E0001", .message = thrown.what(), .help = "this is a bug of Pantoum's; please report it"};
}

}  // namespace pantoum::python
