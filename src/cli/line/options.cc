#include "cli/line/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/line/help_text.h"
#include "cli/line/option_table.h"
#include "cli/line/reading.h"

namespace pantoum::cli {
namespace {

// What is wrong with the text of a number; "" where nothing is. The parser itself wraps and cuts what it cannot hold.
template <class Whole>
std::string check_whole(const std::string& text) {
  Whole number{};
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error == std::errc{} && rest == end) return "";
  const bool digits =
      !text.empty() &&
      text.find_first_not_of("0123456789", text.find_first_of("-+") == 0 ? 1 : 0) == std::string::npos &&
      text.find_first_of("0123456789") != std::string::npos;
  if (!digits) return fmt::format("'{}' is not a whole number", text);
  return fmt::format("{} is too {}", text, text.starts_with('-') ? "small" : "large");
}

std::string check_finite(const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  if (!text.empty() && *rest == '\0' && std::isfinite(number)) return "";
  return fmt::format("'{}' is not a {}number", text, !text.empty() && *rest == '\0' ? "finite " : "");
}

std::string shown(const std::string& value) {
  return value;
}
std::string shown(const std::vector<std::string>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
template <class Number>
std::string shown(const Number& value) {
  return value == Number{} ? "" : fmt::format("{}", value);
}
template <class Number>
std::string shown(const std::optional<Number>&) {
  return "";
}

// "-o,--output" -> both.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  size_t begin = 0;
  for (size_t end = text.find(','); end != std::string::npos; begin = end + 1, end = text.find(',', begin))
    names.push_back(text.substr(begin, end - begin));
  names.push_back(text.substr(begin));
  return names;
}

OptionFacts* add_facts(VerbFacts& verb, const std::string& name, const std::string& help, Kind otherwise) {
  auto facts = std::make_unique<OptionFacts>();
  facts->names = names_in(name);
  facts->help = help;
  const OptionRow* row = row_of_option(facts->name());
  facts->kind = row != nullptr && (row->kind != Kind::kText) ? row->kind : otherwise;
  facts->group = row != nullptr ? row->group : groups().back();
  verb.options.push_back(std::move(facts));
  return verb.options.back().get();
}

template <class Value>
Option added(CLI::App& app, VerbFacts& verb, const std::string& name, Value& value, const std::string& help, Kind kind,
             std::string (*check)(const std::string&)) {
  OptionFacts* facts = add_facts(verb, name, help, kind);
  facts->shown_default = shown(value);
  if (check != nullptr) facts->checks.emplace_back(check);
  return {app.add_option(name, value, help), facts};
}

}  // namespace

Option& Option::required() {
  facts_->required = true;
  return *this;
}

Option& Option::positive() {
  facts_->checks.emplace_back([](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? "" : fmt::format("{} is not above 0", text);
  });
  return *this;
}

Option& Option::within(int64_t least, int64_t most) {
  facts_->within = {least, most};
  facts_->checks.emplace_back([least, most](const std::string& text) -> std::string {
    int64_t number = 0;
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    std::from_chars(begin, text.data() + text.size(), number);
    if (number < least) return fmt::format("{} is too small", text);
    return number > most ? fmt::format("{} is too large", text) : "";
  });
  return *this;
}

Option& Option::steps() {
  return within(1, 1'000'000'000'000'000);
}

Option& Option::one_of(const std::vector<std::string>& names) {
  facts_->kind = Kind::kWord;
  return known(names);
}

Option& Option::known(const std::vector<std::string>& names) {
  facts_->choices = names;
  return *this;
}

Option& Option::separated_by(char separator) {
  facts_->separator = separator;
  option_->delimiter(separator);
  return *this;
}

Option& Option::one_value_each() {
  facts_->greedy = false;
  return *this;
}

Option& Option::described(const std::string& help) {
  facts_->help = help;
  return *this;
}

Option& Option::hidden() {
  facts_->hidden = true;
  return *this;
}

Option& Option::is(Kind kind) {
  facts_->kind = kind;
  return *this;
}

Option& Option::may_stand_alone(const std::string& value) {
  facts_->alone = value;
  return *this;
}

Option Verb::add_option(const std::string& name, std::string& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kText, nullptr);
}

Option Verb::add_option(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  OptionFacts* facts = add_facts(*facts_, name, help, Kind::kText);
  facts->shown_default = shown(value);
  facts->repeatable = facts->greedy = true;
  CLI::Option* option = app_->add_option(name, value, help);
  if (!facts->positional()) option->allow_extra_args(false);  // which words are whose is known before
  return {option, facts};
}

Option Verb::add_option(const std::string& name, int& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kWhole, check_whole<int>);
}

Option Verb::add_option(const std::string& name, int64_t& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kWhole, check_whole<int64_t>);
}

Option Verb::add_option(const std::string& name, uint64_t& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kWhole, check_whole<uint64_t>);
}

Option Verb::add_option(const std::string& name, double& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kReal, check_finite);
}

Option Verb::add_option(const std::string& name, std::optional<uint64_t>& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kWhole, check_whole<uint64_t>);
}

Option Verb::add_option(const std::string& name, std::optional<double>& value, const std::string& help) {
  return added(*app_, *facts_, name, value, help, Kind::kReal, check_finite);
}

Option Verb::add_flag(const std::string& name, bool& value, const std::string& help) {
  OptionFacts* facts = add_facts(*facts_, name, help, Kind::kText);
  facts->flag = true;
  return {app_->add_flag(name, value, help), facts};
}

Option Verb::option(const std::string& name) {
  const auto found = std::find_if(facts_->options.begin(), facts_->options.end(),
                                  [&](const auto& each) { return !each->removed && each->is_called(name); });
  PANTOUM_CHECK(found != facts_->options.end());
  return {app_->get_option(name), found->get()};
}

void Verb::remove_option(const std::string& name) {
  const auto found = std::find_if(facts_->options.begin(), facts_->options.end(),
                                  [&](const auto& each) { return each->is_called(name); });
  (*found)->removed = true;
  app_->remove_option(app_->get_option(name));
}

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  auto verb = std::make_unique<VerbFacts>();
  verb->name = name, verb->help = help, verb->parent = facts_;
  facts_->verbs.push_back(std::move(verb));
  return {app_->add_subcommand(name, help), facts_->verbs.back().get(), chosen_};
}

Verb& Verb::hidden() {
  facts_->hidden = true;
  return *this;
}

void Verb::does(Action action) {
  app_->final_callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

bool Verb::was_given() const {
  return app_->parsed();
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->name(name);
  app_->set_help_flag();
  facts_.name = name, facts_.help = description, facts_.version = version;
}

CommandLine::~CommandLine() = default;

Verb CommandLine::add_verb(const std::string& name, const std::string& help) {
  return Verb(app_.get(), &facts_, &chosen_).add_verb(name, help);
}

Result<AskedFor> CommandLine::parse(int argc, const char* const* argv, const Look& look) {
  PANTOUM_ASSIGN(Read read, read_words(facts_, std::vector<std::string>(argv + std::min(argc, 1), argv + argc)));
  if (read.version) return AskedFor{.action = {}, .text = facts_.version + "\n"};
  if (read.help) return AskedFor{.action = {}, .text = help_of(*read.verb, facts_)};
  if (look) PANTOUM_TRY(look(read.given));
  try {
    std::vector<std::string> words = read.words();
    std::reverse(words.begin(), words.end());  // as the parser takes them
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return fail("E0100", error.what(), "command line", "pantoum --help, or pantoum VERB --help");
  }
  return AskedFor{.action = chosen_, .text = {}};
}

}  // namespace pantoum::cli
