// What the importer decides: roles, aliases, training forms, warnings; and what it refuses. Models are built here, node
// by node.
#include "import/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "import/onnx_messages.h"
#include "ir/op_registry.h"
#include "testing/onnx_model.h"
#include "testing/temporary_folder.h"

namespace pantoum::import {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

OnnxModel linear() {
  return OnnxModel()
      .input("x", {"N", "4"})
      .weight("fc.weight", {3, 4})
      .weight("fc.bias", {3})
      .node("Gemm", {"x", "fc.weight", "fc.bias"}, {"y"})
      .attribute("transB", 1)
      .output("y");
}

std::string code_of(const Result<Imported>& result) {
  return result ? "imported" : result.error().code;
}

const ir::Value& named(const ir::Graph& graph, const std::string& name) {
  for (const ir::Value& value : graph.values)
    if (value.name == name) return value;
  throw std::runtime_error("no value " + name);
}

std::vector<std::string> kinds(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) names.emplace_back(ir::name_of(op.kind));
  return names;
}

TEST(Onnx, BindsTheBatchAndTrainsTheWeights) {
  const auto model = linear().load(7);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->graph.value(model->graph.inputs[0]).type.shape, (ir::Shape{7, 4}));
  EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{7, 3}));
  EXPECT_EQ(named(model->graph, "fc.weight").role, ir::Role::kParameter);
  EXPECT_TRUE(named(model->graph, "fc.bias").trainable);
  EXPECT_EQ(model->info.parameter_count, 15);
  EXPECT_EQ(model->info.batch_name, "N");
  EXPECT_THAT(model->info.nodes[0].output_shapes, ElementsAre("[N,3]"));
}

TEST(Onnx, IsDeterministic) {
  const auto once = linear().load(3), again = linear().load(3);
  EXPECT_EQ(ir::to_text(once->graph), ir::to_text(again->graph));
}

TEST(Onnx, FoldsShapeArithmetic) {
  const auto model = linear()
                         .node("Shape", {"y"}, {"s"})
                         .integers("zero", {0})
                         .node("Gather", {"s", "zero"}, {"n"})
                         .integers("one", {-1})
                         .node("Concat", {"n", "one"}, {"t"})
                         .attribute("axis", 0)
                         .node("Reshape", {"y", "t"}, {"z"})
                         .output("z")
                         .load(5);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->graph.value(model->graph.outputs[1]).type.shape, (ir::Shape{5, 3}));
  EXPECT_THAT(kinds(model->graph), testing::Not(Contains("concat")));
}

TEST(Onnx, TrainsBatchNormWithTheStatisticsOfTheBatchAndSaysSo) {
  OnnxModel source;
  source.input("x", {"N", "3", "2", "2"})
      .weight("scale", {3})
      .weight("bias", {3})
      .weight("mean", {3})
      .weight("var", {3});
  source.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}).output("y");
  const auto model = source.load(2);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(kinds(model->graph), ElementsAre("batch_norm", "batch_norm_stats"));
  EXPECT_EQ(named(model->graph, "mean").role, ir::Role::kBuffer);
  EXPECT_NE(named(model->graph, "mean").next, ir::kNone);
  EXPECT_THAT(model->info.nodes[0].note, HasSubstr("exported for inference"));
}

TEST(Onnx, WarnsWhereNamesBetrayFolding) {
  OnnxModel folded;
  folded.input("x", {"N", "1", "4", "4"})
      .weight("features.bn1.weight", {2, 1, 3, 3})
      .node("Conv", {"x", "features.bn1.weight"}, {"y"})
      .output("y");
  const auto betrayed = folded.load(1);
  ASSERT_TRUE(betrayed) << to_text(betrayed.error());
  EXPECT_THAT(betrayed->info.warnings, Contains(HasSubstr("folded batch norm")));
  const auto plain = linear().load(1);
  EXPECT_TRUE(plain->info.warnings.empty());
  EXPECT_THAT(plain->info.notes,
              Contains(testing::AllOf(HasSubstr("cannot be known"), HasSubstr("TrainingMode.TRAINING"))));
}

TEST(Onnx, ResolvesSequencesAtConstantPositions) {
  const auto split = [] {
    return linear().integers("extents", {1, 2}).node("SplitToSequence", {"y", "extents"}, {"s"}).attribute("axis", 1);
  };
  const auto model = split().integers("last", {-1}).node("SequenceAt", {"s", "last"}, {"z"}).output("z").load(5);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->graph.value(model->graph.outputs[1]).type.shape, (ir::Shape{5, 2}));
  EXPECT_THAT(kinds(model->graph), ElementsAre("matmul", "split"));
  const auto elsewhere = split().node("Relu", {"s"}, {"z"}).output("z").load(5);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().notes, Contains(HasSubstr("a sequence of tensors")));
  const auto beyond = split().integers("at", {2}).node("SequenceAt", {"s", "at"}, {"z"}).output("z").load(5);
  EXPECT_EQ(code_of(beyond), "E0211");
}

TEST(Onnx, FoldsCastsToTheTypeOfAWeight) {
  const auto model = linear()
                         .integers("two", {2})
                         .node("CastLike", {"two", "fc.bias"}, {"real"})
                         .node("Mul", {"y", "real"}, {"z"})
                         .output("z")
                         .load(5);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(kinds(model->graph), ElementsAre("matmul", "scale"));
}

TEST(Onnx, TrainsWhatOnlyAnOperatorTellsToBeAWeight) {
  OnnxModel source;
  source.input("x", {"N", "3", "2", "2"}).weight("onnx::w_1", {3, 2, 2, 2}).weight("val_2", {2, 1, 1}, 0.25F);
  source.node("ConvTranspose", {"x", "onnx::w_1"}, {"y"}).node("PRelu", {"y", "val_2"}, {"z"});
  source.weight("onnx::scales_3", {4}, 2.0F).node("Resize", {"z", "", "onnx::scales_3"}, {"r"}).output("r");
  source.graph().mutable_initializer(2)->set_float_data(0, 1.0F);
  source.graph().mutable_initializer(2)->set_float_data(1, 1.0F);
  const auto model = source.load(2);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->info.parameter_count, 3 * 2 * 2 * 2 + 2);
  EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{2, 2, 6, 6}));
  EXPECT_THAT(model->info.nodes[1].ops, ElementsAre("mul", "compare", "where"));
}

// x [T,N,4] through a recurrent operator of 3 units, whose last state is the output.
OnnxModel recurrent(const std::string& op, int64_t gates, const std::vector<std::string>& more = {}) {
  OnnxModel model;
  std::vector<std::string> inputs{"x", "w", "r", "b"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  model.input("x", {"5", "2", "4"})
      .weight("w", {1, 3 * gates, 4})
      .weight("r", {1, 3 * gates, 3})
      .weight("b", {1, 6 * gates})
      .node(op, inputs, {"y", "h"})
      .attribute("hidden_size", 3);
  return model;
}

TEST(Onnx, UnrollsRecurrentNetworksIntoAProductAndACellAStep) {
  const auto lstm = recurrent("LSTM", 4).output("h").load();
  ASSERT_TRUE(lstm) << to_text(lstm.error());
  const std::vector<std::string> ops = kinds(lstm->graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "lstm_cell"), 5);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "matmul"), 2 * 5);
  EXPECT_THAT(ops, testing::Not(Contains("concat")));
  EXPECT_EQ(lstm->graph.value(lstm->graph.outputs[0]).type.shape, (ir::Shape{1, 2, 3}));
  EXPECT_EQ(named(lstm->graph, "r").role, ir::Role::kParameter);
  const auto gru = recurrent("GRU", 3).attribute("linear_before_reset", 1).output("h").load();
  ASSERT_TRUE(gru) << to_text(gru.error());
  const std::vector<std::string> gru_ops = kinds(gru->graph);
  EXPECT_EQ(std::count(gru_ops.begin(), gru_ops.end(), "gru_cell"), 5);
}

// As PyTorch exports a recurrent operator of 3 units: of each weight its pieces (first and last gate) in ONNX's order.
class FromPytorch {
 public:
  FromPytorch(int64_t gates, std::vector<std::pair<int64_t, int64_t>> pieces)
      : gates_(gates), pieces_(std::move(pieces)) {
    model_.input("x", {"5", "2", "4"}).integers("zero", {0});
  }

  // W, R and B of the operator, for directions whose parameters end in these.
  OnnxModel& joined(const std::string& op, const std::vector<std::string>& directions) {
    std::map<std::string, std::vector<std::string>> parts;
    for (const std::string& direction : directions) {
      const std::string w = weight("w" + direction, {3 * gates_, 4}), r = weight("r" + direction, {3 * gates_, 3});
      const std::string x = weight("x" + direction, {3 * gates_}), h = weight("h" + direction, {3 * gates_});
      model_.node("Concat", {x, h}, {"b" + direction}).attribute("axis", 0);
      for (const auto& [name, value] : {std::pair{"w", w}, std::pair{"r", r}, std::pair{"b", "b" + direction}}) {
        model_.node("Unsqueeze", {value, "zero"}, {value + ".1"});
        parts[name].push_back(value + ".1");
      }
    }
    for (const auto& [name, values] : parts) model_.node("Concat", values, {name + ".all"}).attribute("axis", 0);
    model_.node(op, {"x", "w.all", "r.all", "b.all"}, {"y"}).attribute("hidden_size", 3).output("y");
    return model_;
  }

 private:
  OnnxModel model_;
  int64_t gates_;
  std::vector<std::pair<int64_t, int64_t>> pieces_;

  std::string weight(const std::string& name, const std::vector<int64_t>& dims) {
    model_.weight(name + ".pytorch", dims);
    std::vector<std::string> parts;
    for (const auto& [first, last] : pieces_) {
      const std::string part = name + ".gates" + std::to_string(first) + "to" + std::to_string(last);
      model_.integers(part + ".begin", {3 * first}).integers(part + ".end", {3 * last + 3});
      model_.node("Slice", {name + ".pytorch", part + ".begin", part + ".end", "zero"}, {part});
      parts.push_back(part);
    }
    model_.node("Concat", parts, {name + ".onnx"}).attribute("axis", 0);
    return name + ".onnx";
  }
};

const ir::Op& first_of(const ir::Graph& graph, ir::Kind kind) {
  return *std::find_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
}

void expect_no_copies(const ir::Graph& graph, size_t weights) {
  const auto of_weights = [&](const ir::Op& op) {
    return graph.value(op.outputs[0]).type.shape.size() != 4;  // y, [T, D, N, 3], is joined from its steps
  };
  for (const ir::Op& op : graph.ops)
    EXPECT_FALSE((op.kind == ir::Kind::k_concat || op.kind == ir::Kind::k_slice) && of_weights(op)) << op.name;
  size_t read = 0;
  for (const ir::Op& op : graph.ops)
    for (const ir::ValueId input : op.inputs) read += graph.value(input).role == ir::Role::kParameter;
  EXPECT_EQ(read, weights);
}

TEST(Onnx, LeavesGatesWherePytorchHasThem) {
  const auto lstm = FromPytorch(4, {{0, 0}, {3, 3}, {1, 2}}).joined("LSTM", {""}).load();
  ASSERT_TRUE(lstm) << to_text(lstm.error());
  expect_no_copies(lstm->graph, 2 + 5 * 2);
  EXPECT_EQ(first_of(lstm->graph, ir::Kind::k_lstm_cell).attrs.ints, (std::vector<int64_t>{0, 3, 1, 2}));
  const auto gru =
      FromPytorch(3, {{1, 1}, {0, 0}, {2, 2}}).joined("GRU", {""}).attribute("linear_before_reset", 1).load();
  ASSERT_TRUE(gru) << to_text(gru.error());
  expect_no_copies(gru->graph, 5 * 4);
  EXPECT_EQ(first_of(gru->graph, ir::Kind::k_gru_cell).attrs.ints, (std::vector<int64_t>{1, 0, 2}));
}

TEST(Onnx, LeavesGatesOfBothDirectionsWherePytorchHasThem) {
  OnnxModel model = FromPytorch(4, {{0, 0}, {3, 3}, {1, 2}}).joined("LSTM", {".forward", ".reverse"});
  auto& direction = *model.graph().mutable_node(model.graph().node_size() - 1)->add_attribute();
  direction.set_name("direction");
  direction.set_type(onnx::AttributeProto::STRING);
  direction.set_s("bidirectional");
  const auto lstm = model.load();
  ASSERT_TRUE(lstm) << to_text(lstm.error());
  expect_no_copies(lstm->graph, 2 * (2 + 5 * 2));
}

TEST(Onnx, JoinsWeightsWhoseGatesAreNotBlocksOfOneValue) {
  const auto twice = FromPytorch(4, {{0, 0}, {2, 3}, {2, 2}}).joined("LSTM", {""}).load();
  ASSERT_TRUE(twice) << to_text(twice.error());
  EXPECT_THAT(kinds(twice->graph), Contains("slice"));
  EXPECT_EQ(first_of(twice->graph, ir::Kind::k_lstm_cell).attrs.ints, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Onnx, TakesTheLastTimeStepWithoutTheSequence) {
  const auto model = recurrent("LSTM", 4)
                         .integers("one", {1})
                         .node("Squeeze", {"y", "one"}, {"s"})
                         .node("Transpose", {"s"}, {"t"})
                         .integers("last", {-1})
                         .node("Gather", {"t", "last"}, {"z"})
                         .attribute("axis", 2)
                         .output("z")
                         .load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(kinds(model->graph), testing::Not(testing::AnyOf(Contains("concat"), Contains("slice"))));
  EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{3, 2, 1}));
}

// x [T,2,4] in the batch-second form, through one operator.
OnnxModel series(const std::string& op, int64_t gates, int64_t steps, const std::string& direction) {
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  OnnxModel model;
  model.input("x", {std::to_string(steps), "2", "4"})
      .weight("w", {directions, 3 * gates, 4})
      .weight("r", {directions, 3 * gates, 3})
      .weight("b", {directions, 6 * gates})
      .node(op, {"x", "w", "r", "b"}, {"y", "h"})
      .attribute("hidden_size", 3);
  auto& told = *model.graph().mutable_node(0)->add_attribute();
  told.set_name("direction");
  told.set_type(onnx::AttributeProto::STRING);
  told.set_s(direction);
  return model;
}

int64_t count_of(const ir::Graph& graph, ir::Kind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
}

TEST(Onnx, RunsRecurrentNetworksInSeriesWhereAsked) {
  for (const auto& [steps, ops] : {std::pair<int64_t, int64_t>{2, 1}, {5, 1}, {64, 1}, {65, 2}, {400, 7}, {4096, 64}})
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const auto lstm = series("LSTM", 4, steps, direction).output("y").load({.recurrent_series = true});
      ASSERT_TRUE(lstm) << to_text(lstm.error());
      const int64_t directions = direction == std::string("bidirectional") ? 2 : 1;
      EXPECT_EQ(count_of(lstm->graph, ir::Kind::k_lstm_sequence), ops * directions) << steps << direction;
      EXPECT_EQ(count_of(lstm->graph, ir::Kind::k_matmul), ops * directions);
      EXPECT_EQ(count_of(lstm->graph, ir::Kind::k_lstm_cell), 0);
      EXPECT_EQ(lstm->graph.value(lstm->graph.outputs[0]).type.shape, (ir::Shape{steps, directions, 2, 3}));
      const auto gru = series("GRU", 3, steps, direction)
                           .attribute("linear_before_reset", 1)
                           .output("h")
                           .load({.recurrent_series = true});
      ASSERT_TRUE(gru) << to_text(gru.error());
      EXPECT_EQ(count_of(gru->graph, ir::Kind::k_gru_sequence), ops * directions);
    }
}

TEST(Onnx, UnrollsWhatHasNoSeries) {
  for (const int64_t batch : {127, 128}) {
    OnnxModel wide;
    wide.input("x", {"5", std::to_string(batch), "4"}).weight("w", {1, 12, 4}).weight("r", {1, 12, 3});
    wide.node("LSTM", {"x", "w", "r"}, {"", "h"}).attribute("hidden_size", 3).output("h");
    const auto model = wide.load({.recurrent_series = true});
    ASSERT_TRUE(model) << to_text(model.error());
    EXPECT_EQ(count_of(model->graph, ir::Kind::k_lstm_sequence), batch == 127 ? 3 : 0);
  }
  const auto gru = series("GRU", 3, 5, "forward").output("h").load({.recurrent_series = true});
  ASSERT_TRUE(gru) << to_text(gru.error());
  EXPECT_EQ(count_of(gru->graph, ir::Kind::k_gru_sequence), 0);
  EXPECT_EQ(count_of(gru->graph, ir::Kind::k_tanh), 5);
  const auto one = series("LSTM", 4, 1, "forward").output("h").load({.recurrent_series = true});
  ASSERT_TRUE(one) << to_text(one.error());
  EXPECT_EQ(count_of(one->graph, ir::Kind::k_lstm_cell), 1);
}

TEST(Onnx, TakesTheLastTimeStepWithoutTheSeries) {
  for (const auto& [direction, index, slices] :
       {std::tuple<const char*, int64_t, bool>{"forward", -1, false}, {"reverse", 0, false}, {"forward", 7, true}}) {
    const auto model = series("LSTM", 4, 200, direction)
                           .integers("at", {index})
                           .node("Gather", {"y", "at"}, {"z"})
                           .output("z")
                           .load({.recurrent_series = true});
    ASSERT_TRUE(model) << to_text(model.error());
    const std::vector<std::string> ops = kinds(model->graph);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "concat") > 0, slices) << direction << index;
    EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{1, 1, 2, 3}));
  }
}

TEST(Onnx, TakesTheSeriesOfTheLayerBelow) {
  OnnxModel two = series("LSTM", 4, 200, "forward");
  two.integers("one", {1})
      .node("Squeeze", {"y", "one"}, {"below"})
      .weight("w2", {1, 12, 3})
      .weight("r2", {1, 12, 3})
      .node("LSTM", {"below", "w2", "r2"}, {"", "h2"})
      .attribute("hidden_size", 3)
      .output("h2");
  const auto model = two.load({.recurrent_series = true});
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(count_of(model->graph, ir::Kind::k_lstm_sequence), 2 * 4);
  EXPECT_EQ(count_of(model->graph, ir::Kind::k_concat), 0);
  EXPECT_EQ(count_of(model->graph, ir::Kind::k_split), 2);  // of x, and of the biases of the first layer
}

TEST(Onnx, RefusesRecurrentFormsThatItDoesNotCompute) {
  EXPECT_EQ(code_of(recurrent("GRU", 3).output("h").load()), "imported");
  EXPECT_EQ(code_of(recurrent("LSTM", 4).attribute("input_forget", 1).output("h").load()), "E0401");
  EXPECT_EQ(code_of(recurrent("LSTM", 4).attribute("layout", 2).output("h").load()), "E0211");
  EXPECT_EQ(
      code_of(recurrent("LSTM", 4, {"n"}).integers("n", {5, 4}).as_type(onnx::TensorProto::INT32).output("h").load()),
      "E0401");
  EXPECT_EQ(
      code_of(recurrent("LSTM", 4, {"n"}).integers("n", {5, 5}).as_type(onnx::TensorProto::INT32).output("h").load()),
      "imported");
  EXPECT_EQ(code_of(recurrent("LSTM", 4, {"", "", "", "p"}).weight("p", {1, 9}).output("h").load()), "imported");
  EXPECT_EQ(code_of(recurrent("LSTM", 4, {"", "", "", "p"}).weight("p", {1, 8}).output("h").load()), "E0211");
  EXPECT_EQ(code_of(recurrent("LSTM", 3).output("h").load()), "E0211");
  OnnxModel empty;
  empty.input("x", {"5", "2", "4"}).weight("w", {1, 0, 4}).weight("r", {1, 0, 0}).node("RNN", {"x", "w", "r"}, {"y"});
  EXPECT_EQ(code_of(empty.output("y").load()), "E0401");
  EXPECT_EQ(code_of(recurrent("RNN", 1, {"", "s"}).weight("s", {1, 3, 3}).output("h").load()), "E0211");
}

// Of shapes that the standard does not allow, zeros or not.
TEST(Onnx, RefusesRecurrentOperandsOfOtherShapes) {
  for (const char* kind : {"LSTM", "GRU", "RNN"}) {
    const int64_t gates = kind[0] == 'L' ? 4 : kind[0] == 'G' ? 3 : 1;
    const auto code = [&](const std::vector<std::string>& inputs, const std::function<void(OnnxModel&)>& add) {
      OnnxModel model = recurrent(kind, gates, inputs);
      add(model);
      if (kind[0] == 'G') model.attribute("linear_before_reset", 1);
      return code_of(model.output("h").load());
    };
    EXPECT_EQ(code({"", "s"}, [](OnnxModel& model) { model.weight("s", {1, 2, 3}, 0); }), "imported");
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {1, 4, 3}, {1, 2, 4}, {2, 2, 3}})
      EXPECT_EQ(code({"", "s"}, [&](OnnxModel& model) { model.weight("s", shape, 0); }), "E0211") << kind;
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{5}, {5, 5, 5}, {5, 6}, {-1, 5}})
      EXPECT_EQ(code({"n"}, [&](OnnxModel& model) { model.integers("n", lengths); }), "E0211") << kind;
    EXPECT_EQ(code({"n"}, [](OnnxModel& model) { model.weight("n", {2}, 5); }), "E0211") << kind;
  }
}

TEST(Onnx, TellsAllProblemsAtOnce) {
  const auto model =
      linear().node("Frobnicate", {"y"}, {"a"}).node("Unique", {"y"}, {"b"}).output("a").output("b").load(1);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0401");
  EXPECT_THAT(model.error().notes, Contains(HasSubstr("Frobnicate_a")));
  EXPECT_THAT(model.error().notes, Contains(HasSubstr("Unique_b")));
}

TEST(Onnx, TellsProblemsBehindOneThatHidesShapes) {
  const auto model = OnnxModel()
                         .input("x", {"N", "1", "4", "4", "4", "4"})
                         .weight("w", {2, 1, 2, 2, 2, 2})
                         .weight("v", {3, 2, 2, 2, 2, 2})
                         .node("Conv", {"x", "w"}, {"a"})
                         .node("Relu", {"a"}, {"b"})
                         .node("Conv", {"b", "v"}, {"c"})
                         .output("c")
                         .load(1);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0401");
  EXPECT_THAT(model.error().notes, ElementsAre(HasSubstr("Conv_a"), HasSubstr("Conv_c")));
  OnnxModel declared = linear();
  declared.node("Frobnicate", {"y"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Unique", {"b"}, {"c"}).output("c");
  onnx::ValueInfoProto& value = *declared.graph().add_value_info();
  value = declared.graph().input(0);
  value.set_name("a");
  const auto behind = declared.load(1);
  ASSERT_FALSE(behind);
  EXPECT_THAT(behind.error().notes, ElementsAre(HasSubstr("Frobnicate_a"), HasSubstr("Unique_c")));
}

TEST(Onnx, TellsNotesOfOneKindInOneLine) {
  OnnxModel source;
  source.input("x", {"N", "3", "2", "2"}).weight("s", {3}).weight("o", {3}).weight("m", {3}).weight("v", {3});
  source.weight("m2", {3}).weight("v2", {3});
  source.node("BatchNormalization", {"x", "s", "o", "m", "v"}, {"y"});
  source.node("BatchNormalization", {"y", "s", "o", "m2", "v2"}, {"z"}).output("z");
  const auto model = source.load(2);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(model->graph.notes, ElementsAre(HasSubstr("2 nodes (BatchNormalization, ...): exported for inference")));
  EXPECT_EQ(model->info.inference_norms, 2);
}

TEST(Onnx, RefusesNamesThatNoFileCanHold) {
  for (const std::string& bad :
       {std::string("a\xff"), std::string("\xed\xa0\x80"), std::string("\xc0\x80"), std::string("a\0b", 3)}) {
    const auto layer = [](const std::string& weight, const std::string& output) {
      return OnnxModel()
          .input("x", {"N", "4"})
          .weight(weight, {4, 4})
          .node("MatMul", {"x", weight}, {output})
          .output(output);
    };
    EXPECT_EQ(code_of(layer(bad, "y").load(1)), "E0207");
    EXPECT_EQ(code_of(layer("w", bad).load(1)), "E0207");
    EXPECT_EQ(code_of(OnnxModel().input("x", {bad, "4"}).node("Relu", {"x"}, {"y"}).output("y").load(1)), "E0207");
  }
  EXPECT_TRUE(OnnxModel()
                  .input("x", {"N", "4"})
                  .node("Relu", {"x"}, {"\u6f22 \U0001f600"})
                  .output("\u6f22 \U0001f600")
                  .load(1));
}

TEST(Onnx, RefusesWhatIsWrong) {
  EXPECT_EQ(code_of(OnnxModel(17, 3).load()), "E0203");
  EXPECT_EQ(code_of(OnnxModel(17, 11).load()), "E0203");
  EXPECT_EQ(code_of(OnnxModel(10).load()), "E0204");
  EXPECT_EQ(code_of(OnnxModel(22).load()), "E0204");
  EXPECT_EQ(code_of(linear().node("Relu", {"ghost"}, {"z"}).output("z").load(1)), "E0207");
  EXPECT_EQ(code_of(linear().node("Relu", {"x"}, {"y"}).load(1)), "E0207");
  EXPECT_EQ(code_of(linear().node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("a").load(1)), "E0207");
  EXPECT_EQ(code_of(OnnxModel().input("x", {"N", "4"}).load(1)), "E0208");
  EXPECT_EQ(code_of(OnnxModel().input("x", {"N", "width"}).node("Relu", {"x"}, {"y"}).output("y").load(1)), "E0210");
  EXPECT_EQ(
      code_of(
          OnnxModel().input("x", {"2", "4"}).weight("w", {3, 5}).node("Gemm", {"x", "w"}, {"y"}).output("y").load()),
      "E0211");
  const std::string whole = linear().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto cut = parse_onnx(whole.data(), size, "", {.batch = 1});
    EXPECT_THAT(code_of(cut), testing::AnyOf("imported", testing::StartsWith("E02"), "E0401")) << size;
  }
}

OnnxModel open_model() {
  OnnxModel model;
  model.input("x", {"N", "3", "H", "W"}).input("mask", {"N", "1", "H", "W"});
  return model.node("Mul", {"x", "mask"}, {"y"}).output("y");
}

TEST(Onnx, BindsOpenDimensions) {
  const auto shapes_of = [](const OnnxModel& model, std::vector<std::string> given, int64_t batch = 0) {
    const Result<Imported> imported = model.load({.batch = batch, .shapes = std::move(given)});
    if (!imported) return imported.error().code + " " + imported.error().message;
    std::string text;
    for (const ValueId input : imported->graph.inputs) text += ir::to_text(imported->graph.value(input).type.shape);
    return text + imported->info.batch_name;
  };
  // A name that two inputs share is bound in both; N stays the batch.
  EXPECT_EQ(shapes_of(open_model(), {"x=N,3,8,6"}, 4), "[4,3,8,6][4,1,8,6]N");
  EXPECT_EQ(shapes_of(open_model(), {"H=8", "W=6"}, 4), "[4,3,8,6][4,1,8,6]N");
  EXPECT_EQ(shapes_of(open_model(), {"mask=anything,1,8,6", "x=N,3,8,6"}), "[1,3,8,6][1,1,8,6]N");
  // A number in the first place is the batch.
  EXPECT_EQ(shapes_of(open_model(), {"x=4,3,8,6"}), "[4,3,8,6][4,1,8,6]");
  EXPECT_EQ(shapes_of(open_model(), {"x=4,3,8,6"}, 4), "[4,3,8,6][4,1,8,6]");
  EXPECT_EQ(shapes_of(open_model(), {"N=4", "H=2", "W=2"}), "[4,3,2,2][4,1,2,2]");
  const auto relu = [](const std::string& name) {
    return OnnxModel().input(name, {"N", "?"}).node("Relu", {name}, {"y"}).output("y");
  };
  EXPECT_EQ(shapes_of(relu("a=b"), {"a=b=N,5"}), "[1,5]N");

  const std::vector<std::pair<std::vector<std::string>, std::string>> refused{
      {{"x=N,3,8"}, "input 'x' has 4 dimensions, [N,3,H,W], and 3 are given"},
      {{"x=N,4,8,6"}, "the file fixes dimension 1 of input 'x' at 3"},
      {{"x=N,3,8,0"}, "'0' is no extent of a dimension"},
      {{"x=N,3,8,-1"}, "'-1' is no extent of a dimension"},
      {{"x=N,3,8,6.0"}, "'6.0' is no extent of a dimension"},
      {{"x=N,3,8,2147483648"}, "'2147483648' is no extent of a dimension"},
      {{"x=N,3,H,6"}, "'H' is no number: only the first dimension can be left to the batch"},
      {{"x=N,3,8,6", "H=9"}, "dimension 'H' cannot be both 8 and 9"},
      {{"x=N,3,8,6", "mask=N,1,8,7"}, "dimension 'W' cannot be both 6 and 7"},
      {{"x=N,3,8,6", "x=N,3,8,6"}, "this name has a shape already"},
      {{"y=N,3,8,6"}, "the model has no input and no dimension 'y'"},
      {{"H=8,6"}, "'H' is a dimension, which has one number"},
      {{"H=H"}, "'H' is a dimension, which has one number"},
      {{"x"}, "there is no = behind a name"},
      {{"=8"}, "there is no = behind a name"},
      {{"x="}, "a dimension is missing"},
      {{"x=N,3,,6"}, "a dimension is missing"},
      {{"x=N,3,8,6,"}, "a dimension is missing"},
      {{"H=8"}, "the model has dynamic shapes"}};
  for (const auto& [given, message] : refused) EXPECT_EQ(shapes_of(open_model(), given), "E0210 " + message);
  EXPECT_EQ(shapes_of(open_model(), {"x=4,3,8,6"}, 2),
            "E0210 --batch is 2, and the first dimension of input 'x' 4");
  EXPECT_EQ(open_model().load(1).error().help,
            "give them: --shape 'x=N,3,H,W' --shape 'mask=N,1,H,W', with numbers in place of H, W");
}

class External : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_.path() / "inner");
    std::ofstream file(folder_.path() / "inner" / "w.bin", std::ios::binary);
    const std::vector<float> values{9, 1, 2, 3, 4};
    file.write(reinterpret_cast<const char*>(values.data()), 20);
  }

  // x [N,4] * w [4,1], w in a file.
  [[nodiscard]] Result<Imported> load(const std::string& location, const std::string& offset,
                                      const std::string& length) const {
    OnnxModel model;
    model.input("x", {"N", "4"}).node("MatMul", {"x", "w"}, {"y"}).output("y");
    auto& tensor = *model.graph().add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(4);
    tensor.add_dims(1);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair{"location", location}, std::pair{"offset", offset}, std::pair{"length", length}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return model.load(1, (folder_.path() / "inner").string());
  }

  TemporaryFolder folder_;
};

TEST_F(External, ReadsThePieceThatIsNamed) {
  const auto model = load("w.bin", "4", "16");
  ASSERT_TRUE(model) << to_text(model.error());
  const ir::Value& w = named(model->graph, "w");
  EXPECT_EQ(w.role, ir::Role::kParameter);
  float first = 0;
  std::memcpy(&first, w.data->data(), sizeof first);
  EXPECT_EQ(first, 1.0F);
}

TEST_F(External, RefusesPiecesOutsideTheFolderOrTheFile) {
  EXPECT_EQ(code_of(load("w.bin", "8", "16")), "E0206");
  EXPECT_EQ(code_of(load("w.bin", "4", "8")), "E0206");
  EXPECT_EQ(code_of(load("w.bin", "-4", "16")), "E0206");
  EXPECT_EQ(code_of(load("none.bin", "0", "16")), "E0206");
  EXPECT_EQ(code_of(load("../inner/w.bin", "4", "16")), "E0206");
  EXPECT_EQ(code_of(load((folder_.path() / "inner" / "w.bin").string(), "4", "16")), "E0206");
  fs::create_symlink("/etc/passwd", folder_.path() / "inner" / "link");
  EXPECT_EQ(code_of(load("link", "0", "16")), "E0206");
}

}  // namespace
}  // namespace pantoum::import
