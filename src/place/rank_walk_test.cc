#include "place/rank_walk.h"

#include <gtest/gtest.h>

#include <limits>

#include "place/place.h"
#include "place/wide_boxes_fixture.h"
#include "testing/placement_judge.h"

namespace pantoum::place {
namespace {

constexpr Bytes kAlign = 16;

Offsets first_offsets(const Boxes& boxes) {
  return greedy(boxes, greedy_orders(boxes).front(), Fit::kFirst, {});
}

Placement placement_of(const std::vector<Allocation>& allocations, const Boxes& boxes, const Offsets& offsets) {
  Placement placement{.at = {}, .arena_bytes = offsets.arena};
  for (size_t each = 0; each < allocations.size(); ++each)
    placement.at.push_back(offsets.at[static_cast<size_t>(boxes.box_of[each])]);
  return placement;
}

TEST(RankWalk, FindsSmallerAndSmallerArenas) {
  double excess = 0, first_excess = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const std::vector<Allocation> allocations = wide_allocations(seed, 240, kAlign);
    const Boxes boxes = make_boxes(allocations, kAlign).value();
    const auto least = static_cast<double>(least_arena(boxes));
    Offsets best = first_offsets(boxes);
    first_excess += static_cast<double>(best.arena) / least - 1;
    RankWalk walk(boxes, least_arena(boxes));
    for (int run = 0; run < 4; ++run) {
      const Bytes before = best.arena;
      SearchLimit limit{.nodes = 50'000, .deadline = {}};
      const Outcome outcome = walk.run(best, limit, limit.nodes);
      EXPECT_LE(best.arena, before);
      EXPECT_EQ(outcome == Outcome::kFound, best.arena <= least_arena(boxes));
      ASSERT_TRUE(
          validate(allocations, placement_of(allocations, boxes, best), {.align = kAlign, .budget = best.arena}));
      if (outcome == Outcome::kFound) break;
    }
    excess += static_cast<double>(best.arena) / least - 1;
  }
  EXPECT_LT(excess, first_excess / 3);
}

TEST(RankWalk, IsTheSameOnEveryRun) {
  const std::vector<Allocation> allocations = wide_allocations(5, 150, kAlign);
  const Boxes boxes = make_boxes(allocations, kAlign).value();
  std::vector<Bytes> seen;
  for (int run = 0; run < 2; ++run) {
    Offsets best = first_offsets(boxes);
    SearchLimit limit{.nodes = 60'000, .deadline = {}};
    RankWalk(boxes, least_arena(boxes)).run(best, limit, limit.nodes);
    if (run == 0) seen = best.at;
    EXPECT_EQ(seen, best.at);
  }
}

// What it says to be proved is so: the complete search agrees.
TEST(RankWalk, SaysThatThereAreNoneOnlyWhereThatIsSo) {
  int none = 0, found = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<Allocation> allocations = wide_allocations(seed, 9, 1);
    const Boxes boxes = make_boxes(allocations, 1).value();
    const Bytes goal = least_arena(boxes) + static_cast<Bytes>(seed % 3) - 1;
    Offsets best = first_offsets(boxes);
    SearchLimit limit{.nodes = 20'000, .deadline = {}};
    const Outcome outcome = RankWalk(boxes, goal).run(best, limit, limit.nodes);
    Shortfall shortfall;
    const bool fits = place(allocations, {.budget = goal, .steps = 1'000'000}, &shortfall).has_value();
    EXPECT_TRUE(outcome != Outcome::kFound || fits) << "seed " << seed;
    EXPECT_TRUE(outcome != Outcome::kNone || shortfall.proved) << "seed " << seed;
    found += outcome == Outcome::kFound;
    none += outcome == Outcome::kNone;
  }
  EXPECT_GT(found, 30);
  EXPECT_GT(none, 30);
}

// ---- adjust ------------------------------------------------------------------------------------------------

TEST(Adjust, LeavesWhatFitsWhereItIs) {
  const std::vector<Allocation> allocations = wide_allocations(2, 120, kAlign);
  const auto placed = place(allocations, {.align = kAlign, .steps = 50'000});
  ASSERT_TRUE(placed);
  const std::vector<std::optional<Bytes>> near(placed->at.begin(), placed->at.end());
  const auto again = adjust(allocations, near, {.align = kAlign, .budget = placed->arena_bytes, .steps = 10});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->at, placed->at);
}

// Allocations that live longer, are new, or have gone: most of the others stay.
TEST(Adjust, FindsOffsetsNearThoseOfAnotherStream) {
  int found = 0, stayed = 0, all = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Allocation> allocations = wide_allocations(seed, 120, kAlign);
    const auto placed = place(allocations, {.align = kAlign, .steps = 50'000});
    ASSERT_TRUE(placed);
    std::vector<std::optional<Bytes>> near(placed->at.begin(), placed->at.end());
    const size_t changed = seed * 5 % 120;
    allocations[changed].end = 120;
    allocations.push_back({.begin = 60, .end = 63, .size = kAlign * 40, .group = -1, .fixed = {}});
    near.emplace_back();
    const Bytes budget = peak_live_bytes(allocations, kAlign) * 115 / 100;
    const auto other = adjust(allocations, near, {.align = kAlign, .budget = budget, .steps = 40'000});
    if (!other) continue;
    ++found;
    EXPECT_TRUE(validate(allocations, *other, {.align = kAlign, .budget = budget})) << "seed " << seed;
    for (size_t each = 0; each < placed->at.size(); ++each, ++all) stayed += other->at[each] == placed->at[each];
  }
  EXPECT_GT(found, 15);
  EXPECT_GT(stayed, all / 2);
}

TEST(Adjust, KeepsFixedOffsetsAndRefusesWhatCannotFit) {
  std::vector<Allocation> allocations = wide_allocations(3, 60, kAlign);
  allocations[7].fixed = kAlign * 900;
  const std::vector<std::optional<Bytes>> nothing(allocations.size());
  const auto placed = adjust(allocations, nothing, {.align = kAlign, .budget = kAlign * 40'000, .steps = 100'000});
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->at[7], kAlign * 900);
  EXPECT_TRUE(validate(allocations, *placed, {.align = kAlign, .budget = kAlign * 40'000}));
  const Bytes less = peak_live_bytes(allocations, kAlign) - kAlign;
  const auto refused = adjust(allocations, nothing, {.align = kAlign, .budget = less, .steps = 1000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0310");
  EXPECT_TRUE(adjust({}, {}, {.align = kAlign, .budget = 0, .steps = 10}));
}

}  // namespace
}  // namespace pantoum::place
