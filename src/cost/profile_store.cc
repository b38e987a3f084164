#include "cost/profile_store.h"

#include <sqlite3.h>

#include <utility>

namespace pantoum::cost {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS op_samples(key TEXT PRIMARY KEY, seconds REAL NOT NULL, n INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS link_samples(key TEXT PRIMARY KEY, latency_s REAL NOT NULL, bytes_per_s REAL NOT NULL,"
    " n INTEGER NOT NULL);";

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
    return std::optional<Seconds>{sqlite3_column_double(query.get(), 0)};
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
    return std::optional<Link>{
        Link{.latency_s = sqlite3_column_double(query.get(), 0), .bytes_per_s = sqlite3_column_double(query.get(), 1)}};
  }

  Result<void> put_link(const std::string& key, const Link& link, int samples) override {
    PANTOUM_ASSIGN(const Statement put, prepare("INSERT OR REPLACE INTO link_samples VALUES(?1, ?2, ?3, ?4)", key));
    sqlite3_bind_double(put.get(), 2, link.latency_s);
    sqlite3_bind_double(put.get(), 3, link.bytes_per_s);
    sqlite3_bind_int(put.get(), 4, samples);
    return done(put);
  }

  [[nodiscard]] Failure failure() const {
    return fail("E0275", std::string("the profile store failed: ") + sqlite3_errmsg(database_.get()), path_,
                "name another file with --profile-store, or delete this one: it will be measured again");
  }

 private:
  Result<Statement> prepare(const char* sql, const std::string& key) const {
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
  sqlite3_busy_timeout(raw, 5000);
  auto store = std::make_unique<SqliteStore>(std::move(database), path);
  if (sqlite3_exec(raw, kSchema, nullptr, nullptr, nullptr) != SQLITE_OK) return store->failure();
  return store;
}

}  // namespace pantoum::cost
