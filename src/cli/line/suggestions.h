// Suggestions for a word of the command line that is not known.
#pragma once

#include <string>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

// Returns the help for a word that is none of `names`, such as "did you mean 'adam'? use sgd, adam or adamw".
[[nodiscard]] std::string help_with_names(const std::string& word, const std::vector<std::string>& names);

// Returns the help for `word`, an option that `verb` does not have: a similar option, or the verbs that have this option; "" if there is neither.
[[nodiscard]] std::string likely_option(const std::string& word, const VerbFacts& verb);

// Returns the name of the verb that is most similar to `word`; "" if no verb is similar.
[[nodiscard]] std::string likely_verb(const std::string& word, const VerbFacts& program);

// Returns the name of the typographic dash or quotation mark (one that keyboards do not type) with which `word` begins; "" if there is none.
[[nodiscard]] std::string typeset_mark(const std::string& word);

}  // namespace pantoum::cli
