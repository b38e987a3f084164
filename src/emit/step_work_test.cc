#include "emit/step_work.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace pantoum::emit {
namespace {

pt_tensor tensor(std::vector<uint32_t> dims) {
  pt_tensor made{};
  for (const uint32_t dim : dims) made.dims[made.rank++] = dim;
  return made;
}

uint64_t macs(const std::string& op, const std::vector<pt_tensor>& operands, const std::vector<int64_t>& ints) {
  return multiply_accumulates(op, operands.data(), static_cast<unsigned>(operands.size() - 1), ints.data());
}

TEST(StepWork, AMatrixProductMultipliesEveryPair) {
  const pt_tensor y = tensor({5, 2, 3}), bias = tensor({3});
  EXPECT_EQ(macs("matmul", {tensor({5, 2, 7}), tensor({7, 3}), bias, y}, {0, 0}), 5 * 2 * 3 * 7u);
  EXPECT_EQ(macs("matmul", {tensor({5, 7, 2}), tensor({5, 7, 3}), y}, {1, 0}), 5 * 2 * 3 * 7u);
  EXPECT_EQ(macs("matmul", {tensor({1, 1}), tensor({1, 1}), tensor({1, 1})}, {0, 0}), 1u);
}

// Strides 2 x 1, padding 1 all around, dilation 1 x 2, two groups.
const std::vector<int64_t> kConv{2, 1, 1, 1, 1, 1, 1, 2, 2};
const pt_tensor kX = tensor({3, 4, 5, 6}), kW = tensor({6, 2, 3, 2}), kY = tensor({3, 6, 3, 6});

TEST(StepWork, AConvolutionMultipliesInsideTheImageAlone) {
  uint64_t inside = 0;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 6; ++column)
      for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 2; ++s) {
          const int at_row = 2 * row - 1 + r, at_column = column - 1 + 2 * s;
          inside += at_row >= 0 && at_row < 5 && at_column >= 0 && at_column < 6 ? 1 : 0;
        }
  const uint64_t expected = 3 * 6 * 2 * inside;
  EXPECT_LT(expected, 3u * 6 * 2 * 3 * 6 * 3 * 2);
  EXPECT_EQ(macs("conv2d", {kX, kW, tensor({6}), kY}, kConv), expected);
  EXPECT_EQ(macs("conv2d_dx", {kY, kW, kX}, kConv), expected);
  EXPECT_EQ(macs("conv2d_dz", {kY, kW, kX, kX}, kConv), expected);
  EXPECT_EQ(macs("conv2d_dw", {kX, kY, kW}, kConv), expected);
}

// A kernel of one row and one column, which does not pad, meets one element of each plane: the plane's own numbers.
TEST(StepWork, AVolumeMultipliesInsideItselfAlone) {
  const std::vector<int64_t> ints{2, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 2};
  const pt_tensor x = tensor({3, 4, 5, 2, 7}), w = tensor({6, 2, 3, 1, 1}), y = tensor({3, 6, 3, 2, 7});
  const uint64_t depths = 2 + 3 + 2, expected = 3 * 6 * 2 * depths * 2 * 7;
  EXPECT_EQ(macs("conv3d", {x, w, y}, ints), expected);
  EXPECT_EQ(macs("conv3d_dx", {y, w, x}, ints), expected);
  EXPECT_EQ(macs("conv3d_dw", {x, y, w}, ints), expected);
}

TEST(StepWork, SequencesAndAttentionCountTheirProducts) {
  const pt_tensor z = tensor({5, 2, 12}), r = tensor({12, 3}), h = tensor({2, 3}), all = tensor({5, 2, 3});
  EXPECT_EQ(macs("lstm_sequence", {z, r, h, h, all}, {0, 1, 2, 3, 0}), 5u * 2 * 12 * 3);
  EXPECT_EQ(macs("lstm_sequence_grad", {z, all, h, r, h, h, z}, {0, 1, 2, 3, 0}), 5u * 2 * 12 * 3);
  const pt_tensor z3 = tensor({5, 2, 9}), r3 = tensor({9, 3});
  EXPECT_EQ(macs("gru_sequence", {z3, r3, h, all}, {0, 1, 2, 0}), 5u * 2 * 9 * 3);
  EXPECT_EQ(macs("gru_sequence_grad", {z3, all, all, h, r3, h, z3}, {0, 1, 2, 0}), 5u * 2 * 9 * 3);
  const pt_tensor q = tensor({2, 3, 7, 4}), k = tensor({2, 3, 6, 4}), v = tensor({2, 3, 6, 5}),
                  y = tensor({2, 3, 7, 5});
  EXPECT_EQ(macs("attention", {q, k, v, y}, {}), 2u * 3 * 7 * 6 * (4 + 5));
  EXPECT_EQ(macs("attention_grad", {y, q, k, v, q}, {}), 2u * 3 * 7 * 6 * (3 * 4 + 2 * 5));
}

TEST(StepWork, AProductThatUpdatesCountsAsTheProduct) {
  EXPECT_EQ(macs("conv2d_dw_update", {kX, kY, kW, kW}, kConv), macs("conv2d_dw", {kX, kY, kW}, kConv));
  EXPECT_EQ(macs("matmul_act", {tensor({2, 3}), tensor({3, 4}), tensor({2, 4}), tensor({2, 4})}, {0, 0}), 24u);
  EXPECT_EQ(macs("matmul_update", {tensor({4, 2}), tensor({4, 3}), tensor({2, 3}), tensor({2, 3})}, {1, 0}), 24u);
}

TEST(StepWork, WhatIsNoProductHasNone) {
  EXPECT_EQ(macs("relu", {kX, kX}, {}), 0u);
  EXPECT_EQ(macs("conv2d_nchwc", {kX, kW, kY}, kConv), 0u);
}

TEST(StepWork, JsonKeepsEverything) {
  const std::vector<KernelWork> kernels{{"pt_relu_f32", "relu", 2, 0, 0}, {"pt_matmul_compact_f32", "matmul", 3, 9, 6, true}};
  const std::vector<KernelWork> read = kernel_work(nlohmann::json::parse(to_json(kernels).dump()));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].function, kernels[1].function);
  EXPECT_EQ(read[1].op, "matmul");
  EXPECT_EQ(read[1].calls, 3u);
  EXPECT_EQ(read[1].macs_done, 9u);
  EXPECT_EQ(read[1].macs_needed, 6u);
  EXPECT_FALSE(read[0].streams);
  EXPECT_TRUE(read[1].streams);
}

}  // namespace
}  // namespace pantoum::emit
