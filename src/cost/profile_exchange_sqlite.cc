#include "cost/profile_exchange_sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>

#include "base/files.h"
#include "base/foreign_text.h"

namespace pantoum::cost {
namespace {

constexpr int kTableTurn = 1 << 14;          // steps of SQLite's machine
constexpr int kTurnsOfStatements = 1 << 13;  // for those statements of a file that take a turn at all
constexpr int kTurnsOfRow = 64;
constexpr int kLongestValue = 1 << 20, kTableBusyMilliseconds = 250, kPageBytes = 4096;
constexpr std::array<std::string_view, 2> kTables{"op_costs", "links"};  // those of a store; the second is passed over

bool is_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$' ||
         static_cast<unsigned char>(letter) >= 0x80;
}

// Where the text, the name in quotes or the comment that begins here ends; `at` where none begins.
size_t end_of_quoted(std::string_view sql, size_t at) {
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t found = sql.find(mark, from);
    return found == std::string_view::npos ? sql.size() : found + mark.size();
  };
  const std::string_view rest = sql.substr(at);
  if (rest.starts_with("--")) return after("\n", at + 2);
  if (rest.starts_with("/*")) return after("*/", at + 2);
  if (rest[0] == '[') return after("]", at + 1);
  if (rest[0] == '\'' || rest[0] == '"' || rest[0] == '`') return after(rest.substr(0, 1), at + 1);
  return at;
}

// Does the keyword SELECT stand there? What it asks for could have no end, and no table needs it.
bool has_select(std::string_view sql) {
  constexpr std::string_view kWord = "select";
  for (size_t at = 0; at < sql.size();) {
    if (const size_t end = end_of_quoted(sql, at); end > at) {
      at = end;
      continue;
    }
    size_t end = at;
    while (end < sql.size() && is_letter(sql[end])) ++end;
    const std::string_view word = sql.substr(at, end - at);
    const auto same = [](char one, char other) { return (one | 0x20) == other; };
    if (std::equal(word.begin(), word.end(), kWord.begin(), kWord.end(), same)) return true;
    at = std::max(end, at + 1);
  }
  return false;
}

bool is_table(std::string_view name) {
  return std::find(kTables.begin(), kTables.end(), name) != kTables.end();
}

// What a foreign file may have a data base in memory do: make the tables, and fill them. `makes_table`: is this statement
// one that makes a table? Its columns are read for its key; nothing else reads one, which `1 IN op_costs` would.
int allow_filling(void* makes_table, int action, const char* what, const char* /*unused*/, const char* /*unused*/,
                  const char* /*unused*/) {
  const std::string_view name = what == nullptr ? "" : what;
  const bool is_ours = is_table(name), is_list = name == "sqlite_master";
  bool& makes = *static_cast<bool*>(makes_table);
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SELECT:  // rows of VALUES; the word itself is not let in
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return name == "foreign_keys" ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_CREATE_TABLE:
      makes = is_ours;
      return is_ours ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_CREATE_INDEX:
    case SQLITE_REINDEX:
      return name.starts_with("sqlite_autoindex_") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_INSERT:
      return is_ours || is_list ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:
      return is_list ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_READ:
      return is_list || (is_ours && makes) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

// A data base that somebody gave, or that holds what a file says: what it computes is not trusted, and ends.
class Table {
 public:
  explicit Table(std::string path) : path_(std::move(path)) {}

  Result<void> open(const char* name, int flags) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(name, &raw, flags, nullptr);
    database_.reset(raw);
    if (code != SQLITE_OK) return wrong(raw == nullptr ? "no memory" : sqlite3_errmsg(raw));
    sqlite3_busy_timeout(raw, kTableBusyMilliseconds);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    const auto take_turn = [](void* left) { return --*static_cast<int*>(left) < 0 ? 1 : 0; };
    sqlite3_progress_handler(raw, kTableTurn, take_turn, &turns_left_);
    turns_left_ = kTurnsOfRow;
    return execute(
        fmt::format("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA page_size = {};", kPageBytes));
  }

  Result<void> run(const std::string& statements) {
    PANTOUM_TRY(
        execute(fmt::format("PRAGMA temp_store = MEMORY; PRAGMA max_page_count = {};", kMostTableBytes / kPageBytes)));
    sqlite3_limit(database_.get(), SQLITE_LIMIT_SQL_LENGTH, kLongestStatement);
    turns_left_ = kTurnsOfStatements;
    bool makes_table = false;
    sqlite3_set_authorizer(database_.get(), &allow_filling, &makes_table);
    for (const char* rest = statements.c_str(); *rest != '\0';) {
      makes_table = false;
      sqlite3_stmt* raw = nullptr;
      if (sqlite3_prepare_v2(database_.get(), rest, -1, &raw, &rest) != SQLITE_OK) return failure();
      const Statement statement(raw, &sqlite3_finalize);
      if (raw == nullptr) continue;  // a comment
      int code = sqlite3_step(raw);
      while (code == SQLITE_ROW) code = sqlite3_step(raw);
      if (code != SQLITE_DONE) return failure();
    }
    sqlite3_set_authorizer(database_.get(), nullptr, nullptr);
    return {};
  }

  Result<void> read(RowReader& rows) {
    PANTOUM_TRY(check_is_there());
    PANTOUM_ASSIGN(const Statement query, prepare("SELECT * FROM op_costs"));
    std::vector<std::string> fields(static_cast<size_t>(sqlite3_column_count(query.get())));
    for (size_t column = 0; column < fields.size(); ++column)
      fields[column] = sqlite3_column_name(query.get(), static_cast<int>(column));
    if (const std::string why = rows.set_columns(fields); !why.empty()) return wrong(why);
    const std::vector<std::string> names = fields;
    while (true) {
      turns_left_ = kTurnsOfRow;
      const int code = sqlite3_step(query.get());
      if (code == SQLITE_DONE) return {};
      if (code != SQLITE_ROW) return failure();
      std::string why;
      for (size_t column = 0; column < fields.size(); ++column)
        if (!take_field(query, static_cast<int>(column), fields[column]))
          why = fmt::format("{} is neither a text nor a number", base::one_line(names[column]));
      if (why.empty()) why = rows.add(fields);
      if (!why.empty())
        return fail("E0276", fmt::format("row {}: {}", rows.count() + 1, why), path_,
                    "mend the row: nothing of the file was taken");
    }
  }

  [[nodiscard]] Failure wrong(const std::string& what) const {
    return fail("E0276", base::one_line(what), path_, "mend or export it again: nothing of the file was taken");
  }

 private:
  // As a CSV would have it. A number as a text of SQLite's making would lose its last bits.
  static bool take_field(const Statement& query, int column, std::string& field) {
    sqlite3_stmt* raw = query.get();
    field.clear();
    switch (sqlite3_column_type(raw, column)) {
      case SQLITE_NULL:
        return true;
      case SQLITE_INTEGER:
        field = fmt::format("{}", sqlite3_column_int64(raw, column));
        return true;
      case SQLITE_FLOAT:
        field = fmt::format("{}", sqlite3_column_double(raw, column));
        return true;
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, column));
        if (text != nullptr) field.assign(text, static_cast<size_t>(sqlite3_column_bytes(raw, column)));
        return text != nullptr;
      }
      default:
        return false;
    }
  }

  Result<void> check_is_there() {
    PANTOUM_ASSIGN(const Statement query,
                   prepare("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'op_costs'"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    if (sqlite3_column_int(query.get(), 0) != 1) return wrong("it has no table op_costs");
    return {};
  }

  Result<Statement> prepare(const char* sql) {
    turns_left_ = kTurnsOfRow;
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) return failure();
    return Statement(raw, &sqlite3_finalize);
  }

  Result<void> execute(const std::string& sql) {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
    return {};
  }

  [[nodiscard]] Failure failure() const {
    constexpr const char* kStatements =
        "a table is made of CREATE TABLE op_costs, INSERT INTO op_costs VALUES, BEGIN, COMMIT and PRAGMA foreign_keys, "
        "as --export FILE.sql writes it";
    switch (sqlite3_errcode(database_.get())) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return fail("E0276", "another program holds the file", path_, "try again when it has ended");
      case SQLITE_AUTH:
        return fail("E0276", "its statements do more than make a table of times and fill it", path_, kStatements);
      case SQLITE_FULL:
        return wrong(fmt::format("its rows take more than {} bytes", kMostTableBytes));
      case SQLITE_TOOBIG:
        return wrong(fmt::format("a statement has more than {} bytes, or a value more than {}", kLongestStatement,
                                 kLongestValue));
      case SQLITE_INTERRUPT:
        return wrong("what it computes does not end");
      default:
        return wrong(sqlite3_errmsg(database_.get()));
    }
  }

  std::string path_;
  int turns_left_ = 0;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_{nullptr, &sqlite3_close};
};

}  // namespace

Result<void> read_sql(const std::string& path, RowReader& rows) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  Table table(path);
  if (text.find('\0') != std::string::npos) return table.wrong("it has a NUL byte, which no text has");
  if (has_select(text)) return table.wrong("its statements have a SELECT, which no table of times needs");
  PANTOUM_TRY(table.open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  PANTOUM_TRY(table.run(text));
  return table.read(rows);
}

Result<void> read_database(const std::string& path, RowReader& rows) {
  Table table(path);
  PANTOUM_TRY(table.open(path.c_str(), SQLITE_OPEN_READONLY));
  return table.read(rows);
}

}  // namespace pantoum::cost
