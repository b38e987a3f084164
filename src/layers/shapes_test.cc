// The shape that each call gives, against PyTorch's rules; and that every layer is read, with gradients for its parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/apply.h"
#include "testing/built_model.h"

namespace pantoum::layers {
namespace {

// The shape of a layer's result, which is also an output of a model that is read and can be trained.
Shape shape_of(const Layer& layer, const Shape& sample, DType dtype = DType::f32) {
  ModelBuilder net;
  const Tensor y = net.apply(layer, net.input("x", sample, dtype));
  net.output("y", y);
  const auto imported = read(net.onnx());
  EXPECT_TRUE(imported) << to_text(imported.error());
  if (!imported) return {};
  Shape bound = imported->graph.value(imported->graph.outputs[0]).type.shape;
  for (size_t d = 0; d < std::min(bound.size(), y.shape().size()); ++d)
    if (y.shape()[d] == -1) bound[d] = -1;
  EXPECT_EQ(bound, y.shape());
  if (!parameters_of(imported->graph).empty()) {
    autodiff::TrainingOptions options;
    options.loss = {{.name = "mse"}};
    EXPECT_EQ(untrained(imported->graph, options), std::vector<std::string>());
  }
  return y.shape();
}

constexpr int64_t N = -1;

int64_t conv_extent(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

int64_t transposed_extent(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t more) {
  return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
}

TEST(LayerShapes, Convolutions) {
  for (const int64_t kernel : {1, 2, 3})
    for (const int64_t stride : {1, 2})
      for (const int64_t padding : {0, 1})
        for (const int64_t dilation : {1, 2}) {
          const auto extent = [&](int64_t in) { return conv_extent(in, kernel, stride, padding, dilation); };
          EXPECT_EQ(shape_of(Conv2d{.channels = 6,
                                    .kernel = kernel,
                                    .stride = stride,
                                    .padding = padding,
                                    .dilation = dilation,
                                    .groups = 2},
                             {4, 9, 7}),
                    (Shape{N, 6, extent(9), extent(7)}));
        }
  EXPECT_EQ(shape_of(Conv1d{.channels = 5, .kernel = 3, .stride = 2, .bias = false}, {2, 10}), (Shape{N, 5, 4}));
  EXPECT_EQ(shape_of(Conv3d{.channels = 2, .kernel = {1, 2, 3}, .padding = {0, 1, 1}}, {3, 4, 5, 6}),
            (Shape{N, 2, 4, 6, 6}));
  EXPECT_EQ(shape_of(Conv2d{.channels = 2, .kernel = {2, 5}, .dilation = {3, 1}, .same_padding = true}, {3, 8, 9}),
            (Shape{N, 2, 8, 9}));
}

TEST(LayerShapes, TransposedConvolutions) {
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t padding : {0, 1}) {
      const int64_t more = stride - 1;
      const auto extent = [&](int64_t in) { return transposed_extent(in, 3, stride, padding, 1, more); };
      EXPECT_EQ(shape_of(ConvTranspose2d{.channels = 4,
                                         .kernel = 3,
                                         .stride = stride,
                                         .padding = padding,
                                         .output_padding = more,
                                         .groups = 2},
                         {2, 5, 4}),
                (Shape{N, 4, extent(5), extent(4)}));
    }
  EXPECT_EQ(shape_of(ConvTranspose1d{.channels = 3, .kernel = 4, .stride = 2, .padding = 1}, {2, 6}),
            (Shape{N, 3, 12}));
  EXPECT_EQ(shape_of(ConvTranspose3d{.channels = 1, .kernel = 2, .stride = 2}, {2, 2, 3, 4}), (Shape{N, 1, 4, 6, 8}));
}

int64_t pooled(int64_t in, int64_t kernel, int64_t stride, int64_t padding, bool ceil) {
  const int64_t span = in + 2 * padding - kernel;
  int64_t out = (ceil ? (span + stride - 1) / stride : span / stride) + 1;
  if (ceil && (out - 1) * stride >= in + padding) --out;  // a window that would begin in the padding behind
  return out;
}

TEST(LayerShapes, Pools) {
  for (const int64_t kernel : {2, 3})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t padding : {0, 1})
        for (const bool ceil : {false, true}) {
          const Shape expected{N, 2, pooled(8, kernel, stride, padding, ceil),
                               pooled(7, kernel, stride, padding, ceil)};
          EXPECT_EQ(
              shape_of(MaxPool2d{.kernel = kernel, .stride = stride, .padding = padding, .ceil = ceil}, {2, 8, 7}),
              expected);
          EXPECT_EQ(
              shape_of(AvgPool2d{.kernel = kernel, .stride = stride, .padding = padding, .ceil = ceil}, {2, 8, 7}),
              expected);
        }
  EXPECT_EQ(shape_of(MaxPool1d{.kernel = 3}, {2, 9}), (Shape{N, 2, 3}));
  EXPECT_EQ(shape_of(MaxPool2d{.kernel = 2, .stride = 1, .dilation = 3}, {2, 9, 9}), (Shape{N, 2, 6, 6}));
  EXPECT_EQ(shape_of(AvgPool3d{.kernel = {1, 2, 2}, .count_padding = false}, {1, 3, 4, 6}), (Shape{N, 1, 3, 2, 3}));
  EXPECT_EQ(shape_of(AdaptiveAvgPool2d{{2, 3}}, {5, 4, 9}), (Shape{N, 5, 2, 3}));
  EXPECT_EQ(shape_of(AdaptiveMaxPool2d{}, {5, 4, 9}), (Shape{N, 5, 1, 1}));
  EXPECT_EQ(shape_of(GlobalAvgPool{}, {5, 4, 9}), (Shape{N, 5, 1, 1}));
  EXPECT_EQ(shape_of(GlobalMaxPool{}, {5, 4}), (Shape{N, 5, 1}));
}

TEST(LayerShapes, NormalizationsKeepTheirInput) {
  for (const Shape& sample : {Shape{6}, Shape{6, 4}, Shape{6, 4, 3}, Shape{6, 2, 3, 2}}) {
    Shape whole = sample;
    whole.insert(whole.begin(), N);
    EXPECT_EQ(shape_of(BatchNorm{}, sample), whole);
    EXPECT_EQ(shape_of(BatchNorm{.affine = false}, sample), whole);
    EXPECT_EQ(shape_of(LayerNorm{}, sample), whole);
    EXPECT_EQ(shape_of(LayerNorm{.bias = false}, sample), whole);
    EXPECT_EQ(shape_of(LayerNorm{.dimensions = static_cast<int64_t>(sample.size()), .affine = false}, sample), whole);
    EXPECT_EQ(shape_of(RmsNorm{}, sample), whole);
    if (sample.size() < 2) continue;
    EXPECT_EQ(shape_of(GroupNorm{.groups = 3}, sample), whole);
    EXPECT_EQ(shape_of(InstanceNorm{.affine = true}, sample), whole);
    EXPECT_EQ(shape_of(InstanceNorm{}, sample), whole);
  }
}

TEST(LayerShapes, ElementsKeepTheirInput) {
  for (const Layer& layer :
       {Layer(Relu{}), Layer(LeakyRelu{}), Layer(Elu{}), Layer(Selu{}), Layer(Gelu{}), Layer(Gelu{true}), Layer(Silu{}),
        Layer(Sigmoid{}), Layer(Tanh{}), Layer(HardSigmoid{}), Layer(HardSwish{}), Layer(Softplus{}), Layer(Mish{}),
        Layer(Softmax{}), Layer(LogSoftmax{1}), Layer(Dropout{}), Layer(Prelu{}), Layer(Prelu{3})}) {
    EXPECT_EQ(shape_of(layer, {3}), (Shape{N, 3})) << layers::name_of(layer);
    EXPECT_EQ(shape_of(layer, {3, 4, 5}), (Shape{N, 3, 4, 5})) << layers::name_of(layer);
  }
}

TEST(LayerShapes, ProductsAndSequences) {
  EXPECT_EQ(shape_of(Linear{5}, {3}), (Shape{N, 5}));
  EXPECT_EQ(shape_of(Linear{.features = 5, .bias = false}, {2, 7, 3}), (Shape{N, 2, 7, 5}));
  EXPECT_EQ(shape_of(Embedding{.rows = 9, .columns = 4}, {3, 2}, DType::i64), (Shape{N, 3, 2, 4}));
  EXPECT_EQ(shape_of(Embedding{.rows = 9, .columns = 4}, {}, DType::i32), (Shape{N, 4}));
  EXPECT_EQ(shape_of(Lstm{.hidden = 4, .layers = 2}, {5, 3}), (Shape{N, 5, 4}));
  EXPECT_EQ(shape_of(Gru{.hidden = 4, .bidirectional = true, .bias = false}, {5, 3}), (Shape{N, 5, 8}));
  EXPECT_EQ(shape_of(Rnn{.hidden = 4, .bidirectional = true, .final_state = true}, {5, 3}), (Shape{N, 8}));
  EXPECT_EQ(shape_of(MultiHeadAttention{.heads = 2, .bias = false}, {5, 6}), (Shape{N, 5, 6}));
  EXPECT_EQ(shape_of(TransformerLayer{.heads = 3, .feedforward = 7}, {5, 6}), (Shape{N, 5, 6}));
}

TEST(LayerShapes, WhatMovesElements) {
  EXPECT_EQ(shape_of(Flatten{}, {3, 4, 5}), (Shape{N, 60}));
  EXPECT_EQ(shape_of(Flatten{2}, {3, 4, 5}), (Shape{N, 3, 20}));
  EXPECT_EQ(shape_of(Flatten{-2}, {3, 4, 5}), (Shape{N, 3, 20}));
  EXPECT_EQ(shape_of(Flatten{0}, {3}), (Shape{N}));
  EXPECT_EQ(shape_of(Reshape{{0, 2, -1}}, {3, 4}), (Shape{N, 2, 6}));
  EXPECT_EQ(shape_of(Reshape{{-1, 2}}, {3, 4}), (Shape{N, 2}));
  EXPECT_EQ(shape_of(Permute{{0, 2, 1}}, {3, 4}), (Shape{N, 4, 3}));
  EXPECT_EQ(shape_of(Permute{{1, 0}}, {3}), (Shape{3, N}));
  EXPECT_EQ(shape_of(Upsample{}, {3, 4, 5}), (Shape{N, 3, 8, 10}));
  EXPECT_EQ(shape_of(Upsample{.scale = 1.5, .mode = Upsample::Mode::cubic}, {3, 4, 5}), (Shape{N, 3, 6, 7}));
  EXPECT_EQ(shape_of(Upsample{.scale = 0.5, .mode = Upsample::Mode::linear, .align_corners = true}, {3, 8}),
            (Shape{N, 3, 4}));
  EXPECT_EQ(shape_of(Pad{.before = {1, 2}, .after = {0, -1}}, {3, 4, 5}), (Shape{N, 3, 5, 6}));
  EXPECT_EQ(shape_of(Pad{.before = {1}, .after = {2}, .mode = PadMode::reflect}, {3, 5}), (Shape{N, 3, 8}));
}

class Functions : public testing::Test {
 protected:
  ModelBuilder net_;
  Tensor x_ = net_.input("x", {3, 4}), i_ = net_.input("i", {3}, DType::i64);

  void TearDown() override {
    net_.output("y", x_ + 0);
    EXPECT_EQ(net_.problems(), std::vector<std::string>());
  }
};

TEST_F(Functions, Reduce) {
  EXPECT_EQ(net_.sum(x_).shape(), (Shape{N}));
  EXPECT_EQ(net_.mean(x_, {1}).shape(), (Shape{N, 4}));
  EXPECT_EQ(net_.max(x_, {-1}, true).shape(), (Shape{N, 3, 1}));
  EXPECT_EQ(net_.min(x_, {0}).shape(), (Shape{3, 4}));
  EXPECT_EQ(net_.argmax(x_).shape(), (Shape{N, 3}));
  EXPECT_EQ(net_.argmax(x_).dtype(), DType::i64);
}

TEST_F(Functions, CombineWithNumbersAndTensorsOfOtherShapes) {
  for (const Tensor& y :
       {x_ + 1.0F, 1.0F - x_, 2.0F * x_, x_ / 2.0F, -x_, x_ * x_, x_ - net_.constant({4}, {1, 2, 3, 4}),
        net_.maximum(x_, net_.mean(x_, {2}, true)), net_.clip(x_, -1, 1), net_.pow(x_, net_.constant(2.0F))})
    EXPECT_EQ(y.shape(), (Shape{N, 3, 4}));
  EXPECT_EQ((i_ + 2.0F).dtype(), DType::i64);
  EXPECT_EQ((x_ * net_.constant({2, 1, 1, 1}, {1, 2})).shape(), (Shape{2, N, 3, 4}));
  EXPECT_EQ(net_.where(net_.less(x_, net_.constant(0.0F)), x_, net_.exp(x_)).shape(), (Shape{N, 3, 4}));
  EXPECT_EQ(net_.greater(x_, x_).dtype(), DType::boolean);
  EXPECT_EQ(net_.cast(i_, DType::f32).dtype(), DType::f32);
}

TEST_F(Functions, MoveAndPick) {
  EXPECT_EQ(net_.transpose(x_, 1, -1).shape(), (Shape{N, 4, 3}));
  EXPECT_EQ(net_.unsqueeze(x_, {1}).shape(), (Shape{N, 1, 3, 4}));
  EXPECT_EQ(net_.squeeze(net_.unsqueeze(x_, {-1}), {3}).shape(), (Shape{N, 3, 4}));
  EXPECT_EQ(net_.expand(net_.unsqueeze(x_, {1}), {-1, 5, -1, -1}).shape(), (Shape{N, 5, 3, 4}));
  EXPECT_EQ(net_.slice(x_, 2, 0, -1).shape(), (Shape{N, 3, 3}));
  EXPECT_EQ(net_.slice(x_, 1, 2, -10, -1).shape(), (Shape{N, 3, 4}));
  EXPECT_EQ(net_.select(x_, 1, -1).shape(), (Shape{N, 4}));
  EXPECT_EQ(net_.gather(x_, net_.constant_i64({2}, {0, 2}), 1).shape(), (Shape{N, 2, 4}));
  EXPECT_EQ(net_.matmul(x_, net_.transpose(x_, 1, 2)).shape(), (Shape{N, 3, 3}));
  EXPECT_EQ(net_.einsum("nij,nkj->nik", {x_, x_}).shape(), (Shape{N, 3, 3}));
  EXPECT_EQ(net_.concat({x_, x_}, -1).shape(), (Shape{N, 3, 8}));
  EXPECT_EQ(net_.split(x_, {1, 3}, 2)[1].shape(), (Shape{N, 3, 3}));
  EXPECT_EQ(net_.chunk(x_, 3)[2].shape(), (Shape{N, 1, 4}));
  EXPECT_EQ(net_.pixel_shuffle(net_.reshape(net_.concat({x_, x_, x_, x_}, 1), {0, 4, 3, 4}), 2).shape(),
            (Shape{N, 1, 6, 8}));
}

TEST_F(Functions, AttentionToOtherSequences) {
  const Tensor keys = net_.input("keys", {5, 6}), values = net_.input("values", {5, 2});
  const Tensor y = net_.multi_head_attention(x_, keys, values, {.heads = 2, .name = "cross"},
                                             net_.constant({3, 5}, std::vector<float>(15)));
  EXPECT_EQ(y.shape(), (Shape{N, 3, 4}));
  const Tensor z = net_.multi_head_attention(x_, y, y, {.heads = 2, .dropout = 0.1, .name = "packed"});
  net_.output("z", z);
  const auto imported = read(net_.onnx());
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(parameters_of(imported->graph),
              testing::IsSupersetOf(
                  {"cross.k_proj_weight f32[4,6]", "cross.v_proj_weight f32[4,2]", "packed.in_proj_weight f32[12,4]"}));
}

// The sizes that a shape gives reach what reads them, for every batch.
TEST_F(Functions, ShapesAreFoldedAsTheImportFoldsThem) {
  const Tensor shape = net_.node("Shape", {x_})[0];
  EXPECT_EQ(shape.shape(), (Shape{3}));
  const Tensor rows = net_.node("Gather", {shape, net_.constant_i64({1}, {0})})[0];
  const Tensor wanted = net_.concat({rows, net_.constant_i64({1}, {12})}, 0);
  EXPECT_EQ(net_.node("Reshape", {x_, wanted})[0].shape(), (Shape{N, 12}));
}

TEST_F(Functions, AnyNode) {
  const std::vector<Tensor> top =
      net_.node("TopK", {x_, net_.constant_i64({1}, {2})}, {.attributes = {{"axis", -1}}, .outputs = 2});
  EXPECT_EQ(top[0].shape(), (Shape{N, 3, 2}));
  EXPECT_EQ(top[1].dtype(), DType::i64);
  EXPECT_EQ(net_.node("Clip", {x_, Tensor(), net_.constant(6.0F)})[0].shape(), (Shape{N, 3, 4}));
  EXPECT_EQ(net_.node("MyGate", {x_}, {.domain = "com.example", .types = {{DType::f32, {-1, 7}}}})[0].shape(),
            (Shape{N, 7}));
}

}  // namespace
}  // namespace pantoum::layers
