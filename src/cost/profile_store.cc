#include "cost/profile_store.h"

#include <sqlite3.h>

#include <cmath>
#include <utility>

namespace pantoum::cost {
namespace {

// A file of somebody else's making: what it computes is not trusted, and what it asks for ends.
constexpr const char* kGuards = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF;";
constexpr int kMostSteps = 1 << 20;  // of SQLite's machine, for one question
constexpr int kBusyMilliseconds = 250;
constexpr double kMostSeconds = 1e6, kLeastRate = 1, kMostRate = 1e15;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS op_samples(key TEXT PRIMARY KEY, seconds REAL NOT NULL, n INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS link_samples(key TEXT PRIMARY KEY, latency_s REAL NOT NULL, bytes_per_s REAL NOT NULL,"
    " n INTEGER NOT NULL);";

// What a measurement can be; anything else in the file is measured anew.
bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds > 0 && seconds < kMostSeconds;
}
bool is_link(const Link& link) {
  return std::isfinite(link.latency_s) && link.latency_s >= 0 && link.latency_s < kMostSeconds &&
         std::isfinite(link.bytes_per_s) && link.bytes_per_s >= kLeastRate && link.bytes_per_s <= kMostRate;
}

int stop_statement(void* /*unused*/) {
  return 1;
}

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

class SqliteStore final : public ProfileStore {
 public:
  SqliteStore(Database database, std::string path) : database_(std::move(database)), path_(std::move(path)) {}

  Result<std::optional<Seconds>> find_op(const std::string& key) override {
    PANTOUM_ASSIGN(const Statement query, prepare("SELECT seconds FROM op_samples WHERE key = ?1", key));
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return std::optional<Seconds>{};
    if (code != SQLITE_ROW) return failure();
    const double seconds = sqlite3_column_double(query.get(), 0);
    return is_time(seconds) ? std::optional<Seconds>{seconds} : std::nullopt;
  }

  Result<void> put_op(const std::string& key, Seconds seconds, int samples) override {
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO op_samples VALUES(?1, ?2, ?3)", key));
    sqlite3_bind_double(put.get(), 2, seconds);
    sqlite3_bind_int(put.get(), 3, samples);
    return done(put);
  }

  Result<std::optional<Link>> find_link(const std::string& key) override {
    PANTOUM_ASSIGN(const Statement query,
                   prepare("SELECT latency_s, bytes_per_s FROM link_samples WHERE key = ?1", key));
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return std::optional<Link>{};
    if (code != SQLITE_ROW) return failure();
    const Link link{.latency_s = sqlite3_column_double(query.get(), 0),
                    .bytes_per_s = sqlite3_column_double(query.get(), 1)};
    return is_link(link) ? std::optional<Link>{link} : std::nullopt;
  }

  Result<void> put_link(const std::string& key, const Link& link, int samples) override {
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO link_samples VALUES(?1, ?2, ?3, ?4)", key));
    sqlite3_bind_double(put.get(), 2, link.latency_s);
    sqlite3_bind_double(put.get(), 3, link.bytes_per_s);
    sqlite3_bind_int(put.get(), 4, samples);
    return done(put);
  }

  Result<int64_t> rows() override {
    PANTOUM_ASSIGN(const Statement query, prepare("SELECT (SELECT COUNT(*) FROM op_samples WHERE ?1 = '') + "
                                                  "(SELECT COUNT(*) FROM link_samples)",
                                                  ""));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return failure();
    return static_cast<int64_t>(sqlite3_column_int64(query.get(), 0));
  }

  [[nodiscard]] Failure failure() const {
    return fail("E0275", std::string("the profile store failed: ") + sqlite3_errmsg(database_.get()), path_,
                "name another file with --profile-store, or delete this one: it will be measured again");
  }

 private:
  Result<Statement> prepare(const char* sql, const std::string& key) const {
    sqlite3_progress_handler(database_.get(), kMostSteps, &stop_statement, nullptr);  // counts anew
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) return failure();
    Statement statement(raw, &sqlite3_finalize);
    if (sqlite3_bind_text(raw, 1, key.c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK) return failure();
    return statement;
  }

  Result<void> done(const Statement& statement) const {
    if (sqlite3_step(statement.get()) != SQLITE_DONE) return failure();
    return {};
  }

  Database database_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<ProfileStore>> ProfileStore::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open(path.c_str(), &raw);
  Database database(raw, &sqlite3_close);
  if (code != SQLITE_OK)
    return fail("E0275", "cannot open the profile store: " + std::string(raw ? sqlite3_errmsg(raw) : "no memory"), path,
                "name another file with --profile-store");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  auto store = std::make_unique<SqliteStore>(std::move(database), path);
  for (const char* words : {kGuards, kSchema})
    if (sqlite3_exec(raw, words, nullptr, nullptr, nullptr) != SQLITE_OK) return store->failure();
  return store;
}

}  // namespace pantoum::cost
