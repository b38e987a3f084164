// What --help says of a verb beside its options: its group, how it is called, three examples.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace pantoum::cli {

struct VerbRow {
  std::string_view name;  // "train", "devices show"
  std::string_view group;
  std::string_view usage;                    // what stands behind the verb's name
  std::array<std::string_view, 3> examples;  // whole commands; the tests parse them
};

[[nodiscard]] const VerbRow* row_of_verb(std::string_view name);  // null: the table has none

struct VerbGroup {
  std::string_view name, says;
};
[[nodiscard]] const std::vector<VerbGroup>& verb_groups();  // in the order of --help

}  // namespace pantoum::cli
