#include "base/index.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace pantoum::base {
namespace {

using ShipIndex = Index<struct ShipTag>;
using PortIndex = Index<struct PortTag>;

static_assert(!std::is_constructible_v<ShipIndex, PortIndex>);
static_assert(!std::is_convertible_v<int32_t, ShipIndex>);
static_assert(sizeof(ShipIndex) == sizeof(int32_t));

TEST(Index, IsNoneUntilItHasAValue) {
  EXPECT_FALSE(ShipIndex().exists());
  EXPECT_TRUE(ShipIndex(0).exists());
  EXPECT_EQ(ShipIndex(size_t{7}).value(), 7);
}

TEST(Index, IsOrderedAndCounts) {
  ShipIndex ship(3);
  EXPECT_LT(ship, ShipIndex(4));
  EXPECT_EQ(++ship, ShipIndex(4));
  EXPECT_EQ(--ship, ShipIndex(3));
}

TEST(IndexRange, GoesFromItsFirstToItsLast) {
  const IndexRange<ShipIndex> range(ShipIndex(2), 3);
  std::vector<int32_t> seen;
  for (const ShipIndex ship : range) seen.push_back(ship.value());
  EXPECT_EQ(seen, (std::vector<int32_t>{2, 3, 4}));
  seen.clear();
  for (const ShipIndex ship : range.descending()) seen.push_back(ship.value());
  EXPECT_EQ(seen, (std::vector<int32_t>{4, 3, 2}));
  EXPECT_EQ(range.size(), 3);
  EXPECT_EQ(range[1], ShipIndex(3));
  EXPECT_EQ(range.front(), ShipIndex(2));
  EXPECT_EQ(range.back(), ShipIndex(4));
  EXPECT_TRUE(IndexRange<ShipIndex>().empty());
}

TEST(Indexed, HoldsAnElementForEveryIndex) {
  Indexed<ShipIndex, int> crew;
  EXPECT_EQ(crew.next_index(), ShipIndex(0));
  EXPECT_EQ(crew.push_back(10), ShipIndex(0));
  EXPECT_EQ(crew.push_back(20), ShipIndex(1));
  int sum = 0;
  for (const ShipIndex ship : crew.indices()) sum += crew[ship];
  EXPECT_EQ(sum, 30);
  EXPECT_TRUE(crew.contains(ShipIndex(1)));
  EXPECT_FALSE(crew.contains(ShipIndex(2)));
  EXPECT_FALSE(crew.contains(ShipIndex()));
  crew.assign(3, 5);
  EXPECT_EQ(crew, (Indexed<ShipIndex, int>{5, 5, 5}));
}

TEST(Indexed, MayBeIndexedByAPlainNumberWhereOneCountsWithIt) {
  Indexed<int32_t, char> by_stage(4, 0);
  by_stage[2] = 1;
  int32_t last = 0;
  for (const int32_t stage : by_stage.indices()) last = by_stage[stage] ? stage : last;
  EXPECT_EQ(last, 2);
}

}  // namespace
}  // namespace pantoum::base
