// The command line as verbs and options. reading.h parses the words by the data of facts.h and reports all errors in one style; then each option
// stores its values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"
#include "settings/fields.h"

namespace pantoum::cli {

// The action of a verb, which runs after its options are parsed. Returns the exit code.
using Action = std::function<Result<int>()>;

// One option of a verb. A handle: it is valid as long as its command line.
class Option {
 public:
  explicit Option(OptionFacts* facts) : facts_(facts) {}
  Option& required(const std::string& unless = "");  // not where the option `unless` is given
  // Not where the file that `option` names, perhaps a positional, is one that `needless` says yes to.
  Option& required_unless(const std::string& option, std::function<bool(const std::string& path)> needless);
  Option& within(int64_t least, int64_t most);  // least <= value <= most
  Option& steps();                              // a number of steps, epochs or samples: from 1 to 10^15
  Option& one_of(const std::vector<std::string>& names);
  Option& known(const std::vector<std::string>& names);  // to suggest and complete; other words are let through
  Option& one_word_each();                               // a list takes one word each time it is given
  Option& separated_by(char separator);                  // one word gives several values
  Option& described(const std::string& help);            // in place of the help it has
  Option& is(Kind kind);                                 // in place of what option_table.h says of its name
  Option& shown(Shown shown);                            // in --help-all alone, or in the group for research
  [[nodiscard]] bool was_given() const;

 private:
  OptionFacts* facts_;
};

// A verb and its options. A handle, as Option. A name without dashes is a positional. What an option is given is put
// into `value`, which outlives the parsing. A number that its type cannot hold is refused, and so are NaN and infinity.
class Verb {
 public:
  Verb(VerbFacts* facts, Action* chosen) : facts_(facts), chosen_(chosen) {}
  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);
  Verb& hidden();  // for packagers and tests: --help does not name it

  Option add_option(const std::string& name, std::string& value, const std::string& help = "");
  Option add_option(const std::string& name, std::vector<std::string>& value, const std::string& help = "");
  Option add_option(const std::string& name, int64_t& value, const std::string& help = "");
  Option add_option(const std::string& name, uint64_t& value, const std::string& help = "");
  Option add_flag(const std::string& name, bool& value, const std::string& help = "");
  // Adds the settings that have an option, except those named in `without`. If the option exists already, it sets these settings as well.
  void add_settings(settings::Fields fields, const std::vector<std::string>& without = {});
  // Those named in `only`.
  void add_settings_of(settings::Fields fields, const std::vector<std::string>& only);
  [[nodiscard]] Option option(const std::string& name);  // one that was added

  // Adds a function that is called with what was given, before any value is put: where values begin with those of a file.
  void begins(std::function<Result<void>(const std::vector<Given>& given)> begin);
  // Sets the action of the program for this verb.
  void does(Action action);

 private:
  VerbFacts* facts_;
  Action* chosen_;
};

// The result of parsing a command line.
struct AskedFor {
  std::optional<Action> action;  // none where --help or --version was asked for: `text` answers
  std::string text;
};

// The program's name, its verbs, --help and --version.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);
  // `look` sees what was given, and may put other values in its place, before it is taken. E0100; the errors of `look`;
  // those of a setting's value. `only_parse`: no file is read for values to begin with.
  using Look = std::function<Result<void>(std::vector<Given>& given)>;
  [[nodiscard]] Result<AskedFor> parse(int argc, const char* const* argv, const Look& look = {},
                                       bool only_parse = false);
  [[nodiscard]] const ProgramFacts& facts() const { return facts_; }

 private:
  ProgramFacts facts_;
  Action chosen_;
};

}  // namespace pantoum::cli
