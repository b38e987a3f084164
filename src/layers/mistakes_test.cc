// What a program can get wrong: each told with its place and layer, once, and never more than that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "layers/state.h"
#include "testing/built_model.h"

namespace pantoum::layers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Of a call on an image [N,6,8,8]; the only problem.
template <class Call>
std::string problem_of(const Call& call) {
  ModelBuilder net("net");
  const Tensor x = net.input("x", {6, 8, 8});
  net.output("y", call(net, x));
  EXPECT_THAT(net.problems(), SizeIs(1));
  const Result<std::string> model = net.onnx();
  EXPECT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0213");
  EXPECT_EQ(model.error().notes, net.problems());
  return net.problems().empty() ? "" : net.problems()[0];
}

std::string problem_of_layer(const Layer& layer) {
  return problem_of([&](ModelBuilder& net, const Tensor& x) { return net.apply(layer, x); });
}

TEST(Mistakes, NameTheLineAndTheLayer) {
  int line = 0;
  const std::string of_layer = problem_of([&](ModelBuilder& net, const Tensor& x) {
    line = __LINE__ + 1;
    return net.batch_norm(x, {.momentum = 3, .name = "bn"});
  });
  EXPECT_EQ(of_layer,
            fmt::format("mistakes_test.cc:{}: batch_norm 'bn': momentum is 3, and must be from 0 to 1", line));
  const std::string of_operator = problem_of([&](ModelBuilder& net, const Tensor& x) {
    const Tensor y = net.constant({7}, std::vector<float>(7));
    line = __LINE__ + 1;
    return x * y;
  });
  EXPECT_THAT(of_operator, testing::StartsWith(fmt::format("mistakes_test.cc:{}: mul 'mul1': ", line)));
}

TEST(Mistakes, OfConvolutions) {
  EXPECT_THAT(problem_of_layer(Conv2d{}), HasSubstr("channels is 0, and must be 1 or more"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = -3, .kernel = 3}), HasSubstr("channels is -3"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = kHuge, .kernel = 3}), HasSubstr("below 2^31"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 4}), HasSubstr("kernel is 0"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 4, .kernel = 9}), HasSubstr("conv 'conv1': "));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 4, .kernel = 3, .stride = 0}), HasSubstr("stride is 0"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 4, .kernel = 3, .padding = -1}), HasSubstr("padding is -1"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 4, .kernel = 3, .stride = 2, .same_padding = true}),
              HasSubstr("stride of 1"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 5, .kernel = 3, .groups = 2}), HasSubstr("output's 5 channels"));
  EXPECT_THAT(problem_of_layer(Conv1d{.channels = 4, .kernel = 3}),
              HasSubstr("its input is f32[N,6,8,8], and it takes [N, C, L]"));
  EXPECT_THAT(problem_of_layer(ConvTranspose2d{.channels = 4, .kernel = 3, .output_padding = -1}),
              HasSubstr("output_padding is -1"));
}

TEST(Mistakes, OfSizesThatNoFileHolds) {
  EXPECT_THAT(problem_of_layer(Linear{2000000000}), HasSubstr("2 GiB"));
  EXPECT_THAT(problem_of_layer(Conv2d{.channels = 2000000000, .kernel = 2000000000}), HasSubstr("2 GiB"));
  EXPECT_THAT(problem_of_layer(Linear{kHuge}), HasSubstr("features is 9223372036854775807"));
  EXPECT_THAT(problem_of_layer(Lstm{.hidden = kHuge}), HasSubstr("it takes [N, T, features]"));
}

TEST(Mistakes, OfTogetherTooManyParameters) {
  State state("m", 0);
  EXPECT_FALSE(state.spend_bytes(kMostParameterBytes + 1));
  EXPECT_TRUE(state.spend_bytes(kMostParameterBytes - 1));
  EXPECT_TRUE(state.spend_bytes(1));
  EXPECT_FALSE(state.spend_bytes(1));
}

TEST(Mistakes, OfNorms) {
  EXPECT_THAT(problem_of_layer(GroupNorm{.groups = 4}), HasSubstr("6 channels cannot be parted into 4 groups"));
  EXPECT_THAT(problem_of_layer(GroupNorm{.groups = 0}), HasSubstr("groups is 0"));
  EXPECT_THAT(problem_of_layer(LayerNorm{.dimensions = 4}), HasSubstr("dimensions is 4, and must be from 1 to 3"));
  EXPECT_THAT(problem_of_layer(BatchNorm{.epsilon = -1}), HasSubstr("epsilon is -1"));
  EXPECT_THAT(problem_of_layer(BatchNorm{.momentum = std::nan("")}), HasSubstr("momentum is nan"));
  EXPECT_THAT(problem_of_layer(Dropout{1}), HasSubstr("its ratio is 1"));
  EXPECT_THAT(problem_of_layer(Dropout{std::nan("")}), HasSubstr("its ratio is nan"));
}

TEST(Mistakes, OfWindows) {
  EXPECT_THAT(problem_of_layer(MaxPool2d{}), HasSubstr("kernel is 0"));
  EXPECT_THAT(problem_of_layer(MaxPool2d{.kernel = 2, .padding = 2}),
              HasSubstr("padding is 2, and must be from 0 to 1"));
  EXPECT_THAT(problem_of_layer(AdaptiveAvgPool2d{3}), HasSubstr("cannot be parted evenly into 3"));
  EXPECT_THAT(problem_of_layer(Upsample{.scale = 0}), HasSubstr("scale is 0"));
  EXPECT_THAT(problem_of_layer(Upsample{.align_corners = true}), HasSubstr("align_corners"));
  EXPECT_THAT(problem_of_layer(Pad{.before = {1}, .after = {1, 1}}), HasSubstr("before has 1 numbers and after 2"));
  EXPECT_THAT(problem_of_layer(Pad{.before = {-9}, .after = {0}}), HasSubstr("pad 'pad1'"));
}

TEST(Mistakes, OfShapes) {
  EXPECT_THAT(problem_of_layer(Reshape{{0, 5, -1}}), HasSubstr("reshape 'reshape1'"));
  EXPECT_THAT(problem_of_layer(Reshape{{-1, 5}}), HasSubstr("reshape 'reshape1'"));
  EXPECT_THAT(problem_of_layer(Reshape{}), HasSubstr("no dimensions"));
  EXPECT_THAT(problem_of_layer(Reshape{{-2, 4}}), HasSubstr("an extent is -2"));
  EXPECT_THAT(problem_of_layer(Permute{{0, 1, 1, 2}}), HasSubstr("permute 'permute1'"));
  EXPECT_THAT(problem_of_layer(Flatten{4}), HasSubstr("no dimension 4"));
  EXPECT_THAT(problem_of_layer(Softmax{7}), HasSubstr("softmax 'softmax1'"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) { return net.chunk(x, 4)[0]; }),
              HasSubstr("evenly into 4"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) {
                return net.split(x, {2, 3})[0];
              }),
              HasSubstr("split 'split1'"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) { return net.select(x, 1, 6); }),
              HasSubstr("select 'select1'"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) { return net.slice(x, 1, 0, 6, 0); }),
              HasSubstr("step is 0"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) { return net.slice(x, 1, 6, 6); }),
              HasSubstr("slice 'slice1'"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor&) { return net.concat({}); }),
              HasSubstr("nothing to join"));
  EXPECT_THAT(problem_of([](ModelBuilder& net, const Tensor& x) { return net.linear(net.transpose(x, 0, 3), 3); }),
              HasSubstr("depends on the batch"));
  EXPECT_THAT(
      problem_of([](ModelBuilder& net, const Tensor& x) { return x + net.constant({7}, std::vector<float>(7)); }),
      HasSubstr("add 'add1'"));
}

TEST(Mistakes, OfNumbersThatAreNone) {
  const float nan = std::nanf("");
  EXPECT_THAT(problem_of([&](ModelBuilder&, const Tensor& x) { return x * nan; }), HasSubstr("a number is NaN"));
  EXPECT_THAT(problem_of([&](ModelBuilder& net, const Tensor& x) {
                return x * net.constant({2}, {1, nan});
              }),
              HasSubstr("an element is NaN"));
  EXPECT_THAT(problem_of([&](ModelBuilder& net, const Tensor& x) { return x * net.constant({3}, {1}); }),
              HasSubstr("has 3 elements, and 1 are given"));
  EXPECT_THAT(problem_of([&](ModelBuilder& net, const Tensor& x) { return net.clip(x, 2, 1); }),
              HasSubstr("clips from 2 to 1"));
  EXPECT_THAT(problem_of_layer(LeakyRelu{std::nan("")}), HasSubstr("slope is nan"));
  const auto begins = [](const Initial& initial) {
    return problem_of([&](ModelBuilder& net, const Tensor& x) { return x * net.parameter("p", {8}, initial); });
  };
  EXPECT_THAT(begins(Initial::constant(std::nan(""))), HasSubstr("not finite"));
  EXPECT_THAT(begins(Initial::uniform(1, 0)), HasSubstr("begin at 1 and end at 0"));
  EXPECT_THAT(begins(Initial::normal(0, -1)), HasSubstr("deviation of its initial values is -1"));
  EXPECT_THAT(begins(Initial::values({1, 2})), HasSubstr("2 initial values are given for 8"));
  EXPECT_THAT(begins(Initial::values(std::vector<float>(8, nan))), HasSubstr("is not finite"));
}

TEST(Mistakes, OfSequences) {
  ModelBuilder net;
  const Tensor x = net.input("x", {5, 6}), ids = net.input("ids", {5}, DType::i64);
  EXPECT_FALSE(net.lstm(x, {}).output.valid());
  EXPECT_FALSE(net.gru(x, {.hidden = 3, .layers = 0}).final_state.valid());
  EXPECT_FALSE(net.rnn(x, {.hidden = 3, .dropout = 1.5}).output.valid());
  EXPECT_FALSE(net.multi_head_attention(x, x, x, {.heads = 4}).valid());
  EXPECT_FALSE(net.embedding(x, {.rows = 3, .columns = 2}).valid());
  EXPECT_FALSE(net.linear(ids, 3).valid());
  EXPECT_THAT(net.problems(),
              ElementsAre(HasSubstr("hidden is 0"), HasSubstr("layers is 0"), HasSubstr("dropout is 1.5"),
                          HasSubstr("6 features cannot be parted into 4 heads"), HasSubstr("it takes integers"),
                          HasSubstr("linear 'linear1'")));
}

TEST(Mistakes, OfNames) {
  ModelBuilder net;
  const Tensor x = net.input("x", {4});
  net.input("x", {4});
  net.input("", {4});
  net.linear(x, {.features = 2, .name = "fc"});
  net.linear(x, {.features = 2, .name = "fc"});
  net.linear(x, {.features = 2, .name = std::string("a\0b", 3)});
  net.linear(x, {.features = 2, .name = "\xff"});
  net.parameter("free.weight", {2, 4});
  net.linear(x, {.features = 2, .name = "free"});
  net.output("y", x);
  net.output("y", x);
  net.input("fc.bias", {4});
  EXPECT_THAT(net.problems(),
              ElementsAre(HasSubstr("input 'x': there is an input"), HasSubstr("its name is empty"),
                          HasSubstr("linear 'fc': there is another"),
                          HasSubstr("'fc.weight': there is an input, an output or a parameter"), HasSubstr("zero byte"),
                          HasSubstr("no UTF-8"), HasSubstr("'free.weight': there is"),
                          HasSubstr("output 'y': there is"), HasSubstr("input 'fc.bias': there is")));
}

TEST(Mistakes, OfTensorsThatAreNotThisModels) {
  ModelBuilder net, other;
  const Tensor x = net.input("x", {4}), y = other.input("y", {4});
  EXPECT_FALSE(net.relu(y).valid());
  EXPECT_FALSE(net.relu(Tensor()).valid());
  EXPECT_FALSE((x + y).valid());
  EXPECT_FALSE((x + Tensor()).valid());
  EXPECT_FALSE((Tensor() + Tensor()).valid());
  EXPECT_THAT(net.problems(), ElementsAre(HasSubstr("another ModelBuilder"), HasSubstr("nothing was assigned"),
                                          HasSubstr("another ModelBuilder"), HasSubstr("nothing was assigned")));
  EXPECT_TRUE(other.problems().empty());
}

TEST(Mistakes, AreToldOnce) {
  ModelBuilder net;
  Tensor x = net.input("x", {4});
  x = net.relu(net.linear(net.conv2d(x, {.channels = 3, .kernel = 3}), 4));
  x = net.lstm(x, {.hidden = 3}).output + x * 2.0F;
  x = net.apply(Sequential{Linear{4}, Residual{{Relu{}}}, MaxPool2d{.kernel = 2}}, x);
  net.output("y", net.concat({x, x}));
  EXPECT_THAT(net.problems(), SizeIs(1));
  EXPECT_TRUE(x.shape().empty());
}

TEST(Mistakes, OfSharedLayers) {
  ModelBuilder net;
  SharedLayer fc = net.make(Linear{.features = 3, .name = "fc"});
  EXPECT_TRUE(fc(net.input("a", {4})).valid());
  EXPECT_FALSE(fc(net.input("b", {5})).valid());
  EXPECT_THAT(
      net.problems(),
      ElementsAre(HasSubstr("its parameter 'fc.weight' is f32[3,4] since its first call; this input needs [3,5]")));
}

TEST(Mistakes, OfWholeModels) {
  EXPECT_THAT(ModelBuilder().onnx().error().notes, ElementsAre(HasSubstr("no input")));
  ModelBuilder net;
  net.input("x", {4});
  EXPECT_THAT(net.onnx().error().notes, ElementsAre(HasSubstr("no output")));
  EXPECT_EQ(Sequential().onnx({4}).error().code, "E0213");
  EXPECT_EQ(Sequential{Relu{}}.onnx({4, 0}).error().code, "E0213");
  EXPECT_EQ(Sequential{Relu{}}.onnx({kHuge, kHuge}).error().code, "E0213");
  EXPECT_EQ(Sequential{Relu{}}.onnx({1, 1, 1, 1, 1, 1, 1}).error().code, "E0213");
  EXPECT_EQ(Sequential{Function{}}.onnx({4}).error().code, "E0213");
  EXPECT_EQ((Sequential{[](ModelBuilder&, Tensor) { return Tensor(); }}).onnx({4}).error().code, "E0213");
  EXPECT_EQ((Sequential{Residual{}}).onnx({4}).error().code, "E0213");
}

TEST(Mistakes, OfNodes) {
  ModelBuilder net;
  const Tensor x = net.input("x", {4});
  net.node("", {x});
  net.node("NoSuchOperator", {x});
  net.node("Relu", {x}, {.domain = "com.example"});
  net.node("Relu", {x}, {.outputs = 0});
  net.node("Relu", {x}, {.outputs = 3});
  net.node("Relu", {});
  net.node("Gate", {x}, {.domain = "d", .types = {{DType::f32, {-2}}}});
  net.node("Gate", {x}, {.outputs = 2, .domain = "d", .types = {{DType::f32, {4}}}});
  net.node("NonMaxSuppression", {x, x});
  EXPECT_THAT(net.problems(), SizeIs(9));
  for (const std::string& problem : net.problems()) EXPECT_THAT(problem, HasSubstr("mistakes_test.cc:"));
}

}  // namespace
}  // namespace pantoum::layers
