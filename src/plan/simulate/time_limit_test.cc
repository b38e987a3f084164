#include "plan/simulate/time_limit.h"

#include <gtest/gtest.h>

#include <set>

namespace pantoum::plan {
namespace {

TEST(TimeLimit, EveryAttemptTellsWhatItNeedsAndWhyItGetsItsShare) {
  std::set<std::string_view> names;
  for (const AttemptRow& row : attempts()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.needs.empty() || row.may_use.empty() || row.reason.empty()) << row.name;
    EXPECT_GT(row.share, 0) << row.name;
    EXPECT_LE(row.share, 1) << row.name;
    EXPECT_EQ(share_of(row.attempt), row.share) << row.name;
  }
}

TEST(TimeLimit, AShareOfTheRestShrinksWithTheRestAndIsNeverNothing) {
  using Clock = TimeLimit::Clock;
  const TimeLimit fresh(1000), spent(1000, Clock::now() - std::chrono::seconds(2000));
  EXPECT_NEAR(fresh.for_attempt(Attempt::kTraining), 1000 * share_of(Attempt::kTraining), 10);
  EXPECT_TRUE(spent.over());
  EXPECT_GT(spent.for_attempt(Attempt::kTraining), 0);
  EXPECT_LT(spent.for_attempt(Attempt::kTraining), 1);
  EXPECT_EQ(spent.for_attempt(Attempt::kTryGraph), fresh.for_attempt(Attempt::kTryGraph));  // a share of the whole limit
}

}  // namespace
}  // namespace pantoum::plan
