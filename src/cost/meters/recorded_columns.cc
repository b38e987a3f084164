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

// A unit is a prefix and a symbol (mW), or a prefix and a name that may have a plural's s (milliwatts).
struct UnitPrefix {
  std::string_view symbol, name;
  double scale;
};
constexpr std::array<UnitPrefix, 4> kPrefixes{
    {{"", "", 1}, {"m", "milli", 1e-3}, {"u", "micro", 1e-6}, {"n", "nano", 1e-9}}};
constexpr ByQuantity<std::string_view> kSymbols{{"s", "w", "a", "v"}},
    kShownUnits{{"s, ms, us, ns", "W, mW, uW, nW", "A, mA, uA, nA", "V, mV, uV, nV"}};
constexpr ByQuantity<std::array<std::string_view, 2>> kUnitNames{
    {{{"second", "sec"}, {"watt", "watt"}, {"ampere", "amp"}, {"volt", "volt"}}}};

// Words, by quantity, that are units which this program does not know. ("min" may be a unit or a least value.)
constexpr ByQuantity<std::string_view> kOtherUnits{
    {" m min mins minute minutes h hr hrs hour hours d day days ks ps tick ticks cycles jiffies ",
     " kw gw pw kilowatt kilowatts megawatt megawatts hp va kva dbm wh kwh mwh ", " ka pa fa ah mah kiloamp kiloamps ",
     " kv kilovolt kilovolts "}};

// What may stand in brackets behind a name and is no unit, beside kLesserWords and kQuantityWords; a number may follow.
constexpr std::array<std::string_view, 30> kLabels{
    "main",     "total", "sum",     "net",  "mean",     "rms",      "dc",     "ac",    "active", "real",
    "filtered", "cpu",   "gpu",     "soc",  "board",    "battery",  "supply", "input", "output", "in",
    "out",      "ch",    "channel", "rail", "relative", "absolute", "utc",    "local", "unix",   "epoch"};

// Words that say what a column is; the first in a name counts.
constexpr std::array<std::pair<std::string_view, Quantity>, 10> kQuantityWords{{{"time", Quantity::kTime},
                                                                                {"timestamp", Quantity::kTime},
                                                                                {"t", Quantity::kTime},
                                                                                {"elapsed", Quantity::kTime},
                                                                                {"power", Quantity::kPower},
                                                                                {"p", Quantity::kPower},
                                                                                {"current", Quantity::kCurrent},
                                                                                {"i", Quantity::kCurrent},
                                                                                {"voltage", Quantity::kVoltage},
                                                                                {"v", Quantity::kVoltage}}};

// A column with one of these words is not the main one: it holds a range, an extreme, or another channel.
constexpr std::array<std::string_view, 14> kLesserWords{
    "range", "min", "max", "peak", "std", "shunt", "raw", "usb", "aux", "limit", "avg", "average", "load", "expected"};

struct ColumnName {
  std::vector<std::string> words;  // lower case
  std::string unit;                // in brackets, or the last word
};

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || (letter & 0x80) != 0;
}

// The words of a text: runs of letters and digits of either case.
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
  std::string name = lower_case(text);
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
    for (const auto& [each, quantity] : kQuantityWords)
      if (word == each) return quantity;
  for (const Quantity quantity : kQuantities)
    if (unit_named(name.unit, quantity)) return quantity;
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

// Is the word a unit that is not known for the quantity, or a unit of another quantity that no word of a name resembles?
bool is_other_unit(const std::string& word, Quantity quantity) {
  const std::string name = lower_case(word);
  if (kOtherUnits[quantity].find(" " + name + " ") != std::string_view::npos) return true;
  return name == "mw" || name == "uw" || name == "ma" || name == "ua" || name == "mv";
}

bool is_label(const std::string& word, Quantity quantity) {
  if (is_other_unit(word, quantity)) return false;
  std::string name = lower_case(word);
  while (!name.empty() && is_number(name.substr(name.size() - 1))) name.pop_back();
  return name.empty() || std::find(kLesserWords.begin(), kLesserWords.end(), name) != kLesserWords.end() ||
         std::find(kLabels.begin(), kLabels.end(), name) != kLabels.end() ||
         std::any_of(kQuantityWords.begin(), kQuantityWords.end(),
                     [&](const auto& each) { return name.size() > 1 && each.first == name; });
}

// The unit in a text from brackets: "mW" of "mW", "avg, mW" and "mW since the start"; "" of "avg", "CH1" and an empty text; any other
// text as a whole.
std::string unit_in_brackets(std::string_view text, Quantity quantity) {
  const std::vector<std::string> words = words_of(text);
  const auto first =
      std::find_if(words.begin(), words.end(), [&](const std::string& word) { return !is_label(word, quantity); });
  if (words.empty() ? text.find_first_not_of(' ') == std::string_view::npos : first == words.end()) return {};
  const bool scaled = words.empty() || is_number(words.front()) || text.find_first_of("/*^") != std::string_view::npos;
  return scaled ? std::string(text) : *first;
}

// The unit in a name, known or not: "mW" of "power_mW", "mW power" and "Power (mW)"; "": the name has none.
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
    // A single letter is a unit only at the end; "min" before the end means the least.
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

// The one column of a quantity that has the fewest lesser words; none where no name says the quantity.
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

// The column that the word names, else the column whose name fits the quantity; none if there is no such column.
Result<std::optional<RecordedColumn>> find_column(const std::vector<std::string>& names, const RecordingWord& word,
                                                  Quantity quantity) {
  std::optional<size_t> at;
  if (!word.column[quantity].empty()) {
    PANTOUM_ASSIGN(at, column_named(names, word.column[quantity]));
  } else {
    PANTOUM_ASSIGN(at, column_of(names, quantity));
  }
  if (!at) return std::optional<RecordedColumn>{};
  PANTOUM_ASSIGN(const double scale, scale_of(names, *at, quantity, word.unit[quantity]));
  return std::optional<RecordedColumn>({.at = *at, .scale = scale});
}

std::string shown(const std::vector<std::string>& names, size_t at) {
  return at < names.size() ? "'" + base::one_line(names[at].substr(0, 60)) + "'" : fmt::format("column {}", at + 1);
}

// Takes power where there is such a column and the word asks for nothing else; otherwise current and voltage.
Result<void> find_power(const std::vector<std::string>& names, const RecordingWord& word, RecordedColumns& columns) {
  auto& [time, power, current, voltage] = static_cast<std::array<std::optional<RecordedColumn>, 4>&>(columns.of);
  if (word.column[Quantity::kCurrent].empty() && word.column[Quantity::kVoltage].empty() && !word.volts) {
    PANTOUM_ASSIGN(power, find_column(names, word, Quantity::kPower));
    if (power) {
      columns.label = "power in " + shown(names, power->at);
      return {};
    }
  }
  PANTOUM_ASSIGN(current, find_column(names, word, Quantity::kCurrent));
  if (!current)
    return no_columns("no column is known to be power or current", names,
                      "name it: csv:FILE,power=COLUMN or csv:FILE,current=COLUMN,voltage=COLUMN (or volts=3.3)");
  columns.label = "current in " + shown(names, current->at);
  if (word.volts) {
    columns.volts = *word.volts;
    columns.label += fmt::format(" at {} V", *word.volts);
    return {};
  }
  PANTOUM_ASSIGN(voltage, find_column(names, word, Quantity::kVoltage));
  if (!voltage)
    return no_columns("there is a current and no voltage", names, "say at how many volts: csv:FILE,volts=3.3");
  columns.label += ", voltage in " + shown(names, voltage->at);
  return {};
}

// Finds the column of the trigger. Where the only such column is "D0-D7", "D3" is a bit of it.
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
  constexpr ByQuantity<const char*> kNames{{"time", "power", "current", "voltage"}};
  return kNames[quantity];
}

std::string lower_case(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  return made;
}

const char* known_units(Quantity quantity) {
  return kShownUnits[quantity].data();
}

std::optional<double> unit_named(std::string_view unit, Quantity quantity) {
  if (unit.starts_with('M') && quantity != Quantity::kTime) return {};  // a million, not a thousandth
  std::string name = lower_case(unit);
  for (const std::string_view mu : {"\xce\xbc", "\xc2\xb5", "\xb5"})  // Greek; the sign in UTF-8 and in Latin-1
    if (name.starts_with(mu)) name.replace(0, mu.size(), "u");
  const std::string_view one = std::string_view(name).substr(0, name.size() - (name.ends_with('s') ? 1 : 0));
  for (const UnitPrefix& prefix : kPrefixes) {
    if (name == std::string(prefix.symbol) + std::string(kSymbols[quantity])) return prefix.scale;
    if (quantity == Quantity::kTime && !prefix.name.empty() && name == std::string(prefix.name) + "s")
      return prefix.scale;
    for (const std::string_view of : kUnitNames[quantity])
      if (one == std::string(prefix.name) + std::string(of) || one == std::string(prefix.symbol) + std::string(of))
        return prefix.scale;
  }
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
    return !name.empty() && (std::find(word.column.begin(), word.column.end(), name) != word.column.end() ||
                             quantity_of(parse_name(name)) == Quantity::kTime);
  });
}

Result<RecordedColumns> columns_of(const std::vector<std::string>& names, const RecordingWord& word) {
  RecordedColumns columns;
  auto& time = columns.of[Quantity::kTime];
  PANTOUM_ASSIGN(time, find_column(names, word, Quantity::kTime));
  if (!time)
    return no_columns("no column is known to be the time", names, "name it: csv:FILE,time=COLUMN (#1: the first)");
  PANTOUM_TRY(find_power(names, word, columns));
  PANTOUM_TRY(find_trigger(names, word, columns));
  columns.columns = columns.trigger.value_or(0) + 1;
  for (const auto& column : columns.of) columns.columns = std::max(columns.columns, column ? column->at + 1 : 0);
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
