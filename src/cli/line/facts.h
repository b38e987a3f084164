// The verbs and options of a command line as data. The parser, help, completion and man pages use these data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pantoum/setting.hpp"

namespace pantoum::cli {

// The kind of a value. It determines the value's name in --help, the words that form one value, the checks before the verb runs, and the completions
// of a shell.
enum class Kind : uint8_t {
  kText,
  kWord,  // one of a list
  kWhole,
  kReal,
  kBytes,
  kDuration,
  kEnergy,
  kPercent,
  kBudgets,  // bytes, or ranges of them
  kGlob,
  kMeter,  // a name, with more behind a colon
  kModel,  // from here on files that are read
  kPlan,
  kAnswer,  // a plan or a refusal
  kStep,    // a plan or a model
  kCostGraph,
  kWeights,
  kCheckpoint,
  kLog,
  kData,
  kProject,
  kSweep,
  kDevice,      // a name, or a file
  kBoard,       // a name
  kOutput,      // a file that is written
  kOutputOne,   // the same, which may be standard output (-)
  kFolder,      // a folder that is written to, made where it is absent
  kPageFolder,  // a folder that is there (or a file)
  kStore,       // a file that is read and written
};

struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one, without dashes
  std::string help;
  std::string shown_default;  // behind the word "default": " 3", ": off"; "": it is not told
  Kind kind = Kind::kText;
  std::string group;
  Shown level = Shown::common;                        // the help texts that list the option
  std::vector<std::string> choices;                   // with kWord, and names of things otherwise
  std::optional<std::pair<int64_t, int64_t>> within;  // of a whole number
  std::optional<std::string> alone;                   // the value if the option is given without one
  bool flag = false, required = false;
  std::string unless;       // the option is not required if this other option is given
  std::string found_in;     // nor if the file that this option or positional names says so: see needless
  std::function<bool(const std::string& path)> needless;
  bool repeatable = false;  // may be given several times
  bool greedy = false;      // takes the words that follow, too
  char separator = 0;       // one word gives several values
  // Returns what is wrong with one value; "" if the value is valid.
  std::vector<std::function<std::string(const std::string&)>> checks;
  // Put a value where it belongs; a list is cleared before its first value. `where`: the option's name.
  std::vector<std::function<Result<void>(const std::string& value, const std::string& where)>> puts;
  std::vector<std::function<void()>> clears;
  std::vector<std::string> given;  // the words of a command line that was parsed

  [[nodiscard]] bool positional() const { return !names.front().starts_with('-'); }
  [[nodiscard]] std::vector<std::string> values_in(const std::string& word) const;
  // The name that messages use: the long one.
  [[nodiscard]] const std::string& name() const { return names.back(); }
  [[nodiscard]] bool is_called(const std::string& word) const;
};

struct VerbFacts {
  std::string name, help;
  bool hidden = false;
  VerbFacts* parent = nullptr;
  std::vector<std::unique_ptr<OptionFacts>> options;
  std::vector<std::unique_ptr<VerbFacts>> verbs;
  std::vector<std::function<Result<void>(const std::vector<struct Given>& given)>> begins;  // before values are put
  std::function<void()> choose;

  [[nodiscard]] const OptionFacts* find(const std::string& word) const;  // a dashed one; null: none
  [[nodiscard]] const VerbFacts* verb(const std::string& word) const;
  [[nodiscard]] std::vector<const OptionFacts*> shown() const;
  [[nodiscard]] std::vector<const OptionFacts*> positionals() const;
  [[nodiscard]] std::string path() const;  // "pantoum devices list"
};

// Returns the program, which is the verb without a parent.
struct ProgramFacts : VerbFacts {
  std::string version;
};

// An option as it was given.
struct Given {
  const OptionFacts* option = nullptr;
  std::string value;
};

// Returns the name of a value in --help: BYTES, FILE, N.
[[nodiscard]] std::string value_word(const OptionFacts& option);

// "a, b or c".
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

// The range of a whole number in words: "1 or more", "from 0 to 64"; "" if every number is allowed.
[[nodiscard]] std::string range_words(const OptionFacts& option);

}  // namespace pantoum::cli
