#include "cost/profile_exchange.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "base/files.h"
#include "cost/profile_exchange_sqlite.h"
#include "testing/raw_sqlite.h"
#include "testing/temporary_folder.h"

namespace pantoum::cost {
namespace {

const OpKey kKey{.machine = "a \"quoted\", machine",
                 .op = "conv2d",
                 .algorithm = "it's",
                 .operands = "f32[1,2] f32[2,3]->f32[1,3]",
                 .attributes = "1,0|0.5",
                 .threads = 4};

OpSample some_sample() {
  return {.seconds = 1.0 / 3,
          .low_s = 0.25,
          .high_s = 0.5,
          .warm_s = 0.125,
          .runs = 7,
          .workspace_bytes = 4096,
          .joules = 2.5,
          .meter = "RAPL\npackage"};
}

Result<int64_t> import_profile(ProfileStore& store, const std::string& path, const std::string& machine) {
  PANTOUM_ASSIGN(const std::vector<ProfileRow> rows, read_profile(path, machine));
  PANTOUM_TRY(keep_profile(store, rows));
  return static_cast<int64_t>(rows.size());
}

class Exchange : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string refusal(const std::string& name, const std::string& text) {
    const auto before = store_->rows().value();
    const auto taken = import_profile(*store_, written(name, text), "");
    EXPECT_EQ(store_->rows().value(), before) << "a refused file leaves nothing behind";
    return taken ? "accepted" : taken.error().code;
  }

  TemporaryFolder folder_;
  std::unique_ptr<ProfileStore> store_ = ProfileStore::open(":memory:").value();
};

TEST_F(Exchange, WhatIsWrittenIsReadAgain) {
  ASSERT_TRUE(store_->put_op(kKey, some_sample()));
  OpKey plain = kKey;
  plain.engine = "npu";
  ASSERT_TRUE(store_->put_op(plain, {.seconds = 2, .low_s = 2, .high_s = 2}));
  for (const char* name : {"t.csv", "t.sql", "t.db"}) {
    EXPECT_EQ(export_profile(*store_, path(name)).value(), 2) << name;
    const auto other = ProfileStore::open(":memory:").value();
    ASSERT_EQ(import_profile(*other, path(name), "").value(), 2) << name;
    const auto found = other->find_op(kKey).value();
    ASSERT_TRUE(found) << name;
    const OpSample sample = some_sample();
    EXPECT_EQ(found->seconds, sample.seconds) << name << ": to the last bit";
    EXPECT_EQ(found->low_s, sample.low_s);
    EXPECT_EQ(found->high_s, sample.high_s);
    EXPECT_EQ(found->warm_s, sample.warm_s);
    EXPECT_EQ(found->runs, sample.runs);
    EXPECT_EQ(found->workspace_bytes, sample.workspace_bytes);
    EXPECT_EQ(found->joules, sample.joules);
    EXPECT_EQ(found->meter, sample.meter);
    const auto bare = other->find_op(plain).value();
    ASSERT_TRUE(bare) << "of another engine: kept for later";
    EXPECT_FALSE(bare->warm_s);
    EXPECT_FALSE(bare->joules);
  }
}

TEST_F(Exchange, KeepsTheLastBitOfEveryTime) {
  std::mt19937_64 random(19);
  std::uniform_real_distribution<double> exponent(-9, 2);
  constexpr size_t kRows = 300;
  std::vector<OpKey> keys;
  std::vector<double> seconds;
  for (size_t row = 0; row < kRows; ++row) {
    keys.push_back(kKey);
    keys.back().threads = static_cast<int>(row) + 1;
    seconds.push_back(row == 0 ? 8.7534e-05 : std::pow(10, exponent(random)));
    ASSERT_TRUE(store_->put_op(keys.back(), {.seconds = seconds[row], .low_s = seconds[row], .high_s = seconds[row]}));
  }
  for (const char* name : {"t.csv", "t.sql", "t.db"}) {
    ASSERT_EQ(export_profile(*store_, path(name)).value(), int64_t{kRows}) << name;
    const auto other = ProfileStore::open(":memory:").value();
    ASSERT_EQ(import_profile(*other, path(name), "").value(), int64_t{kRows}) << name;
    for (size_t row = 0; row < kRows; ++row)
      EXPECT_EQ(other->find_op(keys[row]).value()->seconds, seconds[row]) << name;
  }
}

TEST_F(Exchange, TakesATableOfAnotherMachinesMaking) {
  const std::string csv =
      "\xef\xbb\xbfx-phone,seconds,op,operands,algorithm,joules\r\n"
      "mine,0.5,relu,f32[4]->f32[4],reference,0.25\r\n"
      "mine,0.75,relu,\"f32[8]->f32[8]\",reference,\r\n";
  EXPECT_EQ(import_profile(*store_, written("p.csv", csv), "phone").value(), 2);
  OpKey key{
      .machine = "phone", .op = "relu", .algorithm = "reference", .operands = "f32[4]->f32[4]", .attributes = "|"};
  const auto found = store_->find_op(key).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seconds, 0.5);
  EXPECT_EQ(found->joules, 0.25);
  key.operands = "f32[8]->f32[8]";
  EXPECT_FALSE(store_->find_op(key).value()->joules);
  // The same key again is replaced.
  EXPECT_EQ(import_profile(
                *store_, written("q.csv", "op,algorithm,operands,seconds\nrelu,reference,f32[8]->f32[8],9\n"), "phone")
                .value(),
            1);
  EXPECT_EQ(store_->find_op(key).value()->seconds, 9);
  EXPECT_EQ(store_->rows().value(), 2);
}

TEST_F(Exchange, RefusesTablesThatAreNone) {
  const std::string head = "machine,op,algorithm,operands,seconds\n", row = "m,relu,reference,f32[4]->f32[4],";
  EXPECT_EQ(refusal("a.csv", head + row + "1\n" + row.substr(0, 30) + "1\n"), "E0276") << "fields are missing";
  for (const char* seconds : {"0", "-1", "nan", "inf", "1e300", "1s", "", "0x10", "1 "})
    EXPECT_EQ(refusal("b.csv", head + row + "1\n" + row + seconds + "\n"), "E0276") << seconds;
  for (const std::string& text :
       {std::string(), std::string("\n\n"), std::string("op\n"), head.substr(8) + "relu,a,b,1\n", "op," + head,
        "colour," + head, std::string("\"machine"), head + "\"m\"x" + row + "1\n",
        head + std::string(kMostField + 1, 'm') + row + "1\n", std::string(100, '\0')})
    EXPECT_EQ(refusal("c.csv", text), "E0276") << text.substr(0, 30);
  EXPECT_EQ(refusal("d.csv", "machine,op,algorithm,operands,seconds,low_s\n" + row + "1,2\n"), "E0276");
  EXPECT_EQ(refusal("e.csv", "machine,op,algorithm,operands,seconds,threads\n" + row + "1,0\n"), "E0276");
  EXPECT_EQ(refusal("e.csv", "machine,op,algorithm,operands,seconds,runs\n" + row + "1,1.5\n"), "E0276");
  EXPECT_EQ(refusal("f.txt", head), "E0117");
  EXPECT_EQ(refusal("g.db", "no data base"), "E0276");
  EXPECT_EQ(refusal("h.db", ""), "E0276");
  EXPECT_EQ(import_profile(*store_, path("none.csv"), "").error().code, "E0201");
  EXPECT_EQ(import_profile(*store_, path("none.db"), "").error().code, "E0201");
  EXPECT_EQ(export_profile(*store_, path("none/t.csv")).error().code, "E0901");
  EXPECT_EQ(export_profile(*store_, path("t.xls")).error().code, "E0117");
}

// A table from elsewhere is data, whatever it says.
TEST_F(Exchange, RunsNothingButTheTable) {
  const std::string table =
      "CREATE TABLE op_costs(machine, op, algorithm, operands, seconds);\n"
      "INSERT INTO op_costs VALUES('m', 'relu', 'reference', 'f32[4]->f32[4]', 1);\n";
  EXPECT_EQ(import_profile(*store_, written("good.sql", table), "").value(), 1);
  const std::string victim = path("victim.db");
  for (const std::string& evil :
       {"ATTACH '" + victim + "' AS v; CREATE TABLE v.t(a);", std::string("PRAGMA journal_mode = DELETE;"),
        "VACUUM INTO '" + victim + "';", std::string("SELECT load_extension('x');"),
        std::string("CREATE TABLE other(a);"), std::string("CREATE VIEW op AS SELECT 1;"),
        std::string("CREATE TRIGGER t AFTER INSERT ON op_costs BEGIN SELECT 1; END;"),
        std::string("INSERT INTO op_costs SELECT 'm','a','b',hex(randomblob(9)),1;"),
        std::string("DROP TABLE op_costs;"), std::string("DELETE FROM op_costs;"),
        std::string("CREATE TEMP TABLE op_costs(a);"), std::string("nonsense;"),
        std::string("INSERT INTO op_costs SELECT * FROM op_costs;"),
        std::string("INSERT INTO op_costs VALUES((SeLeCt 1),'a','b','c',1);"), std::string("PRAGMA user_version = 3;"),
        std::string("UPDATE op_costs SET seconds = 2;"), std::string("DROP TABLE links;"),
        std::string("CREATE TABLE links(key); INSERT INTO op_costs VALUES('m', 1 IN links, 'a', 'z', 1);"),
        std::string("INSERT INTO op_costs VALUES('m', 'o', 'a', 'z', 1) RETURNING op;")})
    EXPECT_EQ(refusal("evil.sql", table + evil), "E0276") << evil;
  EXPECT_FALSE(std::filesystem::exists(victim));
  const std::string endless =
      "CREATE TABLE op_costs(machine, op, algorithm, operands, seconds);\n"
      "INSERT INTO op_costs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i, i, i FROM "
      "n;";
  EXPECT_EQ(refusal("endless.sql", endless), "E0276");
  EXPECT_EQ(refusal("binary.sql", table + std::string(1, '\0')), "E0276");
}

// The word in a text, a name or a comment is none of the statements'.
TEST_F(Exchange, TakesWhatADumpIsMadeOf) {
  const std::string dump =
      "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION; -- select\n"
      "CREATE TABLE op_costs(machine TEXT NOT NULL, op TEXT, algorithm TEXT, operands TEXT, seconds REAL, "
      "\"x-select\", "
      "PRIMARY KEY(machine, op, algorithm, operands));\n"
      "INSERT INTO op_costs VALUES('select','it''s select','a','f32[1]->f32[1]',1e-3,1),('m','b','a','z',2,NULL);\n"
      "CREATE TABLE links(key TEXT PRIMARY KEY); INSERT INTO links VALUES('k'); /* select */\nCOMMIT;\n";
  const auto taken = import_profile(*store_, written("dump.sql", dump), "");
  ASSERT_TRUE(taken) << to_text(taken.error());
  EXPECT_EQ(*taken, 2);
  const auto refused = read_profile(written("pragma.sql", "PRAGMA user_version = 1;"), "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().help.find("CREATE TABLE op_costs"), std::string::npos) << refused.error().help;
}

// Each key of a table keeps its texts once more.
TEST_F(Exchange, EndsWhereATableOfSqlHasNoEnd) {
  std::string longest =
      "CREATE TABLE op_costs(machine, op, algorithm, operands, seconds);\nINSERT INTO op_costs VALUES";
  while (longest.size() < 2 * size_t{kLongestStatement}) longest += "('m', 'o', 'a', 'z', 1), ";
  EXPECT_EQ(refusal("longest.sql", longest + "('m', 'o', 'a', 'z', 1);"), "E0276");
  std::string text = "CREATE TABLE op_costs(machine, op, algorithm, operands, seconds, \"x-\"";
  constexpr size_t kKeys = 30, kBytes = 900'000;
  std::string key = "op";
  for (size_t count = 0; count < kKeys; ++count) {
    text += fmt::format(", UNIQUE(\"x-\", {})", key);
    key += ", op";
  }
  text += ");\n";
  const std::string long_text(kBytes, 'x');
  for (size_t row = 0; row <= size_t{kMostTableBytes} / (kBytes * kKeys); ++row)
    text += fmt::format("INSERT INTO op_costs VALUES('m', 'o{}', 'a', 'z', 1, '{}');\n", row, long_text);
  const auto refused = read_profile(written("large.sql", text), "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("more than 536870912 bytes"), std::string::npos) << refused.error().message;
}

TEST_F(Exchange, HasTheSameRulesForEveryFile) {
  const std::string names = "machine, engine, op, algorithm, operands, attributes, threads, seconds, joules, runs";
  const std::string make = "CREATE TABLE op_costs(" + names + ");\n";
  struct Case {
    const char *sql, *csv;
    bool is_good;
  };
  const std::string longest(kMostField, 'x');
  const std::string sql_long = "'m','cpu','" + longest + "x','a','z','|',1,1,NULL,1",
                    csv_long = "m,cpu," + longest + "x,a,z,|,1,1,,1";
  const std::string sql_fits = "'m','cpu','" + longest + "','a','z','|',1,1,NULL,1",
                    csv_fits = "m,cpu," + longest + ",a,z,|,1,1,,1";
  for (const Case& each :
       {Case{"'m','cpu','o','a','z','|',1,1e-3,NULL,1", "m,cpu,o,a,z,|,1,1e-3,,1", true},
        {"'m',NULL,'o','a','z','','2','1e-3','0.5',1.0", "m,,o,a,z,,2,1e-3,0.5,1", true},
        {"'m','cpu','o','a','z','|',-5,1,NULL,1", "m,cpu,o,a,z,|,-5,1,,1", false},
        {"'m','cpu','o','a','z','|',0,1,NULL,1", "m,cpu,o,a,z,|,0,1,,1", false},
        {"'m','cpu','o','a','z','|','abc',1,NULL,1", "m,cpu,o,a,z,|,abc,1,,1", false},
        {"'m','cpu','o','a','z','|',1.9,1,NULL,1", "m,cpu,o,a,z,|,1.9,1,,1", false},
        {"'m','cpu','o','a','z','|',1099511627777,1,NULL,1", "m,cpu,o,a,z,|,1099511627777,1,,1", false},
        {"'m','cpu','o','a','z','|',2147483648,1,NULL,1", "m,cpu,o,a,z,|,2147483648,1,,1", false},
        {"'m','cpu','o','a','z','|',2147483647,1,NULL,1", "m,cpu,o,a,z,|,2147483647,1,,1", true},
        {"'m','cpu','','a','z','|',1,1,NULL,1", "m,cpu,,a,z,|,1,1,,1", false},
        {"'m','cpu',NULL,'a','z','|',1,1,NULL,1", "m,cpu,,a,z,|,1,1,,1", false},
        {"'','cpu','o','a','z','|',1,1,NULL,1", ",cpu,o,a,z,|,1,1,,1", false},
        {"'m','cpu','o','a','z','|',1,'1e-3xyz',NULL,1", "m,cpu,o,a,z,|,1,1e-3xyz,,1", false},
        {"'m','cpu','o','a','z','|',1,NULL,NULL,1", "m,cpu,o,a,z,|,1,,,1", false},
        {"'m','cpu','o','a','z','|',1,9e999,NULL,1", "m,cpu,o,a,z,|,1,inf,,1", false},
        {"'m','cpu','o','a','z','|',1,1,'abc',1", "m,cpu,o,a,z,|,1,1,abc,1", false},
        {"'m','cpu','o','a','z','|',1,1,-1,1", "m,cpu,o,a,z,|,1,1,-1,1", false},
        {"'m','cpu','o','a','z','|',1,1,NULL,1.5", "m,cpu,o,a,z,|,1,1,,1.5", false},
        {sql_fits.c_str(), csv_fits.c_str(), true},
        {sql_long.c_str(), csv_long.c_str(), false}}) {
    const std::string fill = make + "INSERT INTO op_costs VALUES(" + each.sql + ");\n";
    std::filesystem::remove(path("t.db"));
    RawSqlite(path("t.db")).run(fill);
    written("t.sql", fill);
    std::string csv = names;
    std::erase(csv, ' ');
    written("t.csv", csv + "\n" + each.csv + "\n");
    for (const char* name : {"t.db", "t.sql", "t.csv"}) {
      const auto rows = read_profile(path(name), "");
      EXPECT_EQ(rows ? "" : rows.error().code, each.is_good ? "" : "E0276") << name << ": " << each.csv;
    }
  }
}

TEST_F(Exchange, RefusesTextsThatAreNoTexts) {
  using namespace std::string_literals;
  const std::string head = "machine,op,algorithm,operands,seconds\n";
  for (const std::string& row : {"m,a\0x,b,z,1\n"s, "m,\0x,b,z,1\n"s, "m,a,b,z\0,1\n"s, "m,a,b,z,1\0\n"s}) {
    const auto refused = read_profile(written("n.csv", head + row), "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "E0276");
    EXPECT_NE(refused.error().message.find("NUL byte"), std::string::npos) << refused.error().message;
  }
  const std::string make = "CREATE TABLE op_costs(machine, op, algorithm, operands, seconds);";
  const char* kind = "INSERT INTO op_costs VALUES('m', {}, 'a', 'z', 1);";
  RawSqlite(path("text.db")).run(make + fmt::format(fmt::runtime(kind), "CAST(x'610062' AS TEXT)"));
  RawSqlite(path("blob.db")).run(make + fmt::format(fmt::runtime(kind), "x'6162'"));
  EXPECT_EQ(refusal("text.sql", make + fmt::format(fmt::runtime(kind), "CAST(x'610062' AS TEXT)")), "E0276");
  EXPECT_EQ(refusal("blob.sql", make + fmt::format(fmt::runtime(kind), "x'6162'")), "E0276");
  for (const char* name : {"text.db", "blob.db"}) EXPECT_EQ(read_profile(path(name), "").error().code, "E0276") << name;
}

TEST_F(Exchange, TellsTheLineWhateverEndsIt) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string text =
        fmt::format("machine,op,algorithm,operands,seconds{0}m,a,b,z,1{0}{0}m,a,b,\"{0}\",1{0}m,a,b{0}", end);
    const auto refused = read_profile(written("l.csv", text), "");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().where.ends_with("l.csv:6")) << refused.error().where;
  }
}

TEST_F(Exchange, ReadsNoFoldersAndNoPipesOfADataBase) {
  for (const char* name : {"folder.db", "folder.csv", "folder.sql"}) {
    std::filesystem::create_directory(path(name));
    EXPECT_EQ(read_profile(path(name), "").error().code, "E0201") << name;
  }
  ASSERT_EQ(::mkfifo(path("pipe.db").c_str(), 0600), 0);
  EXPECT_EQ(read_profile(path("pipe.db"), "").error().code, "E0201");
}

TEST_F(Exchange, ReplacesAStoreAndNothingElse) {
  ASSERT_TRUE(store_->put_op(kKey, some_sample()));
  {
    const auto other = ProfileStore::open(path("old.db")).value();
    OpKey key = kKey;
    key.machine = "another";
    ASSERT_TRUE(other->put_op(key, some_sample()));
  }
  EXPECT_EQ(export_profile(*store_, path("old.db")).value(), 1);
  EXPECT_EQ(read_profile(path("old.db"), "").value().size(), 1U) << "replaced, not added to";
  RawSqlite(path("foreign.db")).run("CREATE TABLE mine(a)");
  written("text.db", "precious");
  std::filesystem::create_directory(path("folder.db"));
  for (const char* name : {"foreign.db", "text.db", "folder.db"}) {
    const auto refused = export_profile(*store_, path(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "E0275") << name;
    EXPECT_NE(refused.error().help.find("--export"), std::string::npos) << refused.error().help;
  }
  EXPECT_EQ(base::read_file(path("text.db")).value(), "precious");
  for (const auto& entry : std::filesystem::directory_iterator(path(".")))
    EXPECT_FALSE(entry.path().string().find(".part-") != std::string::npos ||
                 entry.path().string().ends_with("-journal"))
        << entry.path();
}

}  // namespace
}  // namespace pantoum::cost
