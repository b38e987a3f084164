#include "pipeline/contributions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pantoum::pipeline {
namespace {

const std::vector<std::string> kTrainable{"fc.weight", "fc.bias", "odd,name", "\"quoted\""};
const std::vector<std::string> kOthers{"mean", "frozen.weight"};

using Rows = std::map<std::string, double>;

Rows rows_of(std::string_view text) {
  const auto read = parse_contributions(text, "c.csv", kTrainable, kOthers);
  EXPECT_TRUE(read) << text << ": " << (read ? "" : to_text(read.error()));
  return read.value_or(Rows());
}

TEST(Contributions, AreRowsOfATensorAndANumber) {
  const Rows expected{{"fc.weight", 0.5}, {"fc.bias", 0}};
  EXPECT_EQ(rows_of("fc.weight,0.5\nfc.bias,0\n"), expected);
  EXPECT_EQ(rows_of("tensor,contribution\r\nfc.weight , 5e-1\r\n\r\n# measured in May\r\nfc.bias,0"), expected);
}

TEST(Contributions, MayBeOfSharesOfATensor) {
  EXPECT_EQ(rows_of("fc.weight,1\nfc.weight=1/4,0.5\nfc.weight=out:2,0.25\n"),
            (Rows{{"fc.weight", 1}, {"fc.weight=1/4", 0.5}, {"fc.weight=out:2", 0.25}}));
  EXPECT_EQ(parse_contributions("fc.weight=1/4,1\nfc.weight=1/4,1\n", "c.csv", kTrainable, kOthers).error().message,
            "'fc.weight=1/4' stands twice");
}

TEST(Contributions, MayHaveNamesInQuotes) {
  EXPECT_EQ(rows_of("odd,name,1\n"), (Rows{{"odd,name", 1}}));
  EXPECT_EQ(rows_of("\"odd,name\",1\n"), (Rows{{"odd,name", 1}}));
  EXPECT_EQ(rows_of("\"\"\"quoted\"\"\",1\n"), (Rows{{"\"quoted\"", 1}}));
}

struct Wrong {
  const char *text, *where, *message;
};

TEST(Contributions, AreRefusedWithTheLine) {
  const Wrong all[] = {
      {"", "c.csv", "no tensor contributes more than 0"},
      {"fc.weight,0\n", "c.csv", "no tensor contributes more than 0"},
      {"tensor,contribution\n", "c.csv", "no tensor contributes more than 0"},
      {"fc.weight,1\nfc.weight,2\n", "c.csv: line 2", "'fc.weight' stands twice"},
      {"fc.weight,1\n\n# note\nfc.wieght,1\n", "c.csv: line 4", "the model has no tensor 'fc.wieght'"},
      {"mean,1\n", "c.csv: line 1", "'mean' does not train"},
      {"fc.weight,-1e-9\n", "c.csv: line 1", "the contribution of 'fc.weight' is below 0"},
      {"fc.weight,nan\n", "c.csv: line 1", "'nan' is no number"},
      {"fc.weight,inf\n", "c.csv: line 1", "'inf' is no number"},
      {"fc.weight,1e999\n", "c.csv: line 1", "'1e999' is no number"},
      {"fc.weight,\n", "c.csv: line 1", "'' is no number"},
      {"fc.weight,0x10\n", "c.csv: line 1", "'0x10' is no number"},
      {"tensor,contribution\ntensor,contribution\n", "c.csv: line 2", "'contribution' is no number"},
      {"fc.weight 1\n", "c.csv: line 1", "'fc.weight 1' has no comma"},
      {"\"fc.weight,1\n", "c.csv: line 1", "the quotes of '\"fc.weight,1' do not fit together"},
      {"\"fc\".weight\",1\n", "c.csv: line 1", "the quotes of '\"fc\".weight\",1' do not fit together"},
      {"\x1b[31m,1\n", "c.csv: line 1", "the model has no tensor '\\x1b[31m'"},
  };
  for (const Wrong& each : all) {
    const auto read = parse_contributions(each.text, "c.csv", kTrainable, kOthers);
    ASSERT_FALSE(read) << each.text;
    EXPECT_EQ(read.error().code, "E0126");
    EXPECT_EQ(read.error().where, each.where) << each.text;
    EXPECT_EQ(read.error().message, each.message) << each.text;
    EXPECT_FALSE(read.error().help.empty()) << each.text;
  }
}

TEST(Contributions, HintAtTheNameThatWasMeant) {
  const auto read = parse_contributions("fc.wieght,1\n", "c.csv", kTrainable, kOthers);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().help.find("fc.weight"), std::string::npos) << read.error().help;
}

// Bytes of every kind, cut at every place: an answer each time, and none that has a row that is not there.
TEST(Contributions, SurviveAnyBytes) {
  const std::string good = "tensor,contribution\n\"odd,name\",1\nfc.bias,2e3\n";
  for (size_t at = 0; at < good.size(); ++at)
    for (const char put : {'\0', '"', ',', '\n', '\xff', '#'}) {
      std::string text = good.substr(0, at) + put + good.substr(at);
      if (const auto read = parse_contributions(text, "c.csv", kTrainable, kOthers))
        for (const auto& [name, value] : *read) {
          EXPECT_NE(std::ranges::find(kTrainable, name), kTrainable.end());
          EXPECT_GE(value, 0);
        }
    }
}

}  // namespace
}  // namespace pantoum::pipeline
