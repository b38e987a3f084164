#include "plan/simulate/time_limit.h"

#include <gtest/gtest.h>

namespace pantoum::plan {
namespace {

TEST(TimeLimit, AShareOfTheRestShrinksWithTheRestAndIsNeverNothing) {
  using Clock = TimeLimit::Clock;
  const TimeLimit fresh(1000), spent(1000, Clock::now() - std::chrono::seconds(2000));
  EXPECT_NEAR(fresh.for_attempt(Attempt::kTraining), 1000 * share_of(Attempt::kTraining), 10);
  EXPECT_TRUE(spent.over());
  EXPECT_GT(spent.for_attempt(Attempt::kTraining), 0);
  EXPECT_LT(spent.for_attempt(Attempt::kTraining), 1);
  EXPECT_EQ(spent.for_attempt(Attempt::kTryGraph),
            fresh.for_attempt(Attempt::kTryGraph));  // a share of the whole limit
}

}  // namespace
}  // namespace pantoum::plan
