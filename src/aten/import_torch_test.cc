#include "aten/import_torch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "aten/operators.h"
#include "autodiff/autodiff.h"
#include "base/random.h"
#include "ir/op_registry.h"
#include "testing/torch_graph_text.h"

namespace pantoum::aten {
namespace {

using ir::Kind;

const autodiff::TrainingOptions kCaptured = {.loss = {{.name = "captured"}}};

int count(const ir::Graph& graph, Kind kind) {
  return static_cast<int>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; }));
}

bool moves(const ir::Graph& graph, const std::string& name) {
  for (const ir::Value& value : graph.values)
    if (value.name == name) return value.next != ir::kNone;
  return false;
}

GraphText linear() {
  return GraphText()
      .input("x", {2, 3})
      .parameter("w", {4, 3})
      .call("linear.default", R"({"v":"x"},{"v":"w"})", "y", {2, 4})
      .output("y");
}

TEST(ImportTorch, TrainsWhatTheModuleTrains) {
  const auto graph = load(linear());
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_EQ(graph->info.parameter_count, 12);
  const auto training = autodiff::make_training(graph->graph, {.loss = {{.name = "mse"}}});
  ASSERT_TRUE(training) << to_text(training.error());
  EXPECT_TRUE(moves(*training, "w"));
  EXPECT_FALSE(load(linear(), {.batch = 3}));
  EXPECT_FALSE(load(linear(), {.freeze = {"v*"}}));
  EXPECT_EQ(load(linear(), {.freeze = {"w"}})->info.parameter_count, 0);
}

// loss = sum((x w^T) * detach(x v^T)): w gets a gradient, v none.
TEST(ImportTorch, StopsGradientsAtDetach) {
  GraphText text = linear().parameter("v", {4, 3});
  text.call("linear.default", R"({"v":"x"},{"v":"v"})", "z", {2, 4})
      .call("detach.default", R"({"v":"z"})", "d", {2, 4});
  text.call("mul.Tensor", R"({"v":"y"},{"v":"d"})", "m", {2, 4})
      .call("sum.default", R"({"v":"m"})", "s", {})
      .minimize("s");
  const auto graph = load(text);
  ASSERT_TRUE(graph) << to_text(graph.error());
  const auto training = autodiff::make_training(graph->graph, kCaptured);
  ASSERT_TRUE(training) << to_text(training.error());
  EXPECT_TRUE(moves(*training, "w"));
  EXPECT_FALSE(moves(*training, "v"));
}

TEST(ImportTorch, MovesBuffersOnceAStep) {
  GraphText text = linear().buffer("ema", {4}, "next").buffer("steps", {}, "more", "i64").buffer("fixed", {4}, "");
  text.call("mean.dim", R"({"v":"y"},[0])", "m", {4}).call("lerp.Scalar", R"({"v":"ema"},{"v":"m"},0.1)", "next", {4});
  text.call("add.Tensor", R"({"v":"steps"},1)", "more", {}, "i64")
      .call("mul.Tensor", R"({"v":"y"},{"v":"fixed"})", "q", {2, 4});
  const auto graph = load(text.output("q"));
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_EQ(count(graph->graph, Kind::k_assign), 2);
  EXPECT_TRUE(moves(graph->graph, "ema"));
  EXPECT_TRUE(moves(graph->graph, "steps"));
  EXPECT_FALSE(moves(graph->graph, "fixed"));
  for (const ir::Op& op : graph->graph.ops) EXPECT_TRUE(op.kind != Kind::k_assign || !ir::op_def(op.kind).recompute);
}

TEST(ImportTorch, TakesTheLastInputAsTheTargetOfACapturedLoss) {
  GraphText text = linear().input("t", {2, 4});
  text.call("mse_loss.default", R"({"v":"y"},{"v":"t"},1)", "l", {}).minimize("l");
  const auto graph = load(text);
  ASSERT_TRUE(graph) << to_text(graph.error());
  const auto training = autodiff::make_training(graph->graph, kCaptured);
  ASSERT_TRUE(training) << to_text(training.error());
  ASSERT_EQ(training->labels.size(), 1u);
  EXPECT_EQ(training->value(training->labels[0]).name, "label");
  EXPECT_EQ(training->inputs.size(), 1u);
  EXPECT_EQ(count(*training, Kind::k_mul), 0) << "the loss begins the chain itself";
  EXPECT_FALSE(autodiff::make_training(load(linear())->graph, kCaptured)) << "there is none";
}

// A loss that no op of a loss makes: 1 flows in.
TEST(ImportTorch, BeginsTheChainAtAnySum) {
  GraphText text = linear();
  text.call("sum.default", R"({"v":"y"})", "s", {}).call("mul.Tensor", R"({"v":"s"},3.0)", "l", {}).minimize("l");
  const auto training = autodiff::make_training(load(text)->graph, kCaptured);
  ASSERT_TRUE(training) << to_text(training.error());
  EXPECT_TRUE(moves(*training, "w"));
}

TEST(ImportTorch, NamesEveryCallThatItLacksWithItsPlace) {
  GraphText text = linear();
  text.call("linalg_svd.default", R"({"v":"y"})", "u", {2, 2}).call("relu.default", R"({"v":"u"})", "r", {2, 2});
  text.call("nonzero.default", R"({"v":"y"})", "n", {2, 2}, "i64").output("r").output("n");
  const auto graph = load(text);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "E0401");
  ASSERT_EQ(graph.error().notes.size(), 2u) << to_text(graph.error());
  EXPECT_NE(graph.error().notes[0].find("aten.linalg_svd.default, net.py:2, in forward"), std::string::npos);
}

// What a lowering makes is held to what was captured.
TEST(ImportTorch, RefusesAResultOfAnotherType) {
  for (const char* op : {"relu.default", "sum.default", "_softmax.default", "t.default", "argmax.default"}) {
    const GraphText text = GraphText().input("x", {2, 3}).call(op, R"({"v":"x"},-1)", "y", {3, 3}).output("y");
    const auto graph = load(text);
    ASSERT_FALSE(graph) << op;
    EXPECT_EQ(graph.error().code, "E0211") << op;
  }
}

TEST(ImportTorch, ReadsInputsWithoutRowsAsOneSample) {
  GraphText text = GraphText().input("x", {2, 3}).input("edges", {5, 2}, "i64").parameter("w", {3});
  const auto graph = load(text.call("mul.Tensor", R"({"v":"x"},{"v":"w"})", "y", {2, 3}).output("y"));
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_EQ(graph->info.batch, 1);
  EXPECT_EQ(graph->graph.value(graph->graph.inputs[1]).type.shape, (ir::Shape{1, 5, 2}));
}

// Arguments of every kind in every place, of tensors of every rank: refused, or lowered to a sound graph; never a fault.
TEST(ImportTorch, LivesThroughAnyArguments) {
  const std::vector<std::string> some = {R"({"v":"x"})",
                                         R"({"v":"i"})",
                                         R"({"v":"b"})",
                                         "null",
                                         "true",
                                         "0",
                                         "-1",
                                         "7",
                                         "1.5",
                                         R"("sum")",
                                         "[]",
                                         "[0]",
                                         "[1,2]",
                                         R"([{"v":"x"}])",
                                         R"([null,{"v":"i"}])",
                                         R"({"dtype":"i64"})",
                                         R"({"real":"nan"})",
                                         "9223372036854775807",
                                         "[-9223372036854775808]"};
  const std::vector<std::vector<int>> shapes = {{2, 3, 4, 4}, {}, {3}, {2, 3}, {2, 3, 4, 4, 4}};
  base::Random random(5);
  const auto one_of = [&](const auto& all) { return all[random.next() % all.size()]; };
  for (const auto& [name, entry] : all_operators())
    for (int round = 0; round < 60; ++round) {
      std::string args = round < 30 ? some[0] : one_of(some);
      for (int arg = 0; arg < round % 8; ++arg) args += "," + one_of(some);
      const std::vector<int> shape = one_of(shapes);
      GraphText text = GraphText().input("x", shape).input("i", {2, 3}, "i64").input("b", shape, "bool");
      const auto graph = load(text.call(name, args, "y", one_of(shapes)).output("y"));
      EXPECT_TRUE(!graph || ir::validate(graph->graph)) << name << " " << args;
    }
}

TEST(ImportTorch, NamesNoOperatorTwice) {
  std::set<std::string> names;
  for (const auto& [name, entry] : all_operators()) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_GT(names.size(), 200u);
  EXPECT_EQ(find_operator("aten.none.default"), nullptr);
  EXPECT_EQ(find_operator("add.Tensor"), nullptr);
}

}  // namespace
}  // namespace pantoum::aten
