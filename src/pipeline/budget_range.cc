#include "pipeline/budget_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"

namespace pantoum::pipeline {
namespace {

constexpr int64_t kMostBudgets = 10000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

Failure no_range(const std::string& text, const std::string& option, const std::string& why) {
  return fail("E0110", fmt::format("'{}' is no range of budgets: {}", text, why), option,
              "write from, to and how many, as in 64KiB:1MiB:16, or a list as in 64KiB,128KiB");
}

// `count` budgets from `low` to `high`, in equal steps as far as whole bytes go.
std::vector<int64_t> spread(int64_t low, int64_t high, int64_t count) {
  const int64_t steps = count - 1, whole = (high - low) / steps, rest = (high - low) % steps;
  std::vector<int64_t> budgets;
  for (int64_t at = 0; at < count; ++at) budgets.push_back(low + whole * at + rest * at / steps);
  return budgets;
}

Result<std::vector<int64_t>> parse_range(const std::string& text, const std::vector<std::string>& parts,
                                         const std::string& option) {
  PANTOUM_ASSIGN(const int64_t low, base::parse_bytes(parts[0], option));
  PANTOUM_ASSIGN(const int64_t high, base::parse_bytes(parts[1], option));
  if (low > high) return no_range(text, option, "it runs downward");
  int64_t count = 0;
  const std::string& number = parts[2];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc{} || end != number.data() + number.size() || count < 2 || count > kMostBudgets)
    return no_range(text, option, fmt::format("'{}' is no number of budgets (2 to {})", number, kMostBudgets));
  return spread(low, high, count);
}

}  // namespace

Result<std::vector<int64_t>> parse_budgets(const std::string& text, const std::string& option) {
  const std::vector<std::string> range = split(text, ':');
  std::vector<int64_t> budgets;
  if (range.size() == 3) {
    PANTOUM_ASSIGN(budgets, parse_range(text, range, option));
  } else if (range.size() == 1) {
    for (const std::string& part : split(text, ',')) {
      PANTOUM_ASSIGN(budgets.emplace_back(), base::parse_bytes(part, option));
    }
  } else {
    return no_range(text, option, "it has not three parts");
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  if (budgets.front() == 0)
    return fail("E0300", "a budget of 0 bytes", option,
                "give the RAM that the step may use, as in --ram 64KiB:1MiB:16");
  return budgets;
}

}  // namespace pantoum::pipeline
