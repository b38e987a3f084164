// --help: a verb's usage, options in named groups, three examples; the program's verbs in groups.
#pragma once

#include <string>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

// Returns the help in lines of at most 80 columns, or of COLUMNS if that is smaller (at least 40). `all`: include the options that few people need.
[[nodiscard]] std::string help_of(const VerbFacts& verb, const ProgramFacts& program, bool all);

// "--objective WORD"; "-o, --output FILE".
[[nodiscard]] std::string heading_of(const OptionFacts& option);

// Help, choices, range and default of an option, as one text.
[[nodiscard]] std::string described(const OptionFacts& option);

// Returns the options of a group, in the verb's order. `all`: include the options that --help does not show.
[[nodiscard]] std::vector<const OptionFacts*> options_of(const VerbFacts& verb, const std::string& group,
                                                         bool all = true);

// The title above the options of a group.
[[nodiscard]] std::string title_of(const std::string& group);

// Returns the words that follow "pantoum" in the usage lines of a verb.
[[nodiscard]] std::vector<std::string> usages_of(const VerbFacts& verb);

// The name by which the table of verbs knows it: "devices show".
[[nodiscard]] std::string table_name(const VerbFacts& verb);

}  // namespace pantoum::cli
