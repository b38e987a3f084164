#include "cost/profile_exchange.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

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
  EXPECT_EQ(export_profile(*store_, path("t.csv")).value(), 2);
  const auto other = ProfileStore::open(":memory:").value();
  ASSERT_EQ(import_profile(*other, path("t.csv"), "").value(), 2);
  const auto found = other->find_op(kKey).value();
  ASSERT_TRUE(found);
  const OpSample sample = some_sample();
  EXPECT_EQ(found->seconds, sample.seconds) << "to the last bit";
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
  ASSERT_EQ(export_profile(*store_, path("t.csv")).value(), int64_t{kRows});
  const auto other = ProfileStore::open(":memory:").value();
  ASSERT_EQ(import_profile(*other, path("t.csv"), "").value(), int64_t{kRows});
  for (size_t row = 0; row < kRows; ++row) EXPECT_EQ(other->find_op(keys[row]).value()->seconds, seconds[row]);
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
  EXPECT_EQ(refusal("g.db", head), "E0117");
  EXPECT_EQ(import_profile(*store_, path("none.csv"), "").error().code, "E0201");
  std::filesystem::create_directory(path("folder.csv"));
  EXPECT_EQ(import_profile(*store_, path("folder.csv"), "").error().code, "E0201");
  EXPECT_EQ(export_profile(*store_, path("none/t.csv")).error().code, "E0901");
  EXPECT_EQ(export_profile(*store_, path("t.sql")).error().code, "E0117");
}

TEST_F(Exchange, RefusesARowThatStandsTwice) {
  const std::string head = "engine,op,algorithm,operands,attributes,threads,seconds\n";
  const auto read = [&](const std::string& rows) { return read_profile(written("d.csv", head + rows), "m"); };
  EXPECT_TRUE(read("cpu,o,a,z,|,1,1\ngpu,o,a,z,|,1,1\n,o,a,z,|,2,1\n,o,b,z,|,1,1\n"));
  for (const char* again : {"cpu,o,a,z,|,1,1\n", "cpu,o,a,z,|,1,2\n", ",o,a,z,,,1\n"}) {
    const auto refused = read(std::string("cpu,o,a,z,|,1,1\n") + again);
    ASSERT_FALSE(refused) << again;
    EXPECT_EQ(refused.error().code, "E0276");
    EXPECT_TRUE(refused.error().where.ends_with("d.csv:3")) << refused.error().where;
  }
}

TEST_F(Exchange, RefusesEnginesThatAKnownDeviceDoesNotHave) {
  const auto checked = [](const std::string& machine, const std::string& engine) {
    OpKey key = kKey;
    key.machine = machine, key.engine = engine;
    const auto done = check_engines({{kKey, some_sample()}, {key, some_sample()}}, "t.csv");
    return done ? "" : done.error().code + " " + done.error().message;
  };
  EXPECT_EQ(checked("jetson-orin", "gpu"), "");
  EXPECT_EQ(checked("jetson-orin", "cpu"), "");
  EXPECT_EQ(checked("jetson-orin", "npu"), "E0276 device 'jetson-orin' has no engine 'npu'");
  EXPECT_EQ(checked("m4", "gpu"), "E0276 device 'm4' has no engine 'gpu'");
  EXPECT_EQ(checked("mine", "gpu"), "") << "a profile of one's own";
  EXPECT_EQ(checked("host", "opencl"), "");
}

TEST_F(Exchange, ChecksEveryFieldOfARow) {
  const std::string longest(kMostField, 'x');
  const std::vector<std::pair<std::string, bool>> rows{{"m,cpu,o,a,z,|,1,1e-3,,1", true},
                                                       {"m,,o,a,z,,2,1e-3,0.5,1", true},
                                                       {"m,cpu,o,a,z,|,-5,1,,1", false},
                                                       {"m,cpu,o,a,z,|,0,1,,1", false},
                                                       {"m,cpu,o,a,z,|,abc,1,,1", false},
                                                       {"m,cpu,o,a,z,|,1.9,1,,1", false},
                                                       {"m,cpu,o,a,z,|,1099511627777,1,,1", false},
                                                       {"m,cpu,o,a,z,|,2147483648,1,,1", false},
                                                       {"m,cpu,o,a,z,|,2147483647,1,,1", true},
                                                       {"m,cpu,,a,z,|,1,1,,1", false},
                                                       {"m,cpu,,a,z,|,1,1,,1", false},
                                                       {",cpu,o,a,z,|,1,1,,1", false},
                                                       {"m,cpu,o,a,z,|,1,1e-3xyz,,1", false},
                                                       {"m,cpu,o,a,z,|,1,,,1", false},
                                                       {"m,cpu,o,a,z,|,1,inf,,1", false},
                                                       {"m,cpu,o,a,z,|,1,1,abc,1", false},
                                                       {"m,cpu,o,a,z,|,1,1,-1,1", false},
                                                       {"m,cpu,o,a,z,|,1,1,,1.5", false},
                                                       {"m,cpu," + longest + ",a,z,|,1,1,,1", true},
                                                       {"m,cpu," + longest + "x,a,z,|,1,1,,1", false}};
  for (const auto& [row, is_good] : rows) {
    const auto read = read_profile(
        written("t.csv", "machine,engine,op,algorithm,operands,attributes,threads,seconds,joules,runs\n" + row + "\n"),
        "");
    EXPECT_EQ(read ? "" : read.error().code, is_good ? "" : "E0276") << row.substr(0, 60);
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

}  // namespace
}  // namespace pantoum::cost
