#include "place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "place/boxes.h"
#include "place/canonical_search.h"
#include "testing/placement_judge.h"

namespace pantoum::place {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr int kRounds = 80, kMany = 2000;
#else
constexpr int kRounds = 400, kMany = 10000;
#endif

std::vector<Allocation> random_allocations(std::mt19937_64& random, int count, bool groups, bool fixed, Bytes align) {
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  std::vector<Allocation> allocations;
  Bytes ground = 0;  // fixed allocations stand on each other, so that they never collide
  for (int allocation = 0; allocation < count; ++allocation) {
    const int64_t begin = below(60);
    allocations.push_back({.begin = begin,
                           .end = begin + below(20),
                           .size = below(10) == 0 ? 0 : 1 + below(200),
                           .group = -1,
                           .fixed = {}});
    if (groups && below(4) == 0) allocations.back().group = static_cast<int32_t>(below(5));
    if (!fixed || allocations.back().group >= 0 || below(6) != 0) continue;
    allocations.back().fixed = ground;
    ground += (allocations.back().size + align - 1) / align * align;
  }
  return allocations;
}

// Allocations 2k and 2k + 1 are one group of one size.
std::vector<Allocation> random_pairs(std::mt19937_64& random) {
  std::vector<Allocation> allocations;
  for (int32_t group = 0; group < 7; ++group) {
    const Bytes size = 1 + static_cast<Bytes>(random() % 5);
    for (int twice = 0; twice < 2; ++twice) {
      const auto begin = static_cast<int64_t>(random() % 12);
      allocations.push_back({begin, begin + 1 + static_cast<int64_t>(random() % 3), size, group, {}});
    }
  }
  return allocations;
}

// The truth for a few random pairs: every order of groups, each at its lowest place that is free above the last one.
Bytes smallest_arena(const std::vector<Allocation>& allocations) {
  const size_t groups = allocations.size() / 2;
  const auto meet = [&](size_t a, size_t b) {
    for (const Allocation* one : {&allocations[2 * a], &allocations[2 * a + 1]})
      for (const Allocation* other : {&allocations[2 * b], &allocations[2 * b + 1]})
        if (one->begin < other->end && other->begin < one->end) return true;
    return false;
  };
  std::vector<size_t> order(groups);
  for (size_t group = 0; group < groups; ++group) order[group] = group;
  Bytes best = INT64_MAX;
  do {
    std::vector<Bytes> at(groups, 0);
    Bytes arena = 0, level = 0;
    for (size_t next = 0; next < groups; ++next) {
      for (size_t before = 0; before < next; ++before)
        if (meet(order[next], order[before]))
          level = std::max(level, at[order[before]] + allocations[2 * order[before]].size);
      at[order[next]] = level;
      arena = std::max(arena, level + allocations[2 * order[next]].size);
    }
    best = std::min(best, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// The truth for a handful of allocations: tries all offsets of the allocations from `next` on.
bool any_offsets_fit(const std::vector<Allocation>& allocations, Placement& placement, const PlaceOptions& options,
                     size_t next = 0) {
  placement.arena_bytes = *options.budget;
  if (next == allocations.size()) return true;
  for (Bytes at = 0; at + allocations[next].size <= *options.budget; at += options.align) {
    if (allocations[next].fixed && *allocations[next].fixed != at) continue;
    placement.at.resize(next + 1);
    placement.at[next] = at;
    const std::vector<Allocation> some(allocations.begin(),
                                       allocations.begin() + static_cast<std::ptrdiff_t>(next) + 1);
    if (validate(some, placement, options) && any_offsets_fit(allocations, placement, options, next + 1)) return true;
  }
  return false;
}

std::vector<Allocation> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // id,lower,upper,size
  std::vector<Allocation> allocations;
  while (std::getline(file, line)) {
    std::stringstream fields(line.substr(line.find(',') + 1));
    Allocation allocation;
    char comma = 0;
    fields >> allocation.begin >> comma >> allocation.end >> comma >> allocation.size;
    allocations.push_back(allocation);
  }
  return allocations;
}

//   2 |   +---+
//     +---+ c |
//     | a +---+
//   0 +---+ b |
//     0   1   2 time: groups and gaps
TEST(PlaceAllocations, FillsTheArenaToThePeak) {
  const std::vector<Allocation> allocations = {{0, 1, 2, -1, {}}, {1, 2, 1, -1, {}}, {1, 2, 1, -1, {}}};
  const auto placement = place(allocations, {});
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->arena_bytes, 2);
  EXPECT_EQ(peak_live_bytes(allocations, 1), 2);
}

TEST(PlaceAllocations, PlacesRandomAllocationsSoThatTheJudgeAgrees) {
  std::mt19937_64 random(7);
  for (int round = 0; round < kRounds; ++round) {
    const Bytes align = Bytes{1} << (random() % 7);
    const auto allocations =
        random_allocations(random, static_cast<int>(random() % 60), round % 2 == 1, round % 3 == 0, align);
    const PlaceOptions options{.align = align, .steps = 20000};
    const auto placement = place(allocations, options);
    ASSERT_TRUE(placement.has_value()) << round << to_text(placement.error());
    const auto valid = validate(allocations, *placement, options);
    ASSERT_TRUE(valid.has_value()) << round << to_text(valid.error());
    EXPECT_GE(placement->arena_bytes, peak_live_bytes(allocations, align)) << round;
    const PlaceOptions exact{.align = align, .budget = std::max<Bytes>(1, placement->arena_bytes), .steps = 2'000'000};
    Shortfall shortfall;
    const auto again = place(allocations, exact, &shortfall);
    ASSERT_TRUE(again.has_value()) << round << (shortfall.proved ? " with a false proof" : " within the steps");
    EXPECT_TRUE(validate(allocations, *again, exact).has_value()) << round;
  }
}

TEST(PlaceAllocations, FindsTheSmallestArenaOrProvesThatThereIsNone) {
  std::mt19937_64 random(11);
  int above_peak = 0;
  for (int round = 0; round < 300; ++round) {
    const auto allocations = random_pairs(random);
    const Bytes smallest = smallest_arena(allocations);
    EXPECT_TRUE(place(allocations, {.budget = smallest, .steps = 1'000'000}).has_value()) << round;
    Shortfall shortfall;
    EXPECT_FALSE(place(allocations, {.budget = smallest - 1, .steps = 1'000'000}, &shortfall).has_value()) << round;
    EXPECT_TRUE(shortfall.proved) << round;
    above_peak += smallest > peak_live_bytes(allocations, 1) ? 1 : 0;
  }
  EXPECT_GT(above_peak, 10);  // else the proofs were trivial
}

TEST(PlaceAllocations, FitsWheneverAnyOffsetsDo) {
  std::mt19937_64 random(13);
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
  int fitted = 0, searched = 0, windows = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const Bytes align = int64_t{1} << below(3);
    std::vector<Allocation> allocations;
    for (int allocation = 0; allocation < 6; ++allocation) {
      const int64_t begin = below(6);
      allocations.push_back({begin, begin + 1 + below(4), 1 + below(5), static_cast<int32_t>(below(8)), {}});
      if (allocations.back().group > 2) allocations.back().group = -1;
      if (allocations.back().group >= 0)  // of one size: the judge knows smaller ones otherwise
        allocations.back().size = 3 + allocations.back().group;
    }
    if (round % 2 == 0) allocations[0].fixed = align * below(4);
    if (round % 4 == 0 && allocations[1].group < 0) allocations[1].fixed = align * below(4);
    const PlaceOptions options{
        .align = align, .budget = peak_live_bytes(allocations, align) + below(2), .steps = 1'000'000};
    Placement truth;
    const bool fits = any_offsets_fit(allocations, truth, options);
    Shortfall shortfall;
    const auto placement = place(allocations, options, &shortfall);
    ASSERT_EQ(placement.has_value(), fits) << round;
    EXPECT_TRUE(!placement || validate(allocations, *placement, options).has_value()) << round;
    const bool collide = !placement && placement.error().code == "E0311";
    EXPECT_TRUE(placement || collide || shortfall.proved) << round;
    const auto boxes = make_boxes(allocations, align);
    SearchLimit limit{100'000, {}};
    const int32_t reach = round % 3;
    const bool overfull = boxes && some_window_overfull(*boxes, *options.budget, reach, limit);
    EXPECT_FALSE(fits && overfull) << round;
    windows += overfull ? 1 : 0;
    fitted += fits ? 1 : 0;
    searched += fits || collide ? 0 : 1;
  }
  EXPECT_GT(fitted, kRounds / 10);
  EXPECT_GT(searched, kRounds / 10);
  EXPECT_GT(windows, kRounds / 20);
}

// Given offsets that lie upon each other from the ground on, or with a gap, or none; some other given ones, too.
TEST(PlaceAllocations, FitsWheneverAnyOffsetsDoBesideWhatAlwaysLives) {
  std::mt19937_64 random(17);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  constexpr int64_t kEnd = 7;
  int fitted = 0, refused = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const Bytes align = int64_t{1} << below(3);
    const int64_t always = below(5), given = below(always + 1);
    Bytes ground = round % 5 == 0 ? align : 0;
    std::vector<Allocation> allocations;
    for (int64_t allocation = 0; allocation < 6; ++allocation) {
      const bool lives_always = allocation < always;
      const int64_t begin = lives_always ? 0 : below(kEnd);
      const int64_t end = lives_always ? kEnd : begin + 1 + below(kEnd - begin);
      allocations.push_back({begin, end, 1 + below(5), -1, {}});
      if (allocation >= given) continue;
      allocations.back().fixed = ground;
      ground += (allocations.back().size + align - 1) / align * align;
    }
    if (round % 7 == 0) allocations.back().fixed = ground;
    std::shuffle(allocations.begin(), allocations.end(), random);
    const PlaceOptions options{.align = align,
                               .budget = std::max<Bytes>(1, peak_live_bytes(allocations, align) + below(3) - 1),
                               .steps = 1'000'000};
    Placement truth;
    const bool fits = any_offsets_fit(allocations, truth, options);
    Shortfall shortfall;
    const auto placement = place(allocations, options, &shortfall);
    ASSERT_EQ(placement.has_value(), fits) << round;
    EXPECT_TRUE(placement || shortfall.proved) << round;
    EXPECT_TRUE(!placement || validate(allocations, *placement, options).has_value()) << round;
    (fits ? fitted : refused) += 1;
  }
  EXPECT_GT(fitted, kRounds / 10);
  EXPECT_GT(refused, kRounds / 10);
}

TEST(PlaceAllocations, LetsOneThatAlwaysLivesAtAGivenOffsetEndUnaligned) {
  const std::vector<Allocation> allocations = {{0, 3, 64, -1, Bytes{0}}, {0, 3, 10, -1, Bytes{64}}};
  EXPECT_TRUE(place(allocations, {.align = 64, .budget = 74}).has_value());
  EXPECT_FALSE(place(allocations, {.align = 64, .budget = 73}).has_value());
}

TEST(PlaceAllocations, KeepsFixedAndGroupedAllocationsTogether) {
  // w is fixed at 8 and updated in place by w', its group; y must go around them.
  const std::vector<Allocation> allocations = {
      {0, 5, 8, 1, Bytes{8}}, {5, 9, 8, 1, {}}, {0, 9, 8, -1, {}}, {2, 7, 16, -1, {}}};
  const auto placement = place(allocations, {.align = 8, .budget = 32});
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->at[0], 8);
  EXPECT_EQ(placement->at[1], 8);
  EXPECT_EQ(placement->at[2], 0);
  EXPECT_EQ(placement->at[3], 16);
}

TEST(PlaceAllocations, SearchesAroundFixedAllocations) {
  // Only one arrangement fits: the small allocation below the fixed one, the large one above.
  const std::vector<Allocation> allocations = {{0, 4, 4, -1, Bytes{3}}, {0, 4, 3, -1, {}}, {0, 4, 9, -1, {}}};
  const auto placement = place(allocations, {.budget = 16});
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->at, (std::vector<Bytes>{3, 0, 7}));
}

TEST(PlaceAllocations, LetsTheTopmostAllocationEndUnaligned) {
  const std::vector<Allocation> allocations = {{0, 1, 5, -1, {}}, {0, 1, 7, -1, {}}};
  EXPECT_EQ(peak_live_bytes(allocations, 4), 13);  // 8 + 5, not 8 + 8
  const auto placement = place(allocations, {.align = 4, .budget = 13});
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->arena_bytes, 13);
}

TEST(PlaceAllocations, RefusesCollidingFixed) {
  const auto code = [](const std::vector<Allocation>& allocations, Bytes align) -> std::string {
    const auto placement = place(allocations, {.align = align});
    return placement.has_value() ? "placed" : placement.error().code;
  };
  EXPECT_EQ(code({{0, 2, 4, -1, Bytes{0}}, {1, 3, 4, -1, Bytes{2}}}, 1), "E0311");
  EXPECT_EQ(code({{0, 2, 4, 0, Bytes{0}}, {5, 6, 4, 0, Bytes{8}}}, 1), "E0311");
  EXPECT_EQ(code({{0, 2, 4, -1, Bytes{2}}}, 4), "E0311");
  EXPECT_EQ(code({{0, 2, -4, -1, {}}}, 1), "E0311");
  EXPECT_EQ(code({{0, 2, 4, -1, {}}}, 0), "E0311");
  EXPECT_TRUE(place({{0, 2, 4, -1, Bytes{0}}, {2, 3, 4, -1, Bytes{2}}}, {}).has_value());
}

TEST(PlaceAllocations, ProvesThatThePeakDoesNotFit) {
  Shortfall shortfall;
  const auto placement = place({{0, 2, 4, -1, {}}, {1, 3, 4, -1, {}}}, {.budget = 7}, &shortfall);
  ASSERT_FALSE(placement.has_value());
  EXPECT_EQ(placement.error().code, "E0310");
  EXPECT_TRUE(shortfall.proved);
}

TEST(PlaceAllocations, CountsAGroupOnceWhereItOverlapsItself) {
  const std::vector<Allocation> allocations = {{0, 4, 8, 3, {}}, {2, 6, 10, 3, {}}, {3, 5, 1, -1, {}}};
  EXPECT_EQ(peak_live_bytes(allocations, 1), 11);
  const auto placement = place(allocations, {});
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->arena_bytes, 11);
}

TEST(PlaceAllocations, GivesTheSamePlacesForTheSameSteps) {
  std::mt19937_64 random(3);
  const auto allocations = random_allocations(random, 80, true, false, 4);
  const PlaceOptions options{.align = 4, .steps = 5000};
  EXPECT_EQ(place(allocations, options)->at, place(allocations, options)->at);
}

TEST(PlaceAllocations, PlacesThousandsWithinFivePercentOfThePeak) {
  std::mt19937_64 random(1);
  std::vector<Allocation> allocations;
  for (int allocation = 0; allocation < kMany; ++allocation) {
    const auto begin = static_cast<int64_t>(random() % 20000);
    const auto length = 1 + static_cast<int64_t>(random() % (allocation % 10 == 0 ? 5000 : 200));
    allocations.push_back({begin, begin + length, 64 * (1 + static_cast<Bytes>(random() % 1000)), -1, {}});
  }
  const PlaceOptions options{.align = 64, .steps = 1};
  const auto placement = place(allocations, options);
  ASSERT_TRUE(placement.has_value());
  EXPECT_TRUE(validate(allocations, *placement, options).has_value());
  EXPECT_LE(static_cast<double>(placement->arena_bytes), 1.05 * static_cast<double>(peak_live_bytes(allocations, 64)));
}

TEST(PlaceAllocations, SolvesMiniMallocsInstances) {
  const std::filesystem::path folder = std::filesystem::path(PANTOUM_SOURCE_DIR) / "src/place/testdata";
  for (const char* name : {"A", "B", "C", "D", "E"}) {
    const auto allocations = read_csv(folder / (std::string(name) + ".1048576.csv"));
    ASSERT_GT(allocations.size(), 100U) << name;
    const PlaceOptions options{.budget = 1048576, .steps = 3'000'000};
    const auto placement = place(allocations, options);
    ASSERT_TRUE(placement.has_value()) << name;
    EXPECT_TRUE(validate(allocations, *placement, options).has_value()) << name;
  }
}

// What shares no moment is solved apart: a proof for one half is a proof for both.
TEST(PlaceAllocations, ProvesThatOneOfTwoHalvesDoesNotFit) {
  std::mt19937_64 random(5);
  int proved = 0;
  for (int round = 0; round < 200; ++round) {
    auto allocations = random_pairs(random);
    const Bytes live_bytes = peak_live_bytes(allocations, 1);
    Shortfall alone, together;
    const bool fits = place(allocations, {.budget = live_bytes, .steps = 1'000'000}, &alone).has_value();
    for (int allocation = 0; allocation < 5; ++allocation)
      allocations.push_back({20 + allocation, 22 + allocation, live_bytes / 2, -1, {}});
    EXPECT_EQ(place(allocations, {.budget = live_bytes, .steps = 1'000'000}, &together).has_value(), fits) << round;
    EXPECT_EQ(alone.proved, together.proved) << round;
    proved += alone.proved ? 1 : 0;
  }
  EXPECT_GT(proved, 5);
}

// Above the fixed allocation there are 9 bytes and below it 64. At 100 there are 60 in pieces of 10, and two
// allocations of 5, one of which finds no gap, though the live bytes are 74 of 77. At all other times there is a lot to
// try.
TEST(PlaceAllocations, ProvesByOneMomentThatNothingFits) {
  std::mt19937_64 random(9);
  std::vector<Allocation> allocations = {{0, 200, 4, -1, Bytes{64}}, {100, 102, 5, -1, {}}, {100, 103, 5, -1, {}}};
  std::vector<Bytes> live_bytes(200, 0);
  for (int tries = 0; tries < 3000; ++tries) {
    const auto begin = static_cast<int64_t>(random() % 200), end = std::min<int64_t>(200, begin + 2 + tries % 17);
    const Bytes size = 10 * (1 + static_cast<Bytes>(random() % 3));
    if (*std::max_element(live_bytes.begin() + begin, live_bytes.begin() + end) + size > 60) continue;
    for (int64_t moment = begin; moment < end; ++moment) live_bytes[static_cast<size_t>(moment)] += size;
    allocations.push_back({begin, end, size, -1, {}});
  }
  allocations.push_back({100, 101, 60 - live_bytes[100], -1, {}});
  Shortfall shortfall;
  EXPECT_FALSE(place(allocations, {.budget = 77, .steps = 100'000}, &shortfall).has_value());
  EXPECT_TRUE(shortfall.proved);
}

TEST(ValidatePlaces, RefusesWhatBreaksTheContract) {
  const std::vector<Allocation> allocations = {
      {0, 2, 4, -1, {}}, {1, 3, 4, -1, {}}, {3, 4, 4, 0, {}}, {5, 6, 4, 0, {}}};
  const Placement good{{0, 4, 0, 0}, 8};
  EXPECT_TRUE(validate(allocations, good, {}).has_value());
  const auto code = [&](const Placement& placement, const PlaceOptions& options) {
    const auto valid = validate(allocations, placement, options);
    return valid ? "valid" : valid.error().code;
  };
  EXPECT_EQ(code({{0, 3, 0, 0}, 8}, {}), "E0312");             // overlap
  EXPECT_EQ(code({{0, 4, 0, 4}, 8}, {}), "E0312");             // a group with two offsets
  EXPECT_EQ(code({{0, 4, 0, 0}, 7}, {}), "E0312");             // above the arena
  EXPECT_EQ(code({{0, 4, 0, 0}, 8}, {.budget = 7}), "E0312");  // above the budget
  EXPECT_EQ(code({{0, 4, 0, 0}, 8}, {.align = 8}), "E0312");   // not aligned
  EXPECT_EQ(code({{0, 4, 0}, 8}, {}), "E0312");                // one is missing
}

}  // namespace
}  // namespace pantoum::place
