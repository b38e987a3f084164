// "Did you mean": what a user may have meant by a word that is not known.
#pragma once

#include <string>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

// "did you mean 'adam'? use sgd, adam or adamw".
[[nodiscard]] std::string help_with_names(const std::string& word, const std::vector<std::string>& names);

// What a dashed word of `verb` should have been: the spelling of an option, or which verbs have it.
[[nodiscard]] std::string likely_option(const std::string& word, const VerbFacts& verb);

// The verb that `word` was probably meant to be; "": no verb is similar.
[[nodiscard]] std::string likely_verb(const std::string& word, const VerbFacts& program);

// Dashes and quotation marks that are none of a keyboard's, at the beginning of `word`: what they are called; "": none.
[[nodiscard]] std::string typeset_mark(const std::string& word);

}  // namespace pantoum::cli
