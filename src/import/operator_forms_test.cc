// What ONNX demands of every node: broken forms of every operator are refused, and told.
#include "import/operator_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/operators.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using testing::HasSubstr;

// A node with as many inputs and outputs as the form needs, and its needed attributes.
onnx::NodeProto least_node(const OperatorFormText& form) {
  onnx::NodeProto node;
  node.set_op_type(form.op_type);
  for (int at = 0; at < form.least_inputs; ++at) node.add_input("x");
  for (int at = 0; at < form.least_outputs; ++at) node.add_output("y" + std::to_string(at));
  std::istringstream attributes(form.attributes);
  for (std::string word; attributes >> word;) {
    const size_t at = word.find('!');
    if (at == std::string::npos) continue;
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(word.substr(0, at));
    attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(std::stoi(word.substr(at + 1))));
    attribute.set_i(1);
  }
  return node;
}

std::string problem(const onnx::NodeProto& node, int64_t opset) {
  const Result<void> checked = check_form(node, opset);
  return checked ? "" : checked.error().code + " " + checked.error().message;
}

TEST(OperatorForms, EveryOperatorRefusesBrokenFormsOfItself) {
  for (const OperatorFormText& form : operator_forms()) {
    const int64_t opset = form.since;
    const onnx::NodeProto good = least_node(form);
    EXPECT_EQ(problem(good, opset), "") << form.op_type << " " << opset;

    onnx::NodeProto node = good;
    node.clear_output();
    if (form.least_outputs > 0) {
      EXPECT_THAT(problem(node, opset), HasSubstr("E0211 it has 0 outputs")) << form.op_type;
    }
    if (form.least_inputs > 0) {
      node = good;
      node.mutable_input()->RemoveLast();
      EXPECT_THAT(problem(node, opset), HasSubstr("inputs and needs")) << form.op_type;
    }
    if (std::string(form.inputs).find_first_of("*+") == std::string::npos) {
      node = good;
      for (int more = 0; more < 12; ++more) node.add_input("x");
      EXPECT_THAT(problem(node, opset), HasSubstr("more than")) << form.op_type;
    }
    node = good;
    node.add_attribute()->set_name("surprise");
    EXPECT_THAT(problem(node, opset), HasSubstr("does not have")) << form.op_type;
    if (good.attribute_size() > 0) {
      node = good;
      *node.add_attribute() = good.attribute(0);
      EXPECT_THAT(problem(node, opset), HasSubstr("given twice")) << form.op_type;
      node.clear_attribute();
      EXPECT_THAT(problem(node, opset), HasSubstr("is missing")) << form.op_type;
      node = good;
      node.mutable_attribute(0)->set_type(onnx::AttributeProto::TYPE_PROTOS);
      EXPECT_THAT(problem(node, opset), HasSubstr("wrong type")) << form.op_type;
    }
  }
}

TEST(OperatorForms, EveryOperatorThatRunsHasForms) {
  for (const auto family : all_operators())
    for (const OperatorEntry& entry : family)
      EXPECT_TRUE(std::ranges::any_of(operator_forms(), [&](const OperatorFormText& form) {
        return std::string(form.op_type) == entry.op_type;
      })) << entry.op_type;
}

TEST(OperatorForms, AnEmptyInputInAListIsMissing) {
  for (const char* op : {"Einsum", "Concat", "Sum", "Max"}) {
    onnx::NodeProto node;
    node.set_op_type(op);
    node.add_input("x");
    node.add_input("");
    node.add_output("y");
    EXPECT_THAT(problem(node, 17), HasSubstr("its input 1")) << op;
  }
}

TEST(OperatorForms, AnOperatorOfALaterOpsetIsTold) {
  onnx::NodeProto node;
  node.set_op_type("Gelu");
  node.add_input("x");
  node.add_output("y");
  EXPECT_EQ(problem(node, 20), "");
  EXPECT_THAT(problem(node, 17), HasSubstr("came with opset 20"));
  node.set_domain("com.microsoft");
  EXPECT_EQ(problem(node, 17), "");
}

TEST(OperatorForms, AnAttributeThatNamesATypeNamesOne) {
  for (const int64_t type : {int64_t{0}, int64_t{-1}, int64_t{INT64_MAX}}) {
    onnx::NodeProto node;
    node.set_op_type("Cast");
    node.add_input("x");
    node.add_output("y");
    onnx::AttributeProto& to = *node.add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(type);
    EXPECT_THAT(problem(node, 17), HasSubstr("which is no type")) << type;
  }
}

TEST(OperatorForms, TypesOfInputsAreThoseThatTheOperatorTakes) {
  const auto told = [](const char* op, const std::vector<std::optional<GivenType>>& given) {
    onnx::NodeProto node;
    node.set_op_type(op);
    const Result<void> checked = check_types(node, 17, given);
    return checked ? "" : checked.error().message;
  };
  const GivenType real{ir::DType::kF32}, wide{ir::DType::kF64}, whole{ir::DType::kI64}, truth{ir::DType::kBool};
  const GivenType sequence{.sequence = true};
  EXPECT_EQ(told("Add", {real, wide}), "");  // both are computed in float32
  EXPECT_EQ(told("Add", {whole, whole}), "");
  EXPECT_EQ(told("Where", {truth, whole, whole}), "");
  EXPECT_EQ(told("Add", {real, std::nullopt}), "");
  EXPECT_EQ(told("Loop", {whole, truth, real, whole}), "");
  EXPECT_THAT(told("Add", {real, whole}), HasSubstr("wants one type"));
  EXPECT_THAT(told("Where", {real, whole, whole}), HasSubstr("its input 0 ('condition') is f32"));
  EXPECT_THAT(told("Reshape", {real, real}), HasSubstr("its input 1 ('shape') is f32"));
  EXPECT_THAT(told("Relu", {sequence}), HasSubstr("is a sequence of tensors"));
  EXPECT_THAT(told("SequenceLength", {real}), HasSubstr("is f32"));
}

std::string refusal(const OnnxModel& model, int64_t batch = 0) {
  const auto loaded = model.load(batch);
  if (loaded) return "";
  std::string told = loaded.error().code + " " + loaded.error().message;
  for (const std::string& note : loaded.error().notes) told += " " + note;
  return told;
}

// x [first, 4] -> Mul w -> y, declared as `declared`.
OnnxModel scaled(const std::string& first, const std::vector<int64_t>& declared, bool inside = false) {
  OnnxModel model;
  model.input("x", {first, "4"}).weight("w", {4}).node("Mul", {"x", "w"}, {"h"}).node("Relu", {"h"}, {"y"}).output("y");
  auto& value = inside ? *model.graph().add_value_info() : *model.graph().mutable_output(0);
  value.set_name(inside ? "h" : "y");
  value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : declared)
    value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
  return model;
}

TEST(DeclaredTypes, OtherThanComputedAreRefused) {
  for (const bool inside : {false, true}) {
    EXPECT_EQ(refusal(scaled("2", {2, 4}, inside)), "");
    EXPECT_THAT(refusal(scaled("2", {2, 5}, inside)), HasSubstr("is [2,4], and the file declares [2,5]"));
    EXPECT_THAT(refusal(scaled("2", {2}, inside)), HasSubstr("declares [2]"));
    EXPECT_THAT(refusal(scaled("2", {3, 4}, inside)), HasSubstr("declares [3,4]"));
    EXPECT_THAT(refusal(scaled("N", {3, 5}, inside)), HasSubstr("declares [3,5]"));
    EXPECT_EQ(refusal(scaled("N", {3, 4}, inside), 7), "");  // the batch is the file's no more
    EXPECT_EQ(refusal(scaled("2", {2, 4}, inside), 7), "");
  }
  OnnxModel other = scaled("2", {2, 4});
  other.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  EXPECT_THAT(refusal(other), HasSubstr("E0211"));
  EXPECT_THAT(refusal(other), HasSubstr("is f32, and the file declares int64"));
}

TEST(DeclaredTypes, PytorchsWrongShapesAreWarnedOf) {
  OnnxModel model = scaled("2", {2, 5});
  onnx::ModelProto message;
  ASSERT_TRUE(message.ParseFromString(model.bytes()));
  message.set_producer_name("pytorch");
  const std::string bytes = message.SerializeAsString();
  const auto loaded = parse_onnx(bytes.data(), bytes.size(), "/nonexistent", {});
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_THAT(loaded->info.warnings, testing::Contains(HasSubstr("'y' is [2,4], and the file declares [2,5]")));
}

TEST(DeclaredTypes, InputsAreCheckedToo) {
  OnnxModel model = scaled("2", {2, 4});
  auto& input = *model.graph().add_input();
  input.set_name("w");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  EXPECT_EQ(refusal(model), "");
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(5);
  EXPECT_THAT(refusal(model), HasSubstr("E0205"));
  OnnxModel untyped = scaled("2", {2, 4});
  untyped.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(0);
  EXPECT_THAT(refusal(untyped), HasSubstr("E0208 an input has no element type"));
}

TEST(DeclaredTypes, ADimensionBelowZeroIsOpen) {
  OnnxModel batch = scaled("N", {});
  batch.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  auto& shape = *batch.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_value(-1);
  const auto loaded = batch.load(3);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(loaded->graph.value(loaded->graph.inputs[0]).type.shape, (ir::Shape{3, 4}));
  shape.mutable_dim(1)->set_dim_value(-1);
  EXPECT_THAT(refusal(batch, 3), HasSubstr("E0210"));
}

}  // namespace
}  // namespace pantoum::import
