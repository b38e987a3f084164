#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace pantoum::base {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 7> kByteUnits{
    {{"B", 1}, {"kB", 1e3}, {"KiB", 1024}, {"MB", 1e6}, {"MiB", 1048576}, {"GB", 1e9}, {"GiB", 1073741824}}};
constexpr std::array<Unit, 6> kTimeUnits{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};

constexpr std::array<Unit, 5> kEnergyUnits{{{"uJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"Wh", 3600}}};

struct Limit {
  double most;
  const char* words;
};
constexpr Limit kMostBytes{4611686018427387904.0, "2^62 bytes"}, kMostSeconds{876600.0 * 3600, "a century, 876600h"},
    kMostJoules{1e15, "10^15 J"};

struct Quantity {
  double number = 0;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc{} || !std::isfinite(quantity.number) || quantity.number < 0) return std::nullopt;
  quantity.unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!quantity.unit.empty() && quantity.unit.front() == ' ') quantity.unit.remove_prefix(1);
  return quantity;
}

template <size_t N>
std::string names(const std::array<Unit, N>& units) {
  std::string text;
  for (const Unit& unit : units) text += (text.empty() ? "" : ", ") + std::string(unit.name);
  return text;
}

// The units that differ from `unit` in the case of letters, or that it begins: M of MB and MiB, mb of MB.
template <size_t N>
std::string readings_of(const Quantity& quantity, const std::array<Unit, N>& units) {
  const auto lower = [](std::string_view text) {
    std::string small(text);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return small;
  };
  const std::string wanted = lower(quantity.unit);
  std::string readings;
  for (const Unit& unit : units) {
    const std::string name = lower(unit.name);
    const bool same =
        name == wanted || (wanted.size() == 1 && name.starts_with(wanted)) ||
        (wanted.size() > 1 && wanted.starts_with(name) && unit.name.size() < 3) ||
        (N == kByteUnits.size() && wanted.size() == 2 && wanted[1] == 'b' && name == wanted.substr(0, 1) + "ib");
    if (same) readings += fmt::format("{}{}{}", readings.empty() ? "" : " or ", quantity.number, unit.name);
  }
  return readings;
}

// What may have been meant by a text that is no quantity.
std::string help_for(std::string_view text, const std::string& units) {
  std::string point(text);
  std::replace(point.begin(), point.end(), ',', '.');
  if (point != text && split(point)) return fmt::format("write a point, not a comma: {}", point);
  return "write a number and a unit: " + units;
}

template <size_t N>
Result<double> parse(std::string_view text, const std::array<Unit, N>& units, const std::string& what,
                     const std::string& code, const std::string& readings, Limit limit) {
  const std::optional<Quantity> quantity = split(text);
  if (!quantity && text.starts_with('-') && split(text.substr(1)))
    return fail(code, fmt::format("'{}' is below 0", text), what, "give a quantity of 0 or more");
  if (!quantity || quantity->unit.starts_with(','))
    return fail(code, fmt::format("'{}' is no quantity", text), what, help_for(text, names(units)));
  if (quantity->unit.empty())
    return fail(code, fmt::format("'{}' has no unit", text), what,
                fmt::format(fmt::runtime(readings), quantity->number));
  for (const Unit& unit : units) {
    if (unit.name != quantity->unit) continue;
    const double value = quantity->number * unit.factor;
    if (value <= limit.most) return value;
    return fail(code, fmt::format("'{}' is too large", text), what, fmt::format("give {} at most", limit.words));
  }
  if (quantity->unit == "%" && units.size() == kByteUnits.size())
    return fail(code, fmt::format("'{}' is a share, and no number of bytes", text), what, readings);
  const std::string likely = readings_of(*quantity, units);
  return fail(code, fmt::format("'{}' has no known unit: '{}'", text, quantity->unit), what,
              (likely.empty() ? "" : fmt::format("did you mean {}? ", likely)) + "use one of " + names(units));
}

// The refusal of a text that is none of the quantities but what users write for RAM elsewhere: in `pantoum sweep`.
std::optional<Failure> refused_as_ram(std::string_view text, const std::string& what) {
  if (!what.ends_with("ram")) return std::nullopt;
  if (text == "auto")
    return fail("E0110", "'auto' is no number of bytes", what,
                fmt::format("leave {} out, and the usual RAM is taken; `pantoum sweep` takes auto", what));
  const std::optional<Quantity> first = split(text);
  if (!first || first->unit.find_first_of(",:") == std::string_view::npos || first->unit.starts_with(',')) return std::nullopt;
  return fail("E0110", fmt::format("'{}' are several budgets", text), what, "give one; `pantoum sweep` plans for several");
}

// What a number of bytes without a unit may have meant. A large one was counted in bytes.
std::string readings_of_bytes(std::string_view text) {
  constexpr double kLeastLarge = 65536;
  const std::string inspect = "a share is no budget: `pantoum inspect` tells what the unplanned step takes";
  if (text.ends_with('%')) return inspect;
  const std::optional<Quantity> quantity = split(text);
  if (quantity && quantity->number == 0) return "write a number and a unit, as in 64KiB";
  if (share_in(text)) return "did you mean {0}MiB or {0}GiB? Else " + inspect;
  if (!quantity || quantity->number < kLeastLarge || quantity->number > kMostBytes.most)
    return "did you mean {0}KiB, {0}MiB or {0}B?";
  return fmt::format("did you mean {{0}}B? It is {}", show_bytes(static_cast<int64_t>(quantity->number)));
}

}  // namespace

std::optional<double> share_in(std::string_view text) {
  const std::optional<Quantity> quantity = split(text);
  if (!quantity || quantity->number <= 0) return std::nullopt;
  if (quantity->unit == "%" && quantity->number <= 100) return quantity->number / 100;
  return quantity->unit.empty() && quantity->number < 1 ? std::optional(quantity->number) : std::nullopt;
}

std::string help_for_share(double share, int64_t whole) {
  return fmt::format("the unplanned step takes {}: {:g}% of it is {}", show_bytes(whole), 100 * share,
                     show_bytes(static_cast<int64_t>(share * static_cast<double>(whole))));
}

Result<int64_t> parse_bytes(std::string_view text, const std::string& what) {
  if (auto refused = refused_as_ram(text, what)) return *std::move(refused);
  PANTOUM_ASSIGN(const double bytes,
                 parse(text, kByteUnits, what, "E0110", readings_of_bytes(text), kMostBytes));
  return static_cast<int64_t>(std::floor(bytes));
}

Result<double> parse_seconds(std::string_view text, const std::string& what) {
  return parse(text, kTimeUnits, what, "E0111", "did you mean {0}s, {0}ms or {0}min?", kMostSeconds);
}

Result<double> parse_joules(std::string_view text, const std::string& what) {
  return parse(text, kEnergyUnits, what, "E0121", "did you mean {0}J, {0}mJ or {0}Wh?", kMostJoules);
}

Result<double> parse_fraction(std::string_view text, const std::string& what) {
  const std::optional<Quantity> quantity = split(text);
  if (quantity && quantity->unit == "%" && quantity->number > 100)
    return fail("E0112", fmt::format("'{}' is more than the whole", text), what, "give 100% at most");
  if (quantity && quantity->unit == "%") return quantity->number / 100;
  return fail("E0112", fmt::format("'{}' is no percentage", text), what, "write it with its unit, as in 1% or 0.01%");
}

std::string show_bytes(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (value < 1048576) return fmt::format("{:.1f} KiB", value / 1024);
  if (value < 1073741824) return fmt::format("{:.2f} MiB", value / 1048576);
  return fmt::format("{:.2f} GiB", value / 1073741824);
}

namespace {

// The shortest number that gives so many bytes in a unit, as parse_bytes rounds them; "": it has more than three decimals.
std::string shortest_number(int64_t bytes, double unit) {
  constexpr int kDecimals = 3;
  constexpr double kRounding = 1e-9;
  for (int decimals = 0; decimals <= kDecimals; ++decimals) {
    const double scale = std::pow(10.0, decimals);
    const double number = std::max(0.0, std::ceil(static_cast<double>(bytes) / unit * scale - kRounding)) / scale;
    if (static_cast<int64_t>(std::floor(number * unit)) == bytes) return fmt::format("{:.{}f}", number, decimals);
  }
  return "";
}

}  // namespace

ByteUnit::ByteUnit(int64_t written) : name_(kByteUnits.front().name) {
  std::string best = fmt::format("{}", written);
  const auto cost = [](const std::string& number, std::string_view unit) {  // of equal lengths, powers of 1024
    return 2 * number.size() + (number.starts_with("0.") ? 1 : 0) + (unit.find('i') == std::string_view::npos && unit != "B" ? 1 : 0);
  };
  for (const Unit& unit : kByteUnits) {
    const std::string number = shortest_number(written, unit.factor);
    if (number.empty() || cost(number, unit.name) >= cost(best, name_)) continue;
    best = number, name_ = unit.name, factor_ = unit.factor;
  }
  written_ = fmt::format("{} {}", best, name_);
}

std::string ByteUnit::rounded(int64_t bytes, double (*to)(double)) const {
  const double value = static_cast<double>(bytes) / factor_;
  if (factor_ == 1) return fmt::format("{} B", bytes);
  const int decimals = value > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 2, 9) : 2;
  const double scale = std::pow(10.0, decimals);
  return fmt::format("{:.{}f} {}", to(value * scale) / scale, decimals, name_);
}

std::string ByteUnit::up(int64_t bytes) const {
  return rounded(bytes, &std::ceil);
}

std::string ByteUnit::down(int64_t bytes) const {
  return rounded(bytes, &std::floor);
}

std::string show_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  constexpr double kInSecondsAlone = 1e9;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (!(seconds < kInSecondsAlone)) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 7200) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string show_joules(double joules) {
  if (std::abs(joules) < 1e-3) return fmt::format("{:.2f} uJ", joules * 1e6);
  if (std::abs(joules) < 1) return fmt::format("{:.2f} mJ", joules * 1e3);
  return std::abs(joules) < 1e9 ? fmt::format("{:.2f} J", joules) : fmt::format("{:.3g} J", joules);
}

}  // namespace pantoum::base
