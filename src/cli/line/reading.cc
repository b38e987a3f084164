#include "cli/line/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "cli/line/option_table.h"
#include "cli/line/suggestions.h"
#include "cli/line/verb_table.h"

namespace pantoum::cli {

namespace {

constexpr std::array<std::string_view, 16> kByteUnits{"b",  "k",   "kb", "kib", "m",   "mb",   "mib",   "g",
                                                      "gb", "gib", "t",  "tb",  "tib", "byte", "bytes", "ki"};
constexpr std::array<std::string_view, 19> kTimeUnits{"ns",      "us",   "ms",    "s",    "sec",    "secs",    "second",
                                                      "seconds", "m",    "min",   "mins", "minute", "minutes", "h",
                                                      "hr",      "hour", "hours", "d",    "x"};
constexpr std::array<std::string_view, 7> kEnergyUnits{"uj", "mj", "j", "kj", "wh", "joule", "joules"};

// The last characters of `value` are a number, and nothing stands behind it.
bool ends_in_number(const std::string& value) {
  const size_t begin = value.find_last_of("=:,") == std::string::npos ? 0 : value.find_last_of("=:,") + 1;
  const std::string_view number = std::string_view(value).substr(begin);
  return !number.empty() && std::all_of(number.begin(), number.end(), [](unsigned char letter) {
    return std::isdigit(letter) != 0 || letter == '.' || letter == ',';
  });
}

template <size_t N>
bool has(const std::array<std::string_view, N>& units, std::string_view unit) {
  return std::find(units.begin(), units.end(), unit) != units.end();
}

// Is `next` the unit that `value` lacks, for an option of this kind? Known units count, and what people write for them: so
// "64 M" is refused for its unit, and not as an unexpected word.
bool is_unit_of(const std::string& value, const std::string& next, Kind kind) {
  if (!ends_in_number(value)) return false;
  std::string unit = next;
  for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  switch (kind) {
    case Kind::kBytes:
    case Kind::kBudgets:
      return has(kByteUnits, unit);
    case Kind::kDuration:
      return has(kTimeUnits, unit);
    case Kind::kEnergy:
      return has(kEnergyUnits, unit);
    case Kind::kPercent:
      return unit == "%" || unit == "percent";
    default:
      return false;
  }
}

constexpr const char* kSeeHelp = "pantoum --help lists the verbs";

bool is_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
}

bool is_dashed(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !is_number(word);
}

bool is_file(const std::string& word) {
  std::error_code ignored;
  return word.find('/') != std::string::npos || word.find('.') != std::string::npos ||
         std::filesystem::exists(word, ignored);
}

// One thing that is wrong, as the headline of an error or as one of its notes.
struct Problem {
  std::string message, where, help;
};

Failure failure_of(std::vector<Problem> problems, const std::string& where) {
  if (problems.size() == 1)
    return fail("E0100", problems[0].message, problems[0].where.empty() ? where : problems[0].where, problems[0].help);
  std::vector<std::string> notes;
  notes.reserve(problems.size());
  for (const Problem& problem : problems)
    notes.push_back(problem.message + (problem.help.empty() ? "" : ": " + problem.help));
  return fail("E0100", fmt::format("{} things on the command line are not understood", problems.size()), where,
              where + " --help lists the options", std::move(notes));
}

class Reader {
 public:
  Reader(const VerbFacts& verb, std::vector<std::string> words) : words_(std::move(words)) { read_.verb = &verb; }

  Result<Read> read() {
    while (at_ < words_.size()) read_word();
    if (read_.help || read_.version) return std::move(read_);
    if (problems_.empty()) check_presence();
    if (!problems_.empty()) return failure_of(std::move(problems_), read_.verb->path());
    return std::move(read_);
  }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0, positionals_ = 0;
  bool only_positionals_ = false;
  Read read_;
  std::vector<Problem> problems_;

  const VerbFacts& verb() const { return *read_.verb; }
  std::string where(const OptionFacts& option) const { return verb().path() + " " + option.name(); }

  void read_word() {
    const std::string word = words_[at_++];
    if (only_positionals_) return read_positional(word);
    if (word == "--") {
      only_positionals_ = true;
    } else if (word == "-h" || word == "--help" || word == "--help-all") {
      read_.help = true;
      read_.all |= word == "--help-all";
    } else if (word == "-V" || word == "--version") {
      read_.version = true;
    } else if (is_dashed(word)) {
      read_option(word);
    } else if (const std::string mark = typeset_mark(word); !mark.empty()) {
      read_typeset(word, mark);
    } else {
      read_positional(word);
    }
  }

  void read_typeset(const std::string& word, const std::string& mark) {
    const bool quote = mark.find("quote") != std::string::npos;
    std::string letters = word;
    while (!letters.empty() && (static_cast<unsigned char>(letters.front()) >= 0x80 || letters.front() == '-'))
      letters.erase(0, 1);
    problems_.push_back({fmt::format("'{}' begins with {}, which no keyboard makes in a shell", word, mark), "",
                         quote ? "type the quotation marks: \" or '" : fmt::format("type the hyphens: --{}", letters)});
    skip_value();
  }

  // A word that is not understood may have a value behind it, which is no problem of its own.
  void skip_value() {
    if (at_ >= words_.size() || is_dashed(words_[at_])) return;
    const std::string& next = words_[at_];
    const bool quantity = !next.empty() && std::isdigit(static_cast<unsigned char>(next[0])) != 0;
    if (!quantity && positionals_left() > 0 && is_file(next)) return;
    ++at_;
    if (quantity && at_ < words_.size() && is_unit_of(next, words_[at_], Kind::kBytes)) ++at_;
  }

  size_t positionals_left() const {
    const size_t has = verb().positionals().size();
    const bool any_number = has > 0 && verb().positionals().back()->repeatable;
    return has > positionals_ ? has - positionals_ : any_number ? 1 : 0;
  }

  void read_positional(const std::string& word) {
    if (const VerbFacts* inner = verb().verb(word); inner != nullptr && positionals_ == 0 && !only_positionals_) {
      read_.verb = inner;
      return;
    }
    const std::vector<const OptionFacts*> wanted = verb().positionals();
    if (positionals_ < wanted.size()) return give(*wanted[positionals_++], word);
    if (!wanted.empty() && wanted.back()->repeatable) return give(*wanted.back(), word);
    problems_.push_back(unexpected(word));
  }

  Problem unexpected(const std::string& word) const {
    if (!verb().verbs.empty()) {
      std::vector<std::string> names;
      for (const auto& each : verb().verbs) names.push_back(each->name);
      return {fmt::format("'{}' is not a verb of {}", word, verb().path()), "", help_with_names(word, names)};
    }
    const Given* last = read_.given.empty() ? nullptr : &read_.given.back();
    const bool behind_value = last != nullptr && !last->option->flag && !last->option->positional() && at_ >= 2 &&
                              words_[at_ - 2] == last->value;
    if (verb().find("--" + word) != nullptr)
      return {fmt::format("the word '{}' is not expected here", word), "", fmt::format("did you mean --{}?", word)};
    if (behind_value)
      return {fmt::format("the word '{}' behind {} {} is not expected", word, last->option->name(), last->value), "",
              last->option->repeatable
                  ? fmt::format("give {0} once for each: {0} {1} {0} {2}", last->option->name(), last->value, word)
                  : "put a value with spaces between quotation marks"};
    return {fmt::format("the word '{}' is not expected", word), "",
            verb().positionals().empty()
                ? fmt::format("{} takes options alone", verb().path())
                : fmt::format("{} takes {} file{} and options; a name with spaces stands between quotation marks",
                              verb().path(), verb().positionals().size() == 1 ? "one" : "these",
                              verb().positionals().size() == 1 ? "" : "s")};
  }

  void read_option(const std::string& word) {
    const size_t sign = word.starts_with("--") ? word.find('=') : std::string::npos;
    std::string name = word.substr(0, sign);
    std::optional<std::string> value;
    if (sign != std::string::npos) value = word.substr(sign + 1);
    const OptionFacts* option = verb().find(name);
    if (option == nullptr && !word.starts_with("--") && word.size() > 2) {  // -oFILE
      option = verb().find(word.substr(0, 2));
      if (option != nullptr) value = word.substr(word[2] == '=' ? 3 : 2);
    }
    if (option == nullptr) {
      problems_.push_back(unknown(name));
      if (!value) skip_value();
      return;
    }
    take(*option, std::move(value));
  }

  Problem unknown(const std::string& name) const {
    std::string help = likely_option(name, verb());
    if (help.empty()) help = verb().path() + " --help lists its options";
    return {fmt::format("{} is not an option of {}", name, verb().path()), "", help};
  }

  void take(const OptionFacts& option, std::optional<std::string> value) {
    if (option.flag) {
      if (value)
        problems_.push_back({fmt::format("{} takes no value, but '{}' was given", option.name(), *value), where(option),
                             fmt::format("write {} alone, or leave it out", option.name())});
      return give(option, "");
    }
    if (!value) value = value_behind(option);
    if (!value ||
        (value->empty() && option.kind != Kind::kText && option.kind != Kind::kWhole && option.kind != Kind::kReal)) {
      problems_.push_back({fmt::format("{} needs a value: {}", option.name(), value_word(option)), where(option),
                           value ? fmt::format("the value is empty: write {} {}", option.name(), value_word(option))
                                 : value_help(option)});
      return;
    }
    while (at_ < words_.size() && is_unit_of(*value, words_[at_], option.kind)) *value += words_[at_++];
    give_all(option, *value);
    if (!option.greedy) return;
    while (at_ < words_.size() && !words_[at_].starts_with('-') && words_.size() - at_ > positionals_left())
      give_all(option, words_[at_++]);
  }

  std::string value_help(const OptionFacts& option) const {
    if (!option.choices.empty()) return fmt::format("use {}", listed(option.choices));
    switch (option.kind) {
      case Kind::kBytes:
        return fmt::format("as in {} 256KiB", option.name());
      case Kind::kDuration:
        return fmt::format("as in {} 450ms", option.name());
      case Kind::kPercent:
        return fmt::format("as in {} 1%", option.name());
      default:
        return fmt::format("write {} {}", option.name(), value_word(option));
    }
  }

  // The word behind an option, where it is its value.
  std::optional<std::string> value_behind(const OptionFacts& option) {
    const bool there = at_ < words_.size();
    if (option.alone) {
      const bool taken = there && !words_[at_].empty() &&
                         std::find(option.choices.begin(), option.choices.end(), words_[at_]) != option.choices.end();
      return taken ? words_[at_++] : *option.alone;
    }
    if (!there) return std::nullopt;
    const std::string& next = words_[at_];
    const bool is_option = verb().find(next.substr(0, next.find('='))) != nullptr || next.starts_with("--");
    if (is_option) return std::nullopt;
    return words_[at_++];
  }

  // One word, which the option's separator may cut into several values.
  void give_all(const OptionFacts& option, const std::string& word) {
    if (option.separator == 0) return give(option, word);
    for (const std::string& value : option.values_in(word)) check(option, value);
    read_.given.push_back({&option, word});
  }

  void give(const OptionFacts& option, const std::string& value) {
    const auto before =
        std::find_if(read_.given.begin(), read_.given.end(), [&](const Given& each) { return each.option == &option; });
    if (before != read_.given.end() && !option.repeatable && !option.flag)
      problems_.push_back({fmt::format("{} is given twice: {} and {}", option.name(), before->value, value),
                           where(option), "leave one of them out"});
    if (!option.flag) check(option, value);
    read_.given.push_back({&option, value});
  }

  void check(const OptionFacts& option, const std::string& value) {
    const auto& choices = option.choices;
    if (option.kind == Kind::kWord && std::find(choices.begin(), choices.end(), value) == choices.end())
      return problems_.push_back({fmt::format("'{}' is not a value of {}", value, option.name()), where(option),
                                  help_with_names(value, choices)});
    for (const auto& wrong : option.checks)
      if (const std::string reason = wrong(value); !reason.empty())
        return problems_.push_back(
            {fmt::format("{}: {}", option.name(), reason), where(option), number_help(option, value)});
  }

  std::string number_help(const OptionFacts& option, const std::string& value) const {
    if (option.kind == Kind::kReal && value.find(',') != std::string::npos) {
      std::string point = value;
      std::replace(point.begin(), point.end(), ',', '.');
      return fmt::format("write a point, not a comma: {} {}", option.name(), point);
    }
    const std::string range = range_words(option);
    if (!range.empty()) return fmt::format("give a whole number, {}", range);
    return option.kind == Kind::kWhole ? "give a whole number" : "give a number, as in 0.1 or 1e-3";
  }

  void check_presence() {
    std::vector<std::string> missing;
    for (const auto& option : verb().options) {
      if (!option->required) continue;
      const bool there = std::any_of(read_.given.begin(), read_.given.end(), [&](const Given& each) {
        return each.option == option.get() || each.option->name() == option->unless ||
               (option->needless && each.option->name() == option->found_in && option->needless(each.value));
      });
      if (there) continue;
      missing.push_back(option->positional() ? option->name() : option->name() + " " + value_word(*option));
    }
    if (missing.empty()) return;
    std::string names = missing.front();
    for (size_t at = 1; at < missing.size(); ++at) names += (at + 1 == missing.size() ? " and " : ", ") + missing[at];
    problems_.push_back({fmt::format("{} {} missing", names, missing.size() == 1 ? "is" : "are"), "", usage()});
  }

  std::string usage() const {
    const VerbRow* known = row_of_verb(verb().name);
    const std::string more = verb().path() + " --help shows examples";
    if (known == nullptr) return more;
    const std::string first(known->usage.substr(0, known->usage.find('\n')));
    return fmt::format("{} {}; {}", verb().path(), first, more);
  }
};

// The verb must be the first word. Explains what another first word is.
Failure no_verb(const ProgramFacts& program, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  if (const std::string mark = typeset_mark(word); !mark.empty())
    return fail("E0100", fmt::format("'{}' begins with {}", word, mark), program.name, "type hyphens: --");
  if (is_dashed(word)) {
    const auto verb = std::find_if(words.begin(), words.end(),
                                   [&](const std::string& each) { return program.verb(each) != nullptr; });
    if (verb != words.end())
      return fail("E0100", fmt::format("{} stands before the verb", word), program.name,
                  fmt::format("the verb comes first: {} {} {} ...", program.name, *verb, word));
    const std::string ours(our_option(word));
    return fail("E0100", fmt::format("{} is not an option of {}, and no verb is given", word, program.name),
                program.name, ours == "--version" ? "did you mean --version?" : kSeeHelp);
  }
  if (const std::string_view instead = instead_of_verb(word); !instead.empty() && !is_file(word))
    return fail("E0100", fmt::format("'{}' is not a verb of {}", word, program.name), program.name,
                std::string(instead));
  const std::string likely = likely_verb(word, program);
  if (!likely.empty() && !is_file(word))
    return fail("E0100", fmt::format("'{}' is not a verb of {}", word, program.name), program.name,
                fmt::format("did you mean '{} {}'? {}", program.name, likely, kSeeHelp));
  if (is_file(word))
    return fail("E0100", fmt::format("'{}' is a file, and no verb says what to do with it", word), program.name,
                fmt::format("{} inspect {}", program.name, word));
  return fail("E0100", fmt::format("'{}' is not a verb of {}", word, program.name), program.name, kSeeHelp);
}

Result<Read> read_help(const ProgramFacts& program, const std::vector<std::string>& words) {
  Read read{.verb = &program, .help = true, .all = words.front() == "--help-all"};
  for (size_t at = 1; at < words.size(); ++at) {
    if (words[at].starts_with('-')) continue;
    const VerbFacts* verb = read.verb->verb(words[at]);
    if (verb == nullptr) {
      const std::string likely = likely_verb(words[at], *read.verb);
      return fail("E0100", fmt::format("'{}' is not a verb of {}", words[at], read.verb->path()), "pantoum help",
                  likely.empty() ? kSeeHelp : fmt::format("did you mean '{} help {}'?", program.name, likely));
    }
    read.verb = verb;
  }
  return read;
}

}  // namespace

Result<Read> read_words(const ProgramFacts& program, std::vector<std::string> words) {
  if (words.empty())
    return fail("E0100", "no verb is given", program.name,
                fmt::format("begin with '{0} inspect MODEL'; {0} --help lists the verbs", program.name));
  const std::string& first = words.front();
  if (first == "help" || first == "--help" || first == "-h" || first == "--help-all") return read_help(program, words);
  if (first == "--version" || first == "-V") return Read{.verb = &program, .version = true};
  const VerbFacts* verb = program.verb(first);
  if (verb == nullptr) return no_verb(program, words);
  words.erase(words.begin());
  return Reader(*verb, std::move(words)).read();
}

}  // namespace pantoum::cli
