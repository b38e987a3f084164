// conv2d_act in every way it can run, against conv2d, add and the activation apart.
#include <limits>
#include <optional>
#include <set>

#include "kernels/portable/kernel_rows.h"
#include "testing/product_calls.h"

namespace {

using namespace product_test;

ConvCase random_layer(std::mt19937& random) {
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const bool depthwise = draw(0, 4) == 0;
  const uint32_t groups = draw(1, 3), per_in = depthwise ? 1 : draw(1, 9), per_out = depthwise ? 1 : draw(1, 20);
  ConvCase c{draw(1, 3), groups * per_in, draw(6, 20), draw(6, 40), groups * per_out, draw(1, 3), draw(1, 3), {}};
  c.ints = {draw(1, 2), draw(1, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(1, 2), draw(1, 2), groups};
  return c;
}

// Several strips, several chunks of channels, tall products, and 3 x 3 of stride 1, which Winograd's take.
std::vector<ConvCase> large_layers() {
  const std::vector<int64_t> plain{1, 1, 1, 1, 1, 1, 1, 1, 1};
  return {{2, 70, 20, 33, 9, 3, 3, plain},
          {1, 3, 40, 300, 5, 3, 3, plain},
          {2, 2, 24, 24, 5, 17, 17, {1, 1, 8, 8, 8, 8, 1, 1, 1}},
          {2, 300, 5, 5, 140, 1, 1, {2, 2, 0, 0, 0, 0, 1, 1, 1}},
          {3, 40, 9, 9, 40, 3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 40}},
          {1, 16, 7, 7, 16, 3, 3, plain},
          {9, 8, 13, 9, 24, 3, 3, {1, 1, 1, 0, 1, 2, 1, 1, 2}}};
}

struct Activation {
  int64_t op;
  std::vector<double> reals;
};
std::vector<Activation> activations() {
  return {{0, {}},
          {PT_OP_relu, {}},
          {PT_OP_leaky_relu, {0.1}},
          {PT_OP_clip, {-0.25, 0.5}},
          {PT_OP_sigmoid, {}},
          {PT_OP_tanh, {}},
          {PT_OP_gelu, {}},
          {PT_OP_softplus, {}},
          {PT_OP_hard_sigmoid, {0.2, 0.5}},
          {PT_OP_hard_swish, {}}};
}

TEST(ConvolutionEpilogues, TestHasEveryActivation) {
  std::set<int64_t> tested;
  for (const Activation& activation : activations()) tested.insert(activation.op);
#define PT_ACTIVATION(name) EXPECT_TRUE(tested.contains(PT_OP_##name)) << #name;
  PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
}

struct Epilogue {
  Activation activation;
  bool with_bias = false;
  int64_t residual = PT_RESIDUAL_NONE;
};

struct Operands {
  Operand<float> x, w, bias, residual;
};

Operands operands_of(const ConvCase& layer, std::mt19937& random) {
  Operands made{make<float>(layer.x(), random), make<float>(layer.w(), random), make<float>({layer.outputs}, random),
                make<float>(layer.y(), random)};
  made.x.data[random() % made.x.data.size()] = -std::numeric_limits<float>::infinity();
  made.residual.data[random() % made.residual.data.size()] = std::numeric_limits<float>::quiet_NaN();
  return made;
}

// NaN where there is no such kernel.
Operand<float> apart(const ConvCase& layer, const Epilogue& epilogue, Operands from, uint16_t algorithm) {
  std::vector<Operand<float>*> inputs = {&from.x, &from.w};
  if (epilogue.with_bias) inputs.push_back(&from.bias);
  Operand<float> made = from.residual, sum = made, y = made;
  submit(PT_OP_conv2d, algorithm, inputs, made, layer.ints, {}, 1);
  if (epilogue.residual == PT_RESIDUAL_NONE)
    sum = made;
  else
    submit(PT_OP_add, 0, {&made, &from.residual}, sum, {}, {}, 1);
  if (epilogue.activation.op == 0) return sum;
  submit(static_cast<pt_op>(epilogue.activation.op), 0, {&sum}, y, {0}, epilogue.activation.reals, 1);
  return y;
}

Operand<float> fused(const ConvCase& layer, const Epilogue& epilogue, Operands from, uint16_t algorithm,
                     uint32_t threads, bool over) {
  std::vector<Operand<float>*> inputs = {&from.x, &from.w};
  if (epilogue.with_bias) inputs.push_back(&from.bias);
  if (epilogue.residual != PT_RESIDUAL_NONE) inputs.push_back(&from.residual);
  std::vector<int64_t> ints = layer.ints;
  ints.insert(ints.end(), {epilogue.activation.op, epilogue.residual});
  std::vector<double> reals = epilogue.activation.reals;
  reals.resize(PT_EPILOGUE_REALS);
  Operand<float> elsewhere = from.residual;
  Operand<float>& y = over ? from.residual : elsewhere;
  submit(PT_OP_conv2d_act, algorithm, inputs, y, ints, reals, threads);
  return y;
}

void expect_same_everywhere(const ConvCase& layer, const Epilogue& epilogue, const Operands& from) {
  const Operand<float> expected = apart(layer, epilogue, from, 0);
  for (const uint16_t algorithm : {uint16_t{0}, uint16_t{PT_BLOCKED}, uint16_t{PT_COMPACT}})
    for (const uint32_t threads : {1U, 4U})
      for (const bool over : {false, true}) {
        if (over && epilogue.residual != PT_RESIDUAL_OVER) continue;
        EXPECT_TRUE(same_bits(fused(layer, epilogue, from, algorithm, threads, over).data, expected.data))
            << epilogue.activation.op << " " << algorithm << " " << threads << " " << over << epilogue.residual;
      }
}

TEST(ConvolutionEpilogues, HaveTheBitsOfTheOpsApart) {
  std::mt19937 random(31);
  const std::vector<ConvCase> large = large_layers();
  const std::vector<Activation> all = activations();
  for (size_t trial = 0; trial < 240 + large.size(); ++trial) {
    const ConvCase layer = trial < large.size() ? large[trial] : random_layer(random);
    const Epilogue epilogue{all[trial % all.size()], trial / 3 % 2 == 0, static_cast<int64_t>(random() % 3)};
    expect_same_everywhere(layer, epilogue, operands_of(layer, random));
  }
}

TEST(ConvolutionEpilogues, HaveTheBitsOfWinogradsConvolutions) {
  std::mt19937 random(32);
  const std::vector<Activation> all = activations();
  for (size_t trial = 0; trial < 24; ++trial) {
    const uint32_t groups = 1 + trial % 2;
    const ConvCase layer{2, groups * 8, 9 + static_cast<uint32_t>(trial), 14, groups * 6,
                         3, 3,          {1, 1, 1, 0, 1, 2, 1, 1, groups}};
    const Epilogue epilogue{all[trial % all.size()], trial % 3 == 0, static_cast<int64_t>(trial / 2 % 3)};
    Operands from = operands_of(layer, random);
    from.x = make<float>(layer.x(), random);
    for (const uint16_t algorithm : {PT_WINOGRAD, PT_WINOGRAD_COMPACT, PT_WINOGRAD_COMPACT_WHOLE, PT_WINOGRAD4,
                                     PT_WINOGRAD4_COMPACT, PT_WINOGRAD4_COMPACT_WHOLE}) {
      const Operand<float> expected = apart(layer, epilogue, from, algorithm);
      for (const bool over : {false, true}) {
        if (over && epilogue.residual != PT_RESIDUAL_OVER) continue;
        EXPECT_TRUE(same_bits(fused(layer, epilogue, from, algorithm, 3, over).data, expected.data))
            << trial << " " << algorithm << " " << over;
      }
    }
  }
}

TEST(ConvolutionEpilogues, NeedNoWorkspaceWhereNothingIsOverwritten) {
  ConvCase layer = large_layers()[0];
  pt_tensor in[4]{}, y{};
  const auto tensor = [](const std::vector<uint32_t>& dims) {
    pt_tensor t{};
    t.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), t.dims);
    return t;
  };
  in[0] = tensor(layer.x()), in[1] = tensor(layer.w()), in[2] = y = tensor(layer.y());
  layer.ints.insert(layer.ints.end(), {PT_OP_relu, PT_RESIDUAL_READ});
  pt_call call{};
  call.inputs = in, call.input_count = 3, call.outputs = &y, call.output_count = 1;
  call.ints = layer.ints.data(), call.int_count = static_cast<uint16_t>(layer.ints.size());
  for (const uint16_t algorithm : {uint16_t{PT_BLOCKED}, uint16_t{PT_COMPACT}}) {
    const pt_kernel* kernel = pt_kernel_find(table<float>(), PT_OP_conv2d_act, PT_F32, algorithm, 0);
    ASSERT_NE(kernel, nullptr);
    layer.ints.back() = PT_RESIDUAL_READ;
    EXPECT_EQ(kernel->workspace_bytes(&call), 0u);
    layer.ints.back() = PT_RESIDUAL_OVER;
    const size_t strips = kernel->workspace_bytes(&call);
    EXPECT_GT(strips, 0u);
    EXPECT_LT(strips, sizeof(float) * 2 * 9 * 20 * 33);
  }
}

}  // namespace
