#include "cli/options.h"

#include <gtest/gtest.h>

namespace pantoum::cli {
namespace {

// A program with one verb, as a user calls it.
struct Program {
  CommandLine line{"tool", "a tool", "1.0"};
  Verb verb = line.add_verb("make", "makes it");
  std::string name, mode = "fast";
  std::vector<std::string> parts;
  int64_t count = 1;
  bool dry = false;

  Program() {
    verb.add_option("NAME", name).required();
    verb.add_option("--mode", mode).one_of({"fast", "slow"});
    verb.add_option("--parts", parts).separated_by(',').one_value_each();
    verb.add_option("--count", count).positive();
    verb.add_flag("--dry", dry);
    verb.add_flag("--rehearse", dry).hidden();
    verb.does([this]() -> Result<int> { return static_cast<int>(count); });
  }

  Result<std::optional<Action>> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return line.parse(static_cast<int>(words.size()), words.data());
  }
  std::string refusal(const std::vector<const char*>& words) {
    const auto parsed = parse(words);
    return parsed ? "" : parsed.error().code + ": " + parsed.error().message;
  }
};

TEST(Options, PutWordsIntoValues) {
  Program program;
  const auto parsed =
      program.parse({"make", "it", "--mode", "slow", "--parts", "a,b", "--parts", "c", "--count=7", "--dry"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ((**parsed)().value(), 7);
  EXPECT_EQ(program.name, "it");
  EXPECT_EQ(program.mode, "slow");
  EXPECT_EQ(program.parts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(program.dry);
  EXPECT_TRUE(program.verb.was_given());
}

TEST(Options, AreRefusedByTheirNames) {
  EXPECT_EQ(Program().refusal({}), "E0100: A subcommand is required");
  EXPECT_EQ(Program().refusal({"make"}), "E0100: NAME is required");
  EXPECT_EQ(Program().refusal({"make", "it", "--mode", "calm"}), "E0100: --mode: calm not in {fast,slow}");
  EXPECT_EQ(Program().refusal({"make", "it", "--speed", "1"}),
            "E0100: The following arguments were not expected: 1 --speed");
  EXPECT_EQ(Program().refusal({"make", "it", "--count", "0"}).substr(0, 32), "E0100: --count: Value 0 not in r");
}

TEST(Options, OfOldSpellingsAreReadAndNotShown) {
  Program program;
  ASSERT_TRUE(program.parse({"make", "it", "--rehearse"}).has_value());
  EXPECT_TRUE(program.dry);
  testing::internal::CaptureStdout();
  const auto asked = Program().parse({"make", "--help"});
  const std::string help = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(asked.has_value());
  EXPECT_FALSE(asked->has_value());  // nothing is left to be done
  EXPECT_NE(help.find("--dry"), std::string::npos);
  EXPECT_EQ(help.find("--rehearse"), std::string::npos);
}

}  // namespace
}  // namespace pantoum::cli
