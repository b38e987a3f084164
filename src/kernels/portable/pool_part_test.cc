#include "kernels/portable/pool_part.h"

#include <gtest/gtest.h>

#include <vector>

namespace pantoum {
namespace {

// A team that notes nothing and runs its pieces one after the other.
pt_pool team_of(uint32_t& threads) {
  return {&threads, threads, [](void* context, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
            const size_t pieces = *static_cast<uint32_t*>(context);
            for (size_t piece = 0; piece < pieces; ++piece)
              if (count * piece / pieces < count * (piece + 1) / pieces)
                body(arg, count * piece / pieces, count * (piece + 1) / pieces);
          }};
}

TEST(PoolPart, RunsEverythingOnceInAsManyPieces) {
  constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 100};
  for (uint32_t all = 1; all <= 8; ++all) {
    const pt_pool team = team_of(all);
    for (uint32_t threads = 2; threads < all; ++threads)
      for (const size_t count : kCounts) {
        pt_pool_part part;
        const pt_pool* pool = pt_take_pool(&part, &team, threads);
        ASSERT_EQ(pool->threads, threads);
        struct Seen {
          std::vector<int> times;
          size_t pieces = 0;
        } seen{std::vector<int>(count), 0};
        pool->run(
            pool->context, count,
            [](void* arg, size_t begin, size_t end) {
              auto* of = static_cast<Seen*>(arg);
              ++of->pieces;
              for (; begin < end; ++begin) ++of->times[begin];
            },
            &seen);
        EXPECT_EQ(seen.times, std::vector<int>(count, 1));
        EXPECT_EQ(seen.pieces, std::min<size_t>(count, threads));
      }
  }
}

TEST(PoolPart, OneThreadIsNoPoolAndAllAreThePoolItself) {
  uint32_t threads = 4;
  const pt_pool team = team_of(threads);
  pt_pool_part part;
  EXPECT_EQ(pt_take_pool(&part, &team, 1), nullptr);
  EXPECT_EQ(pt_take_pool(&part, nullptr, 2), nullptr);
  for (const uint32_t all : {0U, 4U, 5U}) EXPECT_EQ(pt_take_pool(&part, &team, all), &team);
}

}  // namespace
}  // namespace pantoum
