#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/foreign_text.h"
#include "cost/meters/recorded_columns.h"
#include "cost/meters/recording.h"

namespace pantoum::cost {
namespace {

constexpr std::string_view kPrefix = "csv:";

constexpr const char* kKeys =
    "keys are time, power, current, voltage, volts, trigger, gap, time_unit, power_unit, current_unit, voltage_unit";

// The field of `word` that holds the text of a key; null: the key has no text.
std::string* text_of(RecordingWord& word, std::string_view key) {
  if (key == "trigger") return &word.trigger;
  for (const Quantity quantity : kQuantities) {
    if (key == name_of(quantity)) return &word.column[quantity];
    if (key == std::string(name_of(quantity)) + "_unit") return &word.unit[quantity];
  }
  return nullptr;
}

bool is_key(std::string_view name) {
  RecordingWord word;
  return name == "volts" || name == "gap" || text_of(word, name) != nullptr;
}

// The position of the next ",key=" at `from` or later. (Names of files and columns may hold other commas.)
size_t next_key(const std::string& text, size_t from) {
  for (size_t comma = text.find(',', from); comma != std::string::npos; comma = text.find(',', comma + 1)) {
    const size_t equals = text.find('=', comma);
    if (equals != std::string::npos && is_key(std::string_view(text).substr(comma + 1, equals - comma - 1)))
      return comma;
  }
  return text.size();
}

std::string trimmed(const std::string& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, std::min(text.find_last_not_of(' ') + 1, text.size()) - begin);
}

Failure bad_word(const std::string& message) {
  return fail("E0124", message, "--meter", kKeys);
}

// Refuses a part of a name after a comma that looks like a key and is none, such as " Trigger=gpio" and "colour=red".
Result<void> check_part(const std::string& part) {
  const size_t equals = part.find('=');
  const std::string key = part.substr(0, equals), plain = lower_case(trimmed(key));
  const bool known = is_key(plain);
  if (plain.empty() && equals == std::string::npos) return bad_word("a comma has nothing behind it");
  if (known && equals == std::string::npos) return bad_word(fmt::format("{} has no value: {}=...", plain, plain));
  if (known) return bad_word(fmt::format("'{}' is no key: write {}=", base::one_line(key), plain));
  const bool word = plain.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_- ") == std::string::npos;
  if (word && equals != std::string::npos) return bad_word(fmt::format("'{}' is no key", base::one_line(key)));
  return {};
}

Result<void> check_parts(const std::string& text) {
  for (size_t comma = text.find(','); comma != std::string::npos;) {
    const size_t next = text.find(',', comma + 1);
    PANTOUM_TRY(check_part(text.substr(comma + 1, next == std::string::npos ? next : next - comma - 1)));
    comma = next;
  }
  return {};
}

Result<std::optional<double>> positive_number(const std::string& key, const std::string& text,
                                              const std::optional<double>& before, std::string_view unit) {
  std::string_view digits = text;
  if (digits.ends_with(unit)) digits.remove_suffix(unit.size());
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (before) return bad_word(key + " stands twice");
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || !std::isfinite(value) || value <= 0)
    return bad_word(fmt::format("{}={}: no number above 0", key, base::one_line(text)));
  return std::optional<double>(value);
}

Result<void> take(RecordingWord& word, const std::string& key, const std::string& value) {
  if (value.empty()) return bad_word(key + "= is empty");
  if (key == "volts") {
    PANTOUM_ASSIGN(word.volts, positive_number(key, value, word.volts, "V"));
    return {};
  }
  if (key == "gap") {
    PANTOUM_ASSIGN(word.gap_s, positive_number(key, value, word.gap_s, "s"));
    return {};
  }
  std::string& text = *text_of(word, key);
  if (!text.empty()) return bad_word(key + " stands twice");
  text = value;
  return {};
}

Result<void> check_words(const RecordingWord& word) {
  for (const Quantity quantity : kQuantities)
    if (const std::string& unit = word.unit[quantity]; !unit.empty() && !unit_named(unit, quantity))
      return bad_word(fmt::format("'{}' is no unit of {}: known are {}", base::one_line(unit), name_of(quantity),
                                  known_units(quantity)));
  const bool has_voltage = !word.column[Quantity::kVoltage].empty();
  if (!word.column[Quantity::kPower].empty() && (!word.column[Quantity::kCurrent].empty() || has_voltage || word.volts))
    return bad_word("power stands beside current or voltage");
  if (has_voltage && word.volts) return bad_word("voltage (a column) stands beside volts (a number)");
  return {};
}

}  // namespace

bool is_recording(const std::string& word) {
  return word.starts_with(kPrefix);
}

Result<RecordingWord> read_recording_word(const std::string& text) {
  RecordingWord word;
  size_t at = next_key(text, kPrefix.size());
  word.file = text.substr(kPrefix.size(), at - kPrefix.size());
  if (word.file.empty()) return bad_word("csv: names no file");
  PANTOUM_TRY(check_parts(word.file));
  while (at < text.size()) {
    const size_t equals = text.find('=', at), end = next_key(text, equals);
    const std::string value = text.substr(equals + 1, end - equals - 1);
    PANTOUM_TRY(check_parts(value));
    PANTOUM_TRY(take(word, text.substr(at + 1, equals - at - 1), trimmed(value)));
    at = end;
  }
  PANTOUM_TRY(check_words(word));
  return word;
}

}  // namespace pantoum::cost
