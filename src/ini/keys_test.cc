#include "ini/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pantoum::ini {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPath = "net.ini";

Section section_of(std::vector<Entry> entries) {
  int line = 10;
  for (Entry& entry : entries) entry.line = line++;
  return {"fc", 9, std::move(entries)};
}

// What done() says, or "".
std::string refusal(const Keys& keys) {
  const Result<void> done = keys.done();
  return done ? "" : to_text(done.error());
}

TEST(IniKeys, ValuesByTheirTypes) {
  const Section section = section_of({{"unit", "12"},
                                      {"rate", "1e-3"},
                                      {"bias", "true"},
                                      {"pooling", "MAX"},
                                      {"kernel", "3, 5"},
                                      {"rates", "0.1,0.01"},
                                      {"plus", "+12"},
                                      {"name", "Some Text"}});
  Keys keys(section, kPath);
  EXPECT_EQ(keys.whole("unit", 1, std::nullopt), 12);
  EXPECT_EQ(keys.number("rate", 0, 1, std::nullopt), 1e-3);
  EXPECT_TRUE(keys.boolean("bias", false));
  EXPECT_EQ(keys.word("pooling", {"max", "average"}, std::nullopt), "max");
  EXPECT_THAT(keys.wholes("kernel", 1, 2), ElementsAre(3, 5));
  EXPECT_THAT(keys.numbers("rates", 0, 1), ElementsAre(0.1, 0.01));
  EXPECT_EQ(keys.text("name"), "Some Text");
  EXPECT_EQ(keys.whole("plus", 1, std::nullopt), 12);
  EXPECT_EQ(keys.number("plus", 0, 20, std::nullopt), 12);
  EXPECT_EQ(refusal(keys), "");
  EXPECT_EQ(keys.place(), "net.ini:9");
}

TEST(IniKeys, AbsentKeys) {
  const Section section = section_of({});
  Keys keys(section, kPath);
  EXPECT_EQ(keys.whole("unit", 1, 7), 7);
  EXPECT_EQ(keys.number("rate", 0, 1, 0.5), 0.5);
  EXPECT_TRUE(keys.boolean("bias", true));
  EXPECT_EQ(keys.word("pooling", {"max", "average"}, "average"), "average");
  EXPECT_THAT(keys.wholes("kernel", 1, 2), ElementsAre());
  EXPECT_EQ(refusal(keys), "");
  (void)keys.whole("filters", 1, std::nullopt);
  EXPECT_THAT(refusal(keys), HasSubstr("[fc]: the key 'filters' is missing"));
  EXPECT_THAT(refusal(keys), HasSubstr("net.ini:9"));
}

// The problem of a section with that one key, read by `read`.
template <class Read>
std::string problem(const std::string& value, const Read& read) {
  const Section section = section_of({{"k", value}});
  Keys keys(section, kPath);
  read(keys);
  return refusal(keys);
}

TEST(IniKeys, ValuesThatAreRefused) {
  const auto whole = [](Keys& keys) { (void)keys.whole("k", 1, std::nullopt); };
  for (const char* value : {"0", "-1", "1.5", "1 2", "0x10", "one", "2147483648", "99999999999999999999"}) {
    EXPECT_THAT(problem(value, whole), HasSubstr("net.ini:10")) << value;
    EXPECT_THAT(problem(value, whole), HasSubstr("is no whole number from 1 to 2147483647")) << value;
  }
  EXPECT_EQ(problem("2147483647", whole), "");
  const auto number = [](Keys& keys) { (void)keys.number("k", 0, 1, std::nullopt); };
  for (const char* value : {"-0.1", "1.5", "nan", "inf", "0,5", "1e999", "x"})
    EXPECT_THAT(problem(value, number), HasSubstr("is no number from 0 to 1")) << value;
  const auto boolean = [](Keys& keys) { (void)keys.boolean("k", false); };
  for (const char* value : {"True", "1", "yes", "FALSE"})
    EXPECT_THAT(problem(value, boolean), HasSubstr("is neither true nor false")) << value;
  const auto word = [](Keys& keys) { (void)keys.word("k", {"max", "average"}, std::nullopt); };
  EXPECT_THAT(problem("averge", word), HasSubstr("did you mean average?"));
  const auto wholes = [](Keys& keys) { (void)keys.wholes("k", 1, 2); };
  for (const char* value : {"1,2,3", "1,,2", "1,", "3x3"}) EXPECT_NE(problem(value, wholes), "") << value;
}

TEST(IniKeys, AnUnreadKeyIsRefusedWithTheNearestOne) {
  const Section section = section_of({{"unit", "3"}, {"activaton", "relu"}});
  Keys keys(section, kPath);
  (void)keys.whole("unit", 1, std::nullopt);
  keys.ignore("activation");
  EXPECT_THAT(refusal(keys), HasSubstr("[fc]: the key 'activaton' is not known here"));
  EXPECT_THAT(refusal(keys), HasSubstr("net.ini:11"));
  EXPECT_THAT(refusal(keys), HasSubstr("did you mean activation?"));
}

TEST(IniKeys, TheFirstProblemCounts) {
  const Section section = section_of({{"a", "x"}, {"b", "y"}});
  Keys keys(section, kPath);
  (void)keys.whole("b", 1, std::nullopt);
  (void)keys.whole("a", 1, std::nullopt);
  EXPECT_THAT(refusal(keys), HasSubstr("'y' of 'b'"));
}

}  // namespace
}  // namespace pantoum::ini
