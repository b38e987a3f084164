#include "cli/line/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pantoum::cli {
namespace {

constexpr int64_t kEndless = 1'000'000'000;  // a limit above it says nothing to a user

// What --help calls a value, by kind.
constexpr std::array kWords{"TEXT", "WORD",   "N",      "NUMBER", "BYTES", "DURATION", "ENERGY", "PERCENT", "BUDGETS", "GLOB",
                            "METER", "FILE",  "FILE",   "FILE",   "FILE",   "FILE",  "FILE",     "FILE",   "FILE",    "PATH",    "DIR",
                            "DIR",   "DEVICE", "BOARD", "FILE",   "FILE",  "DIR",      "DIR",    "FILE"};
static_assert(kWords.size() == static_cast<size_t>(Kind::kStore) + 1);

}  // namespace

bool OptionFacts::is_called(const std::string& word) const {
  return std::find(names.begin(), names.end(), word) != names.end();
}

std::vector<std::string> OptionFacts::values_in(const std::string& word) const {
  if (separator == 0) return {word};
  std::vector<std::string> values;
  size_t begin = 0;
  for (size_t end = word.find(separator); end != std::string::npos; begin = end + 1, end = word.find(separator, begin))
    values.push_back(word.substr(begin, end - begin));
  values.push_back(word.substr(begin));
  return values;
}

const OptionFacts* VerbFacts::find(const std::string& word) const {
  for (const auto& option : options)
    if (!option->positional() && option->is_called(word)) return option.get();
  return nullptr;
}

const VerbFacts* VerbFacts::verb(const std::string& word) const {
  for (const auto& each : verbs)
    if (each->name == word) return each.get();
  return nullptr;
}

std::vector<const OptionFacts*> VerbFacts::shown() const {
  std::vector<const OptionFacts*> all;
  for (const auto& option : options)
    if (!option->positional()) all.push_back(option.get());
  return all;
}

std::vector<const OptionFacts*> VerbFacts::positionals() const {
  std::vector<const OptionFacts*> all;
  for (const auto& option : options)
    if (option->positional()) all.push_back(option.get());
  return all;
}

std::string VerbFacts::path() const {
  return parent == nullptr ? name : parent->path() + " " + name;
}

std::string value_word(const OptionFacts& option) {
  if (option.flag) return "";
  if (option.positional()) return option.name();
  return kWords[static_cast<size_t>(option.kind)];
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t at = 0; at < names.size(); ++at)
    text += (at == 0 ? "" : at + 1 == names.size() ? " or " : ", ") + names[at];
  return text;
}

std::string range_words(const OptionFacts& option) {
  if (!option.within) return "";
  const auto [least, most] = *option.within;
  return most >= kEndless ? fmt::format("{} or more", least) : fmt::format("from {} to {}", least, most);
}

}  // namespace pantoum::cli
