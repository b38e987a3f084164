#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "data/preparation.h"

namespace pantoum::data {
namespace {

using Plane = std::vector<uint16_t>;

Plane changed(const Change& change, const ImageSize& size, Plane image) {
  apply(change, size, sizeof(uint16_t), std::as_writable_bytes(std::span(image)));
  return image;
}

// The same by its definition: crop out of the padded image, then flip.
Plane expected(const Change& change, const ImageSize& size, const Plane& image) {
  Plane made(image.size());
  const auto height = static_cast<int64_t>(size.height), width = static_cast<int64_t>(size.width);
  for (int64_t at = 0; at < static_cast<int64_t>(image.size()); ++at) {
    const int64_t channel = at / (height * width), row = at / width % height, column = at % width;
    const int64_t from_row = (change.flip_vertically ? height - 1 - row : row) + change.down;
    const int64_t from_column = (change.flip ? width - 1 - column : column) + change.right;
    const bool inside = from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
    made[static_cast<size_t>(at)] =
        inside ? image[static_cast<size_t>((channel * height + from_row) * width + from_column)] : uint16_t{0};
  }
  return made;
}

TEST(Augment, CropsOutOfZerosAndFlips) {
  for (const ImageSize size : {ImageSize{2, 4, 5}, ImageSize{1, 1, 1}, ImageSize{3, 3, 2}}) {
    Plane image(size.channels * size.height * size.width);
    for (size_t at = 0; at < image.size(); ++at) image[at] = static_cast<uint16_t>(at + 1);
    for (int64_t down = -6; down <= 6; ++down)
      for (int64_t right = -6; right <= 6; ++right)
        for (const int flips : {0, 1, 2, 3}) {
          const Change change{(flips & 1) != 0, (flips & 2) != 0, down, right};
          ASSERT_EQ(changed(change, size, image), expected(change, size, image))
              << down << " " << right << " " << flips;
        }
  }
}

TEST(Augment, DrawsFollowFromSeedEpochAndSampleAlone) {
  const Augmentation all{true, true, 4};
  const auto text = [&](uint64_t seed, uint64_t epoch, uint32_t index) {
    const Change change = draw_change(all, seed, epoch, index);
    return std::vector<int64_t>{change.flip, change.flip_vertically, change.down, change.right};
  };
  std::vector<std::vector<int64_t>> by_index, by_epoch, by_seed;
  for (uint32_t at = 0; at < 50; ++at) {
    by_index.push_back(text(1, 2, at));
    by_epoch.push_back(text(1, at, 2));
    by_seed.push_back(text(at, 1, 2));
  }
  EXPECT_NE(by_index, by_epoch);
  EXPECT_NE(by_index, by_seed);
  EXPECT_EQ(text(1, 2, 7), by_index[7]);
}

TEST(Augment, EveryChangeComesAboutAsOften) {
  const Augmentation all{true, true, 2};
  std::map<int64_t, int> downs, rights;
  int flips = 0, upside_down = 0;
  constexpr int kDraws = 20'000;
  for (uint32_t index = 0; index < kDraws; ++index) {
    const Change change = draw_change(all, 9, 0, index);
    flips += change.flip ? 1 : 0;
    upside_down += change.flip_vertically ? 1 : 0;
    ++downs[change.down];
    ++rights[change.right];
  }
  EXPECT_NEAR(flips, kDraws / 2, 300);
  EXPECT_NEAR(upside_down, kDraws / 2, 300);
  for (const auto& counts : {downs, rights}) {
    EXPECT_EQ(counts.size(), 5U);
    EXPECT_EQ(counts.begin()->first, -2);
    for (const auto& [by, count] : counts) EXPECT_NEAR(count, kDraws / 5, 250) << by;
  }
}

TEST(Augment, NothingIsDrawnThatWasNotAskedFor) {
  for (uint32_t index = 0; index < 100; ++index) {
    const Change change = draw_change({}, 3, 1, index);
    EXPECT_FALSE(change.flip || change.flip_vertically || change.down != 0 || change.right != 0);
  }
}

}  // namespace
}  // namespace pantoum::data
