// The command line as verbs and their options. The parser behind it (CLI11) is included by options.cc alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pantoum/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pantoum::cli {

// What a verb does once its options are parsed; its value is the exit code.
using Action = std::function<Result<int>()>;

// What a command line keeps beside the parser.
struct Parsing {
  Action chosen;
  std::map<const CLI::Option*, std::string> alone;  // what an option means that stands without a value
};

// One option of a verb. A handle: it is valid as long as its command line.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  Option& positive();                           // > 0
  Option& not_negative();                       // >= 0
  Option& within(int64_t least, int64_t most);  // least <= value <= most
  Option& steps();                              // a number of steps, epochs or samples: from 1 to 10^15
  Option& one_of(const std::vector<std::string>& names);
  Option& separated_by(char separator);        // one word gives several values
  Option& one_value_each();                    // --name A --name B, not --name A B
  Option& described(const std::string& help);  // in place of the help it has
  Option& hidden();                            // an old spelling: it is read, and --help does not name it

 private:
  CLI::Option* option_;
};

// A verb and its options. A handle, as Option. A name without dashes is a positional. What an option is given is put
// into `value`, which outlives the parsing. A number that its type cannot hold is refused, and so are NaN and infinity.
class Verb {
 public:
  explicit Verb(CLI::App* app, Parsing* parsing) : app_(app), parsing_(parsing) {}
  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);

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
  void may_stand_alone(const std::string& name, const std::string& value);

  // What the program does where this verb was given.
  void does(Action action);
  [[nodiscard]] bool was_given() const;

 private:
  CLI::App* app_;
  Parsing* parsing_;
};

// The program's name, its verbs, --help and --version.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Verb add_verb(const std::string& name, const std::string& help);
  // The action of the verb that was given; none where --help or --version was asked for, which is printed. E0100.
  [[nodiscard]] Result<std::optional<Action>> parse(int argc, const char* const* argv);

 private:
  // The words, with the value of each option that stands alone.
  [[nodiscard]] std::vector<std::string> completed(int argc, const char* const* argv) const;

  std::unique_ptr<CLI::App> app_;
  Parsing parsing_;
};

}  // namespace pantoum::cli
