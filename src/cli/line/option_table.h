// What options of one name are at every verb, beside the settings, which are described in the public headers: what their
// values are, and where --help shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

struct OptionRow {
  std::string_view name;
  Kind kind;
  std::string_view group;
  Shown shown = Shown::common;
};

// Returns the row of an option's long name or of a positional's name; null if the table has none.
[[nodiscard]] const OptionRow* row_of_option(std::string_view name);

// The groups in the order of --help; an option without a row is in the last one.
[[nodiscard]] const std::vector<std::string>& groups();

// How users of other tools call an option of ours, or a verb; "" where that is not known.
[[nodiscard]] std::string_view our_option(std::string_view theirs);
[[nodiscard]] std::string_view our_verb(std::string_view theirs);
// What does the work of another tool's verb that has no equal here; "": not known.
[[nodiscard]] std::string_view instead_of_verb(std::string_view theirs);

}  // namespace pantoum::cli
