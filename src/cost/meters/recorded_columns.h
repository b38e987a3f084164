// Which columns of a recording hold what, and in which unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/meters/recording.h"

namespace pantoum::cost {

enum class Quantity : uint8_t { kTime, kPower, kCurrent, kVoltage };

[[nodiscard]] const char* name_of(Quantity quantity);
// "W, mW, uW, nW": for messages.
[[nodiscard]] const char* known_units(Quantity quantity);
// How many seconds, watts, amperes or volts: "ms" -> 1e-3. Letters of either case, but for M, which is no m.
[[nodiscard]] std::optional<double> unit_named(std::string_view unit, Quantity quantity);

struct RecordedColumn {
  size_t at = 0;
  double scale = 1;  // to SI
};

struct RecordedColumns {
  RecordedColumn time, power, current, voltage;
  bool has_power = false;  // else current times voltage
  double volts = 0;        // > 0: in place of a column
  std::optional<size_t> trigger;
  int trigger_bit = -1;  // of a column of bits, the first on the left (PPK2's D0-D7); -1: a number
  size_t columns = 0;    // that a row must have
  std::string label;     // "power in 'Power(mW)'"
};

// A line of CSV with commas, semicolons or tabs, quoted fields (RFC 4180). The fields are valid as long as `line`.
[[nodiscard]] std::vector<std::string> fields_of(std::string_view line, char delimiter);
[[nodiscard]] char delimiter_of(std::string_view line);

// Whether all fields are numbers, as of a file without a header.
[[nodiscard]] bool is_row_of_numbers(const std::vector<std::string>& fields);
// Whether these may be names of columns: one of them tells the time, or is one that the word names.
[[nodiscard]] bool is_header(const std::vector<std::string>& names, const RecordingWord& word);

// E0273 a column that is not there, or of which there are several: name it. `names` of a file without a header are empty.
[[nodiscard]] Result<RecordedColumns> columns_of(const std::vector<std::string>& names, const RecordingWord& word);

// A finite or infinite number or NaN with nothing behind it; `comma`: decimal commas.
[[nodiscard]] std::optional<double> recorded_number(std::string_view field, bool comma);

}  // namespace pantoum::cost
