#include "place/overlap_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "place/greedy.h"
#include "place/place.h"
#include "place/wide_boxes_fixture.h"
#include "testing/placement_judge.h"

namespace pantoum::place {
namespace {

Bytes by_greedy(const Boxes& boxes, std::vector<Bytes>& at) {
  Offsets best{.at = {}, .arena = std::numeric_limits<Bytes>::max()};
  for (const auto& order : greedy_orders(boxes))
    if (Offsets found = greedy(boxes, order, Fit::kFirst, {}); found.arena < best.arena) best = std::move(found);
  at = best.at;
  return best.arena;
}

TEST(OverlapSearch, FindsOffsetsWhereOrdersOfFirstFitDoNot) {
  int beyond = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Allocation> allocations = wide_allocations(seed, 240, 16);
    const Boxes boxes = make_boxes(allocations, 16).value();
    std::vector<Bytes> start;
    const Bytes first = by_greedy(boxes, start), least = least_arena(boxes), budget = least + (first - least) / 2;
    if (first > budget) ++beyond;
    ASSERT_TRUE(has_few_pairs(boxes));
    OverlapSearch search(boxes, budget, start);
    SearchLimit limit{.nodes = 3'000'000, .deadline = {}};
    ASSERT_EQ(search.run(limit), Outcome::kFound) << "seed " << seed;
    Placement placement{.at = {}, .arena_bytes = 0};
    for (size_t each = 0; each < allocations.size(); ++each) {
      placement.at.push_back(search.at()[static_cast<size_t>(boxes.box_of[each])]);
      placement.arena_bytes = std::max(placement.arena_bytes, placement.at.back() + allocations[each].size);
    }
    EXPECT_TRUE(validate(allocations, placement, {.align = 16, .budget = budget})) << "seed " << seed;
  }
  EXPECT_GT(beyond, 5);
}

TEST(OverlapSearch, TellsWhatClashesWhereNothingFits) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Allocation> allocations = wide_allocations(seed, 60, 4);
    const Boxes boxes = make_boxes(allocations, 4).value();
    const Bytes budget = least_arena(boxes) * 9 / 10;  // the moment of the most live bytes forbids it
    OverlapSearch search(boxes, budget, std::vector<Bytes>(boxes.boxes.size(), 0));
    SearchLimit limit{.nodes = 100'000, .deadline = {}};
    ASSERT_EQ(search.run(limit), Outcome::kLimit);
    ASSERT_FALSE(search.least_overlaps().empty());
    for (const OverlapSearch::Overlap& clash : search.least_overlaps()) {
      const Box &one = boxes.boxes[static_cast<size_t>(clash.one)],
                &other = boxes.boxes[static_cast<size_t>(clash.other)];
      EXPECT_GT(clash.bytes, 0);
      EXPECT_LE(clash.bytes, std::min(one.size, other.size));
      EXPECT_LT(std::max(one.live[0].begin, other.live[0].begin), std::min(one.live[0].end, other.live[0].end));
    }
  }
}

TEST(OverlapSearch, KeepsFixedBoxesWhereTheyAre) {
  std::vector<Allocation> allocations = wide_allocations(3, 80, 8);
  allocations[0].fixed = 8 * 700;
  allocations[40].fixed = 8 * 1500;
  Shortfall missed;
  const auto placed = place(allocations, {.align = 8, .budget = 8 * 40'000, .steps = 200'000}, &missed);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->at[0], 8 * 700);
  EXPECT_EQ(placed->at[40], 8 * 1500);
  const Boxes boxes = make_boxes(allocations, 8).value();
  OverlapSearch search(boxes, 8 * 1200, placed->at);  // below a box that is fixed
  SearchLimit limit{.nodes = 1000, .deadline = {}};
  EXPECT_EQ(search.run(limit), Outcome::kNone);
}

}  // namespace
}  // namespace pantoum::place
