#include "cost/profile_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/lists.h"
#include "cost/device.h"

namespace pantoum::cost {
namespace {

constexpr std::array<const char*, 15> kColumns{
    "machine", "engine", "op",     "algorithm", "operands",        "attributes", "threads", "seconds",
    "low_s",   "high_s", "warm_s", "runs",      "workspace_bytes", "joules",     "meter"};
constexpr std::array<const char*, 4> kNeeded{"op", "algorithm", "operands", "seconds"};

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One row's fields by their names; keeps what is wrong with them.
class Fields {
 public:
  Fields(const std::map<std::string, size_t>& at, const std::vector<std::string>& fields) : at_(at), fields_(fields) {}

  [[nodiscard]] std::string text(const char* name) const {
    const auto column = at_.find(name);
    return column == at_.end() ? std::string() : fields_[column->second];
  }

  std::optional<double> number(const char* name) {
    const std::string field = text(name);
    if (field.empty()) return std::nullopt;
    const std::optional<double> value = number_of<double>(field);
    if (!value || !std::isfinite(*value)) wrong_ = fmt::format("{} is no number: '{}'", name, shown(field));
    return value;
  }

  int64_t whole(const char* name, int64_t none) {
    const std::string field = text(name);
    if (field.empty()) return none;
    const std::optional<int64_t> value = number_of<int64_t>(field);
    if (!value) wrong_ = fmt::format("{} is no whole number: '{}'", name, shown(field));
    return value.value_or(none);
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  static std::string shown(const std::string& field) {
    constexpr size_t kShown = 60;
    return base::one_line(field.size() <= kShown ? field : field.substr(0, kShown) + "...");
  }

  const std::map<std::string, size_t>& at_;
  const std::vector<std::string>& fields_;
  std::string wrong_;
};

// What is wrong with a field of any column; "": nothing.
std::string wrong_field(const std::vector<std::string>& names, const std::vector<std::string>& fields) {
  for (size_t column = 0; column < fields.size(); ++column) {
    const std::string& field = fields[column];
    if (field.size() > kMostField)
      return fmt::format("{} has {} bytes; the most is {}", base::one_line(names[column]), field.size(), kMostField);
    if (field.find('\0') != std::string::npos)
      return fmt::format("{} has a NUL byte, which no text has", base::one_line(names[column]));
  }
  return "";
}

// The rows of a table, each checked as it comes. An empty field, and a column that is not there, is a value that is not known.
class RowReader {
 public:
  explicit RowReader(std::string machine) : machine_(std::move(machine)) {}

  // What is wrong with the names; "": nothing.
  std::string set_columns(const std::vector<std::string>& names) {
    if (names.size() > kMostTableColumns) return fmt::format("it has more than {} columns", kMostTableColumns);
    for (size_t column = 0; column < names.size(); ++column) {
      const std::string& name = names[column];
      if (name.starts_with("x-")) continue;
      if (std::find(kColumns.begin(), kColumns.end(), name) == kColumns.end())
        return fmt::format("the column '{}' is not known here", base::one_line(name.substr(0, kMostTableColumns)));
      if (!at_.emplace(name, column).second) return fmt::format("the column '{}' stands twice", name);
    }
    names_ = names;
    for (const char* name : kNeeded)
      if (!at_.contains(name)) return fmt::format("there is no column '{}'", name);
    return "";
  }

  // What is wrong with the row; "": nothing, and the row is taken.
  std::string add(const std::vector<std::string>& fields) {
    if (fields.size() != names_.size())
      return fmt::format("it has {} fields, and {} are named", fields.size(), names_.size());
    if (rows_.size() == kMostTableRows) return fmt::format("the table has more than {} rows", kMostTableRows);
    if (std::string wrong = wrong_field(names_, fields); !wrong.empty()) return wrong;
    Fields row(at_, fields);
    OpKey key{.machine = machine_.empty() ? row.text("machine") : machine_,
              .op = row.text("op"),
              .algorithm = row.text("algorithm"),
              .operands = row.text("operands"),
              .attributes = row.text("attributes")};
    if (const std::string engine = row.text("engine"); !engine.empty()) key.engine = engine;
    if (key.attributes.empty()) key.attributes = "|";
    const int64_t threads = row.whole("threads", 1);
    const std::optional<double> seconds = row.number("seconds");
    const OpSample sample = {.seconds = seconds.value_or(0),
                             .low_s = row.number("low_s").value_or(seconds.value_or(0)),
                             .high_s = row.number("high_s").value_or(seconds.value_or(0)),
                             .warm_s = row.number("warm_s"),
                             .runs = row.whole("runs", 0),
                             .workspace_bytes = row.whole("workspace_bytes", 0),
                             .joules = row.number("joules"),
                             .meter = row.text("meter")};
    if (!row.wrong().empty()) return row.wrong();
    if (threads < 1 || !std::in_range<int>(threads))
      return fmt::format("threads is {}, and not from 1 to {}", threads, std::numeric_limits<int>::max());
    key.threads = static_cast<int>(threads);
    if (key.machine.empty()) return "nobody says which machine it is of: a column 'machine', or --machine";
    if (key.op.empty() || key.algorithm.empty() || key.operands.empty()) return "op, algorithm or operands is empty";
    if (!is_key(key)) return "it is no key of the store";
    if (!is_sample(sample)) return "its figures are no measurement: seconds above 0, low_s <= seconds <= high_s";
    if (!keys_.insert(text_of(key)).second)
      return fmt::format("a row before it is of the same op on engine '{}': each stands once",
                         base::one_line(key.engine.substr(0, kMostTableColumns)));
    rows_.push_back({std::move(key), sample});
    return "";
  }

  [[nodiscard]] std::vector<ProfileRow> take() { return std::move(rows_); }

 private:
  std::string machine_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> at_;
  std::vector<ProfileRow> rows_;
  std::unordered_set<std::string> keys_;
};

// Reads the records of a CSV text, field by field. A quoted field may hold line ends.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  // The next record; false: there is none. `wrong`: what is wrong with it, if anything.
  bool next(std::vector<std::string>& fields, std::string& wrong) {
    fields.clear();
    while (at_ < text_.size() && ends_line(text_[at_])) pass();
    if (at_ >= text_.size()) return false;
    begin_ = line_;
    while (true) {
      std::string field;
      if (!(text_.substr(at_).starts_with('"') ? quoted_field(field) : plain_field(field)))
        wrong = "its quotes do not end";
      fields.push_back(std::move(field));
      if (fields.size() > kMostTableColumns) wrong = fmt::format("it has more than {} fields", kMostTableColumns);
      if (!wrong.empty() || at_ >= text_.size() || text_[at_] != ',') return true;
      ++at_;
    }
  }
  [[nodiscard]] size_t line() const { return begin_; }

 private:
  static bool ends_line(char letter) { return letter == '\n' || letter == '\r'; }

  // A line ends with LF, CR LF or CR.
  char pass() {
    const char letter = text_[at_++];
    const bool of_a_pair = letter == '\n' && at_ >= 2 && text_[at_ - 2] == '\r';
    if (ends_line(letter) && !of_a_pair) ++line_;
    return letter;
  }

  bool plain_field(std::string& field) {
    while (at_ < text_.size() && text_[at_] != ',' && !ends_line(text_[at_])) field += text_[at_++];
    return true;
  }

  bool quoted_field(std::string& field) {
    ++at_;
    while (at_ < text_.size()) {
      const char letter = pass();
      if (letter != '"') {
        field += letter;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        field += text_[at_++];
      } else {
        return at_ >= text_.size() || text_[at_] == ',' || ends_line(text_[at_]);
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1, begin_ = 1;
};

Failure bad_row(const std::string& path, size_t line, const std::string& what) {
  return fail("E0276", what, fmt::format("{}:{}", path, line), "mend the line: nothing of the file was taken");
}

std::string line_of(const OpKey& key, const OpSample& of) {
  const auto known = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", base::csv_field(key.machine),
                     base::csv_field(key.engine), base::csv_field(key.op), base::csv_field(key.algorithm),
                     base::csv_field(key.operands), base::csv_field(key.attributes), key.threads, of.seconds, of.low_s,
                     of.high_s, known(of.warm_s), of.runs, of.workspace_bytes, known(of.joules),
                     base::csv_field(of.meter));
}

Result<void> check_ending(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".csv") return {};
  return fail("E0117", "a table of times is a .csv file", path, "name the file so");
}

}  // namespace

Result<int64_t> export_profile(ProfileStore& store, const std::string& path) {
  PANTOUM_TRY(check_ending(path));
  int64_t written = 0;
  std::string text = fmt::format("{}\n", fmt::join(kColumns, ","));
  PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) -> Result<void> {
    ++written;
    text += line_of(key, sample);
    return {};
  }));
  PANTOUM_TRY(base::write_file_atomically(path, text));
  return written;
}

Result<std::vector<ProfileRow>> read_profile(const std::string& path, const std::string& machine) {
  PANTOUM_TRY(check_ending(path));
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  RowReader rows(machine);
  CsvReader reader(text);
  std::vector<std::string> fields;
  std::string why;
  if (!reader.next(fields, why)) return bad_row(path, 1, "the file is empty");
  if (why.empty()) why = rows.set_columns(fields);
  while (why.empty() && reader.next(fields, why))
    if (why.empty()) why = rows.add(fields);
  if (!why.empty()) return bad_row(path, reader.line(), why);
  return rows.take();
}

Result<void> check_engines(const std::vector<ProfileRow>& rows, const std::string& path) {
  std::map<std::string, std::vector<std::string>> engines_of;
  for (const auto& [name, text] : builtin_devices()) {
    PANTOUM_ASSIGN(const DeviceProfile profile, parse_device(text, name));
    if (!profile.host) engines_of.emplace(name, engine_names(profile));
  }
  for (const ProfileRow& row : rows) {
    const auto device = engines_of.find(row.key.machine);
    if (device == engines_of.end() || base::contains(device->second, row.key.engine)) continue;
    const std::string engine = base::one_line(row.key.engine.substr(0, kMostTableColumns));
    return fail("E0276", fmt::format("device '{}' has no engine '{}'", row.key.machine, engine), path,
                fmt::format("it has {}; a profile of your own, under another name, may have others",
                            fmt::join(device->second, ", ")));
  }
  return {};
}

Result<void> keep_profile(ProfileStore& store, const std::vector<ProfileRow>& rows) {
  PANTOUM_TRY(store.begin());
  for (const ProfileRow& row : rows) {
    const Result<void> put = store.put_op(row.key, row.sample);
    if (put) continue;
    (void)store.roll_back();
    return put;
  }
  return store.commit();
}

}  // namespace pantoum::cost
