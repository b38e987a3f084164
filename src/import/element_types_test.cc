// Floating-point types that are read as float32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "import/tensor.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using testing::Contains;
using testing::HasSubstr;

const ir::Value& parameter_of(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values)
    if (value.role == ir::Role::kParameter) return value;
  throw std::runtime_error("no parameter");
}

std::string refusal_of(const OnnxModel& model) {
  const auto loaded = model.load();
  return loaded ? "imported" : loaded.error().code;
}

// The same numbers in every type that is read as float32, in either field of the message.
TEST(ElementTypes, ComputesOtherFloatingPointTypesInFloat32) {
  using Message = onnx::TensorProto;
  const std::vector<float> values{1, -2, 0.5F, 65504};
  struct Case {
    Message::DataType type;
    std::vector<uint16_t> bits;  // of a type of two bytes
  };
  const std::vector<Case> cases{{Message::FLOAT16, {0x3c00, 0xc000, 0x3800, 0x7bff}},
                                {Message::BFLOAT16, {0x3f80, 0xc000, 0x3f00, 0x4780}},
                                {Message::DOUBLE, {}}};
  for (const Case& each : cases) {
    for (const bool raw : {true, false}) {
      OnnxModel model;
      model.input("x", {"2", "4"}).weight("w", {4}).node("Mul", {"x", "w"}, {"y"}).output("y");
      model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(each.type);
      Message& weight = *model.graph().mutable_initializer(0);
      weight.clear_float_data();
      weight.set_data_type(each.type);
      const std::vector<double> wide(values.begin(), values.end());
      if (raw && each.bits.empty())
        weight.set_raw_data(wide.data(), wide.size() * sizeof(double));
      else if (raw)
        weight.set_raw_data(each.bits.data(), each.bits.size() * sizeof(uint16_t));
      else if (each.bits.empty())
        weight.mutable_double_data()->Add(wide.begin(), wide.end());
      else
        weight.mutable_int32_data()->Add(each.bits.begin(), each.bits.end());
      const auto loaded = model.load();
      ASSERT_TRUE(loaded) << to_text(loaded.error());
      const ir::Value& found = parameter_of(loaded->graph);
      ASSERT_EQ(found.type, (ir::TensorType{ir::DType::kF32, {4}}));
      EXPECT_EQ(loaded->graph.value(loaded->graph.inputs[0]).type.dtype, ir::DType::kF32);
      EXPECT_THAT(loaded->graph.notes, Contains(HasSubstr("2 tensors of " + onnx_type_name(each.type))));
      std::vector<float> read(4);
      std::memcpy(read.data(), found.data->data(), sizeof(float) * 4);
      EXPECT_EQ(std::vector<float>(read.begin(), read.begin() + 3),
                std::vector<float>(values.begin(), values.begin() + 3));
      EXPECT_EQ(read[3], each.type == Message::BFLOAT16 ? 65536 : 65504);
    }
  }
}

TEST(ElementTypes, RefusesHalvesOfTheWrongSize) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4}).node("Mul", {"x", "w"}, {"y"}).output("y");
  onnx::TensorProto& weight = *model.graph().mutable_initializer(0);
  weight.set_data_type(onnx::TensorProto::FLOAT16);
  weight.clear_float_data();
  weight.set_raw_data("1234567");
  EXPECT_EQ(refusal_of(model), "E0205");
  weight.clear_raw_data();
  weight.add_int32_data(0);
  EXPECT_EQ(refusal_of(model), "E0205");
}

}  // namespace
}  // namespace pantoum::import
