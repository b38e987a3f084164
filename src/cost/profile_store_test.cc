// The store that keeps what each op and shape takes, once.
#include "cost/profile_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "testing/raw_sqlite.h"
#include "testing/temporary_folder.h"

namespace pantoum::cost {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  TemporaryFolder folder_;
};

OpKey key_of(const std::string& op) {
  return {.machine = "here", .op = op, .algorithm = "reference", .operands = "->", .attributes = "|"};
}

OpSample taking(Seconds seconds) {
  return {.seconds = seconds, .low_s = seconds, .high_s = seconds, .runs = 1};
}

std::optional<Seconds> seconds_in(ProfileStore& store, const OpKey& key) {
  const auto found = store.find_op(key);
  EXPECT_TRUE(found);
  return found && *found ? std::optional((*found)->seconds) : std::nullopt;
}
TEST_F(Store, KeepsWhatWasMeasuredAcrossRuns) {
  {
    const auto store = ProfileStore::open(path("profiles"));
    ASSERT_TRUE(store) << to_text(store.error());
    EXPECT_EQ(seconds_in(**store, key_of("matmul")), std::nullopt);
    ASSERT_TRUE((*store)->put_op(key_of("matmul"), taking(0.25)));
    ASSERT_TRUE((*store)->put_link("disk in", {{1e-4, 2e8}, 5e-5, 2e-10}, 5));
  }
  const auto store = ProfileStore::open(path("profiles"));
  ASSERT_TRUE(store);
  EXPECT_EQ(seconds_in(**store, key_of("matmul")), 0.25);
  const auto disk = (*store)->find_link("disk in").value();
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->link.latency_s, 1e-4);
  EXPECT_EQ(disk->link.bytes_per_s, 2e8);
  EXPECT_EQ(disk->engine_s, 5e-5);
  EXPECT_EQ(disk->engine_s_per_byte, 2e-10);
}

TEST_F(Store, RefusesWhatIsNoStore) {
  std::ofstream(path("text")) << std::string(4096, 'x');
  const auto store = ProfileStore::open(path("text"));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, "E0275");
  EXPECT_EQ(ProfileStore::open(path("no/such/folder/store")).error().code, "E0275");
  EXPECT_EQ(fs::file_size(path("text")), 4096u);
}

TEST_F(Store, ReadsWhatIsNoTimeAsNotKnown) {
  const auto store = ProfileStore::open(path("odd"));
  ASSERT_TRUE(store);
  for (const double odd : {-1.0, 0.0, HUGE_VAL, 1e300}) {
    ASSERT_TRUE((*store)->put_op(key_of("op"), taking(odd)));
    EXPECT_EQ(seconds_in(**store, key_of("op")), std::nullopt) << odd;
  }
  for (const LinkSample& odd :
       {LinkSample{{-1, 1e6}}, LinkSample{{0, 0}}, LinkSample{{0, 1e6}, -1, 0}, LinkSample{{0, 1e6}, 0, -1e-9},
        LinkSample{{0, 1e6}, 0, 2}, LinkSample{{0, 1e6}, INFINITY, 0}}) {
    ASSERT_TRUE((*store)->put_link("link", odd, 1));
    EXPECT_FALSE((*store)->find_link("link").value());
  }
}

// A query without an end, under the name of the table.
TEST_F(Store, RefusesAStoreWhoseQueriesDoNotEnd) {
  const char* view =
      "CREATE VIEW op_costs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
      " SELECT 'm' || -i AS machine, 'cpu' AS engine, 'op' AS op, 'reference' AS algorithm, '' AS operands, '' AS "
      "attributes,"
      " 1 AS threads, i AS seconds, i AS low_s, i AS high_s, NULL AS warm_s, 1 AS runs, 0 AS workspace_bytes,"
      " NULL AS joules, '' AS meter FROM n;";
  RawSqlite(path("endless")).run(view);
  const auto store = ProfileStore::open(path("endless"));
  if (!store) {
    EXPECT_EQ(store.error().code, "E0275");
    return;
  }
  const auto found = (*store)->find_op(key_of("op"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0275");
}

// Whatever it is named for, nothing is written into it.
TEST_F(Store, LeavesOtherProgramsDataBasesAlone) {
  RawSqlite(path("other")).run("CREATE TABLE mine(a); INSERT INTO mine VALUES(1)");
  const auto bytes = [&] {
    std::ifstream file(path("other"), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  const std::string before = bytes();
  EXPECT_EQ(ProfileStore::open(path("other")).error().code, "E0275");
  EXPECT_EQ(bytes(), before);
}

// A table of the name op_costs is not enough.
TEST_F(Store, LeavesTablesWithOtherColumnsAlone) {
  const std::string columns =
      "engine TEXT, op TEXT, algorithm TEXT, operands TEXT, attributes TEXT, threads INTEGER, seconds REAL, low_s "
      "REAL, "
      "high_s REAL, warm_s REAL, runs INTEGER, workspace_bytes INTEGER, joules REAL, meter TEXT";
  const std::string key = ", PRIMARY KEY(threads, machine, engine, op, algorithm, operands, attributes)";
  const std::string right = "CREATE TABLE op_costs(" + columns + ", machine TEXT" + key + ");";
  for (const std::string& make :
       {std::string("CREATE TABLE op_costs(a, b);"), "CREATE TABLE op_costs(machine TEXT, " + columns + ");",
        "CREATE TABLE op_costs(machine TEXT, " + columns + ", more" + key + ");",
        right + "CREATE TABLE links(key TEXT PRIMARY KEY);",
        right + "CREATE TRIGGER t BEFORE INSERT ON op_costs BEGIN DELETE FROM op_costs; END;",
        std::string("CREATE VIEW op_costs AS SELECT 1;")}) {
    fs::remove(path("odd"));
    RawSqlite(path("odd")).run(make);
    const auto bytes = base::read_file(path("odd")).value();
    EXPECT_EQ(ProfileStore::open(path("odd")).error().code, "E0275") << make;
    EXPECT_EQ(base::read_file(path("odd")).value(), bytes) << make;
  }
  // Another order is no other table; the storage's is made when there is something for it.
  RawSqlite(path("order")).run(right);
  const auto before = base::read_file(path("order")).value();
  const auto store = ProfileStore::open(path("order")).value();
  EXPECT_FALSE(store->find_link("disk").value());
  EXPECT_EQ(store->rows().value(), 0);
  EXPECT_EQ(base::read_file(path("order")).value(), before);
  ASSERT_TRUE(store->put_op(key_of("op"), taking(0.5)));
  EXPECT_EQ(seconds_in(*store, key_of("op")), 0.5);
  ASSERT_TRUE(store->put_link("disk", {{1e-4, 2e8}, 5e-5, 2e-10}, 5));
  EXPECT_TRUE(store->find_link("disk").value());
  EXPECT_EQ(store->rows().value(), 2);
}

// A number at the beginning of a text is none.
TEST_F(Store, ReadsTextsAsNotKnown) {
  {
    const auto store = ProfileStore::open(path("texts")).value();
    ASSERT_TRUE(store->put_op(key_of("op"), taking(0.5)));
  }
  for (const char* change : {"seconds = '0.5s'", "joules = 'abc'", "runs = 'many'", "warm_s = x'31'"}) {
    RawSqlite(path("texts"))
        .run(std::string("UPDATE op_costs SET seconds = 0.5, joules = NULL, runs = 1, warm_s = NULL; ") +
             "UPDATE op_costs SET " + change);
    EXPECT_EQ(seconds_in(*ProfileStore::open(path("texts")).value(), key_of("op")), std::nullopt) << change;
  }
}

// What is no key or no time is left out.
TEST_F(Store, ReadsATableOfManyRowsWhole) {
  constexpr int kRows = 60'000;
  {
    const auto store = ProfileStore::open(path("many")).value();
    ASSERT_TRUE(store->begin());
    for (int row = 0; row < kRows; ++row) ASSERT_TRUE(store->put_op(key_of("op " + std::to_string(row)), taking(0.5)));
    ASSERT_TRUE(store->commit());
  }
  int read = 0;
  const auto count = [&](const OpKey& /*key*/, const OpSample& /*sample*/) {
    ++read;
    return Result<void>{};
  };
  const auto store = ProfileStore::open(path("many")).value();
  ASSERT_TRUE(store->put_op(key_of("odd"), taking(-1)));
  ASSERT_TRUE(store->put_op(key_of(""), taking(0.5)));
  OpKey odd = key_of("odd");
  odd.threads = 0;
  ASSERT_TRUE(store->put_op(odd, taking(0.5)));
  EXPECT_TRUE(store->each_op(count));
  EXPECT_EQ(read, kRows);
}

TEST_F(Store, RefusesEveryDamagedStoreOrReadsIt) {
  {
    const auto store = ProfileStore::open(path("whole"));
    for (int key = 0; key < 200; ++key)
      ASSERT_TRUE((*store)->put_op(key_of("key " + std::to_string(key)), taking(0.5)));
  }
  std::ifstream file(path("whole"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    std::ofstream(path("damaged"), std::ios::binary) << damaged;
    const auto store = ProfileStore::open(path("damaged"));
    if (!store) continue;
    const auto found = (*store)->find_op(key_of("key 7"));
    if (!found || !*found) continue;
    EXPECT_TRUE(is_sample(**found)) << at;
  }
}

TEST_F(Store, GivesUpOnAStoreThatAnotherHolds) {
  const auto store = ProfileStore::open(path("held"));
  ASSERT_TRUE(store);
  {
    RawSqlite other(path("held"));
    other.run("BEGIN EXCLUSIVE");
    const auto put = (*store)->put_op(key_of("op"), taking(1));
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, "E0275");
  }
  EXPECT_TRUE((*store)->put_op(key_of("op"), taking(1)));
}
}  // namespace
}  // namespace pantoum::cost
