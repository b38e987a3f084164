// Convolutions of few channels by a padded strip: the reference's bits for every shape, inside of the workspace that
// they ask for.
#include <algorithm>

#include "kernels/portable/kernel_rows.h"
#include "testing/product_calls.h"

namespace {

using namespace product_test;

constexpr size_t kWall = 64;

ConvCase random_case(std::mt19937& random) {
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const uint32_t groups = draw(1, 4), per_in = draw(1, 3), per_out = draw(1, 3);
  ConvCase c{draw(1, 3), groups * per_in, draw(1, 24), draw(1, 30), groups * per_out, draw(1, 5), draw(1, 5), {}};
  const uint32_t most = draw(0, 2) == 0 ? 3 : 1;  // strides
  c.ints = {draw(1, most), draw(1, most), draw(0, 4), draw(0, 4), draw(0, 4),
            draw(0, 4),    draw(1, 3),    draw(1, 3), groups};
  c.height = std::max<uint32_t>(c.height, static_cast<uint32_t>(c.ints[PT_CONV_DILATION_H]) * (c.kernel_h - 1) + 1);
  c.width = std::max<uint32_t>(c.width, static_cast<uint32_t>(c.ints[PT_CONV_DILATION_W]) * (c.kernel_w - 1) + 1);
  return c;
}

// Several strips, one row in a strip, positions of which some read nothing but zeros, kernels smaller than strides.
std::vector<ConvCase> large_cases() {
  const std::vector<int64_t> plain{1, 1, 1, 1, 1, 1, 1, 1, 1};
  return {{1, 3, 9, 900, 2, 3, 3, plain},
          {2, 2, 24, 24, 3, 17, 17, {1, 1, 8, 8, 8, 8, 1, 1, 1}},
          {3, 40, 9, 9, 40, 3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 40}},
          {1, 16, 60, 61, 16, 3, 3, {2, 2, 1, 1, 1, 1, 1, 1, 16}},
          {2, 1, 3, 3, 3, 3, 3, {1, 1, 4, 3, 4, 3, 1, 1, 1}},
          {1, 2, 3, 3, 3, 2, 2, {3, 3, 7, 7, 7, 7, 1, 1, 1}},
          {1, 3, 10, 11, 3, 1, 1, {3, 2, 0, 0, 0, 0, 1, 1, 3}}};
}

std::vector<ConvCase> cases(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<ConvCase> all = large_cases();
  for (int trial = 0; trial < 200; ++trial) all.push_back(random_case(random));
  return all;
}

// Runs the kernel in a workspace with walls around it, which must stand; false: it does not compute this shape.
template <class Real>
bool runs(pt_op op, const std::vector<Operand<Real>*>& inputs, Operand<Real>& out, const std::vector<int64_t>& ints,
          const std::vector<double>& reals = {}) {
  std::vector<pt_tensor> in;
  for (Operand<Real>* input : inputs) in.push_back(input->tensor());
  const pt_tensor y = out.tensor();
  pt_call call{};
  call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
  call.outputs = &y, call.output_count = 1;
  call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
  call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
  const pt_kernel* kernel = pt_kernel_find(table<Real>(), static_cast<uint16_t>(op), y.dtype, PT_SHIFT_COMPACT, 0);
  const size_t bytes = kernel->workspace_bytes(&call);
  if (bytes == PT_NO_KERNEL) {
    EXPECT_EQ(kernel->submit(&call), PT_E_KERNEL);
    return false;
  }
  std::vector<Real> workspace(bytes / sizeof(Real) + 2 * kWall, Real(NAN));
  call.workspace = workspace.data() + kWall;
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  for (size_t at = 0; at < kWall; ++at)
    EXPECT_TRUE(std::isnan(workspace[at]) && std::isnan(workspace[workspace.size() - 1 - at])) << at;
  return true;
}

template <class Real>
Operand<Real> nothing(const std::vector<uint32_t>& dims) {
  Operand<Real> made{dims, {}};
  size_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  made.data.assign(count, Real(NAN));
  return made;
}

template <class Real>
void expect_the_references_bits() {
  std::mt19937 random(41);
  size_t ran = 0, at = 0;
  for (const ConvCase& c : cases(42)) {
    ++at;
    auto x = make<Real>(c.x(), random), w = make<Real>(c.w(), random), bias = make<Real>({c.outputs}, random),
         dy = make<Real>(c.y(), random);
    const auto y = run<Real>(PT_OP_conv2d, 0, {&x, &w, &bias}, c.y(), c.ints);
    const auto dx = run<Real>(PT_OP_conv2d_dx, 0, {&dy, &w}, c.x(), c.ints);
    Operand<Real> made = nothing<Real>(c.y()), back = nothing<Real>(c.x());
    if (runs<Real>(PT_OP_conv2d, {&x, &w, &bias}, made, c.ints)) {
      EXPECT_TRUE(same_bits(made.data, y)) << at;
      ++ran;
    }
    if (runs<Real>(PT_OP_conv2d_dx, {&dy, &w}, back, c.ints)) {
      EXPECT_TRUE(same_bits(back.data, dx)) << at;
      ++ran;
    }
  }
  EXPECT_GT(ran, 200u);
}

TEST(ShiftedConvolutions, HaveTheReferencesBits) {
  expect_the_references_bits<float>();
  expect_the_references_bits<double>();
}

// What a hostile plan may ask, which is answered at once: workspaces that cannot be addressed are none.
TEST(ShiftedConvolutions, TellTheWorkspaceOfHugeStridesAndPadding) {
  const auto asked = [](pt_op op, const std::vector<int64_t>& ints, std::vector<std::vector<uint32_t>> dims) {
    std::vector<pt_tensor> tensors;
    for (const std::vector<uint32_t>& of : dims) {
      tensors.push_back({.data = nullptr, .rank = static_cast<uint8_t>(of.size()), .dtype = PT_F32});
      std::copy(of.begin(), of.end(), tensors.back().dims);
    }
    pt_call call{};
    call.inputs = tensors.data(), call.input_count = static_cast<uint16_t>(tensors.size() - 1);
    call.outputs = &tensors.back(), call.output_count = 1;
    call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
    return pt_kernel_find(table<float>(), static_cast<uint16_t>(op), PT_F32, PT_SHIFT_COMPACT, 0)
        ->workspace_bytes(&call);
  };
  constexpr int64_t kHuge = int64_t{1} << 30;
  const size_t padded = asked(PT_OP_conv2d, {1, 1, 16384, 16384, 16383, 16383, 32767, 32767, 1},
                              {{1, 1, 1, 1}, {1, 1, 2, 2}, {1, 1, 1, 1}});
  EXPECT_TRUE(padded == PT_NO_KERNEL || padded >= size_t{32768} * 32768 * sizeof(float));
  const std::vector<int64_t> strides{kHuge, kHuge, 0, 0, 0, 0, 1, 1, 1, PT_OP_tanh_grad, 0};
  EXPECT_LT(asked(PT_OP_conv2d_dz, strides, {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}), size_t{1} << 20);
  EXPECT_EQ(asked(PT_OP_conv2d_dx, strides, {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}), PT_NO_KERNEL);
}

TEST(ShiftedConvolutions, GoThroughActivationsGradients) {
  std::mt19937 random(43);
  size_t ran = 0;
  for (const ConvCase& c : cases(44)) {
    auto w = make<float>(c.w(), random), dy = make<float>(c.y(), random), r = make<float>(c.x(), random);
    Operand<float> dx = r, dz = r;
    submit(PT_OP_conv2d_dx, 0, {&dy, &w}, dx, c.ints, {}, 1);
    submit(PT_OP_tanh_grad, 0, {&dx, &r}, dz, {}, {}, 1);
    std::vector<int64_t> ints = c.ints;
    ints.insert(ints.end(), {PT_OP_tanh_grad, 0});
    for (const bool in_place : {false, true}) {
      Operand<float> read = r, apart = nothing<float>(c.x());
      Operand<float>& made = in_place ? read : apart;
      if (!runs<float>(PT_OP_conv2d_dz, {&dy, &w, &read}, made, ints, {0, 0, 0})) continue;
      EXPECT_TRUE(same_bits(made.data, dz.data)) << in_place;
      ++ran;
    }
  }
  EXPECT_GT(ran, 100u);
}

// What follows a convolution, with Y apart from what is added, or over it.
TEST(ShiftedConvolutions, GoThroughSumsAndActivations) {
  std::mt19937 random(45);
  size_t ran = 0;
  for (const ConvCase& c : cases(46)) {
    auto x = make<float>(c.x(), random), w = make<float>(c.w(), random), bias = make<float>({c.outputs}, random),
         added = make<float>(c.y(), random);
    for (const int64_t residual : {PT_RESIDUAL_NONE, PT_RESIDUAL_READ, PT_RESIDUAL_OVER}) {
      std::vector<int64_t> ints = c.ints;
      ints.insert(ints.end(), {PT_OP_tanh, residual});
      const std::vector<double> reals(PT_EPILOGUE_REALS);
      std::vector<Operand<float>*> inputs{&x, &w, &bias};
      if (residual != PT_RESIDUAL_NONE) inputs.push_back(&added);
      Operand<float> expected = added;
      submit(PT_OP_conv2d_act, 0, inputs, expected, ints, reals, 1);
      for (const bool over : {false, true}) {
        if (over && residual != PT_RESIDUAL_OVER) continue;
        Operand<float> read = added, apart = nothing<float>(c.y());
        Operand<float>& y = over ? read : apart;
        if (residual != PT_RESIDUAL_NONE) inputs.back() = &read;
        if (!runs<float>(PT_OP_conv2d_act, inputs, y, ints, reals)) continue;
        EXPECT_TRUE(same_bits(y.data, expected.data)) << residual << over;
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 300u);
}

TEST(ShiftedConvolutions, AreOfFewChannelsAndImagesWithEdges) {
  const std::vector<int64_t> plain{1, 1, 1, 1, 1, 1, 1, 1, 1}, bare{1, 1, 0, 0, 0, 0, 1, 1, 1};
  std::mt19937 random(47);
  const auto does = [&](const ConvCase& c) {
    auto x = make<float>(c.x(), random), w = make<float>(c.w(), random);
    Operand<float> y = nothing<float>(c.y());
    return runs<float>(PT_OP_conv2d, {&x, &w}, y, c.ints);
  };
  EXPECT_TRUE(does({1, 3, 9, 9, 3, 3, 3, plain}));
  EXPECT_FALSE(does({1, 4, 9, 9, 3, 3, 3, plain}));
  EXPECT_FALSE(does({1, 3, 9, 9, 4, 3, 3, plain}));
  EXPECT_FALSE(does({1, 3, 9, 9, 3, 3, 3, bare}));
}

}  // namespace
