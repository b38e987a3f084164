#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;

namespace pantoum::python {
namespace {

int64_t bytes_of(const std::string& text, const std::string& what) {
  return value_of(parse_bytes(text, what)).count();
}

std::vector<int64_t> budgets_of(const std::string& text, const std::string& what) {
  std::vector<int64_t> counts;
  for (const Bytes bytes : value_of(parse_budgets(text, what))) counts.push_back(bytes.count());
  return counts;
}

// Seconds, or else a factor.
std::pair<std::optional<double>, std::optional<double>> deadline_of(const std::string& text, const std::string& what) {
  const Deadline deadline = value_of(parse_deadline(text, what));
  if (const auto* relative = std::get_if<Relative>(&deadline)) return {std::nullopt, relative->factor()};
  return {std::get<Seconds>(deadline).count(), std::nullopt};
}

}  // namespace

std::string path_of(nb::handle path) {
  const nb::bytes bytes(nb::module_::import_("pantoum.errors").attr("path_bytes")(path));
  return {bytes.c_str(), bytes.size()};
}

void bind_units(nb::module_& module) {
  using namespace nb::literals;
  module.def("parse_bytes", &bytes_of, "text"_a, "what"_a);
  module.def("parse_budgets", &budgets_of, "text"_a, "what"_a);
  module.def(
      "parse_seconds",
      [](const std::string& text, const std::string& what) { return value_of(parse_seconds(text, what)).count(); },
      "text"_a, "what"_a);
  module.def("parse_deadline", &deadline_of, "text"_a, "what"_a);
  module.def(
      "parse_joules",
      [](const std::string& text, const std::string& what) { return value_of(parse_joules(text, what)); }, "text"_a,
      "what"_a);
  module.def(
      "parse_fraction",
      [](const std::string& text, const std::string& what) { return value_of(parse_fraction(text, what)); }, "text"_a,
      "what"_a);
  module.def(
      "show_bytes", [](int64_t count) { return show(Bytes(count)); }, "count"_a);
  module.def(
      "show_seconds", [](double seconds) { return show(Seconds(seconds)); }, "seconds"_a);
}

}  // namespace pantoum::python
