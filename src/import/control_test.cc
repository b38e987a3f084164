// If, Loop and Scan: what they become, what is refused, and hostile subgraphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "testing/evaluate.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using testing::HasSubstr;

// A graph that an attribute of a node holds.
class Body {
 public:
  explicit Body(onnx::GraphProto& graph) : graph_(graph) { graph.set_name("body"); }
  Body(OnnxModel& model, const char* attribute) : Body(held(*last(model.graph()), attribute)) {}

  Body& input(const std::string& name) {
    graph_.add_input()->set_name(name);
    return *this;
  }
  Body& output(const std::string& name) {
    graph_.add_output()->set_name(name);
    return *this;
  }
  Body& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_name(op + "_" + outputs[0]);
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return *this;
  }
  Body& number(const std::string& name, float value) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
    return *this;
  }
  // A graph of the last node.
  Body inner(const char* attribute) { return Body(held(*last(graph_), attribute)); }

 private:
  static onnx::NodeProto* last(onnx::GraphProto& graph) { return graph.mutable_node(graph.node_size() - 1); }
  static onnx::GraphProto& held(onnx::NodeProto& node, const char* attribute) {
    onnx::AttributeProto& entry = *node.add_attribute();
    entry.set_name(attribute);
    entry.set_type(onnx::AttributeProto::GRAPH);
    return *entry.mutable_g();
  }
  onnx::GraphProto& graph_;
};

OnnxModel& truth(OnnxModel& model, const std::string& name, bool value) {
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.add_int32_data(value ? 1 : 0);
  return model;
}

std::vector<float> outcome(const OnnxModel& model, const std::vector<float>& x) {
  const auto loaded = model.load();
  if (!loaded) throw std::runtime_error(to_text(loaded.error()));
  const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
  const ir::Feeds feeds = {{loaded->graph.inputs[0], {bytes, bytes + x.size() * sizeof(float)}}};
  const auto values = ir::evaluate(loaded->graph, *pt_portable_kernels(), feeds);
  if (!values) throw std::runtime_error(to_text(values.error()));
  return values->as<float>(loaded->graph.outputs[0]);
}

std::string refusal(const OnnxModel& model) {
  const auto loaded = model.load();
  return loaded ? "imported" : to_text(loaded.error());
}

// Both branches use one name for values of their own, hide a value of outside, and read another.
OnnxModel branches(bool taken) {
  OnnxModel model;
  model.input("x", {"2"}).weight("w", {2}, 3).node("Mul", {"x", "w"}, {"t"});
  truth(model, "c", taken).node("If", {"c"}, {"y"}).output("y");
  Body(model, "then_branch").number("k", 2).node("Mul", {"t", "k"}, {"u"}).output("u");
  Body(model, "else_branch").number("k", 5).node("Add", {"x", "k"}, {"w2"}).node("Mul", {"w2", "w"}, {"u"}).output("u");
  return model;
}

TEST(If, BecomesTheBranchThatIsTaken) {
  EXPECT_EQ(outcome(branches(true), {1, 2}), (std::vector<float>{6, 12}));
  EXPECT_EQ(outcome(branches(false), {1, 2}), (std::vector<float>{18, 21}));
}

TEST(If, TrainsAWeightThatBranchesAloneRead) {
  for (const bool taken : {true, false}) {
    OnnxModel model;
    model.input("x", {"3", "2"}).weight("fc.weight", {2, 2});
    truth(model, "c", taken).node("If", {"c"}, {"y"}).output("y");
    Body(model, "then_branch").node("MatMul", {"x", "fc.weight"}, {"a"}).output("a");
    Body(model, "else_branch").node("MatMul", {"x", "fc.weight"}, {"a"}).node("Neg", {"a"}, {"b"}).output("b");
    const auto loaded = model.load();
    ASSERT_TRUE(loaded) << to_text(loaded.error());
    EXPECT_EQ(loaded->info.parameter_count, 4);
    EXPECT_EQ(loaded->graph.ops.size(), taken ? size_t{1} : size_t{2});
  }
}

TEST(If, TellsThePlaceOfAConditionOnDataAndOfAProblemInABranch) {
  OnnxModel model;
  model.input("x", {"1"}).weight("w", {1}).node("Less", {"x", "w"}, {"c"}).node("If", {"c"}, {"y"}).output("y");
  Body(model, "then_branch").node("Neg", {"x"}, {"a"}).output("a");
  Body(model, "else_branch").node("Abs", {"x"}, {"a"}).output("a");
  EXPECT_THAT(refusal(model), HasSubstr("'If_y' (If): its condition is computed from the data"));
  EXPECT_THAT(refusal(model), HasSubstr("torch.where"));
  OnnxModel inside;
  inside.input("x", {"2"});
  truth(inside, "c", true).node("If", {"c"}, {"y"}).output("y");
  Body(inside, "then_branch").node("NonZero", {"x"}, {"a"}).output("a");
  Body(inside, "else_branch").node("Abs", {"x"}, {"a"}).output("a");
  EXPECT_THAT(refusal(inside), HasSubstr("in its then_branch, node 'NonZero_a' (NonZero): how much it finds"));
}

// state' = 2 state + trip; every state is collected.
OnnxModel counting(int64_t trips) {
  OnnxModel model;
  model.input("x", {"2"}).integers("n", {trips}).weight("two", {}, 2);
  truth(model, "go", true).node("Loop", {"n", "go", "x"}, {"last", "all"}).output("all");
  Body(model, "body")
      .input("trip")
      .input("on")
      .input("state")
      .node("Cast", {"trip"}, {"real"})
      .node("Mul", {"state", "two"}, {"twice"})
      .node("Add", {"twice", "real"}, {"next"})
      .node("Identity", {"on"}, {"still"})
      .output("still")
      .output("next")
      .output("next");
  auto& loop = *model.graph().mutable_node(0);
  auto& cast = *loop.mutable_attribute(0)->mutable_g()->mutable_node(0)->add_attribute();
  cast.set_name("to");
  cast.set_type(onnx::AttributeProto::INT);
  cast.set_i(onnx::TensorProto::FLOAT);
  return model;
}

TEST(Loop, IsUnrolledAndCollectsWhatEachIterationGives) {
  EXPECT_EQ(outcome(counting(1), {1, 3}), (std::vector<float>{2, 6}));
  EXPECT_EQ(outcome(counting(3), {1, 3}), (std::vector<float>{2, 6, 5, 13, 12, 28}));
}

TEST(Loop, TellsWhatToDoBeyondItsLimit) {
  const std::string told = refusal(counting(5000));
  EXPECT_THAT(told, HasSubstr("'Loop_last' (Loop): it makes more than 4096 iterations"));
  EXPECT_THAT(told, HasSubstr("train on shorter sequences"));
  EXPECT_THAT(refusal(counting(0)), HasSubstr("it makes no iteration"));
}

TEST(Loop, EndsWhereItsConditionTurnsFalse) {
  OnnxModel model;
  model.input("x", {"2"}).integers("start", {0}).integers("one", {1}).integers("most", {3});
  truth(model, "go", true).node("Loop", {"", "go", "start", "x"}, {"count", "y"}).output("y");
  Body(model, "body")
      .input("trip")
      .input("on")
      .input("n")
      .input("h")
      .node("Add", {"n", "one"}, {"n2"})
      .node("Less", {"n2", "most"}, {"still"})
      .node("Add", {"h", "h"}, {"h2"})
      .output("still")
      .output("n2")
      .output("h2");
  EXPECT_EQ(outcome(model, {1, -1}), (std::vector<float>{8, -8}));
}

TEST(Loop, RefusesBodiesThatDoNotFitIt) {
  OnnxModel model = counting(2);
  model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_output()->RemoveLast();
  EXPECT_THAT(refusal(model), HasSubstr("its body has 3 inputs and 2 outputs instead of 3 and 3"));
}

// Running sums of rows, and of rows from the last to the first.
OnnxModel scanning(int64_t backwards) {
  OnnxModel model;
  model.input("x", {"2", "3"}).weight("zero", {3}, 0).node("Scan", {"zero", "x"}, {"last", "all"}).output("all");
  Body(model, "body").input("sum").input("row").node("Add", {"sum", "row"}, {"next"}).output("next").output("next");
  model.attribute("num_scan_inputs", 1);
  for (const char* name : {"scan_input_directions", "scan_output_directions"}) {
    auto& entry = *model.graph().mutable_node(0)->add_attribute();
    entry.set_name(name);
    entry.set_type(onnx::AttributeProto::INTS);
    entry.add_ints(backwards);
  }
  return model;
}

TEST(Scan, WalksForwardsAndBackwards) {
  EXPECT_EQ(outcome(scanning(0), {1, 2, 3, 10, 20, 30}), (std::vector<float>{1, 2, 3, 11, 22, 33}));
  EXPECT_EQ(outcome(scanning(1), {1, 2, 3, 10, 20, 30}), (std::vector<float>{11, 22, 33, 10, 20, 30}));
}

TEST(Subgraphs, AreRefusedWhereANameIsMadeTwiceOrByNothing) {
  OnnxModel twice = branches(true);
  Body(*twice.graph().mutable_node(1)->mutable_attribute(0)->mutable_g()).node("Neg", {"t"}, {"u"});
  EXPECT_THAT(refusal(twice), HasSubstr("E0207"));
  OnnxModel nothing = branches(true);
  Body(*nothing.graph().mutable_node(1)->mutable_attribute(1)->mutable_g()).node("Neg", {"absent"}, {"v"});
  EXPECT_THAT(refusal(nothing), HasSubstr("nothing makes 'absent'"));
}

// Loops in loops: as many iterations as 2 to their depth, and none of them may cost more than the limit allows.
TEST(Subgraphs, BoundWhatNestedLoopsBecome) {
  OnnxModel model;
  model.input("x", {"1"}).integers("n", {64});
  truth(model, "go", true).node("Loop", {"n", "go", "x"}, {"y"}).output("y");
  const std::function<void(Body, int)> fill = [&](Body body, int depth) {
    const std::string own = std::to_string(depth);
    body.input("i" + own).input("c" + own).input("s" + own);
    if (depth < 12) {
      body.node("Loop", {"n", "go", "s" + own}, {"r" + own});
      fill(body.inner("body"), depth + 1);
    } else {
      body.node("Neg", {"s" + own}, {"r" + own});
    }
    body.node("Identity", {"c" + own}, {"d" + own}).output("d" + own).output("r" + own);
  };
  fill(Body(model, "body"), 0);
  EXPECT_THAT(refusal(model), HasSubstr("subgraphs become more than"));
}

TEST(Subgraphs, NestNoDeeperThanTheFormatAllows) {
  OnnxModel model;
  model.input("x", {"1"});
  truth(model, "go", true).node("If", {"go"}, {"y"}).output("y");
  onnx::NodeProto* node = model.graph().mutable_node(0);
  for (int depth = 0; depth < 2000; ++depth) {
    onnx::AttributeProto& entry = *node->add_attribute();
    entry.set_name("then_branch");
    entry.set_type(onnx::AttributeProto::GRAPH);
    node = entry.mutable_g()->add_node();
    node->set_op_type("If");
    node->add_input("go");
    node->add_output("y");
    entry.mutable_g()->add_output()->set_name("y");
  }
  EXPECT_THAT(refusal(model), HasSubstr("E0202"));
}

// The one that trains by the file, beside one that does not: its statistics stay, and nothing updates them.
TEST(BatchNorm, KeepsItsStatisticsWhereAnotherTrains) {
  OnnxModel model;
  model.input("x", {"2", "3", "4", "4"});
  for (const char* name : {"a", "b"})
    for (const char* part : {"w", "c", "m", "v"}) model.weight(std::string(name) + part, {3}, 0.5F);
  model.node("BatchNormalization", {"x", "aw", "ac", "am", "av"}, {"h"});
  model.node("BatchNormalization", {"h", "bw", "bc", "bm", "bv"}, {"y", "m", "v"}).attribute("training_mode", 1);
  const auto loaded = model.output("y").load();
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(loaded->graph.ops[0].kind, ir::Kind::k_batch_norm_eval);
  EXPECT_EQ(loaded->graph.ops[1].kind, ir::Kind::k_batch_norm);
  int updated = 0;
  for (const ir::Value& value : loaded->graph.values) updated += value.next != ir::kNone ? 1 : 0;
  EXPECT_EQ(updated, 2);
}

// A list that a loop fills, joined along a new dimension.
TEST(ControlSequences, GrowInALoop) {
  OnnxModel model;
  model.input("x", {"2"}).integers("n", {3});
  truth(model, "go", true).node("SequenceEmpty", {}, {"none"}).node("Loop", {"n", "go", "x", "none"}, {"h", "list"});
  Body(model, "body")
      .input("i")
      .input("on")
      .input("h0")
      .input("list0")
      .node("Add", {"h0", "h0"}, {"h1"})
      .node("SequenceInsert", {"list0", "h1"}, {"list1"})
      .output("on")
      .output("h1")
      .output("list1");
  model.node("ConcatFromSequence", {"list"}, {"y"}).attribute("axis", 1).attribute("new_axis", 1).output("y");
  EXPECT_EQ(outcome(model, {1, 3}), (std::vector<float>{2, 4, 8, 6, 12, 24}));
}

// A loop of 4096 empty iterations, `depth` of them in one another: nothing is computed, and time would pass all the same.
TEST(Loop, EmptyBodiesInOneAnotherAreRefusedBeforeTheyTakeTime) {
  const auto value = [](onnx::ValueInfoProto& info, const char* name, onnx::TensorProto::DataType type) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  };
  onnx::GraphProto body;
  for (int depth = 0; depth < 4; ++depth) {
    onnx::GraphProto outer;
    outer.set_name("body");
    value(*outer.add_input(), "i", onnx::TensorProto::INT64);
    value(*outer.add_input(), "c", onnx::TensorProto::BOOL);
    value(*outer.add_input(), "s", onnx::TensorProto::FLOAT);
    value(*outer.add_output(), "c", onnx::TensorProto::BOOL);
    value(*outer.add_output(), depth == 0 ? "s" : "made", onnx::TensorProto::FLOAT);
    if (depth > 0) {
      onnx::NodeProto& loop = *outer.add_node();
      loop.set_op_type("Loop");
      for (const char* name : {"trips", "", "s"}) loop.add_input(name);
      loop.add_output("made");
      onnx::AttributeProto& attribute = *loop.add_attribute();
      attribute.set_name("body");
      attribute.set_type(onnx::AttributeProto::GRAPH);
      *attribute.mutable_g() = body;
    }
    body = outer;
  }
  OnnxModel model;
  model.input("x", {"2"}).weight("w", {2}).integers("trips", {4096}).node("Loop", {"trips", "", "x"}, {"h"});
  onnx::AttributeProto& attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body;
  model.node("Mul", {"h", "w"}, {"y"}).output("y");
  EXPECT_THAT(refusal(model), HasSubstr("its subgraphs become more than"));
}

}  // namespace
}  // namespace pantoum::import
