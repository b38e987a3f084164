// Convolutions of volumes: the reference is the definition, both algorithms give the same bits at any thread count, and
// a volume of one plane is an image.
#include "testing/product_calls.h"

namespace {

using namespace product_test;

struct VolumeCase {
  std::vector<uint32_t> x, w;
  std::vector<int64_t> ints;
  [[nodiscard]] std::vector<uint32_t> y() const {
    std::vector<uint32_t> dims{x[0], w[0]};
    for (size_t d = 0; d < 3; ++d) {
      const int64_t padded = x[2 + d] + ints[PT_CONV3D_PAD_FRONT + d] + ints[PT_CONV3D_PAD_BACK + d];
      const int64_t span = ints[PT_CONV3D_DILATION_D + d] * (w[2 + d] - 1) + 1;
      dims.push_back(static_cast<uint32_t>((padded - span) / ints[PT_CONV3D_STRIDE_D + d] + 1));
    }
    return dims;
  }
};

VolumeCase random_volume(std::mt19937& random) {
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const uint32_t groups = draw(1, 3), per_in = draw(1, 4), per_out = draw(1, 9);
  VolumeCase c{{draw(1, 3), groups * per_in}, {groups * per_out, per_in}, {}};
  for (size_t d = 0; d < 3; ++d) {
    c.x.push_back(draw(5, 9));
    c.w.push_back(draw(1, 3));
  }
  for (int at = 0; at < 3; ++at) c.ints.push_back(draw(1, 3));
  for (int at = 0; at < 6; ++at) c.ints.push_back(draw(0, 4));
  for (int at = 0; at < 3; ++at) c.ints.push_back(draw(1, 2));
  c.ints.push_back(groups);
  return c;
}

// Rows longer than a panel, kernels longer than a tile of k, one channel, one output, windows in the padding alone.
std::vector<VolumeCase> large_volumes() {
  return {{{1, 3, 4, 5, 150}, {9, 3, 3, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
          {{2, 40, 3, 4, 5}, {33, 40, 3, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
          {{2, 1, 9, 9, 9}, {20, 1, 7, 7, 7}, {2, 2, 2, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1}},
          {{2, 12, 6, 7, 8}, {12, 1, 3, 3, 3}, {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 12}},
          {{1, 5, 6, 6, 6}, {1, 5, 1, 1, 1}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}},
          {{2, 2, 2, 2, 2}, {4, 2, 2, 2, 2}, {1, 1, 1, 4, 5, 3, 4, 5, 3, 1, 2, 1, 1}},
          {{3, 4, 1, 1, 1}, {4, 4, 1, 1, 1}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}}};
}

TEST(Volumes, EveryAlgorithmGivesTheReferencesBits) {
  std::mt19937 random(11);
  const std::vector<VolumeCase> large = large_volumes();
  for (size_t trial = 0; trial < 100 + large.size(); ++trial) {
    const VolumeCase c = trial < large.size() ? large[trial] : random_volume(random);
    auto x = make<float>(c.x, random), w = make<float>(c.w, random), dy = make<float>(c.y(), random),
         bias = make<float>({c.w[0]}, random);
    const auto y = run<float>(PT_OP_conv3d, 0, {&x, &w, &bias}, c.y(), c.ints);
    const auto dx = run<float>(PT_OP_conv3d_dx, 0, {&dy, &w}, c.x, c.ints);
    const auto dw = run<float>(PT_OP_conv3d_dw, 0, {&x, &dy}, c.w, c.ints);
    for (const uint16_t algorithm : {uint16_t{0}, uint16_t{1}})
      for (const uint32_t threads : {1U, 4U}) {
        SCOPED_TRACE(testing::Message() << trial << " " << algorithm << " " << threads);
        EXPECT_TRUE(same_bits(run<float>(PT_OP_conv3d, algorithm, {&x, &w, &bias}, c.y(), c.ints, threads), y));
        EXPECT_TRUE(same_bits(run<float>(PT_OP_conv3d_dx, algorithm, {&dy, &w}, c.x, c.ints, threads), dx));
        EXPECT_TRUE(same_bits(run<float>(PT_OP_conv3d_dw, algorithm, {&x, &dy}, c.w, c.ints, threads), dw));
      }
  }
}

TEST(Volumes, GradientsAreTheAdjoints) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 40; ++trial) {
    const VolumeCase c = random_volume(random);
    auto x = make<double>(c.x, random), w = make<double>(c.w, random), dy = make<double>(c.y(), random);
    for (const uint16_t algorithm : {uint16_t{0}, uint16_t{1}}) {
      const double forward = dot(dy.data, run<double>(PT_OP_conv3d, algorithm, {&x, &w}, c.y(), c.ints));
      EXPECT_NEAR(dot(x.data, run<double>(PT_OP_conv3d_dx, algorithm, {&dy, &w}, c.x, c.ints)), forward, 1e-9);
      EXPECT_NEAR(dot(w.data, run<double>(PT_OP_conv3d_dw, algorithm, {&x, &dy}, c.w, c.ints)), forward, 1e-9);
    }
  }
}

// Element (n, o, v, p, q) from the definition; two groups.
TEST(Volumes, ReferenceIsTheDefinition) {
  std::mt19937 random(13);
  const VolumeCase c{{2, 4, 4, 5, 6}, {6, 2, 2, 3, 2}, {2, 1, 3, 1, 0, 2, 0, 1, 1, 1, 2, 3, 2}};
  auto x = make<double>(c.x, random), w = make<double>(c.w, random), bias = make<double>({6}, random);
  const auto y = run<double>(PT_OP_conv3d, 0, {&x, &w, &bias}, c.y(), c.ints);
  const std::vector<uint32_t> dims = c.y();
  size_t at = 0;
  for (uint32_t n = 0; n < dims[0]; ++n)
    for (uint32_t o = 0; o < dims[1]; ++o)
      for (uint32_t v = 0; v < dims[2]; ++v)
        for (uint32_t p = 0; p < dims[3]; ++p)
          for (uint32_t q = 0; q < dims[4]; ++q) {
            double sum = bias.data[o];
            for (uint32_t tap = 0; tap < 2 * 2 * 3 * 2; ++tap) {
              const uint32_t ch = tap / 12, k = tap / 6 % 2, r = tap / 2 % 3, s = tap % 2;
              const int depth = static_cast<int>(2 * v + k) - 1, row = static_cast<int>(p + 2 * r),
                        column = static_cast<int>(3 * q + 3 * s) - 2;
              if (depth < 0 || depth >= 4 || row >= 5 || column < 0 || column >= 6) continue;
              const uint32_t plane = n * 4 + o / 3 * 2 + ch;
              const auto position = static_cast<uint32_t>((depth * 5 + row) * 6 + column);
              sum += w.data[o * 24 + tap] * x.data[plane * 120 + position];
            }
            EXPECT_NEAR(y[at++], sum, 1e-12);
          }
  EXPECT_EQ(at, y.size());
}

TEST(Volumes, OneOfOnePlaneIsAnImage) {
  std::mt19937 random(14);
  const std::vector<int64_t> volume{1, 2, 1, 0, 1, 2, 0, 0, 1, 1, 1, 2, 2}, image{2, 1, 1, 2, 0, 1, 1, 2, 2};
  auto x = make<float>({2, 4, 1, 9, 8}, random), w = make<float>({6, 2, 1, 3, 2}, random);
  auto flat_x = x, flat_w = w;
  flat_x.dims = {2, 4, 9, 8}, flat_w.dims = {6, 2, 3, 2};
  EXPECT_TRUE(same_bits(run<float>(PT_OP_conv3d, 1, {&x, &w}, {2, 6, 1, 4, 9}, volume),
                        run<float>(PT_OP_conv2d, 1, {&flat_x, &flat_w}, {2, 6, 4, 9}, image)));
}

}  // namespace
