#include "cli/line/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cli/line/help_text.h"
#include "cli/line/option_table.h"
#include "cli/line/reading.h"

namespace pantoum::cli {
namespace {

// What is wrong with the text of a number; "" where nothing is.
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

// The checks came before.
template <class Number>
Number number_of(const std::string& text) {
  Number number{};
  std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), number);
  return number;
}

// "-o,--output" -> both.
std::vector<std::string> names_in(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return {text};
  return {text.substr(0, comma), text.substr(comma + 1)};
}

OptionFacts* add_facts(VerbFacts& verb, const std::string& name, const std::string& help, Kind otherwise) {
  auto facts = std::make_unique<OptionFacts>();
  facts->names = names_in(name);
  facts->help = help;
  const OptionRow* row = row_of_option(facts->name());
  facts->kind = row != nullptr && (row->kind != Kind::kText) ? row->kind : otherwise;
  facts->group = row != nullptr ? row->group : groups().back();
  if (row != nullptr) facts->level = row->shown;
  verb.options.push_back(std::move(facts));
  return verb.options.back().get();
}

template <class Number>
Option added(VerbFacts& verb, const std::string& name, Number& value, const std::string& help) {
  OptionFacts* facts = add_facts(verb, name, help, Kind::kWhole);
  if (value != 0) facts->shown_default = fmt::format(" {}", value);
  facts->checks.emplace_back(check_whole<Number>);
  facts->puts.push_back([&value](const std::string& text, const std::string&) -> Result<void> {
    value = number_of<Number>(text);
    return {};
  });
  return Option(facts);
}

// ---- settings ----

Kind kind_of(const settings::Field& field) {
  using settings::Type;
  switch (field.setting.holds) {
    case Holds::glob:
      return Kind::kGlob;
    case Holds::weights:
      return Kind::kWeights;
    case Holds::plan:
      return Kind::kPlan;
    case Holds::data:
      return Kind::kData;
    case Holds::model:
      return Kind::kModel;
    case Holds::device:
      return Kind::kDevice;
    case Holds::store:
      return Kind::kStore;
    case Holds::output:
      return Kind::kOutput;
    case Holds::folder:
      return Kind::kFolder;
    case Holds::page_folder:
      return Kind::kPageFolder;
    case Holds::board:
      return Kind::kBoard;
    case Holds::text:
      break;
  }
  const std::string unit = field.setting.unit == nullptr ? "" : field.setting.unit;
  switch (field.type) {
    case Type::flag:
      return field.takes_value ? Kind::kWord : Kind::kText;
    case Type::whole:
      return Kind::kWhole;
    case Type::number:
      return unit == "J" ? Kind::kEnergy : unit == "%" ? Kind::kPercent : Kind::kReal;
    case Type::bytes:
      return Kind::kBytes;
    case Type::seconds:
    case Type::deadline:
      return Kind::kDuration;
    case Type::word:
      return Kind::kWord;
    default:
      return Kind::kText;
  }
}

std::string default_of(const settings::Field& field) {
  if (field.setting.otherwise != nullptr) return std::string(": ") + field.setting.otherwise;
  if (!field.takes_value || field.usual.is_null() || field.usual == "") return "";
  const std::vector<std::string> texts = field.texts();
  return texts.empty() ? "" : fmt::format(" {}", fmt::join(texts, ","));
}

std::unique_ptr<OptionFacts> facts_of(const settings::Field& field) {
  const Setting& setting = field.setting;
  auto facts = std::make_unique<OptionFacts>();
  facts->names = {setting.option};
  facts->help = setting.help;
  facts->level = setting.shown;
  facts->group = setting.shown == Shown::research ? "research" : field.group;
  facts->kind = kind_of(field);
  facts->choices = field.choices;
  facts->flag = !field.takes_value;
  facts->repeatable = field.repeats;
  facts->greedy = field.repeats && setting.holds == Holds::glob;
  if (setting.list) facts->separator = ',';
  if (setting.alone != nullptr) facts->alone = setting.alone;
  facts->shown_default = default_of(field);
  if (field.type == settings::Type::whole) {
    const bool is_unsigned = field.usual.is_number_unsigned();
    facts->checks.emplace_back(is_unsigned ? check_whole<uint64_t> : check_whole<int64_t>);
    if (std::isfinite(setting.least) && std::isfinite(setting.most))
      Option(facts.get()).within(static_cast<int64_t>(setting.least), static_cast<int64_t>(setting.most));
  }
  if (facts->kind == Kind::kReal) facts->checks.emplace_back(check_finite);
  return facts;
}

Result<void> put_all(VerbFacts& verb, const std::vector<Given>& given) {
  for (const auto& option : verb.options) {
    option->given.clear();
    for (const Given& each : given)
      if (each.option == option.get()) option->given.push_back(each.value);
    if (option->given.empty()) continue;
    for (const auto& clear : option->clears) clear();
    for (const std::string& word : option->given)
      for (const std::string& value : option->values_in(word))
        for (const auto& put : option->puts) PANTOUM_TRY(put(value, option->name()));
  }
  return {};
}

}  // namespace

Option& Option::required(const std::string& unless) {
  facts_->required = true;
  facts_->unless = unless;
  return *this;
}

Option& Option::required_unless(const std::string& option, std::function<bool(const std::string& path)> needless) {
  facts_->required = true;
  facts_->found_in = option;
  facts_->needless = std::move(needless);
  return *this;
}

Option& Option::within(int64_t least, int64_t most) {
  facts_->within = {least, most};
  facts_->checks.emplace_back([least, most](const std::string& text) -> std::string {
    const auto number = number_of<int64_t>(text);
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

Option& Option::one_word_each() {
  facts_->greedy = false;
  return *this;
}

Option& Option::separated_by(char separator) {
  facts_->separator = separator;
  return *this;
}

Option& Option::described(const std::string& help) {
  facts_->help = help;
  return *this;
}

Option& Option::is(Kind kind) {
  facts_->kind = kind;
  return *this;
}

Option& Option::shown(Shown shown) {
  facts_->level = shown;
  if (shown == Shown::research) facts_->group = "research";
  return *this;
}

bool Option::was_given() const {
  return !facts_->given.empty();
}

Option Verb::add_option(const std::string& name, std::string& value, const std::string& help) {
  OptionFacts* facts = add_facts(*facts_, name, help, Kind::kText);
  if (!value.empty()) facts->shown_default = " " + value;
  facts->puts.push_back([&value](const std::string& text, const std::string&) -> Result<void> {
    value = text;
    return {};
  });
  return Option(facts);
}

Option Verb::add_option(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  OptionFacts* facts = add_facts(*facts_, name, help, Kind::kText);
  if (!value.empty()) facts->shown_default = fmt::format(" {}", fmt::join(value, ","));
  facts->repeatable = facts->greedy = true;
  facts->clears.push_back([&value] { value.clear(); });
  facts->puts.push_back([&value](const std::string& text, const std::string&) -> Result<void> {
    value.push_back(text);
    return {};
  });
  return Option(facts);
}

Option Verb::add_option(const std::string& name, int64_t& value, const std::string& help) {
  return added(*facts_, name, value, help);
}

Option Verb::add_option(const std::string& name, uint64_t& value, const std::string& help) {
  return added(*facts_, name, value, help);
}

Option Verb::add_flag(const std::string& name, bool& value, const std::string& help) {
  OptionFacts* facts = add_facts(*facts_, name, help, Kind::kText);
  facts->flag = true;
  facts->puts.push_back([&value](const std::string&, const std::string&) -> Result<void> {
    value = true;
    return {};
  });
  return Option(facts);
}

void Verb::add_settings(settings::Fields fields, const std::vector<std::string>& without) {
  for (settings::Field& field : fields) {
    const auto is_out = std::find(without.begin(), without.end(), field.setting.name) != without.end();
    if (field.setting.option == nullptr || is_out) continue;
    OptionFacts* facts = nullptr;
    for (const auto& each : facts_->options)
      if (each->is_called(field.setting.option)) facts = each.get();
    if (facts == nullptr) facts = facts_->options.emplace_back(facts_of(field)).get();
    if (field.repeats) facts->clears.push_back(std::move(field.clear));
    facts->puts.push_back(std::move(field.set));
  }
}

void Verb::add_settings_of(settings::Fields fields, const std::vector<std::string>& only) {
  std::erase_if(fields, [&](const settings::Field& field) {
    return std::find(only.begin(), only.end(), field.setting.name) == only.end();
  });
  add_settings(std::move(fields));
}

Option Verb::option(const std::string& name) {
  const auto found = std::find_if(facts_->options.begin(), facts_->options.end(),
                                  [&](const auto& each) { return each->is_called(name); });
  PANTOUM_CHECK(found != facts_->options.end());
  return Option(found->get());
}

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  auto verb = std::make_unique<VerbFacts>();
  verb->name = name, verb->help = help, verb->parent = facts_;
  facts_->verbs.push_back(std::move(verb));
  return {facts_->verbs.back().get(), chosen_};
}

Verb& Verb::hidden() {
  facts_->hidden = true;
  return *this;
}

void Verb::begins(std::function<Result<void>(const std::vector<Given>& given)> begin) {
  facts_->begins.push_back(std::move(begin));
}

void Verb::does(Action action) {
  facts_->choose = [chosen = chosen_, action = std::move(action)] { *chosen = action; };
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& version) {
  facts_.name = name, facts_.help = description, facts_.version = version;
}

Verb CommandLine::add_verb(const std::string& name, const std::string& help) {
  return Verb(&facts_, &chosen_).add_verb(name, help);
}

Result<AskedFor> CommandLine::parse(int argc, const char* const* argv, const Look& look, bool only_parse) {
  PANTOUM_ASSIGN(Read read, read_words(facts_, std::vector<std::string>(argv + std::min(argc, 1), argv + argc)));
  if (read.version) return AskedFor{.action = {}, .text = facts_.version + "\n"};
  if (read.help) return AskedFor{.action = {}, .text = help_of(*read.verb, facts_, read.all)};
  if (look) PANTOUM_TRY(look(read.given));
  VerbFacts& verb = const_cast<VerbFacts&>(*read.verb);  // one of this program's
  if (!only_parse)
    for (const auto& begin : verb.begins) PANTOUM_TRY(begin(read.given));
  PANTOUM_TRY(put_all(verb, read.given));
  if (verb.choose) verb.choose();
  return AskedFor{.action = chosen_, .text = {}};
}

}  // namespace pantoum::cli
