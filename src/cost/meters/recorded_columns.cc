#include "cost/meters/recorded_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/foreign_text.h"

namespace pantoum::cost {
namespace {

struct UnitName {
  std::string_view name;
  Quantity quantity;
  double scale;
};

constexpr std::array<UnitName, 24> kUnits{{{"s", Quantity::kTime, 1},
                                           {"sec", Quantity::kTime, 1},
                                           {"seconds", Quantity::kTime, 1},
                                           {"ms", Quantity::kTime, 1e-3},
                                           {"millis", Quantity::kTime, 1e-3},
                                           {"us", Quantity::kTime, 1e-6},
                                           {"\xc2\xb5s", Quantity::kTime, 1e-6},
                                           {"micros", Quantity::kTime, 1e-6},
                                           {"ns", Quantity::kTime, 1e-9},
                                           {"w", Quantity::kPower, 1},
                                           {"watts", Quantity::kPower, 1},
                                           {"mw", Quantity::kPower, 1e-3},
                                           {"uw", Quantity::kPower, 1e-6},
                                           {"\xc2\xb5w", Quantity::kPower, 1e-6},
                                           {"nw", Quantity::kPower, 1e-9},
                                           {"a", Quantity::kCurrent, 1},
                                           {"amps", Quantity::kCurrent, 1},
                                           {"ma", Quantity::kCurrent, 1e-3},
                                           {"ua", Quantity::kCurrent, 1e-6},
                                           {"\xc2\xb5"
                                            "a",
                                            Quantity::kCurrent, 1e-6},
                                           {"na", Quantity::kCurrent, 1e-9},
                                           {"v", Quantity::kVoltage, 1},
                                           {"volts", Quantity::kVoltage, 1},
                                           {"mv", Quantity::kVoltage, 1e-3}}};

// Other words for them, without a plural's s.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kLongUnits{{{"second", "s"},
                                                                                    {"millisecond", "ms"},
                                                                                    {"msec", "ms"},
                                                                                    {"microsecond", "us"},
                                                                                    {"usec", "us"},
                                                                                    {"nanosecond", "ns"},
                                                                                    {"nsec", "ns"},
                                                                                    {"watt", "w"},
                                                                                    {"milliwatt", "mw"},
                                                                                    {"microwatt", "uw"},
                                                                                    {"amp", "a"},
                                                                                    {"ampere", "a"},
                                                                                    {"milliamp", "ma"},
                                                                                    {"milliampere", "ma"},
                                                                                    {"microamp", "ua"},
                                                                                    {"volt", "v"},
                                                                                    {"millivolt", "mv"}}};

// By quantity: what a message names, and words that are other units, not words of a name. "min" may be either.
constexpr std::array<const char*, 4> kShownUnits{"s, ms, us, ns", "W, mW, uW, nW", "A, mA, uA, nA", "V, mV"};
constexpr std::array<std::string_view, 4> kOtherUnits{
    " m min mins minute minutes h hr hrs hour hours d day days ks ps tick ticks cycles jiffies ",
    " kw gw pw kilowatt kilowatts megawatt megawatts hp va kva dbm wh kwh mwh ", " ka pa fa ah mah kiloamp kiloamps ",
    " kv uv \xc2\xb5v nv kilovolt kilovolts microvolt microvolts "};

// What may stand in brackets behind a name and is no unit, beside kLesserWords and kQuantityWords; numbers behind it.
constexpr std::array<std::string_view, 30> kLabels{
    "main",     "total", "sum",     "net",  "mean",     "rms",      "dc",     "ac",    "active", "real",
    "filtered", "cpu",   "gpu",     "soc",  "board",    "battery",  "supply", "input", "output", "in",
    "out",      "ch",    "channel", "rail", "relative", "absolute", "utc",    "local", "unix",   "epoch"};

struct QuantityWord {
  std::string_view word;
  Quantity quantity;
};

// The first word of a name that says what it is, where no unit does.
constexpr std::array<QuantityWord, 10> kQuantityWords{{{"time", Quantity::kTime},
                                                       {"timestamp", Quantity::kTime},
                                                       {"t", Quantity::kTime},
                                                       {"elapsed", Quantity::kTime},
                                                       {"power", Quantity::kPower},
                                                       {"p", Quantity::kPower},
                                                       {"current", Quantity::kCurrent},
                                                       {"i", Quantity::kCurrent},
                                                       {"voltage", Quantity::kVoltage},
                                                       {"v", Quantity::kVoltage}}};

// A column with one of these is another's figure: a range, an extreme, a channel beside the main one.
constexpr std::array<std::string_view, 14> kLesserWords{
    "range", "min", "max", "peak", "std", "shunt", "raw", "usb", "aux", "limit", "avg", "average", "load", "expected"};

struct ColumnName {
  std::vector<std::string> words;  // lower case
  std::string unit;                // in brackets, or the last word
};

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  return made;
}

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || (letter & 0x80) != 0;
}

// Of either case; without brackets and what else parts them.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : std::string(text) + " ") {
    if (is_letter(letter) || (letter >= 'A' && letter <= 'Z')) {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(std::move(word)), word.clear();
    }
  }
  return words;
}

ColumnName parse_name(std::string_view text) {
  std::string name = lower(text);
  ColumnName column;
  const size_t open = name.find_last_of("([");
  if (open != std::string::npos) {
    const size_t close = std::min(name.find_first_of(")]", open), name.size());
    column.unit = name.substr(open + 1, close - open - 1);
    name.erase(open);
  }
  column.words = words_of(name);
  if (column.unit.empty() && !column.words.empty()) column.unit = column.words.back();
  return column;
}

std::optional<Quantity> quantity_of(const ColumnName& name) {
  for (const std::string& word : name.words)
    for (const QuantityWord& each : kQuantityWords)
      if (word == each.word) return each.quantity;
  for (const UnitName& unit : kUnits)
    if (unit.name == name.unit) return unit.quantity;
  return {};
}

int lesser(const ColumnName& name) {
  return static_cast<int>(std::count_if(name.words.begin(), name.words.end(), [](const std::string& word) {
    return std::find(kLesserWords.begin(), kLesserWords.end(), word) != kLesserWords.end();
  }));
}

bool is_number(std::string_view word) {
  return word.find_first_not_of("0123456789") == std::string_view::npos;
}

// A unit of the quantity that is not known, or one of another quantity in letters that no name has.
bool is_other_unit(const std::string& word, Quantity quantity) {
  const std::string name = lower(word);
  if (kOtherUnits[static_cast<size_t>(quantity)].find(" " + name + " ") != std::string_view::npos) return true;
  return name == "mw" || name == "uw" || name == "ma" || name == "ua" || name == "mv";
}

bool is_label(const std::string& word, Quantity quantity) {
  if (is_other_unit(word, quantity)) return false;
  std::string name = lower(word);
  while (!name.empty() && is_number(name.substr(name.size() - 1))) name.pop_back();
  return name.empty() || std::find(kLesserWords.begin(), kLesserWords.end(), name) != kLesserWords.end() ||
         std::find(kLabels.begin(), kLabels.end(), name) != kLabels.end() ||
         std::any_of(kQuantityWords.begin(), kQuantityWords.end(),
                     [&](const QuantityWord& each) { return name.size() > 1 && each.word == name; });
}

// "mW" of "W", of "avg, mW" and of "mW since the start"; "" of "avg", "CH1" and nothing; all of what is none of these.
std::string unit_in_brackets(std::string_view text, Quantity quantity) {
  const std::vector<std::string> words = words_of(text);
  const auto first =
      std::find_if(words.begin(), words.end(), [&](const std::string& word) { return !is_label(word, quantity); });
  if (words.empty() ? text.find_first_not_of(' ') == std::string_view::npos : first == words.end()) return {};
  const bool scaled = words.empty() || is_number(words.front()) || text.find_first_of("/*^") != std::string_view::npos;
  return scaled ? std::string(text) : *first;
}

// Of "power_mW", "mW power" and "Power (mW)": "mW", known or not; "": the name says none.
std::string unit_of_name(std::string_view name, Quantity quantity) {
  std::string rest(name);
  for (size_t open = rest.find_last_of("(["); open != std::string::npos; open = rest.find_last_of("([")) {
    const size_t close = std::min(rest.find_first_of(")]", open), rest.size());
    std::string unit = unit_in_brackets(std::string_view(rest).substr(open + 1, close - open - 1), quantity);
    if (!unit.empty()) return unit;
    rest.erase(open);
  }
  const std::vector<std::string> words = words_of(rest);
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    // One letter is a unit at the end alone; "min" before the end is no minute.
    if (word != words.rbegin() && (word->size() < 2 || is_label(*word, Quantity::kPower))) continue;
    if (unit_named(*word, quantity) || is_other_unit(*word, quantity)) return *word;
  }
  return {};
}

Failure no_columns(const std::string& message, const std::vector<std::string>& names, const std::string& help) {
  std::vector<std::string> told;
  for (size_t at = 0; at < names.size() && at < 16; ++at) told.push_back(base::one_line(names[at].substr(0, 60)));
  return fail("E0273", message, {}, help,
              told.empty() ? std::vector<std::string>{}
                           : std::vector<std::string>{fmt::format("its columns: {}", fmt::join(told, ", "))});
}

Result<size_t> column_named(const std::vector<std::string>& names, const std::string& asked) {
  if (asked.starts_with('#')) {
    size_t number = 0;
    const auto read = std::from_chars(asked.data() + 1, asked.data() + asked.size(), number);
    if (read.ec == std::errc() && read.ptr == asked.data() + asked.size() && number >= 1 &&
        number <= kMostRecordedColumns && (names.empty() || number <= names.size()))
      return number - 1;
  }
  const auto at = std::find(names.begin(), names.end(), asked);
  if (at == names.end())
    return no_columns(fmt::format("no column '{}'", base::one_line(asked)), names,
                      "name one that is there, or #1 for the first");
  return static_cast<size_t>(at - names.begin());
}

// The best column of a quantity; none where no name says it.
Result<std::optional<size_t>> column_of(const std::vector<std::string>& names, Quantity quantity) {
  std::vector<size_t> best;
  int least = std::numeric_limits<int>::max();
  for (size_t at = 0; at < names.size(); ++at) {
    const ColumnName name = parse_name(names[at]);
    if (quantity_of(name) != quantity) continue;
    const int rank = lesser(name);
    if (rank < least) best.clear(), least = rank;
    if (rank == least) best.push_back(at);
  }
  if (best.size() > 1)
    return no_columns(fmt::format("several columns may be the {}", name_of(quantity)), names,
                      fmt::format("name one: csv:FILE,{}=COLUMN", name_of(quantity)));
  return best.empty() ? std::optional<size_t>{} : best.front();
}

Result<double> scale_of(const std::vector<std::string>& names, size_t at, Quantity quantity, const std::string& unit) {
  if (!unit.empty()) return *unit_named(unit, quantity);
  if (at >= names.size()) return 1.0;
  const std::string claimed = unit_of_name(names[at], quantity);
  if (claimed.empty()) return 1.0;
  if (const auto scale = unit_named(claimed, quantity)) return *scale;
  return no_columns(
      fmt::format("'{}' of the column '{}' is no unit of {} that is known", base::one_line(claimed.substr(0, 40)),
                  base::one_line(names[at].substr(0, 60)), name_of(quantity)),
      names,
      fmt::format("known are {}: export it in one of them, or say which it is: csv:FILE,{}_unit=UNIT",
                  known_units(quantity), name_of(quantity)));
}

// `asked` or what the names say; none where neither does.
Result<std::optional<RecordedColumn>> find_column(const std::vector<std::string>& names, const std::string& asked,
                                                  Quantity quantity, const std::string& unit) {
  std::optional<size_t> at;
  if (!asked.empty()) {
    PANTOUM_ASSIGN(at, column_named(names, asked));
  } else {
    PANTOUM_ASSIGN(at, column_of(names, quantity));
  }
  if (!at) return std::optional<RecordedColumn>{};
  PANTOUM_ASSIGN(const double scale, scale_of(names, *at, quantity, unit));
  return std::optional<RecordedColumn>({.at = *at, .scale = scale});
}

std::string shown(const std::vector<std::string>& names, size_t at) {
  return at < names.size() ? "'" + base::one_line(names[at].substr(0, 60)) + "'" : fmt::format("column {}", at + 1);
}

// Power where there is such a column and nothing else is asked for, else current and voltage.
Result<void> find_power(const std::vector<std::string>& names, const RecordingWord& word, RecordedColumns& columns) {
  const bool product = !word.current.empty() || !word.voltage.empty() || word.volts;
  if (!product) {
    PANTOUM_ASSIGN(const auto power, find_column(names, word.power, Quantity::kPower, word.power_unit));
    if (power) {
      columns.power = *power, columns.has_power = true, columns.label = "power in " + shown(names, power->at);
      return {};
    }
  }
  PANTOUM_ASSIGN(const auto current, find_column(names, word.current, Quantity::kCurrent, word.current_unit));
  if (!current)
    return no_columns("no column is known to be power or current", names,
                      "name it: csv:FILE,power=COLUMN or csv:FILE,current=COLUMN,voltage=COLUMN (or volts=3.3)");
  columns.current = *current;
  columns.label = "current in " + shown(names, current->at);
  if (word.volts) {
    columns.volts = *word.volts;
    columns.label += fmt::format(" at {} V", *word.volts);
    return {};
  }
  PANTOUM_ASSIGN(const auto voltage, find_column(names, word.voltage, Quantity::kVoltage, word.voltage_unit));
  if (!voltage)
    return no_columns("there is a current and no voltage", names, "say at how many volts: csv:FILE,volts=3.3");
  columns.voltage = *voltage;
  columns.label += ", voltage in " + shown(names, voltage->at);
  return {};
}

// "D3" where the names have "D0-D7" alone is a bit of it.
Result<void> find_trigger(const std::vector<std::string>& names, const RecordingWord& word, RecordedColumns& columns) {
  if (word.trigger.empty()) return {};
  const auto bits = std::find(names.begin(), names.end(), "D0-D7");
  if (word.trigger.size() == 2 && word.trigger[0] == 'D' && word.trigger[1] >= '0' && word.trigger[1] <= '7' &&
      bits != names.end() && std::find(names.begin(), names.end(), word.trigger) == names.end()) {
    columns.trigger = static_cast<size_t>(bits - names.begin());
    columns.trigger_bit = word.trigger[1] - '0';
    return {};
  }
  PANTOUM_ASSIGN(columns.trigger, column_named(names, word.trigger));
  return {};
}

}  // namespace

const char* name_of(Quantity quantity) {
  constexpr std::array<const char*, 4> kNames{"time", "power", "current", "voltage"};
  return kNames[static_cast<size_t>(quantity)];
}

const char* known_units(Quantity quantity) {
  return kShownUnits[static_cast<size_t>(quantity)];
}

std::optional<double> unit_named(std::string_view unit, Quantity quantity) {
  if (unit.starts_with('M') && quantity != Quantity::kTime) return {};  // a million, not a thousandth
  std::string name = lower(unit);
  if (name.starts_with("\xce\xbc")) name.replace(0, 2, "u");  // a Greek mu
  if (name.starts_with('\xb5')) name.replace(0, 1, "u");      // the sign in Latin-1
  const std::string_view one = std::string_view(name).substr(0, name.size() - (name.ends_with('s') ? 1 : 0));
  for (const auto& [each, unit_of_it] : kLongUnits)
    if (each == one) name = unit_of_it;
  for (const UnitName& each : kUnits)
    if (each.name == name && each.quantity == quantity) return each.scale;
  return {};
}

char delimiter_of(std::string_view line) {
  bool quoted = false;
  char found = ',';
  for (const char letter : line) {
    if (letter == '"') quoted = !quoted;
    if (quoted) continue;
    if (letter == '\t') return '\t';
    if (letter == ';') found = ';';
  }
  return found;
}

std::vector<std::string> fields_of(std::string_view line, char delimiter) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"') {
      if (quoted && at + 1 < line.size() && line[at + 1] == '"')
        fields.back() += line[at++];
      else
        quoted = !quoted;
    } else if (line[at] == delimiter && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[at];
    }
  }
  for (std::string& field : fields) {
    while (!field.empty() && field.back() == ' ') field.pop_back();
    field.erase(0, std::min(field.find_first_not_of(' '), field.size()));
  }
  return fields;
}

bool is_row_of_numbers(const std::vector<std::string>& fields) {
  return fields.size() > 1 && std::all_of(fields.begin(), fields.end(), [](const std::string& field) {
           return recorded_number(field, true).has_value();
         });
}

bool is_header(const std::vector<std::string>& names, const RecordingWord& word) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return !name.empty() && (name == word.time || name == word.power || name == word.current ||
                             quantity_of(parse_name(name)) == Quantity::kTime);
  });
}

Result<RecordedColumns> columns_of(const std::vector<std::string>& names, const RecordingWord& word) {
  RecordedColumns columns;
  PANTOUM_ASSIGN(const auto time, find_column(names, word.time, Quantity::kTime, word.time_unit));
  if (!time)
    return no_columns("no column is known to be the time", names, "name it: csv:FILE,time=COLUMN (#1: the first)");
  columns.time = *time;
  PANTOUM_TRY(find_power(names, word, columns));
  PANTOUM_TRY(find_trigger(names, word, columns));
  columns.columns = 1 + std::max({columns.time.at, columns.power.at, columns.current.at, columns.voltage.at,
                                  columns.trigger.value_or(0)});
  return columns;
}

std::optional<double> recorded_number(std::string_view field, bool comma) {
  std::string text(field);
  if (comma) std::replace(text.begin(), text.end(), ',', '.');
  if (text.starts_with('+')) text.erase(0, 1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return {};
  return value;
}

}  // namespace pantoum::cost
