#include "emit/stack_depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pantoum::emit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As objdump writes it: a function of so many instructions, each "mnemonic\toperands".
class Program {
 public:
  Program& function(const std::string& name, const std::vector<std::string>& instructions) {
    starts_.push_back({name, at_});
    text_ += hex(at_) + " <" + name + ">:\n";
    for (const std::string& each : instructions) line("4770      ", each);
    return *this;
  }
  // A word of data that is a function's address.
  Program& pointer(const std::string& to) {
    for (const auto& [name, at] : starts_)
      if (name == to) line(hex(at + 1), ".word\t0x" + hex(at + 1));
    return *this;
  }
  Program& word(uint32_t value) {
    line(hex(value), ".word\t0x" + hex(value));
    return *this;
  }
  [[nodiscard]] std::string call(const std::string& to, const char* mnemonic = "bl") const {
    for (const auto& [name, at] : starts_)
      if (name == to) return std::string(mnemonic) + "\t" + hex(at) + " <" + name + ">";
    return "nop";
  }
  [[nodiscard]] uint32_t next() const { return at_; }
  [[nodiscard]] Result<StackDepth> depth() const { return stack_depth(text_, "main"); }

 private:
  std::string text_;
  uint32_t at_ = 0x100;
  std::vector<std::pair<std::string, uint32_t>> starts_;

  static std::string hex(uint32_t value) {
    char text[9] = {};
    (void)std::snprintf(text, sizeof text, "%08x", value);
    return text;
  }
  void line(const std::string& contents, const std::string& words) {
    text_ += "    " + hex(at_).substr(4) + ":\t" + contents + "\t" + words + "\n";
    at_ += 4;
  }
};

TEST(StackDepth, CountsWhatEveryInstructionTakes) {
  Program program;
  program.function("main", {"push\t{r4, r5, lr}", "sub\tsp, #20", "stmdb\tsp!, {r0, r1}", "vpush\t{s16-s19}",
                            "vpush\t{d8}", "str.w\tlr, [sp, #-4]!", "strd\tr0, r1, [sp, #-16]!",
                            "sub.w\tsp, sp, #1024\t@ 0x400", "add\tsp, #20", "pop\t{r4, r5, pc}"});
  EXPECT_EQ(program.depth().value().bytes, 12U + 20 + 8 + 16 + 8 + 4 + 16 + 1024 + 4);  // to a multiple of 8
}

TEST(StackDepth, TakesALargeFrameFromItsLiteral) {
  Program program;
  program.function("main", {"ldr\tr4, [pc, #8]\t@ (108 <main+0x8>)", "add\tsp, r4"}).word(0xfffffc00);
  EXPECT_EQ(program.depth().value().bytes, 1024U);
}

TEST(StackDepth, KnowsWhatARegisterGivesBack) {
  const std::vector<std::string> taken = {"movs\tr3, #141\t@ 0x8d", "lsls\tr3, r3, #2", "negs\tr3, r3", "add\tsp, r3"};
  std::vector<std::string> given = {"movs\tr3, #141\t@ 0x8d", "lsls\tr3, r3, #2", "add\tsp, r3"};
  Program program;
  program.function("callee", taken).function("main", given);
  EXPECT_EQ(program.depth().value().bytes, 0U);
  Program takes;
  takes.function("main", taken);
  EXPECT_EQ(takes.depth().value().bytes, 568U);  // 564, to a multiple of 8
  given.insert(given.end() - 1, "ldrb\tr3, [r4, #29]");
  Program unknown;
  unknown.function("main", given);
  EXPECT_FALSE(unknown.depth());
}

TEST(StackDepth, IsThatOfTheDeepestCalls) {
  Program program;
  program.function("leaf", {"push\t{r4, lr}"}).function("deep", {"sub\tsp, #64", program.call("leaf")});
  program.function("tail", {"sub\tsp, #72", "add\tsp, #72", program.call("leaf", "b.w")});
  program.function("main", {"push\t{r3, lr}", program.call("leaf"), program.call("deep"), program.call("tail")});
  const auto depth = program.depth();
  ASSERT_TRUE(depth);
  EXPECT_EQ(depth->bytes, 8U + 72 + 8);
  EXPECT_THAT(depth->calls, ElementsAre("main", "tail", "leaf"));
}

TEST(StackDepth, ACallThroughAPointerGoesToWhateverItCanBeMeantFor) {
  Program program;
  program.function("write_blocks", {"sub\tsp, #400", "blx\tr3"}).function("page_out", {"sub\tsp, #40", "blx\tr5"});
  program.function("pt_conv2d_f32", {"sub\tsp, #200", "blx\tr4"}).function("pt_relu_f32", {"sub\tsp, #100"});
  program.function("add_up", {"sub\tsp, #12"}).function("unused", {"sub\tsp, #4000"});
  program.function("kernels", {}).pointer("pt_conv2d_f32").pointer("pt_relu_f32");
  program.function("storage", {}).pointer("write_blocks").pointer("page_out").pointer("add_up");
  program.function("main", {"sub\tsp, #8", "blx\tr3"});
  const auto depth = program.depth();
  ASSERT_TRUE(depth);
  // A kernel runs no other and has no storage; the storage's own call is a callback; nothing holds `unused`.
  EXPECT_EQ(depth->bytes, 464U);  // 8 + 40 + 400 + 12, to a multiple of 8
  EXPECT_THAT(depth->calls, ElementsAre("main", "page_out", "write_blocks", "add_up"));
}

TEST(StackDepth, FindsPointersInTablesOfData) {
  const std::string text =
      "00000100 <kernel>:\n 100:\tb0e4      \tsub\tsp, #400\n\n00000102 <main>:\n 102:\t4798      \tblx\tr3\n\n"
      "00000104 <table>:\n 104:\t00000001 00000002 00000101 00000000     ................\n";
  EXPECT_EQ(stack_depth(text, "main").value().bytes, 400U);
}

TEST(StackDepth, AReturnIsNoCallThroughAPointer) {
  Program program;
  program.function("other", {"sub\tsp, #400"}).pointer("other");
  program.function("main", {"push\t{r4, lr}", "pop\t{r4}", "pop\t{r3}", "bx\tr3"});
  EXPECT_EQ(program.depth().value().bytes, 8U);
  Program jumps;
  jumps.function("other", {"sub\tsp, #400"})
      .pointer("other")
      .function("main", {"push\t{r4, lr}", "pop\t{r4, lr}", "bx\tr3"});
  EXPECT_EQ(jumps.depth().value().bytes, 8U + 400);
}

TEST(StackDepth, RefusesWhatHasNoBound) {
  Program recursion;
  recursion.function("even", {"push\t{lr}"});
  recursion.function("main", {"push\t{lr}", recursion.call("even"),
                              "bl\t"
                              "00000104 <main>"});
  const auto refused = recursion.depth();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0299");
  EXPECT_THAT(refused.error().message, HasSubstr("calls itself"));
  Program array;
  array.function("main", {"sub.w\tsp, sp, r3"});
  ASSERT_FALSE(array.depth());
  EXPECT_THAT(array.depth().error().message, HasSubstr("not constant"));
  EXPECT_FALSE(stack_depth("", "main"));
  EXPECT_FALSE(stack_depth("garbage\n:\t\t\t\n00000100 <>:\n<\n", "main"));
}

}  // namespace
}  // namespace pantoum::emit
