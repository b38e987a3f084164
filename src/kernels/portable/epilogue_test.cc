// conv2d_act and matmul_act in every way they can run, against the product, add and the activation apart.
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

TEST(Epilogues, TestHasEveryActivation) {
  std::set<int64_t> tested;
  for (const Activation& activation : activations()) tested.insert(activation.op);
#define PT_ACTIVATION(name) EXPECT_TRUE(tested.contains(PT_OP_##name)) << #name;
  PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
}

// A convolution or product by its shapes.
struct Product {
  pt_op op;
  std::vector<uint32_t> x, w, y;
  uint32_t bias;
  std::vector<int64_t> ints;
  [[nodiscard]] pt_op fused_op() const { return op == PT_OP_conv2d ? PT_OP_conv2d_act : PT_OP_matmul_act; }
};

Product product_of(const ConvCase& layer) {
  return {PT_OP_conv2d, layer.x(), layer.w(), layer.y(), layer.outputs, layer.ints};
}

struct Epilogue {
  Activation activation;
  bool with_bias = false;
  int64_t residual = PT_RESIDUAL_NONE;
};

// A product's own operands, and what is added to its result, with numbers that are none among them.
struct Operands {
  Operand<float> x, w, bias, residual;
};

Operands operands_of(const Product& product, std::mt19937& random) {
  Operands made{make<float>(product.x, random), make<float>(product.w, random), make<float>({product.bias}, random),
                make<float>(product.y, random)};
  made.x.data[random() % made.x.data.size()] = -std::numeric_limits<float>::infinity();
  made.residual.data[random() % made.residual.data.size()] = std::numeric_limits<float>::quiet_NaN();
  return made;
}

Operand<float> apart(const Product& product, const Epilogue& epilogue, Operands from, uint16_t algorithm) {
  std::vector<Operand<float>*> inputs = {&from.x, &from.w};
  if (epilogue.with_bias) inputs.push_back(&from.bias);
  Operand<float> made = from.residual, sum = made, y = made;
  submit(product.op, algorithm, inputs, made, product.ints, {}, 1);
  if (epilogue.residual == PT_RESIDUAL_NONE)
    sum = made;
  else
    submit(PT_OP_add, 0, {&made, &from.residual}, sum, {}, {}, 1);
  if (epilogue.activation.op == 0) return sum;
  submit(static_cast<pt_op>(epilogue.activation.op), 0, {&sum}, y, {0}, epilogue.activation.reals, 1);
  return y;
}

Operand<float> fused(const Product& product, const Epilogue& epilogue, Operands from, uint16_t algorithm,
                     uint32_t threads, bool over) {
  std::vector<Operand<float>*> inputs = {&from.x, &from.w};
  if (epilogue.with_bias) inputs.push_back(&from.bias);
  if (epilogue.residual != PT_RESIDUAL_NONE) inputs.push_back(&from.residual);
  std::vector<int64_t> ints = product.ints;
  ints.insert(ints.end(), {epilogue.activation.op, epilogue.residual});
  std::vector<double> reals = epilogue.activation.reals;
  reals.resize(PT_EPILOGUE_REALS);
  Operand<float> elsewhere = from.residual;
  Operand<float>& y = over ? from.residual : elsewhere;
  submit(product.fused_op(), algorithm, inputs, y, ints, reals, threads);
  return y;
}

void expect_same_everywhere(const Product& product, const Epilogue& epilogue, const Operands& from) {
  const Operand<float> expected = apart(product, epilogue, from, 0);
  for (const uint16_t algorithm : {uint16_t{0}, uint16_t{PT_BLOCKED}, uint16_t{PT_COMPACT}})
    for (const uint32_t threads : {1U, 4U})
      for (const bool over : {false, true}) {
        if (over && epilogue.residual != PT_RESIDUAL_OVER) continue;
        EXPECT_TRUE(same_bits(fused(product, epilogue, from, algorithm, threads, over).data, expected.data))
            << epilogue.activation.op << " " << algorithm << " " << threads << " " << over << epilogue.residual;
      }
}

TEST(ConvolutionEpilogues, HaveTheBitsOfTheOpsApart) {
  std::mt19937 random(31);
  const std::vector<ConvCase> large = large_layers();
  const std::vector<Activation> all = activations();
  for (size_t trial = 0; trial < 240 + large.size(); ++trial) {
    const Product layer = product_of(trial < large.size() ? large[trial] : random_layer(random));
    const Epilogue epilogue{all[trial % all.size()], trial / 3 % 2 == 0, static_cast<int64_t>(random() % 3)};
    expect_same_everywhere(layer, epilogue, operands_of(layer, random));
  }
}

// Factors that lie turned, stacks that broadcast, and products of several strips and blocks of k.
Product random_product(std::mt19937& random, size_t trial) {
  const auto draw = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random()) % most; };
  const bool large = trial % 8 == 0;
  const uint32_t m = draw(large ? 150 : 20), k = draw(large ? 200 : 9), n = draw(large ? 300 : 40);
  const int64_t turns_a = random() % 2, turns_b = random() % 2;
  const std::vector<uint32_t> a = turns_a ? std::vector{k, m} : std::vector{m, k},
                              b = turns_b ? std::vector{n, k} : std::vector{k, n};
  Product product{PT_OP_matmul, a, b, {m, n}, n, {turns_a, turns_b}};
  if (trial % 3 == 0) return product;
  const uint32_t stack = draw(3), rows = draw(2);
  product.x.insert(product.x.begin(), {stack, trial % 2 == 0 ? 1 : rows});
  product.y.insert(product.y.begin(), {stack, rows});
  if (trial % 3 == 1) product.w.insert(product.w.begin(), rows);
  if (trial % 3 == 2 && trial % 2 == 0) product.w.insert(product.w.begin(), {1, rows});
  if (trial % 3 == 2 && trial % 2 != 0 && stack > 1) product.w.insert(product.w.begin(), {stack, 1});
  return product;
}

TEST(ProductEpilogues, HaveTheBitsOfTheOpsApart) {
  std::mt19937 random(33);
  const std::vector<Activation> all = activations();
  for (size_t trial = 0; trial < 360; ++trial) {
    const Product product = random_product(random, trial);
    const Epilogue epilogue{all[trial % all.size()], trial / 5 % 2 == 0, static_cast<int64_t>(random() % 3)};
    expect_same_everywhere(product, epilogue, operands_of(product, random));
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
    const Product product = product_of(layer);
    Operands from = operands_of(product, random);
    from.x = make<float>(layer.x(), random);
    for (const uint16_t algorithm : {PT_WINOGRAD, PT_WINOGRAD_COMPACT, PT_WINOGRAD_COMPACT_WHOLE, PT_WINOGRAD4,
                                     PT_WINOGRAD4_COMPACT, PT_WINOGRAD4_COMPACT_WHOLE}) {
      const Operand<float> expected = apart(product, epilogue, from, algorithm);
      for (const bool over : {false, true}) {
        if (over && epilogue.residual != PT_RESIDUAL_OVER) continue;
        EXPECT_TRUE(same_bits(fused(product, epilogue, from, algorithm, 3, over).data, expected.data))
            << trial << " " << algorithm << " " << over;
      }
    }
  }
}

// The bytes of workspace that it asks for.
size_t workspace_of(const Product& product, uint16_t algorithm, int64_t residual) {
  pt_tensor in[3]{}, y{};
  const auto tensor = [](const std::vector<uint32_t>& dims) {
    pt_tensor t{};
    t.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), t.dims);
    return t;
  };
  in[0] = tensor(product.x), in[1] = tensor(product.w), in[2] = y = tensor(product.y);
  std::vector<int64_t> ints = product.ints;
  ints.insert(ints.end(), {PT_OP_relu, residual});
  pt_call call{};
  call.inputs = in, call.input_count = 3, call.outputs = &y, call.output_count = 1;
  call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
  const pt_kernel* kernel = pt_kernel_find(table<float>(), product.fused_op(), PT_F32, algorithm, 0);
  return kernel == nullptr ? SIZE_MAX : kernel->workspace_bytes(&call);
}

TEST(Epilogues, NeedNoWorkspaceWhereNothingIsOverwritten) {
  const Product product{PT_OP_matmul, {3, 200, 40}, {40, 90}, {3, 200, 90}, 90, {0, 0}};
  for (const Product& of : {product_of(large_layers()[0]), product})
    for (const uint16_t algorithm : {uint16_t{PT_BLOCKED}, uint16_t{PT_COMPACT}}) {
      EXPECT_EQ(workspace_of(of, algorithm, PT_RESIDUAL_READ), 0u);
      const size_t strips = workspace_of(of, algorithm, PT_RESIDUAL_OVER);
      EXPECT_GT(strips, 0u);
      EXPECT_LT(strips, sizeof(float) * 2 * 9 * 20 * 33);
    }
}

}  // namespace
