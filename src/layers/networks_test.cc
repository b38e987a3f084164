// Whole networks: they are read, every parameter has a gradient, they learn a batch, and names are PyTorch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/built_model.h"

namespace pantoum::layers {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> names(const ModelBuilder& net) {
  const auto imported = read(net.onnx());
  EXPECT_TRUE(imported) << to_text(imported.error());
  return imported ? parameters_of(imported->graph) : std::vector<std::string>();
}

Sequential lenet() {
  return {Conv2d{.channels = 6, .kernel = 5, .padding = 2},
          Relu{},
          MaxPool2d{.kernel = 2},
          Conv2d{.channels = 16, .kernel = 5},
          Relu{},
          MaxPool2d{.kernel = 2},
          Flatten{},
          Linear{120},
          Relu{},
          Linear{84},
          Relu{},
          Linear{10}};
}

TEST(Networks, LeNetLearns) {
  expect_learns(lenet().onnx({1, 28, 28}), 10, 20);
}

TEST(Networks, SequentialsNamesArePositionsAsInPyTorch) {
  const auto imported = read(lenet().onnx({1, 28, 28}));
  ASSERT_TRUE(imported);
  EXPECT_THAT(parameters_of(imported->graph),
              UnorderedElementsAre("0.bias f32[6]", "0.weight f32[6,1,5,5]", "11.bias f32[10]", "11.weight f32[10,84]",
                                   "3.bias f32[16]", "3.weight f32[16,6,5,5]", "7.bias f32[120]",
                                   "7.weight f32[120,400]", "9.bias f32[84]", "9.weight f32[84,120]"));
  EXPECT_THAT(imported->info.inputs, ElementsAre("input f32[N,1,28,28]"));
  EXPECT_THAT(imported->info.outputs, ElementsAre("output f32[N,10]"));
}

TEST(Networks, NestedSequentialsHaveTheirPathAsName) {
  ModelBuilder net;
  const Tensor x = net.input("x", {8});
  const Sequential layers("body",
                          {Linear{4}, Sequential{Relu{}, Linear{3, false}}, Linear{.features = 2, .name = "head"}});
  net.output("y", net.apply(layers, x));
  EXPECT_THAT(names(net),
              UnorderedElementsAre("body.0.bias f32[4]", "body.0.weight f32[4,8]", "body.1.1.weight f32[3,4]",
                                   "body.head.bias f32[2]", "body.head.weight f32[2,3]"));
}

Tensor basic_block(ModelBuilder& net, const Tensor& x, int64_t channels, int64_t stride) {
  Tensor y = net.conv2d(
      x, {.channels = channels, .kernel = 3, .stride = stride, .padding = 1, .bias = false, .name = "conv1"});
  y = net.relu(net.batch_norm(y, {.name = "bn1"}));
  y = net.conv2d(y, {.channels = channels, .kernel = 3, .padding = 1, .bias = false, .name = "conv2"});
  y = net.batch_norm(y, {.name = "bn2"});
  if (stride == 1) return net.relu(x + y);
  const Tensor past =
      net.conv2d(x, {.channels = channels, .kernel = 1, .stride = stride, .bias = false, .name = "downsample.0"});
  return net.relu(y + net.batch_norm(past, {.name = "downsample.1"}));
}

ModelBuilder resnet() {
  ModelBuilder net("resnet", {.seed = 3});
  Tensor x = net.input("x", {3, 12, 12});
  x = net.relu(
      net.batch_norm(net.conv2d(x, {.channels = 4, .kernel = 3, .padding = 1, .bias = false, .name = "conv1"})));
  for (const int64_t block : {0, 1}) {
    const auto scope = net.scope("layer1." + std::to_string(block));
    x = basic_block(net, x, block == 0 ? 4 : 8, block == 0 ? 1 : 2);
  }
  x = net.flatten(net.adaptive_avg_pool2d(x, 1));
  net.output("logits", net.linear(x, {.features = 5, .name = "fc"}));
  return net;
}

TEST(Networks, ResidualNetworkLearns) {
  expect_learns(resnet().onnx(), 5);
}

TEST(Networks, ResidualNetworksNamesAreThoseOfItsScopes) {
  const ModelBuilder net = resnet();
  const std::vector<std::string> all = names(net);
  EXPECT_THAT(all, testing::Contains("layer1.1.downsample.0.weight f32[8,4,1,1]"));
  EXPECT_THAT(all, testing::Contains("layer1.0.bn1.weight f32[4]"));
  EXPECT_THAT(all, testing::Contains("batch_norm1.bias f32[4]"));
  std::set<std::string> statistics;
  const auto imported = read(net.onnx());
  for (const ir::Value& value : imported->graph.values)
    if (value.role == ir::Role::kBuffer) statistics.insert(value.name);
  EXPECT_TRUE(statistics.contains("layer1.1.downsample.1.running_var"));
}

TEST(Networks, SequenceClassifierLearns) {
  ModelBuilder net("text");
  Tensor x = net.input("tokens", {7}, DType::i64);
  x = net.embedding(x, {.rows = 12, .columns = 6, .name = "embed"});
  const Recurrent state =
      net.lstm(x, {.hidden = 5, .layers = 2, .bidirectional = true, .dropout = 0.1, .name = "lstm"});
  EXPECT_EQ(state.output.shape(), (Shape{-1, 7, 10}));
  EXPECT_EQ(state.final_state.shape(), (Shape{-1, 10}));
  EXPECT_EQ(state.final_cell.shape(), (Shape{-1, 10}));
  net.output("logits", net.linear(state.final_state, {.features = 3, .name = "fc"}));
  const std::vector<std::string> all = names(net);
  EXPECT_EQ(all.size(), 1u + 16u + 2u);
  EXPECT_THAT(all, testing::Contains("lstm.weight_ih_l1_reverse f32[20,10]"));
  expect_learns(net.onnx(), 3, 30);
}

// The gates come in PyTorch's order, and the import sees through what puts them into ONNX's: no op of a step moves weights.
TEST(Networks, RecurrentWeightsAreReadAsTheyStand) {
  ModelBuilder net;
  const Recurrent lstm = net.lstm(net.input("x", {4, 3}), {.hidden = 2});
  const Recurrent gru = net.gru(lstm.output, {.hidden = 2, .bidirectional = true});
  net.output("y", net.rnn(gru.output, {.hidden = 2, .relu = true}).final_state);
  const auto imported = read(net.onnx());
  ASSERT_TRUE(imported) << to_text(imported.error());
  std::set<ir::ValueId> weights;
  for (size_t id = 0; id < imported->graph.values.size(); ++id)
    if (imported->graph.values[id].role == ir::Role::kParameter) weights.insert(static_cast<ir::ValueId>(id));
  for (const ir::Op& op : imported->graph.ops) {
    if (op.kind != ir::Kind::k_split && op.kind != ir::Kind::k_concat) continue;
    for (const ir::ValueId input : op.inputs) EXPECT_FALSE(weights.contains(input)) << ir::to_text(imported->graph);
  }
}

TEST(Networks, TransformerLearns) {
  ModelBuilder net("gpt");
  const Tensor tokens = net.input("tokens", {6}, DType::i64);
  Tensor x =
      net.embedding(tokens, {.rows = 11, .columns = 8, .initial_weight = Initial::normal(0, 0.5), .name = "wte"});
  x = x + net.parameter("wpe", {6, 8}, Initial::normal(0, 0.02));
  x = net.transformer_layer(
      x, {.heads = 2, .feedforward = 16, .causal = true, .norm_first = true, .gelu = true, .name = "h.0"});
  x = net.transformer_layer(x, {.heads = 4, .feedforward = 16, .dropout = 0, .name = "h.1"});
  net.output("logits", net.linear(net.mean(net.layer_norm(x, {.name = "ln"}), {1}), {.features = 4, .name = "head"}));
  const std::vector<std::string> all = names(net);
  for (const char* name : {"h.0.self_attn.in_proj_weight f32[24,8]", "h.0.self_attn.out_proj.bias f32[8]",
                           "h.1.linear2.weight f32[8,16]", "h.1.norm2.bias f32[8]", "wpe f32[6,8]"})
    EXPECT_THAT(all, testing::Contains(name));
  expect_learns(net.onnx(), 4);
}

TEST(Networks, UNetLearns) {
  ModelBuilder net("unet");
  const auto twice = [&](const Tensor& x, int64_t channels) {
    const Sequential pair{Conv2d{.channels = channels, .kernel = 3, .same_padding = true}, GroupNorm{2}, Silu{},
                          Conv2d{.channels = channels, .kernel = 3, .same_padding = true}, Gelu{}};
    return net.apply(pair, x);
  };
  const Tensor x = net.input("image", {1, 8, 8});
  const Tensor top = twice(x, 4), low = twice(net.max_pool2d(top, {.kernel = 2}), 8);
  const Tensor up = net.conv_transpose2d(low, {.channels = 4, .kernel = 2, .stride = 2});
  const Tensor smooth = net.upsample(low, {.scale = 2, .mode = Upsample::Mode::linear});
  const Tensor joined = net.concat({top, up, smooth});
  EXPECT_EQ(joined.shape(), (Shape{-1, 16, 8, 8}));
  net.output("mask", net.conv2d(twice(joined, 4), {.channels = 3, .kernel = 1}));
  expect_learns(net.onnx(), 3, 20);
}

TEST(Networks, SeveralInputsAndOutputsLearn) {
  ModelBuilder net("two towers");
  const Tensor user = net.input("user", {}, DType::i64), item = net.input("item", {5});
  EXPECT_EQ(user.shape(), (Shape{-1}));
  const Tensor a = net.embedding(user, {.rows = 9, .columns = 4}), b = net.tanh(net.linear(item, 4));
  net.output("score", net.linear(net.concat({a, b, a * b}), 2));
  net.output("rating", net.sum(a * b, {1}, true));
  autodiff::TrainingOptions options;
  options.loss = {{.output = "score"}, {.name = "mse", .output = "rating"}};
  expect_learns(net.onnx(), 2, 20, options);
}

TEST(Networks, SharedLayersHaveOneSetOfParameters) {
  ModelBuilder net("siamese");
  const Tensor a = net.input("a", {6}), b = net.input("b", {6});
  SharedLayer tower = net.make(Sequential("tower", {Linear{8}, BatchNorm{}, Relu{}, Residual{{Linear{8}, Tanh{}}}}));
  SharedLayer head = net.make(Linear{.features = 2, .name = "head"});
  net.output("y", head(tower(a) - tower(b)));
  EXPECT_THAT(names(net),
              UnorderedElementsAre("head.bias f32[2]", "head.weight f32[2,8]", "tower.0.bias f32[8]",
                                   "tower.0.weight f32[8,6]", "tower.1.bias f32[8]", "tower.1.weight f32[8]",
                                   "tower.3.body.0.bias f32[8]", "tower.3.body.0.weight f32[8,8]"));
  expect_learns(net.onnx(), 2);
}

TEST(Networks, ALayerOfTheProgramsOwnBuildsBelowItsName) {
  const auto gate = [](ModelBuilder& net, Tensor x) {
    return x * net.sigmoid(net.linear(x, {.features = 4, .name = "gate"}));
  };
  const Sequential layers{Linear{4}, gate, Function{gate, "second"}, Linear{2}};
  const auto imported = read(layers.onnx({3}));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(parameters_of(imported->graph),
              testing::IsSupersetOf({"1.gate.weight f32[4,4]", "second.gate.bias f32[4]"}));
}

TEST(Networks, ASharedFunctionMakesItsLayersOnce) {
  ModelBuilder net;
  SharedLayer block =
      net.make(Function{[](ModelBuilder& inner, Tensor x) { return inner.relu(inner.linear(inner.linear(x, 4), 4)); }});
  const Tensor x = net.input("x", {4});
  net.output("y", block(block(x)));
  EXPECT_THAT(names(net), UnorderedElementsAre("function1.linear1.bias f32[4]", "function1.linear1.weight f32[4,4]",
                                               "function1.linear2.bias f32[4]", "function1.linear2.weight f32[4,4]"));
}

TEST(Networks, TheSameCallsGiveTheSameBytes) {
  EXPECT_EQ(*resnet().onnx(), *resnet().onnx());
  const ModelBuilder net = resnet();
  EXPECT_EQ(*net.onnx(), *net.onnx());
}

TEST(Networks, WhatNoOutputNeedsIsLeftOut) {
  ModelBuilder net;
  const Tensor x = net.input("x", {4});
  const Tensor unused = net.exp(x * 2.0F);
  net.output("y", net.linear(x, 3));
  const auto imported = read(net.onnx());
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->info.nodes.size(), 1u);
  EXPECT_TRUE(unused.valid());
}

TEST(Networks, TheirTensorsAreThoseOfTheirLayersAlone) {
  ModelBuilder net;
  const Tensor x = net.input("x", {6, 4});
  const Tensor y = net.lstm(net.transformer_layer(x, {.heads = 2, .feedforward = 3}), {.hidden = 2}).final_state;
  net.output("y", net.clip(y * 2, -1, 1) + net.constant({2}, {3, 4}));
  const auto imported = read(net.onnx());
  ASSERT_TRUE(imported) << to_text(imported.error());
  std::vector<std::string> fixed;
  for (const import::TensorInfo& tensor : imported->info.tensors)
    if (tensor.trains != "yes") fixed.push_back(tensor.name + " " + tensor.type + " " + tensor.why);
  EXPECT_THAT(fixed, ElementsAre("constant1 f32[2] marked BUFFER"));
  for (const std::string& note : imported->info.notes) EXPECT_THAT(note, testing::Not(testing::HasSubstr("folded")));
}

TEST(Networks, AnOutputMayBeAnInputOrHaveTwoNames) {
  ModelBuilder net;
  const Tensor x = net.input("x", {4}), y = net.linear(x, 3);
  net.output("same", x);
  net.output("one", y);
  net.output("two", y);
  const auto imported = read(net.onnx());
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(imported->graph.output_names, ElementsAre("same", "one", "two"));
}

// What a program names is named so; what has no name gives way.
TEST(Networks, ChosenNamesGoBeforeNamesThatAreMadeUp) {
  ModelBuilder net;
  Tensor x = net.input("x", {4});
  x = net.relu(x);
  net.output("constant", net.relu(x + 1.0F));
  net.output("add1", net.relu(x));
  const auto imported = read(net.onnx());
  ASSERT_TRUE(imported) << to_text(imported.error());
}

TEST(Networks, AnOutputMayHaveTheNameOfItsLayer) {
  ModelBuilder net;
  net.output("logits", net.linear(net.input("x", {4}), {.features = 2, .name = "logits"}));
  EXPECT_THAT(names(net), UnorderedElementsAre("logits.weight f32[2,4]", "logits.bias f32[2]"));
}

TEST(Networks, ABuilderMayMoveAndItsTensorsOutliveIt) {
  Tensor x;
  {
    ModelBuilder first;
    x = first.input("x", {4});
    ModelBuilder second = std::move(first);
    second.output("y", second.linear(x, 2));
    EXPECT_TRUE(read(second.onnx()));
  }
  EXPECT_EQ((x * 2.0F).shape(), (Shape{-1, 4}));
}

}  // namespace
}  // namespace pantoum::layers
