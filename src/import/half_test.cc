// Every half there is, and rounding at every boundary between two of them.
#include "import/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pantoum::import {
namespace {

TEST(Half, EveryOneComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_half(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_half(to_half(value))));
      EXPECT_GT(half & 0x7fff, 0x7c00);
    } else {
      EXPECT_EQ(to_half(value), half);
    }
    const float brain = from_bfloat16(half);
    if (!std::isnan(brain)) {
      EXPECT_EQ(to_bfloat16(brain), half);
    }
  }
}

TEST(Half, HasTheValuesOfTheStandard) {
  EXPECT_EQ(from_half(0x3c00), 1.0F);
  EXPECT_EQ(from_half(0xc000), -2.0F);
  EXPECT_EQ(from_half(0x7bff), 65504.0F);
  EXPECT_EQ(from_half(0x0400), 0x1p-14F);
  EXPECT_EQ(from_half(0x0001), 0x1p-24F);
  EXPECT_EQ(from_half(0xfc00), -HUGE_VALF);
  EXPECT_TRUE(std::signbit(from_half(0x8000)));
  EXPECT_EQ(from_bfloat16(0x3f80), 1.0F);
}

TEST(Half, RoundsToTheNearestTiesToEven) {
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    const double below = from_half(half), above = from_half(static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((below + above) / 2);  // exact in float32
    EXPECT_EQ(to_half(middle), half % 2 == 0 ? half : half + 1);
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0F)), half);
    EXPECT_EQ(to_half(std::nextafter(middle, HUGE_VALF)), half + 1);
  }
  EXPECT_EQ(to_half(65519.996F), 0x7bff);
  EXPECT_EQ(to_half(65520), 0x7c00);
  EXPECT_EQ(to_half(-HUGE_VALF), 0xfc00);
  EXPECT_EQ(to_half(1e-30F), 0);
  EXPECT_EQ(to_bfloat16(1.00390625F), 0x3f80);  // a tie
  EXPECT_EQ(to_bfloat16(1.01171875F), 0x3f82);
}

}  // namespace
}  // namespace pantoum::import
