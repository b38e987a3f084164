// Operators that are made of others: what node tests of ONNX do not ask.
#include <gtest/gtest.h>

#include "kernels/portable/kernels.h"
#include "testing/evaluate.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

// The values of every output, fed 1, 2, 3, ... as "x".
std::vector<std::vector<float>> outputs_of(const OnnxModel& model) {
  const auto loaded = model.load();
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : to_text(loaded.error()));
  if (!loaded) return {};
  ir::Feeds feeds;
  for (const ir::ValueId id : loaded->graph.inputs) {
    std::vector<float> values(static_cast<size_t>(loaded->graph.value(id).type.elements()));
    for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(at + 1);
    feeds[id].resize(values.size() * sizeof(float));
    std::memcpy(feeds[id].data(), values.data(), feeds[id].size());
  }
  const auto found = ir::evaluate(loaded->graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(found.has_value()) << (found ? "" : to_text(found.error()));
  std::vector<std::vector<float>> outputs;
  for (const ir::ValueId id : loaded->graph.outputs)
    outputs.push_back(found ? found->as<float>(ir::root_of(loaded->graph, id)) : std::vector<float>{});
  return outputs;
}

// What a refusal says of its one node; empty where the model is imported.
std::string refusal_text(const OnnxModel& model) {
  const auto loaded = model.load();
  if (loaded) return "";
  std::string text = loaded.error().code;
  for (const std::string& note : loaded.error().notes) text += " " + note;
  return text;
}

using Floats = std::vector<float>;

TEST(Sequences, VanishWhateverIsDoneToThem) {
  OnnxModel model;
  model.input("x", {"1", "2"}).integers("first", {0}).integers("last", {-1});
  model.node("Neg", {"x"}, {"n"}).node("SequenceEmpty", {}, {"none"});
  model.node("SequenceInsert", {"none", "x"}, {"one"}).node("SequenceInsert", {"one", "n", "first"}, {"two"});
  model.node("SequenceInsert", {"two", "x", "last"}, {"three"});  // n, x, x
  model.node("SequenceErase", {"three"}, {"left"}).node("SequenceConstruct", {"x", "n", "x"}, {"built"});
  model.node("ConcatFromSequence", {"left"}, {"y"}).attribute("axis", 0).output("y");
  model.node("ConcatFromSequence", {"built"}, {"z"}).attribute("axis", -1).attribute("new_axis", 1).output("z");
  const auto outputs = outputs_of(model);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0], (Floats{-1, -2, 1, 2}));
  EXPECT_EQ(outputs[1], (Floats{1, -1, 1, 2, -2, 2}));
}

TEST(Sequences, TellTheirLength) {
  OnnxModel model;
  model.input("x", {"2", "3"}).node("SplitToSequence", {"x"}, {"parts"}).attribute("axis", 1);
  model.node("SequenceLength", {"parts"}, {"length"}).node("Unsqueeze", {"length", "zero"}, {"shape"});
  model.integers("zero", {0}).integers("two", {2});
  model.node("Concat", {"two", "shape"}, {"whole"}).attribute("axis", 0);
  model.node("Reshape", {"x", "whole"}, {"y"}).output("y");
  EXPECT_EQ(outputs_of(model)[0], (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Sequences, RefusePositionsOutsideThem) {
  OnnxModel erased;
  erased.input("x", {"2"}).node("SequenceEmpty", {}, {"s"}).node("SequenceErase", {"s"}, {"t"});
  erased.node("ConcatFromSequence", {"t"}, {"y"}).attribute("axis", 0).output("y");
  EXPECT_NE(refusal_text(erased).find("its sequence is empty"), std::string::npos);
  OnnxModel beyond;
  beyond.input("x", {"2"}).integers("at", {2}).node("SequenceConstruct", {"x"}, {"s"});
  beyond.node("SequenceInsert", {"s", "x", "at"}, {"t"});
  beyond.node("ConcatFromSequence", {"t"}, {"y"}).attribute("axis", 0).output("y");
  EXPECT_NE(refusal_text(beyond).find("its position is out of range"), std::string::npos);
  OnnxModel tensor;
  tensor.input("x", {"2"}).node("SequenceLength", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal_text(tensor).find("its input 0 ('input_sequence') is f32"), std::string::npos);
  OnnxModel read;
  read.input("x", {"2"}).node("SequenceConstruct", {"x"}, {"s"}).node("Relu", {"s"}, {"y"}).output("y");
  EXPECT_NE(refusal_text(read).find("is a sequence of tensors"), std::string::npos);
}

TEST(Dropout, GivesTheMaskOfWhatItKeeps) {
  OnnxModel model;
  model.input("x", {"40"}).node("Dropout", {"x"}, {"y", "mask"});
  model.node("Cast", {"mask"}, {"kept"}).attribute("to", 1).output("y").output("kept");
  const auto outputs = outputs_of(model);
  ASSERT_EQ(outputs.size(), 2U);
  Floats expected;
  for (const float value : outputs[0]) expected.push_back(value == 0 ? 0.0F : 1.0F);
  EXPECT_EQ(outputs[1], expected);
  EXPECT_NE(outputs[1], Floats(40, 0.0F));
  EXPECT_NE(outputs[1], Floats(40, 1.0F));
}

TEST(BatchNormalization, TakesStatisticsThatTheModelComputes) {
  OnnxModel model;
  model.input("x", {"2", "2", "2"}).weight("scale", {2}, 2).weight("bias", {2}, 1);
  model.input("mean", {"2"}).input("variance", {"2"});  // fed 1, 2 each
  model.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"}).output("y");
  const Floats y = outputs_of(model)[0];
  ASSERT_EQ(y.size(), 8U);
  EXPECT_NEAR(y[1], 1 + 2 * (2 - 1) / std::sqrt(1 + 1e-5), 1e-5);
  EXPECT_NEAR(y[7], 1 + 2 * (8 - 2) / std::sqrt(2 + 1e-5), 1e-5);
}

TEST(ReverseSequence, RefusesALengthBeyondTheInputWhileItRuns) {
  OnnxModel model;
  model.input("x", {"2", "3"}).input("fed", {"2"}).node("Cast", {"fed"}, {"lengths"}).attribute("to", 7);
  model.node("ReverseSequence", {"x", "lengths"}, {"y"}).attribute("batch_axis", 0).attribute("time_axis", 1);
  model.output("y");
  EXPECT_EQ(outputs_of(model)[0], (Floats{1, 2, 3, 5, 4, 6}));  // of lengths 1 and 2
  const auto loaded = model.load();
  ASSERT_TRUE(loaded.has_value());
  const Floats x(6, 0), beyond{4, 1};
  ir::Feeds feeds;
  for (const ir::ValueId id : loaded->graph.inputs) {
    const Floats& values = loaded->graph.value(id).name == "x" ? x : beyond;
    feeds[id].resize(values.size() * sizeof(float));
    std::memcpy(feeds[id].data(), values.data(), feeds[id].size());
  }
  EXPECT_FALSE(ir::evaluate(loaded->graph, *pt_portable_kernels(), feeds).has_value());
}

TEST(DeadNodes, MakeNoInput) {
  OnnxModel model;
  model.input("x", {"2", "3"}).node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"dead"}).output("y");
  *model.graph().add_value_info() = model.graph().input(0);  // its type is declared
  model.graph().mutable_value_info(0)->set_name("dead");
  const auto loaded = model.load();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->graph.inputs.size(), 1U);
}

// numpy.fft.irfft([1+2j, 3+4j, 5+6j, 7+8j], n)
TEST(Fourier, TurnsHalfASpectrumIntoARealSignal) {
  const std::vector<std::pair<int64_t, Floats>> expected = {
      {6, {4, -4.2200847F, 0.5773503F, -0.3333333F, -0.5773503F, 1.553418F}},
      {3, {7.0F / 3, -2.9760679F, 1.6427346F}},
      {1, {1}}};
  for (const auto& [length, signal] : expected) {
    OnnxModel model;
    model.input("x", {"4", "2"}).integers("length", {length}).node("Squeeze", {"length"}, {"n"});
    model.node("DFT", {"x", "n"}, {"y"})
        .attribute("onesided", 1)
        .attribute("inverse", 1)
        .attribute("axis", 0)
        .output("y");
    const Floats found = outputs_of(model)[0];
    ASSERT_EQ(found.size(), signal.size());
    for (size_t at = 0; at < signal.size(); ++at) EXPECT_NEAR(found[at], signal[at], 1e-5) << length << " " << at;
  }
  OnnxModel whole;  // its length is that of an even signal
  whole.input("x", {"4", "2"}).node("DFT", {"x"}, {"y"}).attribute("onesided", 1).attribute("inverse", 1);
  whole.attribute("axis", 0).output("y");
  EXPECT_EQ(outputs_of(whole)[0].size(), 6U);
}

// torch.roll by 0: x[3:], x[:3].
TEST(Concat, LeavesOutPartsWithoutElements) {
  OnnxModel model;
  model.input("x", {"3", "2"}).integers("zero", {0}).integers("end", {3}).integers("far", {99});
  model.node("Slice", {"x", "end", "far", "zero"}, {"none"}).node("Slice", {"x", "zero", "end", "zero"}, {"all"});
  model.node("Concat", {"none", "all"}, {"y"}).attribute("axis", 0).output("y");
  EXPECT_EQ(outputs_of(model)[0], (Floats{1, 2, 3, 4, 5, 6}));
  OnnxModel alone;
  alone.input("x", {"3", "2"}).integers("end", {3}).integers("far", {99}).integers("zero", {0});
  alone.node("Slice", {"x", "end", "far", "zero"}, {"none"}).node("Sigmoid", {"none"}, {"y"}).output("y");
  EXPECT_NE(refusal_text(alone).find("has no elements"), std::string::npos) << refusal_text(alone);
  OnnxModel apart;  // [0,2] and [3,2] do not fit along axis 1
  apart.input("x", {"3", "2"}).integers("end", {3}).integers("far", {99}).integers("zero", {0});
  apart.node("Slice", {"x", "end", "far", "zero"}, {"none"}).node("Concat", {"none", "x"}, {"y"});
  apart.attribute("axis", 1).output("y");
  EXPECT_NE(refusal_text(apart), "");
}

struct Hostile {
  const char* op;
  std::vector<int64_t> setting;  // its second input
  std::vector<std::pair<const char*, int64_t>> attributes;
  const char* refusal;
};

TEST(ComposedOperators, PadNamesADimensionOnce) {
  OnnxModel model(18);
  model.input("x", {"2", "3"}).integers("pads", {1, 1, 2, 2}).integers("axes", {1, -1});
  model.node("Pad", {"x", "pads", "", "axes"}, {"y"}).output("y");
  EXPECT_EQ(refusal_text(model).substr(0, 5), "E0211");
}

TEST(ComposedOperators, RefuseWhatDoesNotFit) {
  const std::vector<Hostile> cases = {
      {"CenterCropPad", {1, 2, 0}, {}, "an extent of 0"},
      {"CenterCropPad", {1, 2}, {}, "does not name every axis"},
      {"CenterCropPad", {1, 2, INT64_MAX}, {}, "out of range"},
      {"Compress", {0, 0}, {{"axis", 1}}, "it keeps nothing"},
      {"Compress", {0, 0, 0, 0, 1}, {{"axis", 2}}, "longer than its input"},
      {"Compress", {1}, {{"axis", 3}}, "E0211"},
      {"ReverseSequence", {1, 1}, {{"time_axis", 2}}, "not the first two"},
      {"ReverseSequence", {1, 1}, {{"time_axis", 1}, {"batch_axis", 1}}, "not the first two"},
      {"ReverseSequence", {1}, {}, "not one a sample"},
      {"DFT", {0}, {}, "a length of 0"},
      {"DFT", {INT32_MAX}, {}, "too large"},
      {"DFT", {2}, {{"axis", 2}}, "that of the components"},
      {"DFT", {2}, {{"onesided", 1}, {"inverse", 1}}, "one-sided and inverse, and its elements are real"},
      {"STFT", {0}, {}, "frame step"},
      {"STFT", {1}, {}, "neither a window nor a frame length"},
      {"AffineGrid", {2, 2}, {}, "do not fit"},
      {"AffineGrid", {}, {}, "do not fit"},
      {"AffineGrid", {2, 1, 0, 4}, {}, "E0211"},
      {"AffineGrid", {2, 1, 1 << 20, 1 << 20}, {}, "too large"},
      {"LpPool", {}, {{"p", 0}}, "'kernel_shape' is missing"},
      {"NegativeLogLikelihoodLoss", {0}, {}, "labels do not fit"},
      {"Hardmax", {}, {{"axis", 3}}, "E0211"},
  };
  for (const Hostile& hostile : cases) {
    OnnxModel model(hostile.op == std::string("DFT") ? 17 : 21, 10);
    model.input(
        "x", {"2", hostile.op == std::string("AffineGrid") ? "2" : "3", hostile.op == std::string("DFT") ? "1" : "3"});
    model.integers("setting", hostile.setting);
    if (hostile.op == std::string("Compress")) model.as_type(onnx::TensorProto::BOOL);
    const bool one = hostile.op == std::string("LpPool") || hostile.op == std::string("Hardmax");
    model.node(hostile.op, one ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "setting"}, {"y"});
    for (const auto& [name, value] : hostile.attributes) model.attribute(name, value);
    const std::string text = refusal_text(model.output("y"));
    EXPECT_NE(text.find(hostile.refusal), std::string::npos) << hostile.op << " " << hostile.refusal << ": " << text;
  }
}

}  // namespace
}  // namespace pantoum::import
