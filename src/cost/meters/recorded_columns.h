// Finds which columns of a recording hold time, power, current and voltage, and in which units.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/meters/recording.h"

namespace pantoum::cost {

// "time", "power", ...: its name in keys and messages.
[[nodiscard]] const char* name_of(Quantity quantity);
[[nodiscard]] std::string lower_case(std::string_view text);  // of ASCII letters
// "W, mW, uW, nW": for messages.
[[nodiscard]] const char* known_units(Quantity quantity);
// The unit in seconds, watts, amperes or volts: "ms" -> 1e-3; none: no such unit is known. Letters of either case; but M is a million,
// and not known.
[[nodiscard]] std::optional<double> unit_named(std::string_view unit, Quantity quantity);

struct RecordedColumn {
  size_t at = 0;
  double scale = 1;  // to SI
};

struct RecordedColumns {
  // Time and power; or time, current and voltage, where `volts` may stand for the last.
  ByQuantity<std::optional<RecordedColumn>> of;
  double volts = 0;
  std::optional<size_t> trigger;
  int trigger_bit =
      -1;  // the bit of a column of bits, counted from the left (PPK2's D0-D7); -1: the column holds a number
  size_t columns = 0;  // how many fields a row must have
  std::string label;   // "power in 'Power(mW)'"
};

// The fields of a line of CSV, which commas, semicolons or tabs separate; fields may be quoted (RFC 4180).
[[nodiscard]] std::vector<std::string> fields_of(std::string_view line, char delimiter);
[[nodiscard]] char delimiter_of(std::string_view line);

// Whether all fields are numbers, as of a file without a header.
[[nodiscard]] bool is_row_of_numbers(const std::vector<std::string>& fields);
// Whether these may be names of columns: one of them tells the time, or the word names one of them.
[[nodiscard]] bool is_header(const std::vector<std::string>& names, const RecordingWord& word);

// Finds the columns; `names` is empty for a file without a header. E0273 a column is not there, or several may be meant.
[[nodiscard]] Result<RecordedColumns> columns_of(const std::vector<std::string>& names, const RecordingWord& word);

// The number in a field, which may be infinite or NaN; none: the field holds anything else. `comma`: with decimal commas.
[[nodiscard]] std::optional<double> recorded_number(std::string_view field, bool comma);

}  // namespace pantoum::cost
