#include "cli/line/options.h"

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
    verb.add_option("--parts", parts).separated_by(',');
    verb.add_option("--count", count).within(1, 1000);
    verb.add_flag("--dry", dry);
    verb.does([this]() -> Result<int> { return static_cast<int>(count); });
  }

  Result<AskedFor> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return line.parse(static_cast<int>(words.size()), words.data());
  }
  std::string refusal(const std::vector<const char*>& words) {
    const auto parsed = parse(words);
    return parsed ? "" : parsed.error().code + ": " + parsed.error().message;
  }
  std::string help(const std::vector<const char*>& words) {
    const auto parsed = parse(words);
    return parsed ? "" : parsed.error().help;
  }
};

TEST(Options, PutWordsIntoValues) {
  Program program;
  const auto parsed =
      program.parse({"make", "it", "--mode", "slow", "--parts", "a,b", "--parts", "c", "--count=7", "--dry"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ((*parsed->action)().value(), 7);
  EXPECT_EQ(program.name, "it");
  EXPECT_EQ(program.mode, "slow");
  EXPECT_EQ(program.parts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(program.dry);
}

TEST(Settings, MayStandAlone) {
  const auto measure_of = [](std::vector<const char*> words) {
    CommandLine line{"tool", "a tool", "1.0"};
    Verb verb = line.add_verb("make", "makes it");
    std::string name;
    PlanOptions options;
    verb.add_option("NAME", name).is(Kind::kText);
    verb.add_settings(settings::fields_of(options));
    words.insert(words.begin(), "tool");
    const auto parsed = line.parse(static_cast<int>(words.size()), words.data());
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(name, "it");
    return options.measure;
  };
  EXPECT_EQ(measure_of({"make", "it"}), Measure::automatic);
  EXPECT_EQ(measure_of({"make", "it", "--measure"}), Measure::all);
  EXPECT_EQ(measure_of({"make", "--measure", "it"}), Measure::all);
  EXPECT_EQ(measure_of({"make", "it", "--measure", "--no-paging"}), Measure::all);
  EXPECT_EQ(measure_of({"make", "--measure", "off", "it"}), Measure::off);
  EXPECT_EQ(measure_of({"make", "it", "--measure=known"}), Measure::known);
}

// The settings of a model and a plan as a user words them.
struct Asked {
  ModelOptions model;
  PlanOptions plan;
  TrainerOptions trainer;
  CommandLine line{"tool", "a tool", "1.0"};
  Asked() {
    Verb verb = line.add_verb("make", "makes it");
    verb.add_settings(settings::fields_of(model));
    verb.add_settings(settings::fields_of(plan));
    verb.add_settings(settings::fields_of(trainer));
  }
  std::string refusal(std::vector<const char*> words) {
    words.insert(words.begin(), {"tool", "make"});
    const auto parsed = line.parse(static_cast<int>(words.size()), words.data());
    return parsed ? "" : parsed.error().code + " " + parsed.error().where;
  }
};

TEST(Settings, AreSetInTheOrderOfTheirDescription) {
  Asked asked;
  ASSERT_EQ(asked.refusal({"--lr", "0.05", "--weight-decay", "0.1", "--optimizer", "adam,beta1=0.8"}), "");
  const auto& adam = std::get<Adam>(asked.model.optimizer);
  EXPECT_DOUBLE_EQ(adam.lr, 0.05);
  EXPECT_DOUBLE_EQ(adam.beta1, 0.8);
  EXPECT_DOUBLE_EQ(adam.weight_decay, 0.1);
}

TEST(Settings, OfTwoStructuresHaveOneOption) {
  Asked asked;
  ASSERT_EQ(asked.refusal({"--prefetch", "3", "--page-encryption", "off"}), "");
  EXPECT_EQ(asked.plan.prefetch, 3);
  EXPECT_EQ(asked.trainer.prefetch, 3);
  EXPECT_FALSE(asked.plan.page_encryption);
  EXPECT_FALSE(asked.trainer.page_encryption);
}

TEST(Settings, AreRefusedByTheirOptions) {
  EXPECT_EQ(Asked().refusal({"--ram", "256"}), "E0110 --ram");
  EXPECT_EQ(Asked().refusal({"--optimizer", "adam,momentum=0.9"}), "E0117 --optimizer");
  EXPECT_EQ(Asked().refusal({"--lr", "-1"}), "E0116 --lr");
  EXPECT_EQ(Asked().refusal({"--prefetch", "65"}), "E0100 tool make --prefetch");
}

TEST(Options, AreRefusedByTheirNames) {
  EXPECT_EQ(Program().refusal({}), "E0100: no verb is given");
  EXPECT_EQ(Program().refusal({"make"}), "E0100: NAME is missing");
  EXPECT_EQ(Program().refusal({"make", "it", "--mode", "calm"}), "E0100: 'calm' is not a value of --mode");
  EXPECT_EQ(Program().refusal({"make", "it", "--speed", "1"}), "E0100: --speed is not an option of tool make");
  EXPECT_EQ(Program().refusal({"make", "it", "--count", "0"}), "E0100: --count: 0 is too small");
  EXPECT_EQ(Program().refusal({"make", "it", "--count"}), "E0100: --count needs a value: N");
  EXPECT_EQ(Program().refusal({"make", "it", "--mode", "--dry"}), "E0100: --mode needs a value: WORD");
  EXPECT_EQ(Program().refusal({"make", "it", "--dry=yes"}), "E0100: --dry takes no value, but 'yes' was given");
  EXPECT_EQ(Program().refusal({"make", "it", "--count", "1", "--count", "2"}),
            "E0100: --count is given twice: 1 and 2");
  EXPECT_EQ(Program().refusal({"make", "it", "now"}), "E0100: the word 'now' is not expected");
  EXPECT_EQ(Program().refusal({"--dry", "make", "it"}), "E0100: --dry stands before the verb");
}

TEST(Options, SuggestWhatWasMeant) {
  EXPECT_EQ(Program().help({"mkae", "it"}), "did you mean 'tool make'? pantoum --help lists the verbs");
  EXPECT_EQ(Program().help({"make", "it", "--mode", "FAST"}), "did you mean fast? use fast or slow");
  EXPECT_EQ(Program().help({"make", "it", "--cuont", "3"}), "did you mean --count?");
  EXPECT_EQ(Program().help({"make", "it", "-count", "3"}), "did you mean --count?");
  EXPECT_EQ(Program().help({"make", "it", "--moed", "fast"}), "did you mean --mode?");
  EXPECT_EQ(Program().help({"make", "it", "--zzzz"}), "tool make --help lists its options");
  const auto parsed = Program().parse({"make", "it", "--moed", "fast", "--cuont=3"});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().notes.size(), 2U);  // all of them at once
}

TEST(Options, BeginWithHyphensOfAKeyboard) {
  EXPECT_NE(Program().refusal({"make", "it", "\u2013count", "3"}).find("an en dash (U+2013)"), std::string::npos);
  EXPECT_EQ(Program().help({"make", "it", "\u2014mode", "fast"}), "type the hyphens: --mode");
}

TEST(Options, TakeAUnitThatStandsApart) {
  CommandLine line{"tool", "a tool", "1.0"};
  Verb verb = line.add_verb("make", "makes it");
  std::string ram, limit, name;
  verb.add_option("NAME", name).is(Kind::kText);
  verb.add_option("--ram", ram);
  verb.add_option("--time-limit", limit).is(Kind::kDuration);
  const char* words[] = {"tool", "make", "--ram", "64", "MB", "--time-limit=2", "min", "it"};
  ASSERT_TRUE(line.parse(8, words).has_value());
  EXPECT_EQ(ram, "64MB");
  EXPECT_EQ(limit, "2min");
  EXPECT_EQ(name, "it");
}

TEST(Options, LeaveTheLastWordsToPositionals) {
  CommandLine line{"tool", "a tool", "1.0"};
  Verb verb = line.add_verb("make", "makes it");
  std::vector<std::string> parts;
  std::string name;
  verb.add_option("NAME", name).is(Kind::kText);
  verb.add_option("--parts", parts);
  const char* words[] = {"tool", "make", "--parts", "a", "b", "it"};
  ASSERT_TRUE(line.parse(6, words).has_value());
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(name, "it");
  const char* dashed[] = {"tool", "make", "--", "--it"};
  ASSERT_TRUE(line.parse(4, dashed).has_value());
  EXPECT_EQ(name, "--it");
}

// A program with a number of each type.
std::string refusal_of(const char* option, const std::string& text) {
  CommandLine line{"tool", "a tool", "1.0"};
  Verb verb = line.add_verb("make", "makes it");
  int64_t whole = 0;
  uint64_t seed = 0;
  ModelOptions model;
  verb.add_option("--whole", whole);
  verb.add_option("--seed", seed);
  verb.add_settings_of(settings::fields_of(model), {"clip_norm"});
  const std::string word = std::string(option) + "=" + text;
  const char* words[] = {"tool", "make", word.c_str()};
  const auto parsed = line.parse(3, words);
  return parsed ? "" : parsed.error().code;
}

TEST(Options, TakeEveryNumberOfTheirTypeAndNoOther) {
  for (const char* text : {"0", "-1", "7", "+7", "-9223372036854775808", "9223372036854775807"})
    EXPECT_EQ(refusal_of("--whole", text), "");
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "1.5", "1e3", "",
                           "x", "7x", "nan"})
    EXPECT_EQ(refusal_of("--whole", text), "E0100") << text;
  for (const char* text : {"0", "18446744073709551615"}) EXPECT_EQ(refusal_of("--seed", text), "");
  for (const char* text : {"-1", "18446744073709551616", "-18446744073709551615", "1e3"})
    EXPECT_EQ(refusal_of("--seed", text), "E0100") << text;
  for (const char* text : {"2", "1e3", ".5"}) EXPECT_EQ(refusal_of("--clip-norm", text), "") << text;
  for (const char* text : {"nan", "-nan", "NAN(1)", "inf", "-inf", "infinity", "1e400", "-1e400", "", "x", "1.5x"})
    EXPECT_EQ(refusal_of("--clip-norm", text), "E0100") << text;
}

TEST(Options, ThatFewPeopleNeedStandInTheWholeHelp) {
  Program program;
  std::string seldom;
  program.verb.add_option("--seldom", seldom, "few need it").shown(Shown::more);
  const auto asked = program.parse({"make", "--help"});
  ASSERT_TRUE(asked.has_value());
  EXPECT_FALSE(asked->action.has_value());  // nothing is left to be done
  EXPECT_NE(asked->text.find("--dry"), std::string::npos);
  EXPECT_NE(asked->text.find("--help-all"), std::string::npos);
  EXPECT_EQ(asked->text.find("--seldom"), std::string::npos);
  EXPECT_NE(program.parse({"make", "--help-all"})->text.find("--seldom"), std::string::npos);
}

TEST(Options, TellDefaultsChoicesAndRanges) {
  CommandLine line{"tool", "a tool", "1.0"};
  Verb verb = line.add_verb("make", "makes it");
  std::string mode = "fast";
  int64_t count = 3, steps = 0;
  verb.add_option("--mode", mode, "how").one_of({"fast", "slow"});
  verb.add_option("--count", count, "how many").within(0, 64);
  verb.add_option("--steps", steps, "how long").steps();
  const char* words[] = {"tool", "help", "make"};
  const std::string text = line.parse(3, words)->text;
  EXPECT_NE(text.find("how; fast or slow (default fast)"), std::string::npos) << text;
  EXPECT_NE(text.find("how many (from 0 to 64) (default 3)"), std::string::npos) << text;
  EXPECT_NE(text.find("how long\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace pantoum::cli
