// What PyTorch's optimizer did to parameters is undone, or told. Models are built here, metadata as the exporter writes it.
#include "import/restore_parameters.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/parameter_marks.h"
#include "testing/exported_model.h"
#include "testing/onnx_metadata.h"

namespace pantoum::import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
TEST(RestoreParameters, ATransposedMatrixIsTheProgramsAgain) {
  Exported source({"w"});
  source.tensor("val_1", {4, 3}, "['w']");
  source.node("MatMul", {"x", "val_1"}, "y", "linear.default](args = (%x, %p_w)");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("wf32[3,4]"));
  EXPECT_THAT(contents(model->graph, "w"), ElementsAre(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
  EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{2, 3}));
}

TEST(RestoreParameters, AnUntiedMatrixIsTiedAgainWhereItHoldsTheSame) {
  const auto tied = [](float first) {
    Exported source({"w"});
    source.tensor("w", {3, 4}).tensor("val_1", {4, 3}, "['w']");
    source.node("Gemm", {"x", "val_1"}, "h", "linear.default](args = (%x, %p_w)");
    source.node("MatMul", {"h", "w"}, "y", "matmul.default](args = (%h, %p_w)");
    onnx::TensorProto& copy = *source.graph().mutable_initializer(1);
    for (int at = 0; at < 12; ++at) copy.set_float_data(at, static_cast<float>(1 + at % 3 * 4 + at / 3));
    copy.set_float_data(0, first);
    return source.load();
  };
  const auto model = tied(1);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), ElementsAre("wf32[3,4]"));
  const auto other = tied(9);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, "E0406");
  EXPECT_THAT(other.error().notes, ElementsAre("'val_1' was computed ahead of time from 'w'"));
}

TEST(RestoreParameters, MergedNormsAreSeparateAgain) {
  Exported source({"a.w", "a.b", "b.w", "b.b"});
  source.tensor("a.w", {4}).tensor("a.b", {4});
  source.node("LayerNormalization", {"x", "a.w", "a.b"}, "h",
              "layer_norm.default](args = (%x, [4], %p_a.w, %p_a.b, 1)");
  source.node("LayerNormalization", {"h", "a.w", "a.b"}, "y",
              "layer_norm.default](args = (%h, [4], %p_b.w, %p_b.b, 1)");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(parameters(model->graph).size(), 4U);
  EXPECT_EQ(model->info.parameter_count, 16);
}

TEST(RestoreParameters, ABiasOfZerosIsBack) {
  Exported source({"w", "b"});
  source.tensor("val_1", {4, 3}, "['w']");
  source.node("Gemm", {"x", "val_1"}, "y", "linear.default](args = (%x, %p_w, %p_b)", "RemoveOptionalBiasFromGemm");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(contents(model->graph, "b"), ElementsAre(0, 0, 0));
  EXPECT_EQ(model->info.parameter_count, 15);
}

TEST(RestoreParameters, WhatCannotBeUndoneIsRefusedUnlessAccepted) {
  Exported source({"w", "s", "bn.weight"});
  source.tensor("w", {4, 4}).tensor("exp", {4}, "['s']");
  source.node("Gemm", {"x", "w"}, "h", "batch_norm.default](args = (%x, %p_bn.weight)", "FuseBatchNormIntoGemm");
  source.node("Mul", {"h", "exp"}, "y", "mul.Tensor](args = (%h, %exp)");
  const auto refused = source.load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0406");
  EXPECT_THAT(refused.error().notes, ElementsAre(HasSubstr("batch norm 'bn' was folded into 'w'"),
                                                 "'exp' was computed ahead of time from 's' (by exp)"));
  const auto accepted = source.load(true);
  ASSERT_TRUE(accepted) << to_text(accepted.error());
  EXPECT_EQ(accepted->info.warnings.size(), 1U);
}

TEST(RestoreParameters, AParameterThatANodeStillNamesIsNotLostSilently) {
  Exported source({"w", "s"});
  source.tensor("w", {4, 4}).node("Gemm", {"x", "w"}, "y", "mul.Tensor](args = (%h, [%p_s])");
  const auto model = source.load();
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().notes, testing::Contains("the parameter 's' was left out"));
  Exported unused({"w", "s"});
  unused.tensor("w", {4, 4}).node("Gemm", {"x", "w"}, "y", "linear.default](args = (%x, %p_w)");
  EXPECT_THAT(unused.load()->info.notes, testing::Contains(HasSubstr("the file lacks")));
}

// Cross attention adds parts of a bias. One of zeros is merged with others, and the node that splits it names none.
TEST(RestoreParameters, AParameterThatMayStandForALostOneIsRefused) {
  const auto model = [](const Names& parameters, const char* second) {
    Exported source(parameters);
    source.tensor("w", {4, 4}).tensor("b", {4});
    source.node("Gemm", {"x", "w", "b"}, "h", "linear.default](args = (%x, %p_w, %p_b)");
    source.node("Split", {"b"}, "part", second).node("Add", {"h", "part"}, "y", "");
    return source;
  };
  const auto refused = model({"w", "b", "other"}, "").load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0406");
  EXPECT_THAT(refused.error().notes,
              ElementsAre("at node 'part' 'b' may stand for a parameter that the file lacks: 'other'"));
  EXPECT_TRUE(model({"w", "b", "other"}, "").load(true));
  EXPECT_TRUE(model({"w", "b"}, "").load());  // none is lost
  EXPECT_TRUE(model({"w", "b", "other"}, "split.Tensor](args = (%p_b, 4)").load());
}

// Two norms of one input that begin alike are one node in the file.
TEST(RestoreParameters, BranchesThatBecameOneAreRefused) {
  const auto model = [](const Names& parameters, const char* second) {
    Exported source(parameters);
    source.tensor("a.w", {4}).tensor("a.b", {4}).tensor("w", {4, 4});
    source.node("LayerNormalization", {"x", "a.w", "a.b"}, "layer_norm",
                "layer_norm.default](args = (%x, [4], %p_a.w, %p_a.b, 1)");
    source.node("Relu", {"layer_norm"}, "relu", "relu.default](args = (%layer_norm)");
    source.node("MatMul", {"relu", "w"}, "h", "linear.default](args = (%relu, %p_w)");
    source.node("Add", {"relu", "h"}, "y", second);
    return source.load();
  };
  const Names all = {"a.w", "a.b", "w", "b.w", "b.b"};
  const auto refused = model(all, "add.Tensor](args = (%relu_1, %h)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0406");
  EXPECT_THAT(refused.error().notes, ElementsAre(HasSubstr("'relu' stands for '%relu_1' of the program as well")));
  EXPECT_TRUE(model(all, "add.Tensor](args = (%relu, %h)"));
  EXPECT_TRUE(model({"a.w", "a.b", "w"}, "add.Tensor](args = (%relu_1, %h)"));  // no parameter is gone
}

TEST(RestoreParameters, OutputsThatBecameOneAreRefused) {
  const auto model = [](const Names& parameters) {
    Exported source(parameters);
    source.tensor("w", {4, 4}).node("MatMul", {"x", "w"}, "y", "linear.default](args = (%x, %p_w)");
    onnx::NodeProto& copy = *source.graph().add_node();
    copy.set_op_type("Identity");
    copy.add_input("y");
    copy.add_output("z");
    source.graph().add_output()->set_name("z");
    return source.load();
  };
  const auto refused = model({"w", "v"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().notes,
              ElementsAre(HasSubstr("the outputs 'y' and 'z' are one, and the program's may have read 'v'")));
  EXPECT_TRUE(model({"w"}));
}

TEST(RestoreParameters, BranchesOfACycleAreNoEndlessSearch) {
  Exported source({"w", "gone"});
  source.tensor("w", {4, 4}).node("Relu", {"b"}, "a", "relu.default](args = (%b_1)");
  source.node("Relu", {"a"}, "b", "relu.default](args = (%a_1)").node("MatMul", {"a", "w"}, "y", "");
  EXPECT_FALSE(source.load());
}

TEST(RestoreParameters, HostileMetadataIsNoProof) {
  for (const char* call : {"", "](args = (", "linear.default](args = (((((%p_w", "linear.default](args = (%x, %p_w",
                           "linear.default](args = (%x, %", "linear.default](args = (%x, p_w)", "linear.default]"}) {
    Exported source({"w"});
    source.tensor("val_1", {4, 3}, "['w']").node("MatMul", {"x", "val_1"}, "y", call);
    const auto model = source.load();
    EXPECT_TRUE(model || model.error().code == "E0406") << call;
  }
  Exported taken({"w"});
  taken.tensor("val_1", {4, 3}, "['w']").tensor("w.moved", {4, 3});
  taken.node("MatMul", {"x", "val_1"}, "h", "linear.default](args = (%x, %p_w)");
  taken.node("MatMul", {"x", "w.moved"}, "y", "matmul.default](args = (%x)");
  const auto model = taken.load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0207");
  Exported wide({"w", "b"});  // a product of a vector has no outputs to count
  wide.tensor("w", {4}).node("Gemm", {"x", "w"}, "y", "linear.default](args = (%x, %p_w, %p_b)",
                             "RemoveOptionalBiasFromGemm");
  EXPECT_FALSE(wide.load());
}

TEST(RestoreParameters, NoGroupCountOverflows) {
  for (const int64_t groups : {INT64_MAX, INT64_MIN, int64_t{-1}, int64_t{0}}) {
    Exported source({"w", "b"});
    source.tensor("w", {4, 3, 1})
        .node("ConvTranspose", {"x", "w"}, "y", "convolution.default](args = (%x, %p_w, %p_b)",
              "RemoveOptionalBiasFromConvTranspose");
    auto& attribute = *source.graph().mutable_node(0)->add_attribute();
    attribute.set_name("group");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(groups);
    EXPECT_FALSE(source.load());
  }
}

TEST(RestoreParameters, WhatWasFoldedFromFloat64IsRefused) {
  Exported source({"w"});
  source.tensor("val_1", {4, 3}, "['w']");
  onnx::TensorProto& folded = *source.graph().mutable_initializer(0);
  folded.clear_float_data();
  folded.set_data_type(onnx::TensorProto::DOUBLE);
  for (int at = 0; at < 12; ++at) folded.add_double_data(at);
  source.node("MatMul", {"x", "val_1"}, "y", "linear.default](args = (%x, %p_w)");
  const auto model = source.load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0406");
}

TEST(RestoreParameters, TheOlderExportersCopiesAreTold) {
  const auto warnings = [](float last) {
    Exported source({});
    source.tensor("e.weight", {2, 4}).tensor("onnx::MatMul_3", {4, 2});
    source.graph().clear_value_info();  // and no marks
    onnx::TensorProto& copy = *source.graph().mutable_initializer(1);
    for (int at = 0; at < 8; ++at) copy.set_float_data(at, static_cast<float>(1 + at % 2 * 4 + at / 2));
    copy.set_float_data(7, last);
    source.node("MatMul", {"x", "onnx::MatMul_3"}, "h", "").node("MatMul", {"h", "e.weight"}, "y", "");
    return source.load()->info.warnings;
  };
  EXPECT_THAT(warnings(8), ElementsAre(HasSubstr("holds the transpose of 'e.weight'")));
  EXPECT_THAT(warnings(9), IsEmpty());
}

TEST(RestoreParameters, TheOlderExportersComputedKernelsAreRefused) {
  Exported source({});
  source.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  source.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  source.tensor("onnx::Conv_12", {3, 4, 1, 1}).node("Conv", {"x", "onnx::Conv_12"}, "y", "");
  const auto model = source.load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "E0406");
  EXPECT_THAT(source.load(true)->info.warnings, ElementsAre(HasSubstr("onnx::Conv_12")));
}

}  // namespace
}  // namespace pantoum::import
