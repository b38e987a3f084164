#include "cost/profile_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/special_files.h"

namespace pantoum::cost {
namespace {

// Anybody may have made the file, so SQLite must not trust functions that the file's schema calls, and every query has a limit of steps.
constexpr const char* kGuards = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF;";
constexpr int
    kTurn = 1 << 14,
    kMostTurns =
        64;  // a query, or one of its rows, may take kMostTurns turns of kTurn steps of SQLite's virtual machine
constexpr int kBusyMilliseconds = 250;
constexpr double kMostSeconds = 1e6, kLeastRate = 1, kMostRate = 1e15;

constexpr const char* kMakeCosts =
    "CREATE TABLE IF NOT EXISTS op_costs(machine TEXT NOT NULL, engine TEXT NOT NULL, op TEXT NOT NULL,"
    " algorithm TEXT NOT NULL, operands TEXT NOT NULL, attributes TEXT NOT NULL, threads INTEGER NOT NULL,"
    " seconds REAL NOT NULL, low_s REAL NOT NULL, high_s REAL NOT NULL, warm_s REAL, runs INTEGER NOT NULL,"
    " workspace_bytes INTEGER NOT NULL, joules REAL, meter TEXT NOT NULL,"
    " PRIMARY KEY(machine, engine, op, algorithm, operands, attributes, threads));";
constexpr const char* kMakeLinks =
    "CREATE TABLE IF NOT EXISTS links(key TEXT PRIMARY KEY, latency_s REAL NOT NULL, bytes_per_s REAL NOT NULL,"
    " engine_s REAL NOT NULL, engine_s_per_byte REAL NOT NULL, n INTEGER NOT NULL);";

// The names of a table's columns, each with whether the column belongs to the primary key.
using Columns = std::set<std::pair<std::string, bool>>;
const Columns kCostColumns{
    {"machine", true},    {"engine", true},  {"op", true},       {"algorithm", true}, {"operands", true},
    {"attributes", true}, {"threads", true}, {"seconds", false}, {"low_s", false},    {"high_s", false},
    {"warm_s", false},    {"runs", false},   {"joules", false},  {"meter", false},    {"workspace_bytes", false}};
const Columns kLinkColumns{{"key", true},       {"latency_s", false},         {"bytes_per_s", false},
                           {"engine_s", false}, {"engine_s_per_byte", false}, {"n", false}};

constexpr const char* kFigures = "seconds, low_s, high_s, warm_s, runs, workspace_bytes, joules, meter";
constexpr int kFigureColumns = 8;
constexpr const char* kKeyColumns = "machine, engine, op, algorithm, operands, attributes, threads";

// is_time and is_link return whether a value can be a measurement. Every other value in the file counts as absent, and is measured again.
bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds > 0 && seconds < kMostSeconds;
}
bool is_link(const LinkSample& sample) {
  const Link& link = sample.link;
  return std::isfinite(link.latency_s) && link.latency_s >= 0 && link.latency_s < kMostSeconds &&
         std::isfinite(link.bytes_per_s) && link.bytes_per_s >= kLeastRate && link.bytes_per_s <= kMostRate &&
         std::isfinite(sample.engine_s) && sample.engine_s >= 0 && sample.engine_s < kMostSeconds &&
         std::isfinite(sample.engine_s_per_byte) && sample.engine_s_per_byte >= 0 && sample.engine_s_per_byte < 1;
}

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

class SqliteStore final : public ProfileStore {
 public:
  SqliteStore(Database database, std::string path) : database_(std::move(database)), path_(std::move(path)) {
    const auto take_turn = [](void* turns) { return ++*static_cast<int*>(turns) > kMostTurns ? 1 : 0; };
    sqlite3_progress_handler(database_.get(), kTurn, take_turn, &turns_);
  }

  // Checks that the tables are those of a profile store. E0275: they are not. The query ends before anything is written, because of two processes
  // that read at the same time only one could begin to write.
  Result<void> look_inside() {
    PANTOUM_TRY(execute(kGuards));
    PANTOUM_ASSIGN(const Statement query,
                   prepare("SELECT COUNT(*), COUNT(*) FILTER (WHERE type = 'table' AND name = 'op_costs'),"
                           " COUNT(*) FILTER (WHERE type = 'table' AND name = 'links'),"
                           " COUNT(*) FILTER (WHERE type = 'trigger') FROM sqlite_master"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    const auto count = [&](int column) { return sqlite3_column_int64(query.get(), column); };
    is_empty_ = count(0) == 0, has_links_ = count(2) == 1;
    if (is_empty_) return {};
    if (count(1) != 1) return failure_of("it is another program's data base");
    if (count(3) > 0) return failure_of("it has triggers, which no profile store has");
    PANTOUM_TRY(check_columns("op_costs", kCostColumns));
    return has_links_ ? check_columns("links", kLinkColumns) : Result<void>{};
  }

  // Checks the tables; creates them if the data base has no tables. E0275.
  Result<void> set_up() {
    PANTOUM_TRY(look_inside());
    if (!is_empty_) return {};
    PANTOUM_TRY(execute(kMakeCosts));
    return make_links();
  }

  Result<std::optional<OpSample>> find_op(const OpKey& key) override {
    static const std::string kQuery = fmt::format(
        "SELECT {} FROM op_costs WHERE machine = ?1 AND engine = ?2 AND op = ?3 AND algorithm = ?4 AND "
        "operands = ?5 AND attributes = ?6 AND threads = ?7",
        kFigures);
    PANTOUM_ASSIGN(const Statement query, prepare(kQuery.c_str()));
    PANTOUM_TRY(bind(query, key));
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return std::optional<OpSample>{};
    if (code != SQLITE_ROW) return failure();
    const OpSample sample = sample_at(query, 0);
    return is_sample(sample) ? std::optional<OpSample>{sample} : std::nullopt;
  }

  Result<void> put_op(const OpKey& key, const OpSample& sample) override {
    static const std::string kPut = fmt::format(
        "INSERT OR REPLACE INTO op_costs({}, {}) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
        "?15)",
        kKeyColumns, kFigures);
    PANTOUM_ASSIGN(const Statement put, prepare(kPut.c_str()));
    PANTOUM_TRY(bind(put, key));
    sqlite3_stmt* raw = put.get();
    int column = kFigureColumns;
    for (const double seconds : {sample.seconds, sample.low_s, sample.high_s})
      sqlite3_bind_double(raw, column++, seconds);
    if (sample.warm_s) sqlite3_bind_double(raw, column, *sample.warm_s);
    sqlite3_bind_int64(raw, ++column, sample.runs);
    sqlite3_bind_int64(raw, ++column, sample.workspace_bytes);
    ++column;
    if (sample.joules) sqlite3_bind_double(raw, column, *sample.joules);
    PANTOUM_TRY(bind(put, ++column, sample.meter));
    return done(put);
  }

  Result<void> each_op(const std::function<Result<void>(const OpKey&, const OpSample&)>& act) override {
    static const std::string kQuery =
        fmt::format("SELECT {}, {} FROM op_costs ORDER BY {}", kKeyColumns, kFigures, kKeyColumns);
    PANTOUM_ASSIGN(const Statement query, prepare(kQuery.c_str()));
    for (int64_t row = 0; row < kMostRows; ++row) {
      turns_ = 0;
      const int code = sqlite3_step(query.get());
      if (code == SQLITE_DONE) return {};
      if (code != SQLITE_ROW) return failure();
      const OpKey key = key_at(query);
      const OpSample sample = sample_at(query, kKeyParts);
      if (is_key(key) && is_sample(sample)) PANTOUM_TRY(act(key, sample));
    }
    return failure();
  }

  Result<void> begin() override { return execute("BEGIN IMMEDIATE"); }
  Result<void> commit() override { return execute("COMMIT"); }
  Result<void> roll_back() override { return execute("ROLLBACK"); }

  Result<std::optional<LinkSample>> find_link(const std::string& key) override {
    if (!has_links_) return std::optional<LinkSample>{};
    PANTOUM_ASSIGN(
        const Statement query,
        prepare("SELECT latency_s, bytes_per_s, engine_s, engine_s_per_byte FROM links WHERE key = ?1", key));
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return std::optional<LinkSample>{};
    if (code != SQLITE_ROW) return failure();
    const LinkSample sample{.link = {.latency_s = number_at(query.get(), 0), .bytes_per_s = number_at(query.get(), 1)},
                            .engine_s = number_at(query.get(), 2),
                            .engine_s_per_byte = number_at(query.get(), 3)};
    return is_link(sample) ? std::optional<LinkSample>{sample} : std::nullopt;
  }

  Result<void> put_link(const std::string& key, const LinkSample& sample, int samples) override {
    if (!has_links_) PANTOUM_TRY(make_links());
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO links(key, latency_s, bytes_per_s, engine_s, "
                                                "engine_s_per_byte, n) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                                                key));
    sqlite3_bind_double(put.get(), 2, sample.link.latency_s);
    sqlite3_bind_double(put.get(), 3, sample.link.bytes_per_s);
    sqlite3_bind_double(put.get(), 4, sample.engine_s);
    sqlite3_bind_double(put.get(), 5, sample.engine_s_per_byte);
    sqlite3_bind_int(put.get(), 6, samples);
    return done(put);
  }

  Result<int64_t> rows() override {
    PANTOUM_ASSIGN(const Statement query,
                   prepare(has_links_ ? "SELECT (SELECT COUNT(*) FROM op_costs) + (SELECT COUNT(*) FROM links)"
                                      : "SELECT COUNT(*) FROM op_costs"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    return static_cast<int64_t>(sqlite3_column_int64(query.get(), 0));
  }

  [[nodiscard]] Failure failure() const {
    const int code = sqlite3_errcode(database_.get());
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
      return fail("E0275", "another program holds the file", path_, "try again when it has ended");
    return failure_of(sqlite3_errmsg(database_.get()));
  }

  [[nodiscard]] Failure failure_of(const std::string& what) const {
    return fail("E0275", "the profile store failed: " + what, path_,
                "name another file with --profile-store, where what is missing is measured again");
  }

 private:
  static constexpr int kKeyParts = 7;
  static constexpr int64_t kMostRows = 10'000'000;

  Result<void> make_links() {
    PANTOUM_TRY(execute(kMakeLinks));
    has_links_ = true;
    return {};
  }

  Result<void> check_columns(const char* table, const Columns& expected) {
    PANTOUM_ASSIGN(const Statement query, prepare(fmt::format("PRAGMA table_info({})", table).c_str()));
    Columns found;
    int code = sqlite3_step(query.get());
    for (; code == SQLITE_ROW; code = sqlite3_step(query.get()))
      found.emplace(text_at(query, 1).value_or(""), sqlite3_column_int(query.get(), 5) > 0);
    if (code != SQLITE_DONE) return failure();
    if (found != expected)
      return failure_of(fmt::format("its table {} has other columns or another key than a profile store's", table));
    return {};
  }

  Result<Statement> prepare(const char* sql) {
    turns_ = 0;
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) return failure();
    return Statement(raw, &sqlite3_finalize);
  }

  Result<Statement> prepare(const char* sql, const std::string& key) {
    PANTOUM_ASSIGN(Statement statement, prepare(sql));
    PANTOUM_TRY(bind(statement, 1, key));
    return statement;
  }

  Result<void> bind(const Statement& statement, int column, const std::string& text) const {
    if (sqlite3_bind_text64(statement.get(), column, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) !=
        SQLITE_OK)
      return failure();
    return {};
  }

  Result<void> bind(const Statement& statement, const OpKey& key) const {
    int column = 1;
    for (const std::string* part : {&key.machine, &key.engine, &key.op, &key.algorithm, &key.operands, &key.attributes})
      PANTOUM_TRY(bind(statement, column++, *part));
    sqlite3_bind_int(statement.get(), column, key.threads);
    return {};
  }

  // Returns the text in a column; nullopt if the value is not a text.
  static std::optional<std::string> text_at(const Statement& query, int column) {
    if (sqlite3_column_type(query.get(), column) != SQLITE_TEXT) return std::nullopt;
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), column));
    return text == nullptr ? std::optional<std::string>{}
                           : std::string(text, static_cast<size_t>(sqlite3_column_bytes(query.get(), column)));
  }

  // Returns the number in a column; NaN if the value is not a number, even if it is a text that begins with digits.
  static double number_at(sqlite3_stmt* raw, int column) {
    const int type = sqlite3_column_type(raw, column);
    const bool is_number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
    return is_number ? sqlite3_column_double(raw, column) : std::numeric_limits<double>::quiet_NaN();
  }
  static int64_t whole_at(sqlite3_stmt* raw, int column) {
    return sqlite3_column_type(raw, column) == SQLITE_INTEGER ? sqlite3_column_int64(raw, column) : -1;
  }

  static OpKey key_at(const Statement& query) {
    const auto text = [&](int column) { return text_at(query, column).value_or(""); };
    const int64_t threads = whole_at(query.get(), kKeyParts - 1);
    return {.machine = text(0),
            .engine = text(1),
            .op = text(2),
            .algorithm = text(3),
            .operands = text(4),
            .attributes = text(5),
            .threads = std::in_range<int>(threads) ? static_cast<int>(threads) : 0};
  }

  static OpSample sample_at(const Statement& query, int first) {
    sqlite3_stmt* raw = query.get();
    const auto optional = [&](int column) {
      return sqlite3_column_type(raw, first + column) == SQLITE_NULL ? std::nullopt
                                                                     : std::optional(number_at(raw, first + column));
    };
    return {.seconds = number_at(raw, first),
            .low_s = number_at(raw, first + 1),
            .high_s = number_at(raw, first + 2),
            .warm_s = optional(3),
            .runs = whole_at(raw, first + 4),
            .workspace_bytes = whole_at(raw, first + 5),
            .joules = optional(6),
            .meter = text_at(query, first + 7).value_or("")};
  }

  Result<void> execute(const char* sql) {
    turns_ = 0;
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
    return {};
  }

  Result<void> done(const Statement& statement) const {
    if (sqlite3_step(statement.get()) != SQLITE_DONE) return failure();
    return {};
  }

  Database database_;
  std::string path_;
  bool is_empty_ = false, has_links_ = false;
  int turns_ = 0;
};

// SQLite opens the files beside a data base in its own way, which waits at a pipe. E0275.
Result<void> check_files_of(const std::string& path) {
  for (const char* end : {"", "-journal", "-wal", "-shm"})
    if (const std::string why = base::why_no_file(path + end, base::Access::write); !why.empty())
      return fail("E0275", "cannot open the profile store: " + why, path + end, "name another file");
  return {};
}

}  // namespace

bool is_key(const OpKey& key) {
  for (const std::string* part : {&key.machine, &key.engine, &key.op, &key.algorithm, &key.operands, &key.attributes})
    if (part->empty() || part->size() > kMostField || part->find('\0') != std::string::npos) return false;
  return key.threads >= 1;
}

bool is_sample(const OpSample& sample) {
  constexpr double kMostJoules = 1e9;
  return is_time(sample.seconds) && is_time(sample.low_s) && is_time(sample.high_s) && sample.low_s <= sample.seconds &&
         sample.seconds <= sample.high_s && (!sample.warm_s || is_time(*sample.warm_s)) && sample.runs >= 0 &&
         sample.workspace_bytes >= 0 &&
         (!sample.joules || (std::isfinite(*sample.joules) && *sample.joules >= 0 && *sample.joules < kMostJoules));
}

Result<std::unique_ptr<ProfileStore>> ProfileStore::open(const std::string& path) {
  PANTOUM_TRY(check_files_of(path));
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(raw, &sqlite3_close);
  if (code != SQLITE_OK)
    return fail("E0275", "cannot open the profile store: " + std::string(raw ? sqlite3_errmsg(raw) : "no memory"), path,
                "name another file");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  auto store = std::make_unique<SqliteStore>(std::move(database), path);
  PANTOUM_TRY(store->set_up());
  return store;
}

}  // namespace pantoum::cost
