// Gradients where an operator has no derivative, or values tie: PyTorch's, by what its newer exporter tells of each call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "autodiff/autodiff.h"
#include "testing/evaluate.h"
#include "testing/exported_model.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using Floats = std::vector<float>;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(const Floats& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// What the sum of all outputs changes by with each element of "w", where x is fed twice as its two samples. Mean squares are such sums
// where every error is half the number of elements.
Floats slopes(const Result<Imported>& model, const Floats& sample) {
  EXPECT_TRUE(model) << (model ? "" : to_text(model.error()));
  if (!model) return {};
  Floats x = sample;
  x.insert(x.end(), sample.begin(), sample.end());
  const ir::Graph& forward = model->graph;
  const auto run = ir::evaluate(forward, *pt_portable_kernels(), {{forward.inputs[0], bytes_of(x)}});
  EXPECT_TRUE(run) << (run ? "" : to_text(run.error()));
  if (!run) return {};
  Floats targets = run->as<float>(ir::root_of(forward, forward.outputs[0]));
  const float half = static_cast<float>(targets.size()) / 2;
  for (float& target : targets) target -= half;
  autodiff::TrainingOptions options{.loss = "mse"};
  options.optimizer = autodiff::Sgd{};
  const Result<ir::Graph> training = autodiff::make_training(forward, options);
  EXPECT_TRUE(training) << (training ? "" : to_text(training.error()));
  if (!training) return {};
  const ir::Feeds feeds = {{training->inputs[0], bytes_of(x)}, {training->labels[0], bytes_of(targets)}};
  const auto step = ir::evaluate(*training, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 1}});
  EXPECT_TRUE(step) << (step ? "" : to_text(step.error()));
  if (!step) return {};
  for (size_t id = 0; id < training->values.size(); ++id) {
    const ir::Value& value = training->values[id];
    if (value.name != "w" || value.next == ir::kNone) continue;
    Floats before = contents(forward, "w"), after = step->as<float>(value.next);
    for (size_t at = 0; at < after.size(); ++at) after[at] = before[at] - after[at];
    return after;
  }
  ADD_FAILURE() << "w does not train";
  return {};
}

// Both samples alike: half of the slopes. h = x + w, of w = 0.
struct Kink : Exported {
  Kink() : Exported({"w"}) {
    tensor("w", {4});
    node("Add", {"x", "w"}, "h", "add.Tensor](args = (%x, %p_w)");
  }
  Kink& number(const std::string& name, float value) {
    onnx::NodeProto& made = *graph().add_node();
    made.set_op_type("Constant");
    made.set_name(name);
    made.add_output(name);
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("value_float");
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return *this;
  }
  Kink& axes(const std::string& name, int64_t axis) {
    onnx::NodeProto& made = *graph().add_node();
    made.set_op_type("Constant");
    made.set_name(name);
    made.add_output(name);
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("value_ints");
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.add_ints(axis);
    return *this;
  }
  Floats at(const Floats& sample) {
    Floats found = slopes(load(), sample);
    for (float& each : found) each /= 2;
    return found;
  }
};

Floats of_clip(float low, float high, const std::string& call, const Floats& sample, const std::string& rule = "") {
  Kink model;
  model.number("low", low).number("high", high).node("Clip", {"h", "low", "high"}, "y", call, rule);
  return model.at(sample);
}

TEST(Kinks, ClipIsClampHardtanhOrTwoMaximaAsTheCallTells) {
  const Floats around = {-1, -0.5, 0.75, 1};
  EXPECT_EQ(of_clip(-0.5, 0.75, "clamp.default](args = (%h, -0.5, 0.75)", around), (Floats{0, 1, 1, 0}));
  EXPECT_EQ(of_clip(-0.5, 0.75, "hardtanh.default](args = (%h, -0.5, 0.75)", around), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(of_clip(-0.5, 0.75, "minimum.default](args = (%maximum, %clone)", around), (Floats{0, 0.5, 0.5, 0}));
  EXPECT_EQ(of_clip(0.75, -0.5, "clamp.default](args = (%h, 0.75, -0.5)", around), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(of_clip(0, 6, "relu6.default](args = (%h,)", {-1, 0, 6, 3}), (Floats{0, 0, 0, 1}));
}

TEST(Kinks, ClipOfReluAndClampHasTheGradientOfBoth) {
  const std::vector<std::pair<std::string, std::string>> joined = {
      {"relu.default](args = (%clamp,)", "FuseSuccessiveReluClip"},
      {"clamp.default](args = (%relu, None, 0.75)", "FuseSuccessiveClipRelu"}};
  for (const auto& [call, rule] : joined)
    EXPECT_EQ(of_clip(0, 0.75, call, {0, -0.5, 0.75, 1}, rule), (Floats{0, 0, 1, 0}));
  EXPECT_EQ(of_clip(0.5, 0.75, joined[1].first, {0.5, -0.5, 0.75, 1}, joined[1].second), (Floats{1, 0, 1, 0}));
  EXPECT_EQ(of_clip(0, 6, "relu6.default](args = (%relu,)", {0, 1, 6, 7}, joined[0].second), (Floats{0, 1, 0, 0}));
}

TEST(Kinks, ClipWithoutACallIsClampAndRelu6FromZeroToSix) {
  for (const bool six : {true, false}) {
    OnnxModel model;
    model.input("x", {"2", "4"}).weight("w", {4}, 0).node("Add", {"x", "w"}, {"h"});
    model.node("Constant", {}, {"low"})
        .real_attribute("value_float", 0)
        .node("Constant", {}, {"high"})
        .real_attribute("value_float", six ? 6 : 2);
    model.node("Clip", {"h", "low", "high"}, {"y"}).output("y");
    const Floats edge = six ? Floats{0, 0, 2, 0} : Floats{0, 2, 2, 2};
    EXPECT_EQ(slopes(model.load(), {-1, 0, 1, six ? 6.0F : 2.0F}), edge);
  }
}

TEST(Kinks, MaximumSharesTiesAndClampByATensorGivesThemToTheFirst) {
  for (const auto& [call, tie] : std::map<std::string, float>{{"clamp.Tensor](args = (%h, %low)", 1.0F},
                                                              {"maximum.default](args = (%h, %low)", 0.5F}}) {
    Kink model;
    model.number("low", -0.5).node("Max", {"h", "low"}, "y", call);
    EXPECT_EQ(model.at({-1, -0.5, 0, 1}), (Floats{0, tie, 1, 1})) << call;
  }
}

TEST(Kinks, TheLargestAlongADimensionIsOnePlaceAndOfAllDimensionsShared) {
  Kink one, all;
  one.axes("axes", 1).node("ReduceMax", {"h", "axes"}, "y", "max.dim](args = (%h, 1, True)");
  EXPECT_EQ(one.at({0, 1, 1, -1}), (Floats{0, 1, 0, 0}));
  all.axes("axes", 1).node("ReduceMax", {"h", "axes"}, "y", "amax.default](args = (%h, [1], True)");
  EXPECT_EQ(all.at({0, 1, 1, -1}), (Floats{0, 0.5, 0.5, 0}));
}

TEST(Kinks, NormsAndDeviationsOfZeroHaveSlopeZero) {
  const Floats zeros(4, 0);
  Kink norm;
  norm.axes("axes", 1).node("ReduceL2", {"h", "axes"}, "y", "linalg_vector_norm.default](args = (%h, 2, [1])");
  EXPECT_EQ(norm.at(zeros), zeros);
  Kink deviation;
  deviation.axes("axes", 1).number("scale", 2).node("Mul", {"h", "h"}, "s", "var](args = (%h)");
  deviation.node("ReduceMean", {"s", "axes"}, "m", "var](args = (%h)")
      .node("Mul", {"m", "scale"}, "v", "var](args = (%h)");
  deviation.node("Sqrt", {"v"}, "y", "sqrt.default](args = (%v,)");
  EXPECT_EQ(deviation.at(zeros), zeros);
  Kink third;
  third.axes("axes", 1)
      .number("three", 3)
      .number("third", 1.0F / 3)
      .node("Abs", {"h"}, "a", "abs.default](args = (%h,)");
  third.node("Pow", {"a", "three"}, "p", "pow](args = (%a, 3)")
      .node("ReduceSum", {"p", "axes"}, "s", "sum](args = (%p)");
  third.node("Pow", {"s", "third"}, "y", "pow](args = (%s, 0.3)");
  EXPECT_EQ(third.at(zeros), zeros);
}

TEST(Kinks, PReluHasTheSlopeBelowAtZeroAndLogOfSigmoidDoesNotOverflow) {
  Kink prelu;
  prelu.number("a", 0.25).node("PRelu", {"h", "a"}, "y", "prelu.default](args = (%h, %a)");
  EXPECT_EQ(prelu.at({-1, 0, 1, 2}), (Floats{0.25, 0.25, 1, 1}));
  Kink logarithm;
  logarithm.node("Sigmoid", {"h"}, "s", "log_sigmoid.default](args = (%h,)");
  logarithm.node("Log", {"s"}, "y", "log_sigmoid.default](args = (%h,)");
  EXPECT_THAT(logarithm.at({-200, -400, 0, 200}), ElementsAre(1, 1, 0.5, testing::Lt(1e-30)));
}

TEST(Kinks, WhatIsDetachedGetsNoGradient) {
  Kink told;
  told.node("Identity", {"h"}, "detach", "detach.default](args = (%h,)");
  told.node("Mul", {"h", "detach"}, "y", "mul.Tensor](args = (%h, %detach)");
  EXPECT_EQ(told.at({1, 2, 3, -1}), (Floats{1, 2, 3, -1}));
  Kink lost;  // the exporter's optimizer took the Identity out
  lost.node("Mul", {"h", "h"}, "y", "mul.Tensor](args = (%h, %detach)");
  EXPECT_EQ(lost.at({1, 2, 3, -1}), (Floats{1, 2, 3, -1}));
  Kink whole;
  whole.node("Tanh", {"h"}, "t", "tanh.default](args = (%detach,)")
      .node("Add", {"h", "t"}, "y", "add.Tensor](args = (%h, %t)");
  EXPECT_EQ(whole.at({1, 2, 3, -1}), (Floats{1, 1, 1, 1}));
  Kink unclear;
  unclear.node("Tanh", {"h"}, "t", "tanh.default](args = (%h,)").node("Exp", {"h"}, "e", "exp.default](args = (%h,)");
  unclear.node("Sum", {"t", "e", "h"}, "y", "custom.default](args = (%detach,)");
  const auto model = unclear.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(model->info.warnings, Contains(HasSubstr("is detached in the program")));
}

// Rows of a table [3,2] at the first maximum of each sample.
Floats of_table(const std::string& rest) {
  Exported model({"w"});
  model.tensor("w", {3, 2}).node("ArgMax", {"x"}, "at", "argmax.default](args = (%x, 1)");
  onnx::AttributeProto& axis = *model.graph().mutable_node(0)->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  model.node("Gather", {"w", "at"}, "y", "embedding.default](args = (%p_w, %argmax" + rest + ")");
  return slopes(model.load(), {0, 0, 1, 0});
}

TEST(Kinks, RowsOfThePaddingGetNoGradientAndFrequentOnesTheirMean) {
  EXPECT_EQ(of_table(""), (Floats{0, 0, 0, 0, 2, 2}));
  EXPECT_EQ(of_table(", 2"), (Floats{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(of_table(", 1"), (Floats{0, 0, 0, 0, 2, 2}));
  EXPECT_EQ(of_table(", -1, True"), (Floats{0, 0, 0, 0, 1, 1}));
}

TEST(Kinks, ATableWithOneRowOfZerosIsToldWhereTheFileSaysNothing) {
  OnnxModel model;
  model.input("x", {"2", "4"})
      .weight("words", {5, 2})
      .node("ArgMax", {"x"}, {"at"})
      .attribute("axis", 1)
      .node("Gather", {"words", "at"}, {"y"})
      .output("y");
  EXPECT_THAT(model.load()->graph.notes, Not(Contains(HasSubstr("padding_idx"))));
  for (int at = 6; at < 8; ++at) model.graph().mutable_initializer(0)->set_float_data(at, 0);
  EXPECT_THAT(model.load()->graph.notes, Contains(HasSubstr("row 3 of 'words'")));
}

}  // namespace
}  // namespace pantoum::import
