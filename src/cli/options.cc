#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

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
  return fmt::format("'{}' is not a whole number from {} to {}", text, std::numeric_limits<Whole>::min(),
                     std::numeric_limits<Whole>::max());
}

std::string check_finite(const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  if (!text.empty() && *rest == '\0' && std::isfinite(number)) return "";
  return fmt::format("'{}' is not a finite number", text);
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::positive() {
  const auto refusal = [](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? "" : fmt::format("Value {} not in range: it is above 0", text);
  };
  option_->check(refusal, "", "POSITIVE");
  return *this;
}

Option& Option::not_negative() {
  const auto refusal = [](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) >= 0 ? "" : fmt::format("Value {} not in range: it is 0 or above", text);
  };
  option_->check(refusal, "", "NONNEGATIVE");
  return *this;
}

Option& Option::within(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::steps() {
  return within(1, 1'000'000'000'000'000);
}

Option& Option::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}

Option& Option::separated_by(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::described(const std::string& help) {
  option_->description(help);
  return *this;
}

Option& Option::hidden() {
  option_->group("");
  return *this;
}

Option Verb::add_option(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Verb::add_option(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Verb::add_option(const std::string& name, int& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_whole<int>));
}

Option Verb::add_option(const std::string& name, int64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_whole<int64_t>));
}

Option Verb::add_option(const std::string& name, uint64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_whole<uint64_t>));
}

Option Verb::add_option(const std::string& name, double& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_finite));
}

Option Verb::add_option(const std::string& name, std::optional<uint64_t>& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_whole<uint64_t>));
}

Option Verb::add_option(const std::string& name, std::optional<double>& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(check_finite));
}

Option Verb::add_flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_->add_flag(name, value, help));
}

Option Verb::option(const std::string& name) {
  return Option(app_->get_option(name));
}

void Verb::remove_option(const std::string& name) {
  app_->remove_option(app_->get_option(name));
}

void Verb::may_stand_alone(const std::string& name, const std::string& value) {
  parsing_->alone[app_->get_option(name)] = value;
}

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  return Verb(app_->add_subcommand(name, help), parsing_);
}

void Verb::does(Action action) {
  app_->final_callback([parsing = parsing_, action = std::move(action)] { parsing->chosen = action; });
}

bool Verb::was_given() const {
  return app_->parsed();
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->name(name);
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Verb CommandLine::add_verb(const std::string& name, const std::string& help) {
  return Verb(app_->add_subcommand(name, help), &parsing_);
}

std::vector<std::string> CommandLine::completed(int argc, const char* const* argv) const {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::vector<CLI::App*> verbs =
      app_->get_subcommands([&](CLI::App* verb) { return !words.empty() && verb->get_name() == words.front(); });
  for (size_t at = 1; !verbs.empty() && at < words.size() && words[at] != "--"; ++at) {
    CLI::Option* option = verbs.front()->get_option_no_throw(words[at]);
    const auto alone = parsing_.alone.find(option);
    if (option == nullptr || alone == parsing_.alone.end()) continue;
    std::string next = at + 1 < words.size() ? words[at + 1] : "";
    const bool has_value = !next.empty() && (*option->get_validator(0))(next).empty();
    if (!has_value) words[at] += "=" + alone->second;
  }
  return words;
}

Result<std::optional<Action>> CommandLine::parse(int argc, const char* const* argv) {
  try {
    std::vector<std::string> words = completed(argc, argv);
    std::reverse(words.begin(), words.end());  // as the parser takes them
    app_->parse(std::move(words));
  } catch (const CLI::Success& asked) {
    app_->exit(asked);
    return std::optional<Action>();
  } catch (const CLI::ParseError& error) {
    return fail("E0100", error.what(), "command line", "pantoum --help, or pantoum VERB --help");
  }
  return std::optional(parsing_.chosen);
}

}  // namespace pantoum::cli
