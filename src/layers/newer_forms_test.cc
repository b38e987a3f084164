// Every rewritten form against the operator's own: the import reads both, and they give the same types; where axes matter, the same ops.
#include "layers/newer_forms.h"

#include <gtest/gtest.h>

#include "import/onnx.h"
#include "layers/messages.h"

namespace pantoum::layers {
namespace {

onnx::NodeProto older(const char* op_type, const Attributes& attributes, int outputs = 1) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.add_input("x");
  for (int output = 0; output < outputs; ++output) node.add_output("y" + std::to_string(output));
  write_attributes(node, attributes);
  return node;
}

// The shapes of all outputs in a model of this opset; or the refusal.
std::string shapes(const std::vector<onnx::NodeProto>& nodes, int64_t opset, const Shape& x) {
  onnx::ModelProto model;
  begin_model(model, "test");
  model.mutable_opset_import(0)->set_version(opset);
  write_value(*model.mutable_graph()->add_input(), "x", DType::f32, x);
  for (const onnx::NodeProto& node : nodes) *model.mutable_graph()->add_node() = node;
  for (const std::string& output : nodes.back().output()) model.mutable_graph()->add_output()->set_name(output);
  const std::string bytes = model.SerializeAsString();
  const Result<import::Imported> read = import::parse_onnx(bytes.data(), bytes.size(), "");
  if (!read) return to_text(read.error());
  std::string told;
  for (const ir::ValueId output : read->graph.outputs)
    told += to_text(Shape(read->graph.value(output).type.shape)) + " ";
  return told;
}

void expect_the_same(const onnx::NodeProto& node, int64_t opset, const Shape& x = {4, 3, 2, 1}) {
  std::vector<onnx::NodeProto> newer;
  append_newer(node, opset, newer);
  const std::string expected = shapes({node}, opset, x);
  EXPECT_EQ(expected.find("error"), std::string::npos) << expected;
  EXPECT_EQ(shapes(newer, kOpset, x), expected) << node.op_type();
}

TEST(NewerForms, ListsOfAttributesBecomeInputs) {
  expect_the_same(older("Squeeze", {{"axes", std::vector<int64_t>{3}}}), 12);
  expect_the_same(older("Unsqueeze", {{"axes", std::vector<int64_t>{1, 2}}}), 11);
  expect_the_same(older("ReduceSum", {{"axes", std::vector<int64_t>{1, 2}}, {"keepdims", int64_t{0}}}), 12);
  expect_the_same(older("ReduceSum", {{"keepdims", int64_t{0}}}), 12);
  expect_the_same(older("ReduceMean", {{"axes", std::vector<int64_t>{-1, -2}}}), 17);
  expect_the_same(older("ReduceMax", {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}}), 13);
  expect_the_same(older("Split", {{"axis", int64_t{1}}, {"split", std::vector<int64_t>{1, 2}}}, 2), 12);
  expect_the_same(older("Split", {{"axis", int64_t{1}}}, 3), 17);
}

TEST(NewerForms, OneRowOfAllDimensionsFromTheAxisOn) {
  expect_the_same(older("Softmax", {}), 12);
  expect_the_same(older("LogSoftmax", {{"axis", int64_t{2}}}), 11);
  std::vector<onnx::NodeProto> newer;
  append_newer(older("Softmax", {}), 12, newer);
  ASSERT_EQ(newer.size(), 4U);
  EXPECT_EQ(newer[0].op_type(), "Flatten");
  EXPECT_EQ(newer[0].attribute(0).i(), 1);
  EXPECT_EQ(newer[2].attribute(0).i(), -1);
  EXPECT_EQ(newer[3].op_type(), "Reshape");
  EXPECT_EQ(newer[3].output(0), "y0");
}

TEST(NewerForms, NodesOfTheNewestOpsetAndOfOthersStay) {
  std::vector<onnx::NodeProto> newer;
  append_newer(older("Relu", {}), 11, newer);
  append_newer(older("Softmax", {}), 13, newer);
  onnx::NodeProto mine = older("Softmax", {});
  mine.set_domain("mine");
  append_newer(mine, 11, newer);
  ASSERT_EQ(newer.size(), 3U);
  for (const onnx::NodeProto& node : newer) EXPECT_EQ(node.attribute_size(), 0);
}

}  // namespace
}  // namespace pantoum::layers
