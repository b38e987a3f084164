#include "pipeline/sweep.h"

#include <gtest/gtest.h>

namespace pantoum::pipeline {
namespace {

std::vector<int64_t> budgets(const std::string& text) {
  const auto found = parse_budgets(text, "--ram");
  EXPECT_TRUE(found) << text;
  return found ? *found : std::vector<int64_t>{};
}

TEST(Budgets, RunUpwardInEqualStepsAndMeetBothEnds) {
  EXPECT_EQ(budgets("64KiB:256KiB:4"), (std::vector<int64_t>{65536, 131072, 196608, 262144}));
  EXPECT_EQ(budgets("1B:10B:4"), (std::vector<int64_t>{1, 4, 7, 10}));
  EXPECT_EQ(budgets("1B:4B:3"), (std::vector<int64_t>{1, 2, 4}));
  const std::vector<int64_t> many = budgets("1B:1000000GiB:10000");
  EXPECT_EQ(many.size(), 10000U);
  EXPECT_EQ(many.back(), int64_t{1000000} << 30);
}

TEST(Budgets, StandOnceEach) {
  EXPECT_EQ(budgets("2KiB,1KiB,2048B"), (std::vector<int64_t>{1024, 2048}));
  EXPECT_EQ(budgets("1B:3B:9"), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(budgets("1MiB"), (std::vector<int64_t>{1048576}));
}

TEST(Budgets, AreRefusedWithoutUnitsOrSense) {
  for (const char* text : {"", "64", "64:128:2", "1KiB:2KiB", "1KiB:2KiB:1", "1KiB:2KiB:x", "1KiB:2KiB:3:4",
                           "2KiB:1KiB:3", "1KiB,", "1KiB:2KiB:20000", "1KiB:2KiB:-3"}) {
    const auto found = parse_budgets(text, "--ram");
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().code, "E0110") << text;
  }
  EXPECT_EQ(parse_budgets("0B:1KiB:2", "--ram").error().code, "E0300");
}

}  // namespace
}  // namespace pantoum::pipeline
