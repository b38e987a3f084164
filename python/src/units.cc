// Quantities as texts, paths, and fields that are set from words.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>

#include <algorithm>

#include "base/units.h"
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

bool is_file(Holds holds) {
  return holds != Holds::text && holds != Holds::glob && holds != Holds::device && holds != Holds::board;
}

// What a value of Python has to be: "text", "number", or "any" of them, which the option then reads.
const char* kind_of(const settings::Field& field) {
  using settings::Type;
  if (field.type == Type::text || field.type == Type::word) return "text";
  if (field.type == Type::texts) return field.schema["items"]["type"] == "string" ? "text" : "number";
  if (field.type == Type::whole || field.type == Type::flag) return "number";
  return field.type == Type::number && field.setting.unit == nullptr ? "number" : "any";
}

}  // namespace

std::string path_of(nb::handle path) {
  const nb::bytes bytes(nb::module_::import_("pantoum.errors").attr("path_bytes")(path));
  return {bytes.c_str(), bytes.size()};
}

void set_field(const settings::Fields& fields, const std::string& name, nb::handle value) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const settings::Field& field) { return name == field.setting.name; });
  if (found == fields.end()) {
    std::vector<std::string> names;
    for (const settings::Field& field : fields) names.emplace_back(field.setting.name);
    std::sort(names.begin(), names.end());
    raise(fail("E0100", fmt::format("there is no option '{}'", name), name,
               fmt::format("use one of {}", fmt::join(names, ", "))));
  }
  found->clear();
  if (is_file(found->setting.holds)) return value_of(found->set(path_of(value), name));
  const nb::object words = nb::module_::import_("pantoum.quantities").attr("words_of")(value, name, kind_of(*found));
  for (const nb::bytes& bytes : nb::cast<std::vector<nb::bytes>>(words)) {
    std::string word(bytes.c_str(), bytes.size());
    if (found->type == settings::Type::flag) {
      if (word != "True" && word != "False")
        raise(fail("E0116", fmt::format("'{}' does not fit '{}'", word, name), name, "use True or False"));
      word = word == "True" ? "on" : "off";
      // An option as --no-paging reads no word: it stands where the value is to change.
      if (word == (found->json().get<bool>() ? "on" : "off")) continue;
    }
    value_of(found->set(word, name));
  }
}

void bind_units(nb::module_& module) {
  using namespace nb::literals;
  module.def("parse_bytes", &bytes_of, "text"_a, "what"_a);
  module.def("parse_budgets", &budgets_of, "text"_a, "what"_a);
  module.def(
      "parse_seconds",
      [](const std::string& text, const std::string& what) { return value_of(parse_seconds(text, what)).count(); },
      "text"_a, "what"_a);
  module.def(
      "show_bytes", [](int64_t count) { return show(Bytes(count)); }, "count"_a);
  module.def("share_in", [](const std::string& text) { return base::share_in(text); }, "text"_a);
  module.def("help_for_share", &base::help_for_share, "share"_a, "whole"_a);
  module.def(
      "show_seconds", [](double seconds) { return show(Seconds(seconds)); }, "seconds"_a);
}

}  // namespace pantoum::python
