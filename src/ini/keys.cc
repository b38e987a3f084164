#include "ini/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest_name.h"

namespace pantoum::ini {

const Entry* Keys::entry(std::string_view key) {
  read_.emplace(key);
  return section_.find(key);
}

void Keys::refuse(std::string_view key, const std::string& problem, const std::string& help) {
  if (problem_) return;
  const Entry* const at = section_.find(key);
  problem_ = Error{"E0214",
                   fmt::format("[{}]: {}", section_.name, problem),
                   place_of(path_, at == nullptr ? section_.line : at->line),
                   {},
                   help};
}

// A key of another spelling may be meant for it.
void Keys::refuse_missing(std::string_view key) {
  const std::string name(key);
  const auto meant = std::find_if(section_.entries.begin(), section_.entries.end(), [&](const Entry& each) {
    return !read_.contains(each.key) && base::nearest_name(each.key, {name}) == name;
  });
  if (meant == section_.entries.end())
    return refuse(key, fmt::format("the key '{}' is missing", key), fmt::format("add {} = ..", key));
  refuse(meant->key, fmt::format("the key '{}' is missing, and '{}' is not known here", key, meant->key),
         fmt::format("did you mean {}?", key));
}

std::string Keys::text(std::string_view key, std::optional<std::string> otherwise) {
  const Entry* const found = entry(key);
  if (found != nullptr) return found->value;
  if (!otherwise) refuse_missing(key);
  return otherwise.value_or("");
}

// The whole of `text` as a number. A plus in front is passed over, as NNTrainer does.
template <class Number>
static std::optional<Number> number_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> Keys::whole_in(std::string_view key, const std::string& text, int64_t least) {
  const std::optional<int64_t> value = number_of<int64_t>(text);
  if (value && *value >= least && *value <= INT32_MAX) return value;
  refuse(key, fmt::format("'{}' of '{}' is no whole number from {} to {}", text, key, least, INT32_MAX),
         "write digits alone");
  return std::nullopt;
}

std::optional<double> Keys::number_in(std::string_view key, const std::string& text, double least, double most) {
  const std::optional<double> value = number_of<double>(text);
  if (value && *value >= least && *value <= most) return value;
  refuse(key, fmt::format("'{}' of '{}' is no number from {} to {}", text, key, least, most),
         "write it as 0.001 or 1e-3");
  return std::nullopt;
}

int64_t Keys::whole(std::string_view key, int64_t least, std::optional<int64_t> otherwise) {
  const std::string given = text(key, otherwise ? std::optional<std::string>("") : std::nullopt);
  if (given.empty()) return otherwise.value_or(least);
  return whole_in(key, given, least).value_or(least);
}

double Keys::number(std::string_view key, double least, double most, std::optional<double> otherwise) {
  const std::string given = text(key, otherwise ? std::optional<std::string>("") : std::nullopt);
  if (given.empty()) return otherwise.value_or(least);
  return number_in(key, given, least, most).value_or(least);
}

bool Keys::boolean(std::string_view key, bool otherwise) {
  const std::string given = text(key, otherwise ? "true" : "false");
  if (given != "true" && given != "false")
    refuse(key, fmt::format("'{}' of '{}' is neither true nor false", given, key), "write true or false");
  return given == "true";
}

std::string Keys::word(std::string_view key, const std::vector<std::string>& words,
                       std::optional<std::string> otherwise) {
  const std::string given = lower_case(text(key, std::move(otherwise)));
  if (has_problem() || std::find(words.begin(), words.end(), given) != words.end()) return given;
  refuse(key, fmt::format("'{}' is not known as a value of '{}'", given, key),
         fmt::format("{}use {}", base::hint_at(given, words), fmt::join(words, ", ")));
  return words.front();
}

std::vector<int64_t> Keys::wholes(std::string_view key, int64_t least, size_t most) {
  const std::vector<std::string> parts = comma_list(text(key, ""));
  std::vector<int64_t> values;
  values.reserve(parts.size());
  for (const std::string& part : parts) values.push_back(whole_in(key, part, least).value_or(least));
  if (values.size() > most)
    refuse(key, fmt::format("'{}' has {} numbers, more than {}", key, values.size(), most), "leave some out");
  return values;
}

std::vector<double> Keys::numbers(std::string_view key, double least, double most) {
  const std::vector<std::string> parts = comma_list(text(key, ""));
  std::vector<double> values;
  values.reserve(parts.size());
  for (const std::string& part : parts) values.push_back(number_in(key, part, least, most).value_or(least));
  return values;
}

Result<void> Keys::done() const {
  if (problem_) return Failure(*problem_);
  for (const Entry& each : section_.entries) {
    if (read_.contains(each.key)) continue;
    const std::vector<std::string> known(read_.begin(), read_.end());
    return fail("E0214", fmt::format("[{}]: the key '{}' is not known here", section_.name, each.key),
                place_of(path_, each.line),
                fmt::format("{}this section has the keys {}", base::hint_at(each.key, known), fmt::join(known, ", ")));
  }
  return {};
}

}  // namespace pantoum::ini
