#include "cli/line/manual.h"

#include <gtest/gtest.h>

#include "cli/line/options.h"

namespace pantoum::cli {
namespace {

// A program with what a manual can trip over: quotes, dots, backslashes, brackets, an option of two names.
struct Tool {
  CommandLine line{"tool", "A tool. It has two sentences.", "1.0"};
  std::string name, mode = "it's", path;
  Tool() {
    Verb verb = line.add_verb("make", "makes it: [all] of 'it'");
    verb.add_option("NAME", name, ".begins with a dot").required();
    verb.add_option("--mode", mode, "a \\backslash and [brackets]: how").one_of({"it's", "slow"});
    verb.add_option("-o,--output", path, "'where'").is(Kind::kFolder);
    line.add_verb("secret", "nothing").hidden();
  }
};

TEST(Manual, NamesEveryOptionThatHelpNames) {
  const Tool program;
  const auto pages = man_pages(program.line.facts());
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].first, "tool.1");
  EXPECT_EQ(pages[1].first, "tool-make.1");
  const std::string& text = pages[1].second;
  EXPECT_NE(text.find(".It Fl \\-mode Ar \\&WORD\n"), std::string::npos) << text;
  EXPECT_NE(text.find(".It Fl o , Fl \\-output Ar \\&DIR\n"), std::string::npos) << text;
  EXPECT_EQ(pages[0].second.find("secret"), std::string::npos);
}

TEST(Manual, HoldsNoTextThatRoffReadsAsItsOwn) {
  const Tool program;
  const std::string text = man_pages(program.line.facts())[1].second;
  EXPECT_NE(text.find("\n\\&.begins with a dot"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\\&'where'"), std::string::npos) << text;
  EXPECT_NE(text.find("a \\ebackslash"), std::string::npos) << text;
}

TEST(Completion, KnowsThreeShells) {
  const Tool program;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell, program.line.facts());
    EXPECT_NE(script.find("make"), std::string::npos) << shell;
    EXPECT_NE(script.find("output"), std::string::npos) << shell;
    EXPECT_EQ(script.find("secret"), std::string::npos) << shell;
  }
  EXPECT_EQ(completion_script("tcsh", program.line.facts()), "");
}

TEST(Reference, HasAPlaceForEveryVerb) {
  const Tool program;
  const std::string page = reference_page(program.line.facts());
  EXPECT_NE(page.find("\n## make\n"), std::string::npos) << page;
  EXPECT_NE(page.find("| `-o, --output DIR` |"), std::string::npos) << page;
  EXPECT_EQ(page.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace pantoum::cli
