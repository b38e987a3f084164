// The weights of Resize along one axis.
#include "import/compose.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "pantoum/ops.h"

namespace pantoum::import {
namespace {

using testing::FloatNear;
using testing::Pointwise;

// Row `element` of the weights.
std::vector<float> row_of(const ResizeRule& rule, const ResizeAxis& axis, int64_t element) {
  const std::vector<double> weights = resize_weights(rule, axis);
  return {weights.begin() + element * axis.from, weights.begin() + (element + 1) * axis.from};
}

ResizeAxis to_size(int64_t from, int64_t to) {
  return {from, to, static_cast<double>(to) / static_cast<double>(from)};
}

constexpr float kNear = 1e-6F;
const ResizeRule kCubic{ResizeMode::kCubic}, kLinear{ResizeMode::kLinear};

TEST(ResizeAxis, CubicIsKeysKernel) {
  EXPECT_THAT(row_of(kCubic, to_size(6, 12), 5),  // lies at 2.25
              Pointwise(FloatNear(kNear), {0.F, -0.10546875F, 0.87890625F, 0.26171875F, -0.03515625F, 0.F}));
}

TEST(ResizeAxis, TheBorderStandsForWhatLiesOutsideUnlessItIsExcluded) {
  EXPECT_THAT(row_of(kCubic, to_size(4, 8), 0),  // lies at -0.25
              Pointwise(FloatNear(kNear), {-0.03515625F + 0.26171875F + 0.87890625F, -0.10546875F, 0.F, 0.F}));
  ResizeRule excluding = kCubic;
  excluding.exclude_outside = true;
  constexpr float kInside = 0.87890625F - 0.10546875F;
  EXPECT_THAT(row_of(excluding, to_size(4, 8), 0),
              Pointwise(FloatNear(kNear), {0.87890625F / kInside, -0.10546875F / kInside, 0.F, 0.F}));
}

TEST(ResizeAxis, AntialiasIsAsWideAsTheImageBecomesSmaller) {
  ResizeRule smooth = kLinear;
  smooth.antialias = true;
  EXPECT_THAT(row_of(smooth, to_size(8, 4), 1),
              Pointwise(FloatNear(kNear), {0.F, 0.125F, 0.375F, 0.375F, 0.125F, 0.F, 0.F, 0.F}));
  EXPECT_EQ(resize_weights(smooth, to_size(3, 7)), resize_weights(kLinear, to_size(3, 7)))
      << "larger: nothing to smooth";
}

TEST(ResizeAxis, NearestRoundsAsItIsTold) {
  const auto picked = [](int64_t rounding) {  // asymmetric: elements lie at 0, 0.5, 1, 1.5
    const ResizeRule rule{ResizeMode::kNearest, ResizeCoordinates::kAsymmetric, rounding};
    const std::vector<float> row = row_of(rule, to_size(2, 4), 1);
    return std::find(row.begin(), row.end(), 1.F) - row.begin();
  };
  EXPECT_EQ(picked(PT_RESIZE_FLOOR), 0);
  EXPECT_EQ(picked(PT_RESIZE_CEIL), 1);
  EXPECT_EQ(picked(PT_RESIZE_PREFER_FLOOR), 0);
  EXPECT_EQ(picked(PT_RESIZE_PREFER_CEIL), 1);
}

TEST(ResizeAxis, ACropReadsZerosOutside) {
  const ResizeRule rule{ResizeMode::kLinear, ResizeCoordinates::kCropAndResize};
  const ResizeAxis axis{5, 3, 0.6, 0.5, 1.5};  // lies at 2, 4, 6
  EXPECT_THAT(row_of(rule, axis, 0), Pointwise(FloatNear(kNear), {0.F, 0.F, 1.F, 0.F, 0.F}));
  EXPECT_THAT(row_of(rule, axis, 1), Pointwise(FloatNear(kNear), {0.F, 0.F, 0.F, 0.F, 1.F}));
  EXPECT_THAT(row_of(rule, axis, 2), Pointwise(FloatNear(kNear), {0.F, 0.F, 0.F, 0.F, 0.F}));
}

TEST(ResizeAxis, SymmetricCoordinatesMirror) {
  const ResizeRule rule{ResizeMode::kLinear, ResizeCoordinates::kHalfPixelSymmetric};
  const ResizeAxis axis{5, 6, 1.3};
  std::vector<float> first = row_of(rule, axis, 1), last = row_of(rule, axis, 4);
  std::reverse(last.begin(), last.end());
  EXPECT_THAT(first, Pointwise(FloatNear(kNear), last));
}

// Every rule, on axes down to one element: no weight is lost, and a constant stays what it is.
TEST(ResizeAxis, EveryRowSumsToOne) {
  for (const auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic})
    for (int64_t coordinates = 0; coordinates <= 4; ++coordinates)
      for (const bool antialias : {false, true})
        for (const bool excluding : {false, true})
          for (const int64_t from : {1, 2, 7})
            for (const int64_t to : {1, 2, 5, 16}) {
              const ResizeRule rule{mode, static_cast<ResizeCoordinates>(coordinates), 0, antialias, excluding, -0.5};
              for (int64_t element = 0; element < to; ++element) {
                const std::vector<float> row = row_of(rule, to_size(from, to), element);
                EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5) << from << " to " << to;
              }
            }
}

}  // namespace
}  // namespace pantoum::import
