#include "cost/profile_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/foreign_text.h"

namespace pantoum::cost {
namespace {

constexpr std::array<const char*, 15> kColumns{
    "machine", "engine", "op",     "algorithm", "operands",        "attributes", "threads", "seconds",
    "low_s",   "high_s", "warm_s", "runs",      "workspace_bytes", "joules",     "meter"};
constexpr std::array<const char*, 4> kNeeded{"op", "algorithm", "operands", "seconds"};
constexpr size_t kMostText = 4096;  // of one field

std::string ending_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

Failure unknown_ending(const std::string& path) {
  return fail("E0117", "a table of times is a .csv, a .sql or a .db file", path, "name the file so");
}

Failure bad_row(const std::string& path, size_t line, const std::string& what) {
  return fail("E0276", what, fmt::format("{}:{}", path, line), "mend the line: nothing of the file was taken");
}

// As every reader of CSV takes it: quoted where it has a comma, a quote or a line's end.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string made = "\"";
  for (const char letter : text) made += letter == '"' ? "\"\"" : std::string(1, letter);
  return made + "\"";
}

std::string quoted_sql(const std::string& text) {
  std::string made = "'";
  for (const char letter : text) made += letter == '\'' ? "''" : std::string(1, letter);
  return made + "'";
}

std::vector<std::string> fields_of(const OpKey& key, const OpSample& of, std::string (*text)(const std::string&),
                                   const char* none) {
  // In SQL as a text: SQLite may read a number's last bit otherwise.
  const auto number = [&](double value) { return text(fmt::format("{}", value)); };
  return {text(key.machine),
          text(key.engine),
          text(key.op),
          text(key.algorithm),
          text(key.operands),
          text(key.attributes),
          fmt::format("{}", key.threads),
          number(of.seconds),
          number(of.low_s),
          number(of.high_s),
          of.warm_s ? number(*of.warm_s) : none,
          fmt::format("{}", of.runs),
          fmt::format("{}", of.workspace_bytes),
          of.joules ? number(*of.joules) : none,
          text(of.meter)};
}

// The fields of a CSV's records. A quoted one may hold line ends.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  // The next record; false: there is none. `wrong` where its quotes do not end.
  bool next(std::vector<std::string>& fields, bool& wrong) {
    fields.clear();
    wrong = false;
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) skip_line_end();
    if (at_ >= text_.size()) return false;
    begin_ = line_;
    while (true) {
      std::string field;
      wrong = wrong || !(at_ < text_.size() && text_[at_] == '"' ? quoted_field(field) : plain_field(field));
      fields.push_back(std::move(field));
      if (wrong || at_ >= text_.size() || text_[at_] != ',') return true;
      ++at_;
    }
  }
  [[nodiscard]] size_t line() const { return begin_; }

 private:
  void skip_line_end() {
    if (text_[at_++] == '\n') ++line_;
  }

  bool plain_field(std::string& field) {
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') field += text_[at_++];
    return field.size() <= kMostText;
  }

  bool quoted_field(std::string& field) {
    ++at_;
    while (at_ < text_.size()) {
      const char letter = text_[at_++];
      if (letter == '\n') ++line_;
      if (letter != '"') {
        field += letter;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        field += text_[at_++];
      } else {
        const bool ends = at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n' || text_[at_] == '\r';
        return ends && field.size() <= kMostText;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1, begin_ = 1;
};

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Columns by name -> a key and a sample; "" and absent columns are what is not known.
class RowReader {
 public:
  explicit RowReader(const std::string& machine) : machine_(machine) {}

  // What is wrong with the names; "": nothing.
  std::string set_columns(const std::vector<std::string>& names) {
    for (size_t column = 0; column < names.size(); ++column) {
      const std::string& name = names[column];
      if (name.starts_with("x-")) continue;
      if (std::find(kColumns.begin(), kColumns.end(), name) == kColumns.end())
        return fmt::format("the column '{}' is not known here", base::one_line(name));
      if (!at_.emplace(name, column).second) return fmt::format("the column '{}' stands twice", name);
    }
    count_ = names.size();
    for (const char* name : kNeeded)
      if (!at_.contains(name)) return fmt::format("there is no column '{}'", name);
    return "";
  }

  // What is wrong with the row; "": nothing.
  std::string read(const std::vector<std::string>& fields, OpKey& key, OpSample& sample) const {
    if (fields.size() != count_) return fmt::format("it has {} fields, and {} are named", fields.size(), count_);
    std::string wrong;
    const auto text = [&](const char* name) {
      const auto column = at_.find(name);
      return column == at_.end() ? std::string() : fields[column->second];
    };
    const auto number = [&](const char* name) -> std::optional<double> {
      const std::string field = text(name);
      if (field.empty()) return std::nullopt;
      const std::optional<double> value = number_of<double>(field);
      if (!value || !std::isfinite(*value)) wrong = fmt::format("{} is no number: '{}'", name, base::one_line(field));
      return value;
    };
    const auto whole = [&](const char* name, int64_t none) {
      const std::string field = text(name);
      if (field.empty()) return none;
      const std::optional<int64_t> value = number_of<int64_t>(field);
      if (!value) wrong = fmt::format("{} is no whole number: '{}'", name, base::one_line(field));
      return value.value_or(none);
    };
    key = {.machine = machine_.empty() ? text("machine") : machine_,
           .op = text("op"),
           .algorithm = text("algorithm"),
           .operands = text("operands"),
           .attributes = text("attributes")};
    if (const std::string engine = text("engine"); !engine.empty()) key.engine = engine;
    if (key.attributes.empty()) key.attributes = "|";
    const int64_t threads = whole("threads", 1);
    key.threads = static_cast<int>(std::clamp<int64_t>(threads, 0, std::numeric_limits<int>::max()));
    const std::optional<double> seconds = number("seconds");
    sample = {.seconds = seconds.value_or(0),
              .low_s = number("low_s").value_or(seconds.value_or(0)),
              .high_s = number("high_s").value_or(seconds.value_or(0)),
              .warm_s = number("warm_s"),
              .runs = whole("runs", 0),
              .workspace_bytes = whole("workspace_bytes", 0),
              .joules = number("joules"),
              .meter = text("meter")};
    if (!wrong.empty()) return wrong;
    if (key.machine.empty()) return "nobody says which machine it is of: a column 'machine', or --machine";
    if (key.op.empty() || key.algorithm.empty() || key.operands.empty()) return "op, algorithm or operands is empty";
    if (threads < 1) return "threads is less than 1";
    if (!is_sample(sample)) return "its figures are no measurement: seconds above 0, low_s <= seconds <= high_s";
    return "";
  }

 private:
  const std::string& machine_;
  std::map<std::string, size_t> at_;
  size_t count_ = 0;
};

Result<int64_t> import_csv(ProfileStore& store, const std::string& path, const std::string& machine) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  CsvReader reader(text);
  RowReader rows(machine);
  std::vector<std::string> fields;
  bool wrong = false;
  if (!reader.next(fields, wrong)) return bad_row(path, 1, "the file is empty");
  if (const std::string why = wrong ? "its quotes do not end" : rows.set_columns(fields); !why.empty())
    return bad_row(path, reader.line(), why);
  int64_t taken = 0;
  for (; reader.next(fields, wrong); ++taken) {
    OpKey key;
    OpSample sample;
    const std::string why = wrong ? "a field is too long, or its quotes do not end" : rows.read(fields, key, sample);
    if (!why.empty()) return bad_row(path, reader.line(), why);
    PANTOUM_TRY(store.put_op(key, sample));
  }
  return taken;
}

// What a foreign file may have a data base in memory do: make the one table, and fill it.
int allow_filling(void* /*unused*/, int action, const char* what, const char* /*unused*/, const char* /*unused*/,
                  const char* /*unused*/) {
  const std::string_view name = what == nullptr ? "" : what;
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SELECT:
      return SQLITE_OK;
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX:
      return name == "op_costs" || name.starts_with("sqlite_autoindex_op_costs") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ:
    case SQLITE_REINDEX:
      return name == "op_costs" || name == "sqlite_master" || name.starts_with("sqlite_autoindex_op_costs")
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

int stop_import(void* /*unused*/) {
  return 1;
}

Result<int64_t> import_sql(ProfileStore& store, const std::string& path, const std::string& machine) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  if (text.find('\0') != std::string::npos) return bad_row(path, 1, "it is no text");
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(":memory:", &raw);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(raw, &sqlite3_close);
  if (opened != SQLITE_OK) return fail("E0275", "there is no memory for the table", path);
  constexpr int kMostSteps = 1 << 28, kMostLength = 1 << 20;
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMostLength);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_progress_handler(raw, kMostSteps, &stop_import, nullptr);
  sqlite3_set_authorizer(raw, &allow_filling, nullptr);
  const auto wrong = [&](const std::string& what) {
    return fail("E0276", fmt::format("its statements cannot be run: {}", base::one_line(what)), path,
                "give statements that create op_costs and insert rows, as --export FILE.sql writes them");
  };
  if (sqlite3_exec(raw, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return wrong(sqlite3_errmsg(raw));
  sqlite3_set_authorizer(raw, nullptr, nullptr);
  sqlite3_stmt* query = nullptr;
  if (sqlite3_prepare_v2(raw, "SELECT * FROM op_costs", -1, &query, nullptr) != SQLITE_OK)
    return wrong(sqlite3_errmsg(raw));
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(query, &sqlite3_finalize);
  RowReader rows(machine);
  std::vector<std::string> fields(static_cast<size_t>(sqlite3_column_count(query)));
  for (size_t column = 0; column < fields.size(); ++column)
    fields[column] = sqlite3_column_name(query, static_cast<int>(column));
  if (const std::string why = rows.set_columns(fields); !why.empty()) return wrong(why);
  const auto field = [&](int column) -> std::string {
    if (sqlite3_column_type(query, column) == SQLITE_FLOAT)  // as a text it would lose its last bits
      return fmt::format("{}", sqlite3_column_double(query, column));
    const auto* text_at = reinterpret_cast<const char*>(sqlite3_column_text(query, column));
    return text_at == nullptr ? "" : text_at;
  };
  int64_t taken = 0;
  for (int code = sqlite3_step(query); code != SQLITE_DONE; code = sqlite3_step(query), ++taken) {
    if (code != SQLITE_ROW) return wrong(sqlite3_errmsg(raw));
    for (size_t column = 0; column < fields.size(); ++column) fields[column] = field(static_cast<int>(column));
    OpKey key;
    OpSample sample;
    if (const std::string why = rows.read(fields, key, sample); !why.empty())
      return fail("E0276", fmt::format("row {}: {}", taken + 1, why), path,
                  "mend the row: nothing of the file was taken");
    PANTOUM_TRY(store.put_op(key, sample));
  }
  return taken;
}

Result<int64_t> import_store(ProfileStore& store, const std::string& path, const std::string& machine) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return fail("E0201", "there is no such file", path, "name a profile store");
  PANTOUM_ASSIGN(const std::unique_ptr<ProfileStore> from, ProfileStore::open_table(path));
  int64_t taken = 0;
  PANTOUM_TRY(from->each_op([&](const OpKey& key, const OpSample& sample) -> Result<void> {
    OpKey own = key;
    if (!machine.empty()) own.machine = machine;
    ++taken;
    return store.put_op(own, sample);
  }));
  return taken;
}

using Import = Result<int64_t> (*)(ProfileStore&, const std::string&, const std::string&);

std::string table_of(const char* between) {
  std::string columns;
  for (const char* name : kColumns) columns += fmt::format("{}{}", columns.empty() ? "" : between, name);
  return columns;
}

}  // namespace

Result<int64_t> export_profile(ProfileStore& store, const std::string& path) {
  const std::string ending = ending_of(path);
  int64_t written = 0;
  if (ending == ".db") {
    PANTOUM_ASSIGN(const std::unique_ptr<ProfileStore> to, ProfileStore::open(path));
    PANTOUM_TRY(to->begin());
    PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) {
      ++written;
      return to->put_op(key, sample);
    }));
    PANTOUM_TRY(to->commit());
    return written;
  }
  if (ending != ".csv" && ending != ".sql") return unknown_ending(path);
  const bool sql = ending == ".sql";
  std::string text = sql ? fmt::format("CREATE TABLE op_costs({});\n", table_of(", ")) : table_of(",") + "\n";
  PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) -> Result<void> {
    ++written;
    const std::vector<std::string> fields =
        sql ? fields_of(key, sample, quoted_sql, "NULL") : fields_of(key, sample, quoted, "");
    text += sql ? fmt::format("INSERT INTO op_costs VALUES({});\n", fmt::join(fields, ", "))
                : fmt::format("{}\n", fmt::join(fields, ","));
    return {};
  }));
  PANTOUM_TRY(base::write_file_atomically(path, text));
  return written;
}

Result<int64_t> import_profile(ProfileStore& store, const std::string& path, const std::string& machine) {
  const std::string ending = ending_of(path);
  const Import import = ending == ".csv"   ? import_csv
                        : ending == ".sql" ? import_sql
                        : ending == ".db"  ? import_store
                                           : nullptr;
  if (import == nullptr) return unknown_ending(path);
  PANTOUM_TRY(store.begin());
  Result<int64_t> taken = import(store, path, machine);
  if (!taken) {
    PANTOUM_TRY(store.roll_back());
    return taken;
  }
  PANTOUM_TRY(store.commit());
  return taken;
}

}  // namespace pantoum::cost
