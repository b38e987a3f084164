// Products and convolutions: the blocked and compact kernels give the reference's bits at any thread count, and
// the reference is the definition.
#include "testing/product_calls.h"

#include <set>

namespace {

using namespace product_test;

TEST(Matmul, EveryAlgorithmGivesTheReferencesBits) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 240; ++trial) {
    const auto draw = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random()) % most; };
    const uint32_t m = draw(trial % 4 ? 70 : 5), n = draw(trial % 7 ? 160 : 9), k = draw(trial % 5 ? 150 : 5),
                   batch = draw(3);
    const int64_t trans_a = trial % 2, trans_b = trial / 2 % 2;
    auto a = make<float>({trial % 3 ? batch : 1, trans_a ? k : m, trans_a ? m : k}, random);
    auto b = make<float>({batch, trans_b ? n : k, trans_b ? k : n}, random);
    auto bias = make<float>({n}, random);
    std::vector<Operand<float>*> inputs{&a, &b};
    if (trial % 5 == 0) inputs.push_back(&bias);
    const auto expected = run<float>(PT_OP_matmul, 0, inputs, {batch, m, n}, {trans_a, trans_b});
    for (const Way& way : kFastWays)
      EXPECT_TRUE(same_bits(
          run<float>(PT_OP_matmul, way.algorithm, inputs, {batch, m, n}, {trans_a, trans_b}, way.threads), expected))
          << trial << " " << way.algorithm;
  }
}

TEST(Matmul, ReferenceIsTheDefinition) {
  std::mt19937 random(2);
  auto a = make<double>({5, 7}, random), b = make<double>({7, 4}, random), bias = make<double>({4}, random);
  const auto y = run<double>(PT_OP_matmul, 0, {&a, &b, &bias}, {5, 4}, {0, 0});
  for (size_t row = 0; row < 5; ++row)
    for (size_t column = 0; column < 4; ++column) {
      double sum = 0;
      for (size_t k = 0; k < 7; ++k) sum += a.data[row * 7 + k] * b.data[k * 4 + column];
      EXPECT_EQ(y[row * 4 + column], sum + bias.data[column]);
    }
}

ConvCase random_case(std::mt19937& random) {
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const uint32_t groups = draw(1, 3), per_in = draw(1, 5), per_out = draw(1, 12);
  ConvCase c{draw(1, 3), groups * per_in, draw(6, 15), draw(6, 15), groups * per_out, draw(1, 3), draw(1, 3), {}};
  c.ints = {draw(1, 2), draw(1, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(1, 2), draw(1, 2), groups};
  return c;
}

// Shapes that do not fit one strip, one chunk of planes, or any strip at all.
std::vector<ConvCase> large_cases() {
  const std::vector<int64_t> plain{1, 1, 1, 1, 1, 1, 1, 1, 1};
  return {{2, 70, 20, 33, 9, 3, 3, plain},
          {1, 3, 40, 300, 5, 3, 3, plain},
          {1, 2, 4, 3000, 6, 3, 3, plain},
          {1, 2, 20, 9000, 3, 1, 1, {1, 1, 0, 0, 0, 0, 1, 1, 1}},
          {2, 2, 24, 24, 5, 17, 17, {1, 1, 8, 8, 8, 8, 1, 1, 1}},
          {2, 300, 5, 5, 40, 1, 1, {1, 1, 0, 0, 0, 0, 1, 1, 1}},
          {3, 40, 9, 9, 40, 3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 40}},
          {2, 4, 12, 12, 33, 3, 3, {1, 1, 5, 6, 5, 6, 1, 1, 1}},
          {2, 5, 30, 41, 20, 3, 3, {2, 2, 1, 1, 1, 1, 2, 3, 1}},
          {2, 9, 17, 22, 10, 5, 3, {3, 4, 2, 1, 2, 1, 2, 6, 1}},
          {1, 16, 7, 7, 16, 3, 3, plain},
          {2, 6, 13, 12, 6, 3, 5, {2, 3, 1, 2, 1, 2, 1, 2, 6}},
          {2, 4, 9, 9, 8, 3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 4}},
          {1, 6, 9, 5, 6, 2, 2, {3, 3, 0, 0, 1, 0, 1, 1, 2}},
          {2, 8, 14, 14, 8, 1, 1, {2, 2, 0, 0, 0, 0, 1, 1, 1}},
          {2, 1, 3, 3, 4, 3, 3, {1, 1, 4, 3, 4, 3, 1, 1, 1}}};
}

TEST(Convolutions, EveryAlgorithmGivesTheReferencesBits) {
  std::mt19937 random(3);
  const std::vector<ConvCase> large = large_cases();
  for (size_t trial = 0; trial < 150 + large.size(); ++trial) {
    const ConvCase c = trial < large.size() ? large[trial] : random_case(random);
    auto x = make<float>(c.x(), random), w = make<float>(c.w(), random), dy = make<float>(c.y(), random),
         bias = make<float>({c.outputs}, random);
    const auto y = run<float>(PT_OP_conv2d, 0, {&x, &w, &bias}, c.y(), c.ints);
    const auto dx = run<float>(PT_OP_conv2d_dx, 0, {&dy, &w}, c.x(), c.ints);
    const auto dw = run<float>(PT_OP_conv2d_dw, 0, {&x, &dy}, c.w(), c.ints);
    for (const auto [algorithm, threads] : kFastWays) {
      EXPECT_TRUE(same_bits(run<float>(PT_OP_conv2d, algorithm, {&x, &w, &bias}, c.y(), c.ints, threads), y))
          << trial << " " << algorithm;
      EXPECT_TRUE(same_bits(run<float>(PT_OP_conv2d_dx, algorithm, {&dy, &w}, c.x(), c.ints, threads), dx))
          << trial << " " << algorithm;
      EXPECT_TRUE(same_bits(run<float>(PT_OP_conv2d_dw, algorithm, {&x, &dy}, c.w(), c.ints, threads), dw))
          << trial << " " << algorithm;
    }
  }
}

struct Gradient {
  pt_op op;
  std::vector<int64_t> ints;
  std::vector<double> reals;
};

std::vector<Gradient> gradients() {
  return {{PT_OP_relu_grad, {}, {}},
          {PT_OP_leaky_relu_grad, {}, {0.1}},
          {PT_OP_sigmoid_grad, {}, {}},
          {PT_OP_tanh_grad, {}, {}},
          {PT_OP_gelu_grad, {0}, {}},
          {PT_OP_gelu_grad, {1}, {}},
          {PT_OP_erf_grad, {}, {}},
          {PT_OP_sqrt_grad, {}, {}},
          {PT_OP_elu_grad, {}, {1, 0.5, 0.7}},
          {PT_OP_softplus_grad, {}, {}},
          {PT_OP_hard_sigmoid_grad, {}, {0.2, -0.5, 0.5}},
          {PT_OP_hard_swish_grad, {}, {}},
          {PT_OP_clip_grad, {}, {-0.5, 0.5}}};
}

TEST(Convolutions, TestHasEveryGradientThatDzGoesThrough) {
  std::set<int> tested;
  for (const Gradient& gradient : gradients()) tested.insert(gradient.op);
#define PT_GRADIENT(name) EXPECT_TRUE(tested.contains(PT_OP_##name)) << #name;
  PT_CONV_GRADIENTS(PT_GRADIENT)
#undef PT_GRADIENT
}

// conv2d_dz in every way it can run, against conv2d_dx and the activation's own gradient.
void expect_dz_of(const ConvCase& c, const Gradient& gradient, std::mt19937& random) {
  auto w = make<float>(c.w(), random), dy = make<float>(c.y(), random), r = make<float>(c.x(), random), dx = r, dz = r;
  submit(PT_OP_conv2d_dx, 0, {&dy, &w}, dx, c.ints, {}, 1);
  submit(gradient.op, 0, {&dx, &r}, dz, gradient.ints, gradient.reals, 1);
  std::vector<int64_t> ints = c.ints;
  ints.insert(ints.end(), {gradient.op, gradient.ints.empty() ? 0 : gradient.ints[0]});
  std::vector<double> reals = gradient.reals;
  reals.resize(3);
  for (const uint16_t algorithm : {uint16_t{0}, uint16_t{1}, uint16_t{2}})
    for (const uint32_t threads : {1U, 4U})
      for (const bool in_place : {false, true}) {
        Operand<float> read = r, apart = r;
        Operand<float>& made = in_place ? read : apart;
        submit(PT_OP_conv2d_dz, algorithm, {&dy, &w, &read}, made, ints, reals, threads);
        EXPECT_TRUE(same_bits(made.data, dz.data)) << gradient.op << " " << algorithm << " " << threads << in_place;
      }
}

TEST(Convolutions, DzIsDxThroughTheActivationsGradient) {
  std::mt19937 random(6);
  const std::vector<ConvCase> large = large_cases();
  const std::vector<Gradient> all = gradients();
  for (size_t trial = 0; trial < 150 + large.size(); ++trial)
    expect_dz_of(trial < large.size() ? large[trial] : random_case(random), all[trial % all.size()], random);
}

TEST(Convolutions, GradientsAreTheAdjoints) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 60; ++trial) {
    const ConvCase c = random_case(random);
    auto x = make<double>(c.x(), random), w = make<double>(c.w(), random), dy = make<double>(c.y(), random);
    for (const uint16_t algorithm : {uint16_t{1}, uint16_t{2}}) {
      const double forward = dot(dy.data, run<double>(PT_OP_conv2d, algorithm, {&x, &w}, c.y(), c.ints));
      EXPECT_NEAR(dot(x.data, run<double>(PT_OP_conv2d_dx, algorithm, {&dy, &w}, c.x(), c.ints)), forward, 1e-9);
      EXPECT_NEAR(dot(w.data, run<double>(PT_OP_conv2d_dw, algorithm, {&x, &dy}, c.w(), c.ints)), forward, 1e-9);
    }
  }
}

TEST(Convolutions, ReferenceIsTheDefinition) {
  std::mt19937 random(5);
  const ConvCase c{2, 3, 6, 5, 4, 3, 2, {1, 2, 1, 0, 1, 1, 1, 1, 1}};
  auto x = make<double>(c.x(), random), w = make<double>(c.w(), random);
  const auto y = run<double>(PT_OP_conv2d, 0, {&x, &w}, c.y(), c.ints);
  const auto dims = c.y();
  for (uint32_t n = 0; n < dims[0]; ++n)
    for (uint32_t o = 0; o < dims[1]; ++o)
      for (uint32_t p = 0; p < dims[2]; ++p)
        for (uint32_t q = 0; q < dims[3]; ++q) {
          double sum = 0;
          for (uint32_t ch = 0; ch < 3; ++ch)
            for (uint32_t r = 0; r < 3; ++r)
              for (uint32_t s = 0; s < 2; ++s) {
                const int row = static_cast<int>(p + r) - 1, column = static_cast<int>(2 * q + s);
                if (row < 0 || row >= 6 || column >= 5) continue;
                sum += w.data[((o * 3 + ch) * 3 + r) * 2 + s] *
                       x.data[((n * 3 + ch) * 6 + static_cast<uint32_t>(row)) * 5 + static_cast<uint32_t>(column)];
              }
          EXPECT_NEAR(y[((n * dims[1] + o) * dims[2] + p) * dims[3] + q], sum, 1e-12);
        }
}

}  // namespace
