// The command line as verbs and their options. The parser behind it (CLI11) is included by options.cc alone; words are
// read against facts.h before it sees them (reading.h), so that all that is wrong is told in one voice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pantoum::cli {

// What a verb does once its options are parsed; its value is the exit code.
using Action = std::function<Result<int>()>;

// One option of a verb. A handle: it is valid as long as its command line.
class Option {
 public:
  Option(CLI::Option* option, OptionFacts* facts) : option_(option), facts_(facts) {}
  Option& required();
  Option& positive();                           // > 0
  Option& within(int64_t least, int64_t most);  // least <= value <= most
  Option& steps();                              // a number of steps, epochs or samples: from 1 to 10^15
  Option& one_of(const std::vector<std::string>& names);
  Option& known(const std::vector<std::string>& names);  // to suggest and complete; other words are let through
  Option& separated_by(char separator);                  // one word gives several values
  Option& one_value_each();                              // --name A --name B, not --name A B
  Option& described(const std::string& help);            // in place of the help it has
  Option& hidden();                                      // an old spelling: it is read, and --help does not name it
  Option& is(Kind kind);                                 // in place of what option_table.h says of its name
  Option& may_stand_alone(const std::string& value);     // without a value it means `value`

 private:
  CLI::Option* option_;
  OptionFacts* facts_;
};

// A verb and its options. A handle, as Option. A name without dashes is a positional. What an option is given is put
// into `value`, which outlives the parsing. A number that its type cannot hold is refused, and so are NaN and infinity.
class Verb {
 public:
  Verb(CLI::App* app, VerbFacts* facts, Action* chosen) : app_(app), facts_(facts), chosen_(chosen) {}
  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);
  Verb& hidden();  // for packagers and tests: --help does not name it

  Option add_option(const std::string& name, std::string& value, const std::string& help = "");
  Option add_option(const std::string& name, std::vector<std::string>& value, const std::string& help = "");
  Option add_option(const std::string& name, int& value, const std::string& help = "");
  Option add_option(const std::string& name, int64_t& value, const std::string& help = "");
  Option add_option(const std::string& name, uint64_t& value, const std::string& help = "");
  Option add_option(const std::string& name, double& value, const std::string& help = "");
  Option add_option(const std::string& name, std::optional<uint64_t>& value, const std::string& help = "");
  Option add_option(const std::string& name, std::optional<double>& value, const std::string& help = "");
  Option add_flag(const std::string& name, bool& value, const std::string& help = "");
  [[nodiscard]] Option option(const std::string& name);  // one that was added
  void remove_option(const std::string& name);
  // The option `name` may be given without a value, and then means `value`; a word behind it that is none of its values
  // is not its.
  void may_stand_alone(const std::string& name, const std::string& value) { option(name).may_stand_alone(value); }

  // What the program does where this verb was given.
  void does(Action action);
  [[nodiscard]] bool was_given() const;

 private:
  CLI::App* app_;
  VerbFacts* facts_;
  Action* chosen_;
};

// What a command line asks for.
struct AskedFor {
  std::optional<Action> action;  // none where --help or --version was asked for: `text` answers
  std::string text;
};

// The program's name, its verbs, --help and --version.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);
  // `look` sees what was given, and may put other values in its place, before it is taken. E0100; the errors of `look`.
  using Look = std::function<Result<void>(std::vector<Given>& given)>;
  [[nodiscard]] Result<AskedFor> parse(int argc, const char* const* argv, const Look& look = {});
  [[nodiscard]] const ProgramFacts& facts() const { return facts_; }

 private:
  std::unique_ptr<CLI::App> app_;
  ProgramFacts facts_;
  Action chosen_;
};

}  // namespace pantoum::cli
