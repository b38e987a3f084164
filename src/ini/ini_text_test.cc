// The grammar: every form of a line, and every line that is refused, with its number.
#include "ini/ini_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace pantoum::ini {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "section.key=value@line", in the file's order; or the refusal.
std::vector<std::string> read(const std::string& bytes) {
  const Result<Text> text = parse_ini(bytes, "net.ini");
  if (!text) return {text.error().code + " " + text.error().where + " " + text.error().message};
  std::vector<std::string> entries;
  for (const Section& section : text->sections) {
    if (section.entries.empty()) entries.push_back(fmt::format("[{}]@{}", section.name, section.line));
    for (const Entry& entry : section.entries)
      entries.push_back(fmt::format("{}.{}={}@{}", section.name, entry.key, entry.value, entry.line));
  }
  return entries;
}

TEST(IniText, CommentsAndBlankLines) {
  EXPECT_THAT(read("# one\n; two\n\n  \t\n[a]\n  # three\nk = v # four\nl = w ; five\nm=x#six\n"),
              ElementsAre("a.k=v@7", "a.l=w@8", "a.m=x@9"));
  EXPECT_THAT(read(""), ElementsAre());
  EXPECT_THAT(read("# nothing but a comment"), ElementsAre());
}

TEST(IniText, NamesAreLowerCasedAndValuesAreNot) {
  EXPECT_THAT(read("[Model]\nBatch_Size = 3\nSave_Path = Net.BIN\n"),
              ElementsAre("model.batch_size=3@2", "model.save_path=Net.BIN@3"));
  EXPECT_THAT(read("[ Conv 1 ]\nk=v"), ElementsAre("conv 1.k=v@2"));
  EXPECT_THAT(read("[]\nbackbone = a.ini\n"), ElementsAre(".backbone=a.ini@2"));
  EXPECT_THAT(read("[a] of [b]\nk=v"), ElementsAre("a.k=v@2"));
}

TEST(IniText, Quotes) {
  EXPECT_THAT(read("[a]\nk = \" a # b ; c \"\nl = 'x' # y\nm = '\"'\n"),
              ElementsAre("a.k= a # b ; c @2", "a.l=x@3", "a.m=\"@4"));
  EXPECT_THAT(read("[a]\nk = \"open # all of it\nl = 'open ; too\nm = it's\nn = \"\n"),
              ElementsAre("a.k=open # all of it@2", "a.l=open ; too@3", "a.m=it's@4", "a.n=\"@5"));
  EXPECT_THAT(read("[a]\nk = a = b\n"), ElementsAre("a.k=a = b@2"));
}

TEST(IniText, ABackslashContinuesALine) {
  EXPECT_THAT(read("[a]\nk = one, \\\n    two, \\\n  three\nl = 4\n"),
              ElementsAre("a.k=one,     two,   three@2", "a.l=4@5"));
  EXPECT_THAT(read("[a]\nk = one\\\n two\\  \nthree\n"), ElementsAre("a.k=one twothree@2"));
  EXPECT_THAT(read("[a]\nk = last\\"), ElementsAre("a.k=last@2"));
  EXPECT_THAT(read("[a\\\nb]\nk=v"), ElementsAre("ab.k=v@3"));
  EXPECT_THAT(read("[a]\n# a comment \\\nk = hidden\nl = 2\n"), ElementsAre("a.l=2@4"));
}

TEST(IniText, SectionsMergeAndTheLastValueCounts) {
  EXPECT_THAT(read("[a]\nk = 1\nl = 2\n[b]\nk = 3\n[A]\nK = 4\nm = 5\n"),
              ElementsAre("a.k=4@7", "a.l=2@3", "a.m=5@8", "b.k=3@5"));
}

TEST(IniText, OtherEndsOfLinesAndAByteOrderMark) {
  EXPECT_THAT(read("[a]\r\nk = v\r\nl = one,\\\r\ntwo\r\n"), ElementsAre("a.k=v@2", "a.l=one,two@3"));
  EXPECT_THAT(read("\xEF\xBB\xBF[a]\nk=v"), ElementsAre("a.k=v@2"));
}

TEST(IniText, EveryBadLineIsRefusedWithItsNumber) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[a]\nk\n", "E0214 net.ini:2 this line is no section"},
      {"[a]\n\n= v\n", "E0214 net.ini:3 this line is no section"},
      {"[a]\nwords alone\n", "E0214 net.ini:2 this line is no section"},
      {"[a\nk=v\n", "E0214 net.ini:1 this section does not end in ]"},
      {"[a] b\n", "E0214 net.ini:1 this section does not end in ]"},
      {"[a] # of the input\n", "E0214 net.ini:1 this section does not end in ]"},
      {"k = v\n[a]\n", "E0214 net.ini:1 a key stands before the first section"},
      {"[a]\nk =\n", "E0214 net.ini:2 the key 'k' has no value"},
      {"[a]\nk = # v\n", "E0214 net.ini:2 the key 'k' has no value"},
      {"[a]\nk = \"\"\n", "E0214 net.ini:2 the key 'k' has no value"},
      {"[a]\nk = ''\n", "E0214 net.ini:2 the key 'k' has no value"},
      {"[a]\nb = 1\n\nk = \\\n\nl = 2\n", "E0214 net.ini:4 the key 'k' has no value"},
      {std::string("[a]\nk = \0v\n", 10), "E0214 net.ini the file has a byte of 0"},
  };
  for (const auto& [bytes, refusal] : cases) EXPECT_THAT(read(bytes), ElementsAre(HasSubstr(refusal))) << bytes;
}

TEST(IniText, LinesOfTooManyBytesAreRefused) {
  const std::string value(kMostLineBytes - 4, 'v');
  EXPECT_THAT(read("[a]\nk = " + value), ElementsAre("a.k=" + value + "@2"));
  EXPECT_THAT(read("[a]\nk = " + value + "v"), ElementsAre(HasSubstr("net.ini:2 the line has 65537 bytes")));
  std::string parts = "[a]\nk = ";
  for (int part = 0; part < 11; ++part) parts += std::string(6000, 'p') + "\\\n";
  EXPECT_THAT(read(parts), ElementsAre(HasSubstr("net.ini:2 the line has 66004 bytes")));
}

TEST(IniText, LargeFilesAreRefused) {
  EXPECT_THAT(read(std::string(kMostBytes + 1, '\n')), ElementsAre(HasSubstr("more than 4194304")));
  std::string sections, keys = "[a]\n";
  for (size_t each = 0; each <= kMostSections; ++each) sections += fmt::format("[{}]\n", each);
  EXPECT_THAT(read(sections), ElementsAre(HasSubstr("net.ini:20001 the file has more than 20000 sections")));
  for (size_t each = 0; each <= kMostKeys; ++each) keys += fmt::format("k{}=1\n", each);
  EXPECT_THAT(read(keys), ElementsAre(HasSubstr("net.ini:1002 the section has more than 1000 keys")));
}

TEST(IniText, AnyBytesAreReadOrRefused) {
  std::mt19937 draw(5);
  const std::string letters = "[]=#;\"'\\\n\r\t aB1,:\xFF\x80";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (size_t length = draw() % 60; length > 0; --length) bytes += letters[draw() % letters.size()];
    const Result<Text> text = parse_ini(bytes, "net.ini");
    if (!text) {
      EXPECT_EQ(text.error().code, "E0214");
      continue;
    }
    for (const Section& section : text->sections)
      for (const Entry& entry : section.entries) EXPECT_FALSE(entry.key.empty() || entry.value.empty());
  }
}

TEST(IniText, Lists) {
  EXPECT_THAT(comma_list(" a , b(1),c "), ElementsAre("a", "b(1)", "c"));
  EXPECT_THAT(comma_list("a,,b,"), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(comma_list("  "), ElementsAre());
}

}  // namespace
}  // namespace pantoum::ini
