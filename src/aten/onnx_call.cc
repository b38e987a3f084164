// Operators that are what one of ONNX is: lowered by the importer's own rule.
#include <fmt/format.h>

#include "aten/node.h"
#include "import/onnx_messages.h"
#include "import/operators.h"

namespace pantoum::aten {
namespace {

using ir::ValueId;

constexpr int64_t kOpset = 20;

void put(onnx::NodeProto& message, const OnnxAttribute& attribute) {
  onnx::AttributeProto& made = *message.add_attribute();
  made.set_name(attribute.name);
  if (const int64_t* whole = std::get_if<int64_t>(&attribute.value)) {
    made.set_type(onnx::AttributeProto::INT);
    made.set_i(*whole);
  } else if (const double* real = std::get_if<double>(&attribute.value)) {
    made.set_type(onnx::AttributeProto::FLOAT);
    made.set_f(static_cast<float>(*real));
  } else if (const std::string* text = std::get_if<std::string>(&attribute.value)) {
    made.set_type(onnx::AttributeProto::STRING);
    made.set_s(*text);
  } else {
    made.set_type(onnx::AttributeProto::INTS);
    for (const int64_t each : std::get<std::vector<int64_t>>(attribute.value)) made.add_ints(each);
  }
}

// A value of the graph under a name of its own; what is constant is known.
std::string bind(Build& build, ValueId id) {
  const ir::Value& value = build.lowering.builder.graph().value(id);
  auto operand = std::make_shared<import::Operand>();
  operand->name = fmt::format("{}#{}", value.name, build.parts++);
  operand->id = id;
  if (value.role == ir::Role::kConstant && value.data)
    operand->known = std::make_shared<const import::Tensor>(import::Tensor{value.type, value.data});
  build.lowering.operands[operand->name] = operand;
  return operand->name;
}

}  // namespace

Result<std::vector<ValueId>> Node::onnx(const char* op_type, const std::vector<ValueId>& inputs,
                                        const std::vector<OnnxAttribute>& attributes, size_t outputs) {
  onnx::NodeProto message;
  message.set_name(label());
  message.set_op_type(op_type);
  for (const ValueId input : inputs) message.add_input(input == ir::kNone ? "" : bind(build_, input));
  for (size_t output = 0; output < outputs; ++output) {
    message.add_output(fmt::format("{}#{}", label(), build_.parts++));
    build_.model.read.insert(message.output(static_cast<int>(output)));
  }
  for (const OnnxAttribute& attribute : attributes) put(message, attribute);
  build_.model.opset = kOpset;
  import::Node node(build_.lowering, message, position_);
  PANTOUM_TRY(import::find_operator("", op_type)->lower(node));
  std::vector<ValueId> made;
  for (const std::string& name : message.output()) {
    PANTOUM_ASSIGN(const ValueId id, node.value_of(*node.find(name)));
    made.push_back(id);
  }
  return made;
}

}  // namespace pantoum::aten
