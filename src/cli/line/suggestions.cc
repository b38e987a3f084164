#include "cli/line/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/line/option_table.h"
#include "base/nearest_name.h"

namespace pantoum::cli {
namespace {

// Without dashes, in small letters, '-' for '_'.
std::string plain(std::string word) {
  word.erase(0, word.find_first_not_of('-') == std::string::npos ? 0 : word.find_first_not_of('-'));
  for (char& letter : word)
    letter = letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return word;
}

std::vector<std::string> names_of(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const OptionFacts* option : verb.shown()) names.push_back(option->name());
  return names;
}

// Every verb of the program that has the option, in words.
std::vector<std::string> verbs_with(const std::string& option, const VerbFacts& program) {
  std::vector<std::string> verbs;
  for (const auto& verb : program.verbs)
    if (!verb->hidden && verb->find(option) != nullptr) verbs.push_back(verb->name);
  return verbs;
}

const VerbFacts& program_of(const VerbFacts& verb) {
  return verb.parent == nullptr ? verb : program_of(*verb.parent);
}

}  // namespace

std::string help_with_names(const std::string& word, const std::vector<std::string>& names) {
  return base::hint_at(word, names) + "use " + listed(names);
}

std::string likely_option(const std::string& word, const VerbFacts& verb) {
  const VerbFacts& program = program_of(verb);
  if (const std::vector<std::string> others = verbs_with(word, program); !others.empty())
    return fmt::format("{} is an option of {}, not of {}", word, listed(others), verb.name);
  std::string lower = word;
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (const std::string ours(our_option(lower)); !ours.empty()) {
    const std::string name = ours.substr(0, ours.find(' '));
    if (verb.find(name) != nullptr || name == "--version") return fmt::format("did you mean {}?", ours);
  }
  const std::string likely = base::likely_name(word, names_of(verb));
  return likely.empty() ? "" : fmt::format("did you mean {}?", likely);
}

std::string likely_verb(const std::string& word, const VerbFacts& program) {
  std::vector<std::string> names;
  for (const auto& verb : program.verbs)
    if (!verb->hidden) names.push_back(verb->name);
  if (const std::string ours(our_verb(plain(word))); !ours.empty()) return ours;
  return base::likely_name(word, names);
}

std::string typeset_mark(const std::string& word) {
  struct Mark {
    const char *bytes, *name;
  };
  constexpr std::array kMarks{Mark{"\u2010", "a typeset hyphen (U+2010)"}, Mark{"\u2011", "a hard hyphen (U+2011)"},
                              Mark{"\u2012", "a figure dash (U+2012)"},    Mark{"\u2013", "an en dash (U+2013)"},
                              Mark{"\u2014", "an em dash (U+2014)"},       Mark{"\u2015", "a bar (U+2015)"},
                              Mark{"\u2212", "a minus sign (U+2212)"},     Mark{"\uff0d", "a wide hyphen (U+FF0D)"},
                              Mark{"\u2018", "a curly quote (U+2018)"},    Mark{"\u2019", "a curly quote (U+2019)"},
                              Mark{"\u201c", "a curly quote (U+201C)"},    Mark{"\u201d", "a curly quote (U+201D)"},
                              Mark{"\u00a0", "a no-break space (U+00A0)"}};
  for (const Mark& mark : kMarks)
    if (word.starts_with(mark.bytes)) return mark.name;
  return {};
}

}  // namespace pantoum::cli
