// Quantities as users write them: the unit is compulsory where a mistake costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pantoum::base {

// "256KiB", "1.5 MB", "512B" -> bytes (B, kB, KiB, MB, MiB, GB, GiB). E0110: a bare number (with its likely readings),
// an unknown unit, a share, several budgets, negative, not finite, over 2^62. `what` names the option in errors.
[[nodiscard]] Result<int64_t> parse_bytes(std::string_view text, const std::string& what);

// The share that a text is which parse_bytes refuses: "50%" -> 0.5, a bare number below 1 -> itself. nullopt: none.
[[nodiscard]] std::optional<double> share_in(std::string_view text);
// What to say of such a share where `whole`, the bytes of the unplanned step, is known.
[[nodiscard]] std::string help_for_share(double share, int64_t whole);

// "450ms", "1.5s", "2h" (ns, us, ms, s, min, h) -> seconds. E0111.
[[nodiscard]] Result<double> parse_seconds(std::string_view text, const std::string& what);

// "3.2J", "450mJ" (uJ, mJ, J, kJ, Wh) -> joules. E0121.
[[nodiscard]] Result<double> parse_joules(std::string_view text, const std::string& what);

// "1%", "0.01%" -> 0.01, 0.0001. E0112.
[[nodiscard]] Result<double> parse_fraction(std::string_view text, const std::string& what);

// "24.0 MiB", "512 B": three significant digits or more, IEC units.
[[nodiscard]] std::string show_bytes(int64_t bytes);

// Bytes in the unit of one number of bytes: that in which it has the fewest digits, as its user wrote it. 4194304 is "4 MiB", 200000 "200 kB".
class ByteUnit {
 public:
  explicit ByteUnit(int64_t written);
  [[nodiscard]] std::string written() const { return written_; }
  // Another number in the same unit, with three digits or more: no less than it, or no more.
  [[nodiscard]] std::string up(int64_t bytes) const;
  [[nodiscard]] std::string down(int64_t bytes) const;

 private:
  [[nodiscard]] std::string rounded(int64_t bytes, double (*to)(double)) const;
  std::string_view name_;
  double factor_ = 1;
  std::string written_;
};

// "1.2 ms", "3 min 20 s".
[[nodiscard]] std::string show_seconds(double seconds);
// "3.91 J", "12 mJ".
[[nodiscard]] std::string show_joules(double joules);

}  // namespace pantoum::base
