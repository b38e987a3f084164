#include "rewrite/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "ir/builder.h"
#include "testing/evaluate.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::Kind;
using ir::ValueId;

ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

std::vector<std::byte> waves(int64_t count, double frequency) {
  std::vector<std::byte> bytes(4 * static_cast<size_t>(count));
  for (int64_t at = 0; at < count; ++at) {
    const auto value = static_cast<float>(3 * std::sin(frequency * static_cast<double>(at + 1)));
    std::memcpy(bytes.data() + 4 * at, &value, 4);
  }
  return bytes;
}

// The outputs for inputs and parameters of their own.
std::vector<std::vector<float>> outputs(const Graph& graph) {
  ir::Feeds feeds;
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].producer == ir::kNone && graph.values[id].role != ir::Role::kActivation &&
        graph.values[id].data == nullptr)
      feeds[static_cast<ValueId>(id)] = waves(graph.values[id].type.elements(), 0.7 + 0.1 * static_cast<double>(id));
  const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(run.has_value()) << run.error().message;
  std::vector<std::vector<float>> all;
  for (const ValueId output : graph.outputs) all.push_back(run->as<float>(output));
  return all;
}

std::vector<Kind> kinds(const Graph& graph) {
  std::vector<Kind> all;
  for (const ir::Op& op : graph.ops) all.push_back(op.kind);
  return all;
}

TEST(FuseProductBias, TakesAVectorOnEitherSideAndKeepsTheBits) {
  for (const bool bias_first : {true, false}) {
    Graph graph;
    ir::Builder builder(graph);
    const ValueId x = builder.input("x", f32({2, 3, 4})), w = builder.parameter("w", f32({4, 5}), nullptr),
                  b = builder.parameter("b", f32({5}), nullptr);
    const ValueId y = builder.op(Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
    graph.outputs = {builder.op(Kind::k_add, "sum", bias_first ? std::vector{b, y} : std::vector{y, b})};
    const Graph fused = fuse_product_bias(graph);
    ASSERT_TRUE(ir::validate(fused));
    EXPECT_THAT(kinds(fused), testing::ElementsAre(Kind::k_matmul));
    EXPECT_EQ(outputs(fused), outputs(graph));
  }
}

TEST(FuseProductBias, LeavesWhatIsNoBiasOrReadTwice) {
  Graph graph;
  ir::Builder builder(graph);
  const ValueId x = builder.input("x", f32({3, 3})), w = builder.parameter("w", f32({3, 3}), nullptr);
  const ValueId y = builder.op(Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  const ValueId residual = builder.op(Kind::k_add, "residual", {y, x});
  const ValueId column = builder.op(Kind::k_add, "column", {y, builder.parameter("c", f32({3, 1}), nullptr)});
  graph.outputs = {residual, column, builder.op(Kind::k_add, "b", {y, builder.parameter("b", f32({3}), nullptr)})};
  EXPECT_EQ(ir::to_text(fuse_product_bias(graph)), ir::to_text(graph));
}

// A time step as nn.LSTMCell is exported; `part` by gate i, f, g, o.
Graph lstm_cell_written(std::array<size_t, 4> part, Kind candidate, bool reads_gate = false) {
  Graph graph;
  ir::Builder builder(graph);
  const ValueId z = builder.input("z", f32({3, 20})), p = builder.input("p", f32({3, 20})),
                c = builder.input("c", f32({3, 5}));
  const std::vector<ValueId> gates = builder.split("gates", builder.op(Kind::k_add, "sum", {z, p}), 1, {5, 5, 5, 5});
  const auto gate = [&](Kind kind, size_t at) { return builder.op(kind, "gate", {gates[part[at]]}); };
  const ValueId i = gate(Kind::k_sigmoid, 0), f = gate(Kind::k_sigmoid, 1), g = gate(candidate, 2),
                o = gate(Kind::k_sigmoid, 3);
  const ValueId kept = builder.op(Kind::k_mul, "kept", {f, c}), entering = builder.op(Kind::k_mul, "new", {i, g});
  const ValueId next = builder.op(Kind::k_add, "next", {kept, entering});
  const ValueId h = builder.op(Kind::k_mul, "h", {o, builder.op(Kind::k_tanh, "tanh", {next})});
  graph.outputs = {h, next};
  if (reads_gate) graph.outputs.push_back(f);
  return graph;
}

TEST(FuseLstmCell, FindsEveryOrderOfTheGates) {
  for (const std::array<size_t, 4> part : {std::array<size_t, 4>{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 1, 0, 2}}) {
    const Graph graph = lstm_cell_written(part, Kind::k_tanh), fused = fuse_lstm_cell(graph);
    ASSERT_TRUE(ir::validate(fused));
    EXPECT_THAT(kinds(fused), testing::ElementsAre(Kind::k_lstm_cell));
    for (const size_t output : {size_t{0}, size_t{1}})
      EXPECT_THAT(outputs(fused)[output], testing::Pointwise(testing::FloatNear(1e-6F), outputs(graph)[output]));
  }
}

TEST(FuseLstmCell, LeavesOtherCells) {
  for (const Graph& graph :
       {lstm_cell_written({0, 1, 2, 3}, Kind::k_sigmoid), lstm_cell_written({0, 1, 2, 3}, Kind::k_tanh, true)})
    EXPECT_EQ(ir::to_text(fuse_lstm_cell(graph)), ir::to_text(graph));
}

using Written = std::function<ValueId(ir::Builder&, ValueId x, ValueId erf)>;

Graph gelu_written(double inside, const Written& write) {
  Graph graph;
  ir::Builder builder(graph);
  const ValueId x = builder.input("x", f32({40}));
  const ValueId erf = builder.op(Kind::k_erf, "erf", {builder.op(Kind::k_scale, "in", {x}, {{}, {inside, 0}})});
  graph.outputs = {write(builder, x, erf)};
  return graph;
}

ValueId scale(ir::Builder& builder, ValueId x, double a, double b) {
  return builder.op(Kind::k_scale, "scale", {x}, {{}, {a, b}});
}
ValueId mul(ir::Builder& builder, ValueId a, ValueId b) {
  return builder.op(Kind::k_mul, "mul", {a, b});
}

TEST(FuseGelu, FindsEveryOrderOfTheHalf) {
  const Written orders[] = {
      [](ir::Builder& b, ValueId x, ValueId erf) { return scale(b, mul(b, x, scale(b, erf, 1, 1)), 0.5, 0); },
      [](ir::Builder& b, ValueId x, ValueId erf) { return mul(b, scale(b, x, 0.5, 0), scale(b, erf, 1, 1)); },
      [](ir::Builder& b, ValueId x, ValueId erf) { return mul(b, scale(b, erf, 0.5, 0.5), x); },
  };
  for (const Written& order : orders) {
    const Graph graph = gelu_written(0.7071067932881648, order);
    const Graph fused = fuse_gelu(graph);
    ASSERT_TRUE(ir::validate(fused));
    EXPECT_THAT(kinds(fused), testing::ElementsAre(Kind::k_gelu));
    EXPECT_THAT(outputs(fused)[0], testing::Pointwise(testing::FloatNear(1e-5F), outputs(graph)[0]));
  }
}

TEST(FuseGelu, LeavesOtherFormulas) {
  const Written right = [](ir::Builder& b, ValueId x, ValueId erf) { return mul(b, scale(b, erf, 0.5, 0.5), x); };
  const Written third = [](ir::Builder& b, ValueId x, ValueId erf) { return mul(b, scale(b, erf, 0.3, 0.3), x); };
  const Written minus = [](ir::Builder& b, ValueId x, ValueId erf) { return mul(b, scale(b, erf, 0.5, -0.5), x); };
  for (const Graph& graph : {gelu_written(0.6, right), gelu_written(std::numbers::sqrt2 / 2, third),
                             gelu_written(std::numbers::sqrt2 / 2, minus)})
    EXPECT_EQ(ir::to_text(fuse_gelu(graph)), ir::to_text(graph));
  Graph read = gelu_written(std::numbers::sqrt2 / 2, right);
  read.outputs.push_back(read.ops[1].outputs[0]);  // the erf itself is wanted
  EXPECT_EQ(ir::to_text(fuse_gelu(read)), ir::to_text(read));
}

// (a x) (b + c f(d x + e x^3)) k for every way of spreading the half and of writing the cube, each sum and product in
// both orders, the constants rounded to float32, to float16 and to four digits.
struct Spelling {
  bool approximate, swapped, pow, inside;  // `inside`: x Phi(x), else (x/2) (1 + f), else x (1 + f) / 2
  int half;                                // where it stands: 0 before, 1 between, 2 behind
  double (*rounded)(double);
};

double to_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}
double to_four_digits(double value) {
  return std::round(value * 1e4) / 1e4;
}
double to_half_precision(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(fraction * 2048) / 2048, exponent);
}

Graph spelled(const Spelling& how) {
  Graph graph;
  ir::Builder b(graph);
  const ValueId x = b.input("x", f32({40}));
  const auto pair = [&](Kind kind, ValueId left, ValueId right) {
    return b.op(kind, ir::name_of(kind), how.swapped ? std::vector{right, left} : std::vector{left, right});
  };
  ValueId argument = scale(b, x, how.rounded(std::numbers::sqrt2 / 2), 0);
  if (how.approximate) {
    const ValueId three = b.constant_f32("three", {}, {3.0F});
    const ValueId cube = how.pow ? b.op(Kind::k_pow, "pow", {x, three}) : pair(Kind::k_mul, pair(Kind::k_mul, x, x), x);
    const ValueId sum = pair(Kind::k_add, x, scale(b, cube, 0.044715, 0));
    argument = scale(b, sum, how.rounded(std::sqrt(2 / std::numbers::pi)), 0);
  }
  const ValueId f = b.op(how.approximate ? Kind::k_tanh : Kind::k_erf, "f", {argument});
  const ValueId one = b.constant_f32("one", {}, {1.0F});
  ValueId gate = how.inside ? pair(Kind::k_add, f, one) : scale(b, f, 1, 1);
  if (how.half == 1) gate = scale(b, gate, 0.5, 0);
  ValueId y = pair(Kind::k_mul, how.half == 0 ? scale(b, x, 0.5, 0) : x, gate);
  if (how.half == 2) y = scale(b, y, 0.5, 0);
  graph.outputs = {y};
  return graph;
}

TEST(FuseGelu, FindsEverySpelling) {
  for (int bits = 0; bits < 16; ++bits) {
    for (const int half : {0, 1, 2}) {
      for (double (*rounded)(double) : {to_float, to_four_digits, to_half_precision}) {
        const bool approximate = (bits & 1) != 0;
        const Graph graph = spelled({approximate, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, half, rounded});
        const Graph fused = fuse_gelu(graph);
        ASSERT_TRUE(ir::validate(fused));
        EXPECT_THAT(kinds(fused), testing::ElementsAre(Kind::k_gelu)) << bits << " " << half << "\n"
                                                                      << ir::to_text(graph);
        EXPECT_THAT(outputs(fused)[0], testing::Pointwise(testing::FloatNear(3e-4F), outputs(graph)[0]));
        EXPECT_EQ(fused.ops[0].attrs.ints[0], approximate ? 1 : 0);
      }
    }
  }
}

// x sigmoid(1.702 x) is another function, x (1 + erf x) / 2 too.
TEST(FuseGelu, LeavesItsNeighbours) {
  Graph quick;
  ir::Builder b(quick);
  const ValueId x = b.input("x", f32({4}));
  quick.outputs = {mul(b, x, b.op(Kind::k_sigmoid, "gate", {scale(b, x, 1.702, 0)}))};
  EXPECT_EQ(ir::to_text(fuse_gelu(quick)), ir::to_text(quick));
  Graph swish;
  ir::Builder c(swish);
  const ValueId z = c.input("x", f32({4}));
  swish.outputs = {mul(c, z, c.op(Kind::k_sigmoid, "gate", {z}))};
  EXPECT_EQ(ir::to_text(fuse_gelu(swish)), ir::to_text(swish));
}

}  // namespace
}  // namespace pantoum::rewrite
