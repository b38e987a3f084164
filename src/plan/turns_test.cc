#include "plan/instance.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace pantoum::plan {
namespace {

using Clock = std::chrono::steady_clock;

// Two threads work until each has had some turns; how many were at work at once, at the most.
int most_at_work(bool in_use) {
  Turns turns(in_use);
  std::atomic<int> working = 0, most = 0;
  std::array<std::atomic<int>, 2> had{};
  const auto work = [&](size_t own) {
    const Turns::Own turn(turns);
    const Clock::time_point latest = Clock::now() + std::chrono::seconds(20);
    while (std::min(had[0].load(), had[1].load()) < 3 && Clock::now() < latest) {
      most = std::max(most.load(), ++working);
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
      --working;
      ++had[own];
      turns.pass();
    }
  };
  { std::jthread one(work, 0), other(work, 1); }
  EXPECT_GE(std::min(had[0].load(), had[1].load()), 3);
  return most.load();
}

TEST(Turns, LetOneThreadWorkAtATime) {
  EXPECT_EQ(most_at_work(true), 1);
}

TEST(Turns, DoNothingWhereTheyAreNotInUse) {
  EXPECT_EQ(most_at_work(false), 2);
}

}  // namespace
}  // namespace pantoum::plan
