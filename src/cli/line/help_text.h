// --help: a verb's usage, options in named groups, three examples; the program's verbs in groups.
#pragma once

#include <string>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

// Lines of at most 80 columns, fewer where COLUMNS says so (never below 40).
// `all`: with the options that few people need.
[[nodiscard]] std::string help_of(const VerbFacts& verb, const ProgramFacts& program, bool all);

// "--objective WORD"; "-o, --output FILE".
[[nodiscard]] std::string heading_of(const OptionFacts& option);

// Help, choices, range and default of an option, as one text.
[[nodiscard]] std::string described(const OptionFacts& option);

// The options of a group, in the order in which the verb has them; `all`: not those alone that stand in --help.
[[nodiscard]] std::vector<const OptionFacts*> options_of(const VerbFacts& verb, const std::string& group, bool all = true);

// The title above the options of a group.
[[nodiscard]] std::string title_of(const std::string& group);

// The words behind "pantoum" in the usage lines of a verb.
[[nodiscard]] std::vector<std::string> usages_of(const VerbFacts& verb);

// The name by which the table of verbs knows it: "devices show".
[[nodiscard]] std::string table_name(const VerbFacts& verb);

}  // namespace pantoum::cli
