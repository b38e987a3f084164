#include "cli/line/units_in_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

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

}  // namespace

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

}  // namespace pantoum::cli
