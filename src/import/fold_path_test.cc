// Functions of parameters that the newer exporter computed ahead of time: undone, left where that trains the same, or told.
#include "import/restore_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/exported_model.h"

namespace pantoum::import {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

std::vector<std::string> problems(const Exported& source) {
  const auto model = source.load();
  return model || model.error().code != "E0406" ? std::vector<std::string>{} : model.error().notes;
}

// x * value, of parameter p.
Exported factor(const std::string& value, const std::string& sources, const std::vector<int64_t>& dims,
                const std::vector<float>& elements) {
  Exported source({"p", "q"});
  source.tensor(value, dims, sources).values(value, elements);
  source.node("Mul", {"x", value}, "y", "mul.Tensor](args = (%x, %" + value + ")");
  return source;
}

TEST(FoldPath, AFunctionThatCanBeInvertedIsTheProgramsAgain) {
  const auto check = [](const std::string& call, std::vector<float> of, float argument) {
    const auto model = factor(call, "['p']", {4}, of).load();
    ASSERT_TRUE(model) << to_text(model.error());
    EXPECT_THAT(parameters(model->graph), ElementsAre("pf32[4]")) << call;
    EXPECT_THAT(contents(model->graph, "p")[0], FloatNear(argument, 1e-6F)) << call;
  };
  check("exp", {2}, 0.693147181F);
  check("log_1", {1}, 2.718281828F);
  check("neg", {2}, -2);
  check("sigmoid_12", {0.25F}, -1.098612289F);
  check("tanh", {0.5F}, 0.549306144F);
  check("reciprocal", {4}, 0.25F);
  check("sqrt", {3}, 9);
}

TEST(FoldPath, WhatContentsDoNotTellIsRefused) {
  EXPECT_THAT(problems(factor("sigmoid", "['p']", {4}, {1})), ElementsAre(HasSubstr("from 'p' (by sigmoid)")));
  EXPECT_THAT(problems(factor("exp", "['p']", {4}, {0})), ElementsAre(HasSubstr("(by exp)")));
  EXPECT_THAT(problems(factor("tanh", "['p']", {4}, {0.9999999F})), ElementsAre(HasSubstr("(by tanh)")));
  EXPECT_THAT(problems(factor("softplus", "['p']", {4}, {1})), ElementsAre(HasSubstr("(by softplus)")));
  EXPECT_THAT(problems(factor("abs_1", "['p']", {4}, {1})), ElementsAre(HasSubstr("(by abs)")));
  EXPECT_THAT(problems(factor("mul", "['p', 'val_0']", {4}, {1})), ElementsAre(HasSubstr("(by mul)")));
  EXPECT_THAT(problems(factor("mul", "['p', 'q']", {4}, {1})), ElementsAre(HasSubstr("from 'p', 'q' (by mul)")));
  EXPECT_THAT(problems(factor("mul", "['p', 'q', 'linalg_vector_norm', 'div']", {4}, {1, 2, 3, 4})),
              ElementsAre(HasSubstr("linalg_vector_norm")));
  EXPECT_THAT(problems(factor("exp_1", "['exp', 'neg', 'p']", {4}, {0.5F})), ElementsAre(HasSubstr("(by exp, neg)")));
  EXPECT_THAT(problems(factor("pad", "['p', 'val_0']", {4}, {1, 2, 3, 4})), ElementsAre(HasSubstr("(by pad)")));
}

TEST(FoldPath, AMultipleOfTheSecondOperandIsTheOperandAgain) {
  Exported source({"p"});
  source.tensor("val_2", {4}, "['p', 'val_0']").values("val_2", {1, 2, 3, 4});
  source.node("Add", {"x", "val_2"}, "y", "add.Tensor](args = (%x, %p_p), kwargs = {alpha: 2}");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(contents(model->graph, "p"), ElementsAre(0.5F, 1, 1.5F, 2));
  Exported other({"p"});
  other.tensor("val_2", {4}, "['p', 'val_0']").values("val_2", {1});
  other.node("Add", {"x", "val_2"}, "y", "add.Tensor](args = (%x, %p_p), kwargs = {alpha: 0}");
  EXPECT_THAT(problems(other), ElementsAre(HasSubstr("from 'p'")));
}

TEST(FoldPath, AnExpandedParameterIsOneAgain) {
  const auto model = factor("expand", "['p', 'val_1']", {2, 4}, {1, 2, 3, 4}).load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("pf32[1,4]"));
  EXPECT_THAT(contents(model->graph, "p"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(model->info.notes, Contains("'expand' is 'p' repeated along dimension 0"));
  EXPECT_THAT(problems(factor("expand", "['p', 'val_1']", {2, 4}, {0})),
              ElementsAre(HasSubstr("(by expand); first contents that are not all equal")));
}

TEST(FoldPath, ElementsOfParametersTrainWhereTheyAre) {
  const auto trained = [](const Exported& source) {
    const auto model = source.load();
    return model ? parameters(model->graph) : Names{to_text(model.error())};
  };
  EXPECT_THAT(trained(factor("view", "['p', 'val_1']", {2, 4}, {0})), ElementsAre("pf32[2,4]"));
  EXPECT_THAT(trained(factor("slice_2", "['p', 'val_1']", {4}, {0})), ElementsAre("slice_2f32[4]"));
  EXPECT_THAT(trained(factor("cat", "['p', 'q']", {4}, {1, 2, 3, 4})), ElementsAre("catf32[4]"));
  EXPECT_THAT(trained(factor("embedding", "['p', 'arange']", {4}, {1, 2, 3, 4})), ElementsAre("embeddingf32[4]"));
  EXPECT_THAT(problems(factor("cat", "['p', 'q']", {4}, {1, 2})), ElementsAre(HasSubstr("(by cat); first contents")));
  EXPECT_THAT(problems(factor("embedding", "['p', 'arange']", {4}, {1, 2})), ElementsAre(HasSubstr("embedding")));
  EXPECT_THAT(problems(factor("cat", "['p', 'q', 'arange']", {4}, {1, 2, 3, 4})), ElementsAre(HasSubstr("arange")));
}

TEST(FoldPath, TwoPartsOfOneParameterTrainApartOnlyIfTheyShareNoElement) {
  const auto parts = [](const std::vector<float>& second) {
    Exported source({"p"});
    source.tensor("select", {4}, "['p', 'val_0']").values("select", {1, 2, 3, 4});
    source.tensor("select_1", {4}, "['p', 'val_1']").values("select_1", second);
    source.node("Mul", {"x", "select"}, "h", "mul.Tensor](args = (%x, %select)");
    source.node("Add", {"h", "select_1"}, "y", "add.Tensor](args = (%h, %select_1)");
    return source;
  };
  EXPECT_TRUE(parts({5, 6, 7, 8}).load());
  EXPECT_THAT(problems(parts({5, 6, 7, 1})).size(), 2U);
}

TEST(FoldPath, AFunctionOfAParameterThatTheFileHasIsTied) {
  const auto tied = [](const std::string& call, float first) {
    Exported source({"p"});
    source.tensor("p", {4}).values("p", {first, 1, 1, 1}).tensor(call, {4}, "['p']").values(call, {2.7182817F});
    source.node("Mul", {"x", call}, "h", "mul.Tensor](args = (%x, %" + call + ")");
    source.node("Add", {"h", "p"}, "y", "add.Tensor](args = (%h, %p_p)");
    return source;
  };
  const auto model = tied("exp", 1).load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("pf32[4]"));
  EXPECT_THAT(problems(tied("exp", 1.5F)), ElementsAre(HasSubstr("(by exp)")));
  EXPECT_THAT(problems(tied("relu", 2.7182817F)), ElementsAre(HasSubstr("(by relu)")));
}

TEST(FoldPath, EqualContentsAreNoProofOfATie) {
  for (const char* call : {"relu", "flip", "mul"}) {
    Exported source({"p"});
    source.tensor("p", {4}).values("p", {1}).tensor(call, {4}, "['p']").values(call, {1});
    source.node("Mul", {"x", call}, "h", std::string("mul.Tensor](args = (%x, %") + call + ")");
    source.node("Add", {"h", "p"}, "y", "add.Tensor](args = (%h, %p_p)");
    EXPECT_THAT(problems(source), ElementsAre(HasSubstr("from 'p'"))) << call;
  }
}

TEST(MergedValues, AnotherParameterOrBufferIsSeparateAgain) {
  Exported source({"p", "q"});
  source.tensor("p", {4}).node("Mul", {"x", "p"}, "h", "mul.Tensor](args = (%x, %p_p)");
  source.node("Add", {"h", "p"}, "i", "add.Tensor](args = (%h, %p_q)");
  source.node("Sub", {"i", "p"}, "y", "sub.Tensor](args = (%i, %b_mean)").buffer("mean");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("pf32[4]", "qf32[4]"));
}

TEST(MergedValues, AFunctionOfAParameterThatIsGoneIsTold) {
  Exported source({"p", "q"});
  source.tensor("p", {4}).node("Mul", {"x", "p"}, "h", "mul.Tensor](args = (%x, %p_p)");
  source.node("Mul", {"h", "p"}, "y", "mul.Tensor](args = (%h, %exp)");
  EXPECT_THAT(problems(source), ElementsAre(HasSubstr("'p' stands for '%exp'")));
}

TEST(MergedValues, AConstantOfACallIsSeparateAgainAndFixed) {
  Exported source({"p"});
  source.tensor("p", {4}).node("Mul", {"x", "p"}, "h", "mul.Tensor](args = (%x, %p_p)");
  source.node("LayerNormalization", {"h", "p"}, "y", "layer_norm.default](args = (%h, [4], None, None)");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("pf32[4]"));
  EXPECT_EQ(model->info.tensors.size(), 2U);
  EXPECT_EQ(model->info.tensors[1].trains, "no");
}

TEST(MergedValues, ABufferThatTheForwardPassChangesIsTold) {
  Exported source({"p"});
  source.tensor("p", {4}).node("Mul", {"x", "p"}, "h", "mul.Tensor](args = (%x, %p_p)");
  source.buffer("count", true)
      .tensor("count", {4})
      .node("Add", {"h", "count"}, "y", "add.Tensor](args = (%h, %b_count)");
  EXPECT_THAT(source.load()->info.warnings, ElementsAre(HasSubstr("changes the buffer 'count'")));
}

TEST(MergedValues, ArithmeticThatWasLeftOutIsTold) {
  const auto source = [](const Names& program) {
    Exported made(program);
    made.tensor("p", {4}).node("Mul", {"x", "p"}, "y", "mul.Tensor](args = (%mul, %p_p)");
    return made;
  };
  EXPECT_THAT(problems(source({"p", "q"})), ElementsAre(HasSubstr("left out '%mul', which may have read 'q'")));
  EXPECT_TRUE(source({"p"}).load());
}

TEST(MergedValues, ACopyOfAParameterIsTheParameter) {
  Exported source({"p"});
  source.tensor("p", {4}).node("Mul", {"x", "p"}, "y", "mul.Tensor](args = (%x, %clone_3)");
  EXPECT_TRUE(source.load());
}

}  // namespace
}  // namespace pantoum::import
