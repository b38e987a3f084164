// Quantities with units in their types: a plain number does not convert to a budget.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/result.hpp"

namespace pantoum {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}
  [[nodiscard]] constexpr int64_t count() const { return count_; }
  auto operator<=>(const Bytes&) const = default;

 private:
  int64_t count_ = 0;
};

// `count` units of so many bytes. What is below 0 or no number becomes -1, what is too large 2^62: as a budget, both are refused (E0300).
[[nodiscard]] constexpr Bytes units_of(double count, double unit) {
  constexpr double kMost = 4611686018427387904.0;
  const double bytes = count * unit;
  return Bytes(!(bytes >= 0) ? int64_t{-1} : static_cast<int64_t>(bytes < kMost ? bytes : kMost));
}
[[nodiscard]] constexpr Bytes KiB(double count) {
  return units_of(count, 1024);
}
[[nodiscard]] constexpr Bytes MiB(double count) {
  return units_of(count, 1048576);
}
[[nodiscard]] constexpr Bytes GiB(double count) {
  return units_of(count, 1073741824);
}

using Seconds = std::chrono::duration<double>;

// A multiple of the makespan of a step with unlimited RAM.
class Relative {
 public:
  constexpr explicit Relative(double factor) : factor_(factor) {}
  [[nodiscard]] constexpr double factor() const { return factor_; }

 private:
  double factor_;
};

// The longest time that one step may take: `.deadline = 450ms` or `.deadline = Relative(1.3)`. If both are set, the earlier deadline counts; if
// neither is set, there is no deadline.
struct Deadline {
  std::optional<Seconds> seconds;
  std::optional<double> relative;  // a multiple of the makespan of the step with unlimited RAM

  Deadline() = default;
  template <class Number, class Period>
  Deadline(std::chrono::duration<Number, Period> time) : seconds(time) {}
  Deadline(Relative factor) : relative(factor.factor()) {}
  bool operator==(const Deadline&) const = default;
};

// These functions parse quantities as people write them; the unit is compulsory. `what` names the quantity in errors.
// "64MiB", "1.5 GB" (B, kB, KiB, MB, MiB, GB, GiB). E0110: no unit (the error lists likely readings), an unknown unit, or out of range.
[[nodiscard]] PANTOUM_API Result<Bytes> parse_bytes(const std::string& text, const std::string& what);
// "64KiB:1MiB:16" (from, to, number of budgets), "64KiB,1MiB", or one budget. Returns them in ascending order, each once. E0110; E0300: a budget is
// 0.
[[nodiscard]] PANTOUM_API Result<std::vector<Bytes>> parse_budgets(const std::string& text, const std::string& what);
// "450ms", "2h" (ns, us, ms, s, min, h). E0111.
[[nodiscard]] PANTOUM_API Result<Seconds> parse_seconds(const std::string& text, const std::string& what);
// "450ms", or "1.3x" of the step with unlimited RAM. E0111.
[[nodiscard]] PANTOUM_API Result<Deadline> parse_deadline(const std::string& text, const std::string& what);
// "3.2J" (uJ, mJ, J, kJ, Wh), in joules. E0121.
[[nodiscard]] PANTOUM_API Result<double> parse_joules(const std::string& text, const std::string& what);
// "1%", as a share of 1. E0112.
[[nodiscard]] PANTOUM_API Result<double> parse_fraction(const std::string& text, const std::string& what);
// "24.0 MiB", "1.2 ms".
[[nodiscard]] PANTOUM_API std::string show(Bytes bytes);
[[nodiscard]] PANTOUM_API std::string show(Seconds seconds);

}  // namespace pantoum
