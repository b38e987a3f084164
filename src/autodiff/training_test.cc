// The structure of training graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::OpId;
using ir::ValueId;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

// x [4,3] -> fc1 -> relu -> fc2 -> [4,2]
struct TwoLayers {
  Graph graph;
  ir::Builder builder{graph};
  ValueId x, w1, b1, w2, y1, r1, y2;

  TwoLayers() {
    x = builder.input("x", f32({4, 3}));
    w1 = builder.parameter("fc1.weight", f32({3, 5}), nullptr);
    b1 = builder.parameter("fc1.bias", f32({5}), nullptr);
    w2 = builder.parameter("fc2.weight", f32({5, 2}), nullptr);
    y1 = builder.op(Kind::k_matmul, "fc1", {x, w1, b1}, {{0, 0}, {}});
    r1 = builder.op(Kind::k_relu, "relu1", {y1});
    y2 = builder.op(Kind::k_matmul, "fc2", {r1, w2}, {{0, 0}, {}});
    graph.outputs = {y2};
  }
};

Graph trained(const Graph& forward, TrainingOptions options = {}) {
  Result<Graph> graph = make_training(forward, options);
  EXPECT_TRUE(graph) << (graph ? "" : to_text(graph.error()));
  if (!graph) return {};
  const Result<void> valid = ir::validate(*graph);
  EXPECT_TRUE(valid) << (valid ? "" : to_text(valid.error()));
  return *graph;
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) names.push_back(op.name);
  return names;
}

OpId find_op(const Graph& graph, const std::string& name) {
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].name == name) return static_cast<OpId>(op);
  }
  return ir::kNone;
}

ValueId find_value(const Graph& graph, const std::string& name) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].name == name) return static_cast<ValueId>(id);
  }
  return ir::kNone;
}

size_t count_of(const Graph& graph, Kind kind) {
  return static_cast<size_t>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; }));
}

TEST(MakeTraining, UpdatesEachParameterBehindTheLastOpOfItsLayersGradient) {
  const Graph graph = trained(TwoLayers().graph);
  EXPECT_THAT(op_names(graph),
              ElementsAre("fc1", "relu1", "fc2", "loss", "loss.dx", "fc2.dw", "fc2.dx", "fc2.weight.sgd", "relu1.dx",
                          "grad.fc1.sum", "fc1.dw", "fc1.weight.sgd", "fc1.bias.sgd"))
      << ir::to_text(graph);
}

TEST(MakeTraining, NamesSuccessorsAndGradients) {
  const Graph graph = trained(TwoLayers().graph);
  const ir::Value& weight = graph.value(find_value(graph, "fc2.weight"));
  ASSERT_NE(weight.next, ir::kNone);
  EXPECT_EQ(graph.value(weight.next).name, "fc2.weight'");
  EXPECT_EQ(graph.op(graph.value(weight.next).producer).kind, Kind::k_sgd);
  EXPECT_NE(find_value(graph, "grad.fc2.weight"), ir::kNone);
  EXPECT_NE(find_value(graph, "grad.relu1"), ir::kNone);
  EXPECT_EQ(find_value(graph, "optim.momentum.fc2.weight"), ir::kNone) << "no momentum was asked for";
}

TEST(MakeTraining, ReadsAParameterForTheLastTimeInItsUpdate) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = Adam{}});
  const auto users = ir::users_of(graph);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value& value = graph.values[id];
    if (value.next == ir::kNone) continue;
    EXPECT_EQ(users[id].back(), graph.value(value.next).producer) << value.name;
  }
}

TEST(MakeTraining, ComputesNoGradientOfTheNetworksInput) {
  const Graph graph = trained(TwoLayers().graph);
  EXPECT_EQ(find_op(graph, "fc1.dx"), ir::kNone);
  EXPECT_NE(find_op(graph, "fc2.dx"), ir::kNone);
}

TEST(MakeTraining, KeepsStateForMomentum) {
  const Graph graph =
      trained(TwoLayers().graph, {.optimizer = Sgd{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}});
  const ValueId state = find_value(graph, "optim.momentum.fc1.bias");
  ASSERT_NE(state, ir::kNone);
  EXPECT_EQ(graph.value(state).role, ir::Role::kState);
  EXPECT_EQ(graph.value(graph.value(state).next).name, "optim.momentum.fc1.bias'");
  const ir::Op& update = graph.op(find_op(graph, "fc1.bias.sgd"));
  EXPECT_EQ(update.attrs, (ir::Attrs{{1}, {0.9, 1e-4}}));
  EXPECT_EQ(update.inputs[2], state);
}

TEST(MakeTraining, KeepsTwoStatesForAdam) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = Adam{.beta1 = 0.8}});
  const ir::Op& update = graph.op(find_op(graph, "fc1.weight.adam"));
  ASSERT_EQ(update.inputs.size(), 4u);
  EXPECT_EQ(graph.value(update.inputs[2]).name, "optim.adam_m.fc1.weight");
  EXPECT_EQ(graph.value(update.inputs[3]).name, "optim.adam_v.fc1.weight");
  EXPECT_EQ(graph.value(update.inputs[3]).next, update.outputs[2]);
  EXPECT_EQ(update.attrs.reals, (std::vector<double>{0.8, 0.999, 1e-8, 0}));
}

TEST(MakeTraining, TellsTheKernelByTheSignOfEpsWhereAdamAddsIt) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = Adam{.eps = 1e-7, .eps_before_correction = true}});
  EXPECT_EQ(graph.op(find_op(graph, "fc1.weight.adam")).attrs.reals, (std::vector<double>{0.9, 0.999, -1e-7, 0}));
}

TEST(MakeTraining, PutsEachParameterIntoItsGroup) {
  const Graph graph = trained(
      TwoLayers().graph, {.optimizer = AdamW{.weight_decay = 0.1},
                          .groups = {{"*.bias", {}, 0}, {"fc2.*", 0.5}, {"[|]|fc2.weigh?|x", 0.25, 0.75}}});
  std::map<std::string, ir::Attrs> updates;
  for (const ir::Op& op : graph.ops)
    if (op.kind == Kind::k_adamw) updates[op.name] = {op.attrs.ints, {op.attrs.reals[3]}};
  EXPECT_EQ(updates, (std::map<std::string, ir::Attrs>{{"fc1.weight.adamw", {{}, {0.1}}},
                                                       {"fc1.bias.adamw", {{0}, {0}}},
                                                       {"fc2.weight.adamw", {{2}, {0.75}}}}))
      << "the last group holds; its decay stands in the op, its rate does not";
  const Result<Graph> stray =
      make_training(TwoLayers().graph, {.groups = {{"fc3.*", {}, 0}, {"fc1.*", {}, 0}, {"w|x", {}, 1}}});
  ASSERT_FALSE(stray);
  EXPECT_EQ(stray.error().code, "E0104");
  EXPECT_EQ(stray.error().notes.size(), 2u);
}

TEST(MakeTraining, KeepsTheLargestSquareForAmsgrad) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = AdamW{.amsgrad = true}});
  const ir::Op& update = graph.op(find_op(graph, "fc1.weight.adamw"));
  ASSERT_EQ(update.inputs.size(), 5u);
  EXPECT_EQ(graph.value(update.inputs[4]).name, "optim.adam_max.fc1.weight");
  EXPECT_EQ(graph.value(update.inputs[4]).next, update.outputs[3]);
}

TEST(MakeTraining, BeginsAdagradsSumWithinItsUpdate) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = Adagrad{.initial_accumulator_value = 0.5}});
  EXPECT_EQ(graph.op(find_op(graph, "fc1.weight.adagrad")).attrs.reals, (std::vector<double>{0, 1e-10, 0, 0.5}));
}

TEST(MakeTraining, MarksUpdatesAsOnceOnlyAndNothingElse) {
  const Graph graph = trained(TwoLayers().graph);
  for (const ir::Op& op : graph.ops) EXPECT_EQ(op.recompute, op.kind != Kind::k_sgd) << op.name;
}

TEST(MakeTraining, StopsBelowTheLowestTrainedParameter) {
  const Graph graph = trained(TwoLayers().graph, {.freeze = {"fc1.*"}});
  EXPECT_THAT(op_names(graph), ElementsAre("fc1", "relu1", "fc2", "loss", "loss.dx", "fc2.dw", "fc2.weight.sgd"));
  const ir::Value& frozen = graph.value(find_value(graph, "fc1.weight"));
  EXPECT_EQ(frozen.next, ir::kNone);
  EXPECT_FALSE(frozen.trainable);
}

TEST(MakeTraining, GivesFrozenParametersNoGradientAboveTrainedOnes) {
  const Graph graph = trained(TwoLayers().graph, {.freeze = {"fc2.weight", "*.bias"}});
  EXPECT_EQ(find_op(graph, "fc2.dw"), ir::kNone);
  EXPECT_NE(find_op(graph, "fc2.dx"), ir::kNone);
  EXPECT_NE(find_op(graph, "fc1.weight.sgd"), ir::kNone);
  EXPECT_EQ(find_value(graph, "grad.fc1.bias"), ir::kNone);
}

TEST(MakeTraining, SumsTheGradientsOfAllUsesBeforeOneUpdate) {
  Graph forward;
  ir::Builder builder(forward);
  const ValueId x = builder.input("x", f32({4, 3})), w = builder.parameter("w", f32({3, 3}), nullptr);
  ValueId y = builder.op(Kind::k_matmul, "first", {x, w}, {{0, 0}, {}});
  y = builder.op(Kind::k_tanh, "tanh", {y});
  y = builder.op(Kind::k_matmul, "second", {y, w}, {{0, 0}, {}});
  forward.outputs = {builder.op(Kind::k_matmul, "third", {y, w}, {{0, 0}, {}})};
  const Graph graph = trained(forward);
  EXPECT_EQ(count_of(graph, Kind::k_sgd), 1u);
  EXPECT_EQ(count_of(graph, Kind::k_add), 2u);
  const ir::Op& update = graph.op(find_op(graph, "w.sgd"));
  EXPECT_EQ(graph.op(graph.value(update.inputs[1]).producer).kind, Kind::k_add);
  EXPECT_EQ(graph.ops.back().name, "w.sgd");
}

TEST(MakeTraining, UpdatesATransposedWeightAsSoonAsItsGradientIsKnown) {
  Graph forward;
  ir::Builder builder(forward);
  const ValueId x = builder.input("x", f32({4, 3}));
  std::vector<ValueId> weights, turned;
  for (const char* name : {"w1", "w2"}) weights.push_back(builder.parameter(name, f32({3, 3}), nullptr));
  for (const ValueId weight : weights) turned.push_back(builder.transpose("turned", weight, {1, 0}));
  ValueId y = builder.op(Kind::k_matmul, "first", {x, turned[0]}, {{0, 0}, {}});
  forward.outputs = {builder.op(Kind::k_matmul, "second", {y, turned[1]}, {{0, 0}, {}})};
  const Graph graph = trained(forward);
  EXPECT_LT(find_op(graph, "w2.sgd"), find_op(graph, "first.dw")) << ir::to_text(graph);
}

TEST(MakeTraining, DropsWhatTheStepDoesNotNeed) {
  TwoLayers net;
  const ValueId unused = net.builder.op(Kind::k_exp, "unused", {net.y2});
  net.graph.outputs.push_back(unused);
  const Graph graph = trained(net.graph);
  EXPECT_EQ(find_op(graph, "unused"), ir::kNone);
  EXPECT_THAT(graph.notes, Contains(HasSubstr("first of 2 outputs")));
}

TEST(MakeTraining, TakesTheLossOnTheInputOfAFinalSoftmax) {
  for (const Kind kind : {Kind::k_softmax, Kind::k_log_softmax}) {
    TwoLayers net;
    net.graph.outputs = {net.builder.op(kind, "probabilities", {net.y2}, {{1}, {}})};
    const Graph graph = trained(net.graph);
    EXPECT_EQ(graph.op(find_op(graph, "loss")).inputs[0], net.y2);
    EXPECT_EQ(find_op(graph, "probabilities"), ir::kNone);
    EXPECT_THAT(graph.notes, ElementsAre(HasSubstr("'probabilities' is left out")));
  }
}

// The ways in which exporters and programs write a softmax of [4, 2] out.
struct WrittenSoftmax {
  bool maximum = false, logarithm = false, reciprocal = false, expanded = false, joined = false;
  int64_t axis = 1;

  [[nodiscard]] ValueId write(Builder& b, ValueId x) const {
    const ir::Shape kept = axis == 1 ? ir::Shape{4, 1} : ir::Shape{1, 2};
    const auto per_row = [&](ValueId reduced) {
      const ValueId column = b.reshape(reduced, kept);
      return expanded ? b.op(Kind::k_expand, "wide", {column}, {{}, {1}}, {f32({4, 2})}) : column;
    };
    const ir::Attrs along{{int64_t{1} << axis}, {}};
    const ValueId most = b.op(Kind::k_reduce_max, "most", {x}, along);
    const ValueId z = maximum ? b.op(Kind::k_sub, "low", {x, per_row(most)}) : x;
    const ValueId e = b.op(Kind::k_exp, "e", {z}), sum = b.op(Kind::k_reduce_sum, "sum", {e}, along);
    if (joined) {
      const ValueId log = b.op(Kind::k_add, "all", {b.op(Kind::k_log, "log", {sum}), most});
      return b.op(Kind::k_sub, "y", {x, per_row(log)});
    }
    if (logarithm) return b.op(Kind::k_sub, "y", {z, b.op(Kind::k_log, "log", {per_row(sum)})});
    if (!reciprocal) return b.op(Kind::k_div, "y", {e, per_row(sum)});
    return b.op(Kind::k_mul, "y", {e, b.op(Kind::k_div, "inverse", {b.constant_f32("one", {}, {1}), per_row(sum)})});
  }
};

TEST(MakeTraining, TakesTheLossOnTheInputOfASoftmaxThatIsWrittenOut) {
  for (int form = 0; form < 32; ++form) {
    const WrittenSoftmax softmax{.maximum = (form & 1) != 0,
                                 .logarithm = (form & 2) != 0,
                                 .reciprocal = (form & 4) != 0,
                                 .expanded = (form & 8) != 0,
                                 .joined = (form & 19) == 19};
    for (const bool log_of : {false, true}) {
      TwoLayers net;
      ValueId y = softmax.write(net.builder, net.y2);
      if (log_of && softmax.logarithm) continue;
      if (log_of) y = net.builder.op(Kind::k_log, "logarithm", {y});
      net.graph.outputs = {y};
      const Graph graph = trained(net.graph);
      EXPECT_EQ(graph.op(find_op(graph, "loss")).inputs[0], net.y2) << form << log_of;
      EXPECT_EQ(find_op(graph, "e"), ir::kNone);
      EXPECT_THAT(graph.notes, ElementsAre(HasSubstr("is left out"))) << form;
    }
  }
}

TEST(MakeTraining, KeepsWhatIsNoSoftmaxOverTheClasses) {
  const auto kept = [](const std::function<ValueId(Builder&, ValueId)>& last) {
    TwoLayers net;
    net.graph.outputs = {last(net.builder, net.y2)};
    return trained(net.graph).notes.empty();
  };
  EXPECT_TRUE(kept([](Builder& b, ValueId x) { return WrittenSoftmax{.axis = 0}.write(b, x); }));
  EXPECT_TRUE(kept([](Builder& b, ValueId x) { return WrittenSoftmax{.maximum = true, .axis = 0}.write(b, x); }));
  const auto sum = [](Builder& b, ValueId x) {
    return b.reshape(b.op(Kind::k_reduce_sum, "sum", {x}, {{0b10}, {}}), {4, 1});
  };
  EXPECT_TRUE(kept([&](Builder& b, ValueId x) { return b.op(Kind::k_div, "y", {x, sum(b, x)}); }));
  EXPECT_TRUE(kept([&](Builder& b, ValueId x) {
    return b.op(Kind::k_div, "y", {b.op(Kind::k_exp, "e", {x}), sum(b, b.op(Kind::k_exp, "other", {x}))});
  }));
  EXPECT_TRUE(kept([&](Builder& b, ValueId x) {
    const ValueId e = b.op(Kind::k_exp, "e", {x});
    return b.op(Kind::k_sub, "y", {b.op(Kind::k_relu, "z", {x}), b.op(Kind::k_log, "log", {sum(b, e)})});
  }));
  EXPECT_TRUE(kept([&](Builder& b, ValueId x) {
    const ValueId e = b.op(Kind::k_exp, "e", {x});
    return b.op(Kind::k_mul, "y", {e, b.op(Kind::k_div, "i", {b.constant_f32("two", {}, {2}), sum(b, e)})});
  }));
}

TEST(MakeTraining, TakesTheBinaryLossOnTheInputOfAFinalSigmoid) {
  TwoLayers net;
  net.graph.outputs = {net.builder.op(Kind::k_sigmoid, "chances", {net.y2})};
  const Graph graph = trained(net.graph, {.loss = {{"bce_with_logits"}}});
  EXPECT_EQ(graph.op(find_op(graph, "loss")).inputs[0], net.y2);
  EXPECT_EQ(find_op(graph, "chances"), ir::kNone);
}

TEST(MakeTraining, KeepsASoftmaxThatIsNotOverTheClasses) {
  TwoLayers net;
  net.graph.outputs = {net.builder.op(Kind::k_softmax, "over the batch", {net.y2}, {{0}, {}})};
  const Graph graph = trained(net.graph);
  EXPECT_NE(find_op(graph, "over the batch"), ir::kNone);
  EXPECT_THAT(graph.notes, IsEmpty());
}

TEST(MakeTraining, AsksForLabelsThatFitTheLoss) {
  const Graph classes = trained(TwoLayers().graph);
  ASSERT_EQ(classes.labels.size(), 1u);
  EXPECT_EQ(classes.value(classes.labels[0]).name, "label");
  EXPECT_EQ(classes.value(classes.labels[0]).type, (ir::TensorType{ir::DType::kI64, {4}}));
  const Graph numbers = trained(TwoLayers().graph, {.loss = {{"mse"}}});
  EXPECT_EQ(numbers.value(numbers.labels[0]).type, f32({4, 2}));
  EXPECT_EQ(numbers.results, (std::vector<ValueId>{numbers.op(find_op(numbers, "loss")).outputs[0]}));
}

struct TwoHeads : TwoLayers {
  TwoHeads() {
    graph.outputs = {y2, r1};
    graph.output_names = {"classes", "numbers"};
  }
  std::vector<LossTerm> losses{{.name = "cross_entropy", .output = "classes"},
                               {.name = "mse", .output = "numbers", .weight = 0.25}};
};

TEST(MakeTraining, AddsUpTheLossesOfSeveralOutputs) {
  const TwoHeads net;
  const Graph graph = trained(net.graph, {.loss = net.losses});
  ASSERT_EQ(graph.labels.size(), 2u);
  EXPECT_EQ(graph.value(graph.labels[0]).name, "label.classes");
  EXPECT_EQ(graph.value(graph.labels[1]).name, "label.numbers");
  EXPECT_EQ(graph.value(graph.labels[1]).type, f32({4, 5}));
  ASSERT_EQ(graph.results.size(), 1u);
  EXPECT_EQ(graph.value(graph.results[0]).name, "loss");
  EXPECT_EQ(graph.op(graph.value(graph.results[0]).producer).kind, Kind::k_add);
  const ir::Op& scaled = graph.op(find_op(graph, "loss.numbers.plain.dx.scale"));
  EXPECT_EQ(scaled.attrs.reals, (std::vector<double>{0.25, 0})) << "its part of the gradient";
}

TEST(MakeTraining, NamesTheSumOfManyLosses) {
  TwoHeads net;
  net.graph.outputs.push_back(net.y1);
  net.graph.output_names.push_back("before");
  net.losses.push_back({.name = "mse", .output = "before"});
  const Graph graph = trained(net.graph, {.loss = net.losses});
  ASSERT_EQ(graph.results.size(), 1u);
  EXPECT_EQ(graph.value(graph.results[0]).name, "loss") << "the trainer finds it by name";
}

TEST(MakeTraining, TakesTheLossOnTheOutputThatIsNamed) {
  const TwoHeads net;
  const Graph graph = trained(net.graph, {.loss = {{.name = "mse", .output = "numbers"}}});
  EXPECT_EQ(graph.value(graph.labels[0]).name, "label");
  EXPECT_EQ(find_op(graph, "fc2"), ir::kNone) << "the other head is left out";
}

TEST(MakeTraining, RefusesLossesThatDoNotFitTheOutputs) {
  const TwoHeads net;
  const auto code = [&](std::vector<LossTerm> losses) {
    const Result<Graph> graph = make_training(net.graph, {.loss = std::move(losses)});
    return graph ? "" : graph.error().code;
  };
  EXPECT_EQ(code({{.output = "boxes"}}), "E0403");
  EXPECT_EQ(code({{.output = "classes"}, {.name = "mse"}}), "E0403");
  EXPECT_EQ(code({{.output = "classes"}, {.name = "mse", .output = "classes"}}), "E0403");
  EXPECT_EQ(code({}), "E0403");
}

TEST(MakeTraining, LeavesGradientsAsOutputsWithoutAnOptimizer) {
  const Graph graph = trained(TwoLayers().graph, {.optimizer = NoOptimizer{}});
  std::vector<std::string> names;
  for (const ValueId output : graph.outputs) names.push_back(graph.value(output).name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("grad.fc1.weight", "grad.fc1.bias", "grad.fc2.weight"));
}

TEST(MakeTraining, KeepsRunningStatisticsOutOfTheGradient) {
  TwoLayers net;
  const ir::TensorType two = f32({2});
  const ValueId scale = net.builder.parameter("bn.scale", two, nullptr),
                bias = net.builder.parameter("bn.bias", two, nullptr);
  const ValueId mean = net.builder.buffer("bn.mean", two, nullptr), var = net.builder.buffer("bn.var", two, nullptr);
  const auto norm = net.builder.add(Kind::k_batch_norm, "bn", {net.y2, scale, bias}, {{}, {1e-5}});
  const auto stats = net.builder.add(Kind::k_batch_norm_stats, "bn.stats", {mean, var, norm[1], norm[2]}, {{4}, {0.9}});
  net.graph.value(mean).next = stats[0];
  net.graph.value(var).next = stats[1];
  net.graph.outputs = {norm[0]};
  const Graph graph = trained(net.graph);
  EXPECT_EQ(find_op(graph, "bn.stats"), find_op(graph, "bn") + 1);
  EXPECT_FALSE(graph.op(find_op(graph, "bn.stats")).recompute);
  EXPECT_EQ(count_of(graph, Kind::k_batch_norm_grad), 1u);
  EXPECT_NE(graph.value(mean).next, ir::kNone);
}

TEST(MakeTraining, NotesParametersThatTheLossDoesNotSee) {
  TwoLayers net;
  net.builder.parameter("lonely", f32({3}), nullptr);
  EXPECT_THAT(trained(net.graph).notes, ElementsAre(HasSubstr("'lonely'")));
}

std::string code_of(const Graph& forward, const TrainingOptions& options) {
  const Result<Graph> graph = make_training(forward, options);
  return graph ? "" : graph.error().code;
}

TEST(MakeTraining, RefusesGlobsThatNameNothingAllAtOnce) {
  const Result<Graph> graph = make_training(TwoLayers().graph, {.freeze = {"conv*", "fc1.*", "head"}});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "E0104");
  EXPECT_THAT(graph.error().notes, ElementsAre("'conv*'", "'head'"));
}

TEST(MakeTraining, RefusesWhenNothingTrains) {
  EXPECT_EQ(code_of(TwoLayers().graph, {.freeze = {"*"}}), "E0405");
}

TEST(MakeTraining, RefusesOutputsThatDoNotFitTheLoss) {
  TwoLayers net;
  net.graph.outputs = {net.builder.reshape(net.y2, {8})};
  EXPECT_EQ(code_of(net.graph, {}), "E0403");
  net.graph.outputs = {net.builder.reshape(net.y2, {8, 1})};
  EXPECT_EQ(code_of(net.graph, {}), "E0403");
  net.graph.outputs = {net.builder.op(Kind::k_cast, "rounded", {net.y2}, {}, {{ir::DType::kI64, {4, 2}}})};
  EXPECT_EQ(code_of(net.graph, {.loss = {{"mse"}}}), "E0403");
  net.graph.outputs = {};
  EXPECT_EQ(code_of(net.graph, {}), "E0403");
}

TEST(MakeTraining, TellsAllOpsWithoutAGradient) {
  TwoLayers net;
  const ValueId first = net.builder.op(Kind::k_relu_grad, "odd", {net.y2, net.y2});
  net.graph.outputs = {net.builder.op(Kind::k_tanh_grad, "odder", {first, first})};
  const Result<Graph> graph = make_training(net.graph, {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "E0402");
  EXPECT_THAT(graph.error().notes, ElementsAre("'odd' (relu_grad)", "'odder' (tanh_grad)"));
}

TEST(MakeTraining, DoesNotMindOpsWithoutAGradientBelowFrozenParameters) {
  Graph forward;
  ir::Builder builder(forward);
  const ValueId x = builder.input("x", f32({4, 3})), w = builder.parameter("w", f32({3, 3}), nullptr);
  const ValueId odd = builder.op(Kind::k_relu_grad, "odd", {x, x});
  forward.outputs = {builder.op(Kind::k_matmul, "fc", {odd, w}, {{0, 0}, {}})};
  EXPECT_EQ(code_of(forward, {}), "");
}

TEST(MakeTraining, IsDeterministic) {
  const Graph once = trained(TwoLayers().graph), again = trained(TwoLayers().graph);
  EXPECT_EQ(ir::to_text(once), ir::to_text(again));
}

}  // namespace
}  // namespace pantoum::autodiff
