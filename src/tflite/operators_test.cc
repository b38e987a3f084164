// Every operator against numbers that the test computes in the file's own layout, [N,H,W,C].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "import/onnx.h"
#include "testing/evaluate.h"
#include "tflite/made_file.h"
#include "tflite/model.h"

namespace pantoum::tflite {
namespace {

using schema::Activation;
using schema::Operators;
using schema::Padding;
using schema::TensorType;
using Numbers = std::vector<float>;
using Extents = std::vector<int32_t>;

Numbers waves(size_t count, double phase = 0) {
  Numbers made(count);
  for (size_t at = 0; at < count; ++at) made[at] = static_cast<float>(std::sin(0.7 * static_cast<double>(at) + phase));
  return made;
}

size_t count_of(const Extents& shape) {
  size_t count = 1;
  for (const int32_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// The first output for this input, whose first dimension may be more samples than the file's batch.
Numbers run(MadeFile& file, int output, const Numbers& x, int64_t batch = 1) {
  const Result<Model> model = parse_model(file.bytes({output}), "net.tflite");
  EXPECT_TRUE(model) << to_text(model.error());
  if (!model) return {};
  const auto imported = import::parse_onnx(model->onnx.data(), model->onnx.size(), "", {.batch = batch});
  EXPECT_TRUE(imported) << to_text(imported.error());
  if (!imported) return {};
  const auto bytes = std::as_bytes(std::span(x));
  const ir::Feeds feeds{{imported->graph.inputs[0], {bytes.begin(), bytes.end()}}};
  const auto made = ir::evaluate(imported->graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(made) << to_text(made.error());
  return made ? made->as<float>(imported->graph.outputs[0]) : Numbers();
}

void expect_near(const Numbers& made, const Numbers& expected) {
  ASSERT_EQ(made.size(), expected.size());
  for (size_t at = 0; at < made.size(); ++at) EXPECT_NEAR(made[at], expected[at], 1e-5) << at;
}

// A picture of one sample, and element by element what becomes of it.
struct Picture {
  int h, w, c;
  Numbers elements;

  Picture(int rows, int columns, int channels)
      : h(rows), w(columns), c(channels), elements(static_cast<size_t>(rows * columns * channels)) {}
  float& at(int y, int x, int k) { return elements[static_cast<size_t>((y * w + x) * c + k)]; }
  [[nodiscard]] float padded(int y, int x, int k) const {
    const bool inside = y >= 0 && y < h && x >= 0 && x < w;
    return inside ? elements[static_cast<size_t>((y * w + x) * c + k)] : 0;
  }
  [[nodiscard]] Extents shape() const { return {1, h, w, c}; }
};

Picture picture(int h, int w, int c) {
  Picture made(h, w, c);
  made.elements = waves(made.elements.size());
  return made;
}

Numbers each(const Numbers& x, const std::function<float(float)>& function) {
  Numbers made;
  for (const float element : x) made.push_back(function(element));
  return made;
}

// ---- Windows and products.

TEST(TfliteConv2d, SameWithStrideDilationAndRelu6) {
  const Picture x = picture(7, 6, 2);
  const Numbers w = waves(3 * 3 * 2 * 2, 1), b = {5.5F, -0.5F, 0.25F};  // [3,3,2,2] of O,H,W,I
  MadeFile file;
  const int input = file.input(x.shape());
  const auto options = schema::CreateConv2DOptions(file.out, Padding::SAME, 2, 2, Activation::RELU6, 1, 2);
  const int y = file.op(Operators::CONV_2D, {input, file.reals("w", {3, 3, 2, 2}, w), file.reals("b", {3}, b)},
                        {1, 4, 3, 3}, options);
  // Rows: (4 - 1) * 2 + 5 - 7 = 4, two before; columns: (3 - 1) * 2 + 2 - 6 = 0.
  Numbers expected;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 3; ++column)
      for (int o = 0; o < 3; ++o) {
        float sum = b[static_cast<size_t>(o)];
        for (int i = 0; i < 3 * 2 * 2; ++i)
          sum += w[static_cast<size_t>(o * 12 + i)] * x.padded(row * 2 + i / 4 * 2 - 2, column * 2 + i / 2 % 2, i % 2);
        expected.push_back(std::clamp(sum, 0.0F, 6.0F));
      }
  expect_near(run(file, y, x.elements), expected);
}

TEST(TfliteDepthwiseConv2d, MultiplierMakesNeighboringChannels) {
  const Picture x = picture(5, 4, 2);
  const Numbers w = waves(2 * 3 * 6, 2);  // [1,2,3,6]
  MadeFile file;
  const int input = file.input(x.shape());
  const auto options = schema::CreateDepthwiseConv2DOptions(file.out, Padding::VALID, 1, 1, 3, Activation::NONE);
  const int y =
      file.op(Operators::DEPTHWISE_CONV_2D, {input, file.reals("w", {1, 2, 3, 6}, w), -1}, {1, 4, 2, 6}, options);
  Numbers expected;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 2; ++column)
      for (int o = 0; o < 6; ++o) {
        float sum = 0;
        for (int i = 0; i < 6; ++i)
          sum += w[static_cast<size_t>(i * 6 + o)] * x.padded(row + i / 3, column + i % 3, o / 3);
        expected.push_back(sum);
      }
  expect_near(run(file, y, x.elements), expected);
}

TEST(TflitePools, LeavePaddingOut) {
  const Picture x = picture(5, 3, 2);
  for (const bool average : {true, false}) {
    MadeFile file;
    const int input = file.input(x.shape());
    const auto options = schema::CreatePool2DOptions(file.out, Padding::SAME, 2, 2, 2, 2);
    const int y =
        file.op(average ? Operators::AVERAGE_POOL_2D : Operators::MAX_POOL_2D, {input}, {1, 3, 2, 2}, options);
    Numbers expected;
    for (int row = 0; row < 6; row += 2)
      for (int column = 0; column < 4; column += 2)
        for (int k = 0; k < 2; ++k) {
          Numbers seen;
          for (int i = 0; i < 4; ++i)
            if (row + i / 2 < 5 && column + i % 2 < 3) seen.push_back(x.padded(row + i / 2, column + i % 2, k));
          float sum = 0;
          for (const float element : seen) sum += element;
          expected.push_back(average ? sum / static_cast<float>(seen.size()) : *std::ranges::max_element(seen));
        }
    expect_near(run(file, y, x.elements), expected);
  }
}

TEST(TfliteFullyConnected, ReadsPicturesInTheFilesOrder) {
  const Picture x = picture(2, 3, 2);
  const Numbers w = waves(24, 3), b = {1, -1};
  MadeFile file;
  const int input = file.input(x.shape());
  const auto pool = schema::CreatePool2DOptions(file.out, Padding::VALID, 1, 1, 1, 1);
  const int same = file.op(Operators::MAX_POOL_2D, {input}, x.shape(), pool);  // a value with channels first
  const auto options = schema::CreateFullyConnectedOptions(file.out, Activation::RELU);
  const int y = file.op(Operators::FULLY_CONNECTED, {same, file.reals("w", {2, 12}, w), file.reals("b", {2}, b)},
                        {1, 2}, options);
  Numbers expected;
  for (size_t o = 0; o < 2; ++o) {
    float sum = b[o];
    for (size_t i = 0; i < 12; ++i) sum += w[o * 12 + i] * x.elements[i];
    expected.push_back(std::max(sum, 0.0F));
  }
  expect_near(run(file, y, x.elements), expected);
}

TEST(TfliteBatchMatmul, TransposesTheSecond) {
  const Numbers x = waves(2 * 3 * 4);
  MadeFile file;
  const int input = file.input({1, 6, 4});
  const int y = file.op(Operators::BATCH_MATMUL, {input, input}, {1, 6, 6},
                        schema::CreateBatchMatMulOptions(file.out, false, true));
  Numbers expected;
  for (size_t a = 0; a < 6; ++a)
    for (size_t b = 0; b < 6; ++b) {
      float sum = 0;
      for (size_t i = 0; i < 4; ++i) sum += x[a * 4 + i] * x[b * 4 + i];
      expected.push_back(sum);
    }
  expect_near(run(file, y, x), expected);
}

// ---- Constants.

TEST(TfliteConstants, IntegersByTheirScales) {
  const std::vector<int8_t> w = {10, -20, 30, 127, -128, 5};
  const std::vector<int32_t> b = {100, -7};
  const Numbers x = {0.5F, -1.5F, 2};
  MadeFile file;
  const int input = file.input({1, 3});
  const int weight = file.constant("w", {2, 3}, TensorType::INT8, w, {{0.25F, 0.5F}, {0, 4}, 0});
  const int bias = file.constant("b", {2}, TensorType::INT32, b, {{0.125F}, {}, 0});
  const int y =
      file.op(Operators::FULLY_CONNECTED, {input, weight, bias}, {1, 2}, schema::CreateFullyConnectedOptions(file.out));
  Numbers expected;
  for (size_t o = 0; o < 2; ++o) {
    float sum = static_cast<float>(b[o]) * 0.125F;
    for (size_t i = 0; i < 3; ++i)
      sum += (o == 0 ? 0.25F : 0.5F) * static_cast<float>(w[o * 3 + i] - (o == 0 ? 0 : 4)) * x[i];
    expected.push_back(sum);
  }
  expect_near(run(file, y, x), expected);
}

TEST(TfliteConstants, HalvesByDequantize) {
  const std::vector<uint16_t> halves = {0x3C00, 0xC000, 0x3555, 0x0001, 0x7BFF, 0x8400};
  const Numbers numbers = {1, -2, 0.333251953125F, 5.9604644775390625e-08F, 65504, -6.103515625e-05F};
  MadeFile file;
  const int input = file.input({1, 6});
  const int half = file.constant("h", {6}, TensorType::FLOAT16, halves);
  const int whole = file.op(Operators::DEQUANTIZE, {half}, {6});
  const int y = file.op(Operators::MUL, {input, whole}, {1, 6}, schema::CreateFusedOptions(file.out));
  EXPECT_EQ(run(file, y, Numbers(6, 1)), numbers);
}

// ---- Elements.

TEST(TfliteElements, OfTwoWithAConstantOfChannelsOrRows) {
  const Picture x = picture(3, 2, 4);
  const Numbers rows = {1.5F, 2.5F, 3.5F}, channels = {1, 2, 3, 4};
  const auto fused = [](MadeFile& file) { return schema::CreateFusedOptions(file.out, Activation::RELU_N1_TO_1); };
  const auto expected = [&](const std::function<float(float, int, int)>& function) {
    Numbers made;
    for (int at = 0; at < 24; ++at)
      made.push_back(std::clamp(function(x.elements[static_cast<size_t>(at)], at / 8, at % 4), -1.0F, 1.0F));
    return made;
  };
  const auto of = [](const Numbers& list, int at) { return list[static_cast<size_t>(at)]; };
  // In the file's layout, and behind a pool with channels first.
  for (const bool turned : {false, true}) {
    const auto with = [&](Operators code, const Numbers& constant, const Extents& shape, bool second) {
      MadeFile file;
      int value = file.input(x.shape());
      const auto pool = schema::CreatePool2DOptions(file.out, Padding::VALID, 1, 1, 1, 1);
      if (turned) value = file.op(Operators::MAX_POOL_2D, {value}, x.shape(), pool);
      const int table = file.reals("table", shape, constant);
      const Extents operands = second ? Extents{value, table} : Extents{table, value};
      return run(file, file.op(code, operands, x.shape(), fused(file)), x.elements);
    };
    expect_near(with(Operators::ADD, channels, {4}, true),
                expected([&](float v, int, int k) { return v + of(channels, k); }));
    expect_near(with(Operators::SUB, channels, {1, 1, 4}, false),
                expected([&](float v, int, int k) { return of(channels, k) - v; }));
    expect_near(with(Operators::MUL, rows, {3, 1, 1}, true),
                expected([&](float v, int row, int) { return v * of(rows, row); }));
    expect_near(with(Operators::DIV, rows, {1, 3, 1, 1}, true),
                expected([&](float v, int row, int) { return v / of(rows, row); }));
    expect_near(with(Operators::MUL, {0.5F}, {}, true), expected([&](float v, int, int) { return v * 0.5F; }));
  }
}

TEST(TfliteElements, OfOne) {
  const Numbers x = each(waves(12), [](float v) { return 8 * v; });
  const auto with = [&](Operators code) {
    MadeFile file;
    return run(file, file.op(code, {file.input({1, 12})}, {1, 12}), x);
  };
  expect_near(with(Operators::RELU), each(x, [](float v) { return std::max(v, 0.0F); }));
  expect_near(with(Operators::RELU6), each(x, [](float v) { return std::clamp(v, 0.0F, 6.0F); }));
  expect_near(with(Operators::RELU_N1_TO_1), each(x, [](float v) { return std::clamp(v, -1.0F, 1.0F); }));
  expect_near(with(Operators::LOGISTIC), each(x, [](float v) { return 1 / (1 + std::exp(-v)); }));
  expect_near(with(Operators::TANH), each(x, [](float v) { return std::tanh(v); }));
  expect_near(with(Operators::HARD_SWISH), each(x, [](float v) { return v * std::clamp(v + 3, 0.0F, 6.0F) / 6; }));
  expect_near(with(Operators::QUANTIZE), x);
  MadeFile file;
  const auto options = schema::CreateLeakyReluOptions(file.out, 0.25F);
  expect_near(run(file, file.op(Operators::LEAKY_RELU, {file.input({1, 12})}, {1, 12}, options), x),
              each(x, [](float v) { return v < 0 ? v / 4 : v; }));
}

TEST(TfliteElements, PreluHasASlopeForEachChannel) {
  const Picture x = picture(2, 2, 3);
  const Numbers slopes = {0.1F, 0.5F, 2};
  MadeFile file;
  const int y = file.op(Operators::PRELU, {file.input(x.shape()), file.reals("slope", {1, 1, 3}, slopes)}, x.shape());
  Numbers expected;
  for (size_t at = 0; at < 12; ++at) expected.push_back(x.elements[at] * (x.elements[at] < 0 ? slopes[at % 3] : 1));
  expect_near(run(file, y, x.elements), expected);
}

TEST(TfliteElements, SoftmaxIsOverTheLastDimensionTimesBeta) {
  const Picture x = picture(2, 2, 3);
  MadeFile file;
  const int input = file.input(x.shape());
  const auto pool = schema::CreatePool2DOptions(file.out, Padding::VALID, 1, 1, 1, 1);
  const int same = file.op(Operators::MAX_POOL_2D, {input}, x.shape(), pool);
  const int y = file.op(Operators::SOFTMAX, {same}, x.shape(), schema::CreateSoftmaxOptions(file.out, 2));
  Numbers expected;
  for (size_t at = 0; at < 12; ++at) {
    float sum = 0;
    for (size_t k = 0; k < 3; ++k) sum += std::exp(2 * x.elements[at / 3 * 3 + k]);
    expected.push_back(std::exp(2 * x.elements[at]) / sum);
  }
  expect_near(run(file, y, x.elements), expected);
}

// ---- Dimensions. Each with a value in the file's layout and one with channels first.

struct Moved {
  Operators code;
  std::vector<Extents> lists;  // operands behind the value
  Extents shape;
  std::function<float(const Picture& x, int at)> element;
  std::function<int(MadeFile& file, const Extents& operands, const Extents& shape)> add = nullptr;
};

void expect_moves(const Picture& x, const Moved& moved) {
  for (const bool turned : {false, true}) {
    MadeFile file;
    int value = file.input(x.shape());
    const auto pool = schema::CreatePool2DOptions(file.out, Padding::VALID, 1, 1, 1, 1);
    if (turned) value = file.op(Operators::MAX_POOL_2D, {value}, x.shape(), pool);
    Extents operands = {value};
    for (const Extents& list : moved.lists) operands.push_back(file.list(list));
    const int y = moved.add ? moved.add(file, operands, moved.shape) : file.op(moved.code, operands, moved.shape);
    Numbers expected;
    for (size_t at = 0; at < count_of(moved.shape); ++at) expected.push_back(moved.element(x, static_cast<int>(at)));
    expect_near(run(file, y, x.elements), expected);
  }
}

TEST(TfliteDimensions, Reshape) {
  const auto same = [](const Picture& x, int at) { return x.elements[static_cast<size_t>(at)]; };
  expect_moves(picture(2, 3, 4), {Operators::RESHAPE, {{1, 8, 3}}, {1, 8, 3}, same});
  expect_moves(picture(1, 1, 4), {Operators::RESHAPE, {{1, 4}}, {1, 4}, same});
  expect_moves(picture(2, 1, 4), {Operators::SQUEEZE, {}, {1, 2, 4}, same});
}

TEST(TfliteDimensions, Transpose) {
  expect_moves(picture(2, 3, 4), {Operators::TRANSPOSE, {{0, 3, 1, 2}}, {1, 4, 2, 3}, [](const Picture& x, int at) {
                                    return x.padded(at / 3 % 2, at % 3, at / 6);
                                  }});
  expect_moves(picture(2, 3, 4), {Operators::TRANSPOSE, {{0, 2, 3, 1}}, {1, 3, 4, 2}, [](const Picture& x, int at) {
                                    return x.padded(at % 2, at / 8, at / 2 % 4);
                                  }});
  expect_moves(picture(2, 3, 4), {Operators::TRANSPOSE, {{0, 2, 1, 3}}, {1, 3, 2, 4}, [](const Picture& x, int at) {
                                    return x.padded(at / 4 % 2, at / 8, at % 4);
                                  }});
}

TEST(TfliteDimensions, Mean) {
  const auto mean = [](const Extents& axes, bool keep, const Extents& shape,
                       const std::function<float(const Picture&, int)>& element) {
    return Moved{
        Operators::MEAN, {axes}, shape, element, [keep](MadeFile& file, const Extents& operands, const Extents& made) {
          return file.op(Operators::MEAN, operands, made, schema::CreateReducerOptions(file.out, keep));
        }};
  };
  const auto of_picture = [](const Picture& x, int k) {
    float sum = 0;
    for (int at = 0; at < 6; ++at) sum += x.padded(at / 3, at % 3, k);
    return sum / 6;
  };
  expect_moves(picture(2, 3, 4), mean({1, 2}, false, {1, 4}, of_picture));
  expect_moves(picture(2, 3, 4), mean({2, 1}, true, {1, 1, 1, 4}, of_picture));
  expect_moves(picture(2, 3, 4), mean({-1}, false, {1, 2, 3}, [](const Picture& x, int at) {
                 float sum = 0;
                 for (int k = 0; k < 4; ++k) sum += x.padded(at / 3, at % 3, k);
                 return sum / 4;
               }));
}

TEST(TfliteDimensions, Pad) {
  Moved moved{Operators::PAD, {}, {1, 4, 4, 4}, [](const Picture& x, int at) {
                return at % 4 < 3 ? x.padded(at / 16 - 1, at / 4 % 4, at % 4) : 0;
              }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    const int pads = file.constant("pads", {4, 2}, TensorType::INT32, Extents{0, 0, 1, 1, 0, 1, 0, 1});
    return file.op(Operators::PAD, {operands[0], pads}, shape);
  };
  expect_moves(picture(2, 3, 3), moved);
}

TEST(TfliteDimensions, Concatenation) {
  Moved moved{Operators::CONCATENATION, {}, {1, 2, 3, 4}, [](const Picture& x, int at) {
                return x.padded(at / 12, at / 4 % 3, at % 2);
              }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    return file.op(Operators::CONCATENATION, {operands[0], operands[0]}, shape,
                   schema::CreateConcatenationOptions(file.out, -1));
  };
  expect_moves(picture(2, 3, 2), moved);
}

TEST(TfliteDimensions, StridedSlice) {
  Moved moved{
      Operators::STRIDED_SLICE, {{0, 1, -3, 2}, {0, 4, 99, 3}, {1, 2, 1, 1}}, {1, 2, 3}, [](const Picture& x, int at) {
        return x.padded(1 + at / 3 * 2, 1 + at % 3, 2);
      }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    return file.op(Operators::STRIDED_SLICE, operands, shape,
                   schema::CreateStridedSliceOptions(file.out, 0, 1, 0, 0, 8));
  };
  expect_moves(picture(4, 4, 3), moved);
}

TEST(TfliteDimensions, GatherTakesPositionsOfAValue) {
  Moved moved{Operators::GATHER, {{2, 0}}, {1, 2, 3, 2}, [](const Picture& x, int at) {
                return x.padded(at / 6, at / 2 % 3, at % 2 == 0 ? 2 : 0);
              }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    return file.op(Operators::GATHER, operands, shape, schema::CreateGatherOptions(file.out, 3));
  };
  expect_moves(picture(2, 3, 4), moved);
}

TEST(TfliteDimensions, ResizeNearest) {
  Moved moved{Operators::RESIZE_NEAREST_NEIGHBOR, {{5, 6}}, {1, 5, 6, 2}, [](const Picture& x, int at) {
                return x.padded(at / 12 * 2 / 5, at / 2 % 6 * 3 / 6, at % 2);
              }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    return file.op(Operators::RESIZE_NEAREST_NEIGHBOR, operands, shape,
                   schema::CreateResizeNearestNeighborOptions(file.out));
  };
  expect_moves(picture(2, 3, 2), moved);
}

TEST(TfliteDimensions, ResizeBilinearByCenters) {
  Moved moved{Operators::RESIZE_BILINEAR, {{4, 3}}, {1, 4, 3, 2}, [](const Picture& x, int at) {
                const float place = std::clamp((static_cast<float>(at / 6) + 0.5F) / 2 - 0.5F, 0.0F, 1.0F);
                const int k = at % 2, column = at / 2 % 3;
                return x.padded(0, column, k) * (1 - place) + x.padded(1, column, k) * place;
              }};
  moved.add = [](MadeFile& file, const Extents& operands, const Extents& shape) {
    return file.op(Operators::RESIZE_BILINEAR, operands, shape,
                   schema::CreateResizeBilinearOptions(file.out, false, true));
  };
  expect_moves(picture(2, 3, 2), moved);
}

TEST(TfliteGather, EmbeddingLookupTakesRowsByAnInput) {
  const Numbers table = waves(5 * 3);
  for (const bool lookup : {true, false}) {
    MadeFile file;
    const int input = file.input({1, 4}, TensorType::INT32), rows = file.reals("table", {5, 3}, table);
    const int y = lookup
                      ? file.op(Operators::EMBEDDING_LOOKUP, {input, rows}, {1, 4, 3})
                      : file.op(Operators::GATHER, {rows, input}, {1, 4, 3}, schema::CreateGatherOptions(file.out, 0));
    const Result<Model> model = parse_model(file.bytes({y}), "net.tflite");
    ASSERT_TRUE(model) << to_text(model.error());
    const auto imported = import::parse_onnx(model->onnx.data(), model->onnx.size(), "", {.batch = 1});
    ASSERT_TRUE(imported) << to_text(imported.error());
    const Extents indices = {4, 0, 2, 2};
    const auto bytes = std::as_bytes(std::span(indices));
    const auto made = ir::evaluate(imported->graph, *pt_portable_kernels(),
                                   {{imported->graph.inputs[0], {bytes.begin(), bytes.end()}}});
    ASSERT_TRUE(made) << to_text(made.error());
    Numbers expected;
    for (const int row : indices)
      for (int k = 0; k < 3; ++k) expected.push_back(table[static_cast<size_t>(row * 3 + k)]);
    EXPECT_EQ(made->as<float>(imported->graph.outputs[0]), expected);
  }
}

// ---- The batch.

TEST(TfliteBatch, IsOpenWhateverTheFileHas) {
  MadeFile file;
  const int input = file.input({1, 2, 2, 1});
  const int y = file.op(Operators::RESHAPE, {input, file.list({1, 4})}, {1, 4});
  const Numbers x = waves(12);
  EXPECT_EQ(run(file, y, x, 3), x);
}

TEST(TfliteBatch, OperatorsThatMoveItAreRefused) {
  const auto refused = [](const std::function<int(MadeFile&, int)>& add) {
    MadeFile file;
    const int input = file.input({1, 6, 4});
    const int y = add(file, input);
    const Result<Model> model = parse_model(file.bytes({y}), "net.tflite");
    EXPECT_FALSE(model);
    if (model) return;
    EXPECT_EQ(model.error().code, "E0401");
    EXPECT_THAT(model.error().message, testing::HasSubstr("the batch"));
    EXPECT_THAT(model.error().where, testing::HasSubstr("net.tflite operator 0 ("));
  };
  refused([](MadeFile& file, int x) { return file.op(Operators::TRANSPOSE, {x, file.list({1, 0, 2})}, {6, 1, 4}); });
  refused([](MadeFile& file, int x) { return file.op(Operators::RESHAPE, {x, file.list({3, 8})}, {3, 8}); });
  refused([](MadeFile& file, int x) {
    return file.op(Operators::MEAN, {x, file.list({0})}, {6, 4}, schema::CreateReducerOptions(file.out, false));
  });
  refused([](MadeFile& file, int x) {
    return file.op(Operators::CONCATENATION, {x, x}, {2, 6, 4}, schema::CreateConcatenationOptions(file.out, 0));
  });
  refused([](MadeFile& file, int x) {
    return file.op(Operators::ADD, {x, file.reals("c", {5, 1, 1}, waves(5))}, {5, 6, 4},
                   schema::CreateFusedOptions(file.out));
  });
}

}  // namespace
}  // namespace pantoum::tflite
