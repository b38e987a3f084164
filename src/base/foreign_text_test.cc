#include "base/foreign_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/json_text.h"
#include "base/result.h"

namespace pantoum::base {
namespace {

TEST(ForeignText, PlainNamesStayAsTheyAre) {
  for (const char* name :
       {"", "layer1.0.conv-weight", "/model/Relu_3", "gr\u00f6\u00dfe \u6f22\u5b57 \U0001F600", "a  b"}) {
    EXPECT_EQ(one_line(name), name);
    EXPECT_EQ(visible_lines(name), name);
    EXPECT_EQ(c_comment(name), name);
  }
}

TEST(ForeignText, ControlsAreShown) {
  EXPECT_EQ(one_line("a\nb\r\t\x1b[31m\x7f"), "a\\nb\\r\\t\\x1b[31m\\x7f");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible_lines("a\nb\r\x1b"), "a\nb\\r\\x1b");
  EXPECT_EQ(one_line("\u009b31m"), "\\u009b31m");          // a one-character CSI
  EXPECT_EQ(one_line("\u202egpj.exe"), "\\u202egpj.exe");  // right to left
  EXPECT_EQ(one_line("\u2066\u2069\u200f\ufeff"), "\\u2066\\u2069\\u200f\\ufeff");
  EXPECT_EQ(one_line("\U000E0041"), "\\U000e0041");
}

TEST(ForeignText, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(one_line("\xff"), "\\xff");
  EXPECT_EQ(one_line("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(one_line("\xc0\xaf"), "\\xc0\\xaf");           // longer than needed
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(ForeignText, HtmlHasNoMarkupLeft) {
  EXPECT_EQ(html_text("<b a='\"'>&amp;`\n"), "&#60;b a=&#39;&#34;&#39;&#62;&#38;amp;&#96;\\n");
}

TEST(ForeignText, CommentsCannotBeEnded) {
  EXPECT_EQ(c_comment("*/ system(\"rm\"); /*"), "* / system(\"rm\"); / *");
  EXPECT_EQ(c_comment("/*/"), "/ * /");
  EXPECT_EQ(c_comment("?\?/"), "? ?/");
  EXPECT_EQ(c_comment("a\n#error"), "a\\n#error");
}

TEST(ForeignText, MarkdownMeansNothing) {
  EXPECT_EQ(markdown_text("# <b>[x](y) `a`\n|b|"), "\\# \\<b\\>\\[x\\](y) \\`a\\`\\\\n\\|b\\|");
}

TEST(ForeignText, ShellWordsAreOneWord) {
  EXPECT_EQ(shell_word("out/fw-1.0"), "out/fw-1.0");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("-rf"), "./-rf");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $(x) `y`"), "'it'\\''s $(x) `y`'");
}

TEST(ForeignText, CsvFieldsAreOneField) {
  EXPECT_EQ(csv_field("pantoum"), "pantoum");
  EXPECT_EQ(csv_field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

TEST(ForeignText, JsonIsAsciiAndReadsBackAsItWas) {
  const nlohmann::ordered_json name = "\u202e\x7f\x1b\"\\ \u6f22 \U0001F600";
  const std::string text = ascii_json(name);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char letter) { return letter >= ' ' && letter < 0x7f; }))
      << text;
  EXPECT_EQ(nlohmann::ordered_json::parse(text), name);
  EXPECT_EQ(ascii_json("a\xff"), "\"a\\ufffd\"");
}

TEST(ForeignText, AnErrorKeepsItsLines) {
  const Error error{"E0201", "bad\nerror[E0001]: x", "a\nb", {"n\n"}, "h\x1b"};
  EXPECT_EQ(to_text(error), "error[E0201]: bad\\nerror[E0001]: x\n  --> a\\nb\n   = n\\n\n  help: h\\x1b\n");
}

// Whatever the bytes: nothing of what each place reads as its own is left.
TEST(ForeignText, AnyBytesAreData) {
  std::mt19937 draw(7);
  constexpr std::string_view kNasty = "*/?\\\n\r\x1b\"'<>&`$(){}%#-\xe2\x80\xae\xff\xc2\x9b";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t length = draw() % 12; text.size() < length;) text += kNasty[draw() % kNasty.size()];
    for (const std::string& line : {one_line(text), html_text(text), c_comment(text), markdown_text(text)})
      for (const char letter : line) ASSERT_TRUE(static_cast<unsigned char>(letter) >= 0x20 && letter != 0x7f) << text;
    ASSERT_EQ(one_line(one_line(text)), one_line(text));  // what is shown is plain
    const std::string comment = " " + c_comment(text) + " ";
    for (const char* mark : {"*/", "/*", "?\?"}) ASSERT_EQ(comment.find(mark), std::string::npos) << text;
    ASSERT_EQ(html_text(text).find_first_of("<>\"'`"), std::string::npos);
  }
}

}  // namespace
}  // namespace pantoum::base
