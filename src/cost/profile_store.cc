#include "cost/profile_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <utility>

namespace pantoum::cost {
namespace {

// A file of somebody else's making: what it computes is not trusted, and what it asks for ends.
constexpr const char* kGuards = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF;";
constexpr int kTurn = 1 << 14,
              kMostTurns = 64;  // steps of SQLite's machine; turns for one question, or for one of its rows
constexpr int kBusyMilliseconds = 250;
constexpr double kMostSeconds = 1e6, kLeastRate = 1, kMostRate = 1e15;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS op_costs(machine TEXT NOT NULL, engine TEXT NOT NULL, op TEXT NOT NULL,"
    " algorithm TEXT NOT NULL, operands TEXT NOT NULL, attributes TEXT NOT NULL, threads INTEGER NOT NULL,"
    " seconds REAL NOT NULL, low_s REAL NOT NULL, high_s REAL NOT NULL, warm_s REAL, runs INTEGER NOT NULL,"
    " workspace_bytes INTEGER NOT NULL, joules REAL, meter TEXT NOT NULL,"
    " PRIMARY KEY(machine, engine, op, algorithm, operands, attributes, threads));"
    "CREATE TABLE IF NOT EXISTS links(key TEXT PRIMARY KEY, latency_s REAL NOT NULL, bytes_per_s REAL NOT NULL,"
    " engine_s REAL NOT NULL, engine_s_per_byte REAL NOT NULL, n INTEGER NOT NULL);";
constexpr const char* kFigures = "seconds, low_s, high_s, warm_s, runs, workspace_bytes, joules, meter";
constexpr int kFigureColumns = 8;
constexpr const char* kKeyColumns = "machine, engine, op, algorithm, operands, attributes, threads";

// What a measurement can be; anything else in the file is measured anew.
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
  SqliteStore(Database database, std::string path, bool is_table)
      : database_(std::move(database)), path_(std::move(path)), is_table_(is_table) {
    const auto take_turn = [](void* turns) { return ++*static_cast<int*>(turns) > kMostTurns ? 1 : 0; };
    sqlite3_progress_handler(database_.get(), kTurn, take_turn, &turns_);
  }

  // A data base without any table becomes a store; one with others is not ours.
  Result<void> set_up() {
    PANTOUM_TRY(execute(kGuards));
    PANTOUM_ASSIGN(const Contents contents, look_inside());
    if (is_table_ && !contents.has_table) return failure_of("it has no table op_costs");
    if (!contents.is_empty && !contents.has_table) return failure_of("it is another program's data base");
    return is_table_ ? Result<void>{} : execute(kSchema);
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
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO op_costs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                                                "?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"));
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
    if (sqlite3_bind_text(raw, ++column, sample.meter.c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK) return failure();
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
      const OpSample sample = sample_at(query, kKeyParts);
      if (is_sample(sample))
        PANTOUM_TRY(act(key_at(query), sample));
      else if (is_table_)
        return failure_of(fmt::format("row {}: its figures are no measurement", row + 1));
    }
    return failure();
  }

  Result<void> begin() override { return execute("BEGIN IMMEDIATE"); }
  Result<void> commit() override { return execute("COMMIT"); }
  Result<void> roll_back() override { return execute("ROLLBACK"); }

  Result<std::optional<LinkSample>> find_link(const std::string& key) override {
    PANTOUM_ASSIGN(
        const Statement query,
        prepare("SELECT latency_s, bytes_per_s, engine_s, engine_s_per_byte FROM links WHERE key = ?1", key));
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return std::optional<LinkSample>{};
    if (code != SQLITE_ROW) return failure();
    const LinkSample sample{.link = {.latency_s = sqlite3_column_double(query.get(), 0),
                                     .bytes_per_s = sqlite3_column_double(query.get(), 1)},
                            .engine_s = sqlite3_column_double(query.get(), 2),
                            .engine_s_per_byte = sqlite3_column_double(query.get(), 3)};
    return is_link(sample) ? std::optional<LinkSample>{sample} : std::nullopt;
  }

  Result<void> put_link(const std::string& key, const LinkSample& sample, int samples) override {
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO links VALUES(?1, ?2, ?3, ?4, ?5, ?6)", key));
    sqlite3_bind_double(put.get(), 2, sample.link.latency_s);
    sqlite3_bind_double(put.get(), 3, sample.link.bytes_per_s);
    sqlite3_bind_double(put.get(), 4, sample.engine_s);
    sqlite3_bind_double(put.get(), 5, sample.engine_s_per_byte);
    sqlite3_bind_int(put.get(), 6, samples);
    return done(put);
  }

  Result<int64_t> rows() override {
    PANTOUM_ASSIGN(const Statement query,
                   prepare("SELECT (SELECT COUNT(*) FROM op_costs) + (SELECT COUNT(*) FROM links)"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    return static_cast<int64_t>(sqlite3_column_int64(query.get(), 0));
  }

  [[nodiscard]] Failure failure() const {
    const int code = sqlite3_errcode(database_.get());
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
      return fail(is_table_ ? "E0276" : "E0275", "another program holds the file", path_,
                  "try again when it has ended");
    return failure_of(sqlite3_errmsg(database_.get()));
  }

  [[nodiscard]] Failure failure_of(const std::string& what) const {
    if (is_table_) return fail("E0276", what, path_, "mend or export it again: nothing of the file was taken");
    return fail("E0275", "the profile store failed: " + what, path_,
                "name another file with --profile-store, where what is missing is measured again");
  }

 private:
  static constexpr int kKeyParts = 7;
  static constexpr int64_t kMostRows = 10'000'000;

  struct Contents {
    bool is_empty = true, has_table = false;
  };

  // Ends before anything is written: two that read cannot both become writers.
  Result<Contents> look_inside() {
    PANTOUM_ASSIGN(const Statement query,
                   prepare("SELECT COUNT(*), COUNT(*) FILTER (WHERE type = 'table' AND name = 'op_costs') "
                           "FROM sqlite_master"));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    return Contents{.is_empty = sqlite3_column_int64(query.get(), 0) == 0,
                    .has_table = sqlite3_column_int64(query.get(), 1) == 1};
  }

  Result<Statement> prepare(const char* sql) {
    turns_ = 0;
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) return failure();
    return Statement(raw, &sqlite3_finalize);
  }

  Result<Statement> prepare(const char* sql, const std::string& key) {
    PANTOUM_ASSIGN(Statement statement, prepare(sql));
    if (sqlite3_bind_text(statement.get(), 1, key.c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK) return failure();
    return statement;
  }

  Result<void> bind(const Statement& statement, const OpKey& key) const {
    int column = 1;
    for (const std::string* part : {&key.machine, &key.engine, &key.op, &key.algorithm, &key.operands, &key.attributes})
      if (sqlite3_bind_text(statement.get(), column++, part->c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK)
        return failure();
    sqlite3_bind_int(statement.get(), column, key.threads);
    return {};
  }

  static std::string text_at(const Statement& query, int column) {
    const unsigned char* text = sqlite3_column_text(query.get(), column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

  static OpKey key_at(const Statement& query) {
    return {.machine = text_at(query, 0),
            .engine = text_at(query, 1),
            .op = text_at(query, 2),
            .algorithm = text_at(query, 3),
            .operands = text_at(query, 4),
            .attributes = text_at(query, 5),
            .threads = sqlite3_column_int(query.get(), 6)};
  }

  static OpSample sample_at(const Statement& query, int first) {
    sqlite3_stmt* raw = query.get();
    const auto optional = [&](int column) {
      return sqlite3_column_type(raw, first + column) == SQLITE_NULL
                 ? std::nullopt
                 : std::optional(sqlite3_column_double(raw, first + column));
    };
    return {.seconds = sqlite3_column_double(raw, first),
            .low_s = sqlite3_column_double(raw, first + 1),
            .high_s = sqlite3_column_double(raw, first + 2),
            .warm_s = optional(3),
            .runs = sqlite3_column_int64(raw, first + 4),
            .workspace_bytes = sqlite3_column_int64(raw, first + 5),
            .joules = optional(6),
            .meter = text_at(query, first + 7)};
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
  bool is_table_;  // that somebody gave, and that is only read
  int turns_ = 0;
};

}  // namespace

bool is_sample(const OpSample& sample) {
  constexpr double kMostJoules = 1e9;
  return is_time(sample.seconds) && is_time(sample.low_s) && is_time(sample.high_s) && sample.low_s <= sample.seconds &&
         sample.seconds <= sample.high_s && (!sample.warm_s || is_time(*sample.warm_s)) && sample.runs >= 0 &&
         sample.workspace_bytes >= 0 &&
         (!sample.joules || (std::isfinite(*sample.joules) && *sample.joules >= 0 && *sample.joules < kMostJoules));
}

namespace {

Result<std::unique_ptr<ProfileStore>> open_store(const std::string& path, bool is_table) {
  sqlite3* raw = nullptr;
  const int flags = is_table ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw, &sqlite3_close);
  if (code != SQLITE_OK)
    return fail(is_table ? "E0276" : "E0275",
                "cannot open the profile store: " + std::string(raw ? sqlite3_errmsg(raw) : "no memory"), path,
                "name another file");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  auto store = std::make_unique<SqliteStore>(std::move(database), path, is_table);
  PANTOUM_TRY(store->set_up());
  return store;
}

}  // namespace

Result<std::unique_ptr<ProfileStore>> ProfileStore::open(const std::string& path) {
  return open_store(path, false);
}

Result<std::unique_ptr<ProfileStore>> ProfileStore::open_table(const std::string& path) {
  return open_store(path, true);
}

}  // namespace pantoum::cost
