#include "import/operators.h"

#include <algorithm>
#include <cmath>

#include "base/custom_operators.h"
#include "import/onnx_messages.h"

namespace pantoum::import {

// Nodes of domains that are not ONNX's, where the process knows a custom operator of that name.

namespace {

std::string name_of_node(const onnx::NodeProto& message) {
  return message.domain() + "::" + message.op_type();
}

const onnx::AttributeProto* attribute_named(const onnx::NodeProto& message, const std::string& name) {
  for (const onnx::AttributeProto& attribute : message.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

Result<double> setting_of(const onnx::NodeProto& message, const base::CustomAttribute& wanted) {
  const onnx::AttributeProto* attribute = attribute_named(message, wanted.name);
  if (attribute == nullptr && wanted.otherwise) return *wanted.otherwise;
  if (attribute == nullptr) return misfit("its attribute '{}' is missing", wanted.name);
  if (attribute->type() == onnx::AttributeProto::INT) return static_cast<double>(attribute->i());
  if (attribute->type() == onnx::AttributeProto::FLOAT) return static_cast<double>(attribute->f());
  return misfit("its attribute '{}' is no number", wanted.name);
}

Result<int64_t> integer_of(const onnx::NodeProto& message, const base::CustomAttribute& wanted) {
  const onnx::AttributeProto* attribute = attribute_named(message, wanted.name);
  if (attribute != nullptr && attribute->type() == onnx::AttributeProto::INT) return attribute->i();
  PANTOUM_ASSIGN(const double value, setting_of(message, wanted));
  if (value != std::floor(value) || std::abs(value) > 9e15)
    return misfit("its attribute '{}' is no integer", wanted.name);
  return static_cast<int64_t>(value);
}

// An attribute that the operator does not have would be left out in silence.
Result<void> check_attributes(const onnx::NodeProto& message, const base::CustomOperator& op) {
  for (const onnx::AttributeProto& attribute : message.attribute()) {
    const auto named = [&](const base::CustomAttribute& own) { return own.name == attribute.name(); };
    if (std::ranges::none_of(op.ints, named) && std::ranges::none_of(op.reals, named))
      return misfit("the custom operator has no attribute '{}'", attribute.name());
  }
  return {};
}

Result<Attrs> attributes_of(const onnx::NodeProto& message, const base::CustomOperator& op) {
  PANTOUM_TRY(check_attributes(message, op));
  Attrs attrs{{base::custom_key(op)}, {}};
  for (const base::CustomAttribute& wanted : op.ints) {
    PANTOUM_ASSIGN(attrs.ints.emplace_back(), integer_of(message, wanted));
  }
  for (const base::CustomAttribute& wanted : op.reals) {
    PANTOUM_ASSIGN(attrs.reals.emplace_back(), setting_of(message, wanted));
  }
  return attrs;
}

Result<void> lower_custom(Node& node) {
  const auto op = base::custom_operator(name_of_node(node.message()));
  if (op == nullptr || op->is_update) return unsupported("it is an optimizer's update");
  PANTOUM_ASSIGN(Attrs attrs, attributes_of(node.message(), *op));
  Values inputs;
  std::vector<TensorType> types;
  for (size_t input = 0; input < node.input_count(); ++input) {
    inputs.push_back(node.value(input));
    types.push_back(inputs.back().type());
  }
  PANTOUM_TRY(node.refusal());
  const Values made = node.ops(ir::Kind::k_custom, inputs, attrs);
  PANTOUM_TRY(node.refusal());
  const Integers ints(attrs.ints.begin() + 1, attrs.ints.end());
  PANTOUM_TRY(base::check_custom_op(*op, {types, ints, attrs.reals}, made.size()));
  for (size_t output = 0; output < std::min(made.size(), node.output_count()); ++output)
    PANTOUM_TRY(node.set(output, made[output]));
  return {};
}

}  // namespace

const OperatorEntry* custom_entry(const std::string& domain, const std::string& op_type) {
  static constexpr OperatorEntry kEntry{"custom", lower_custom, "custom"};
  return base::custom_operator(domain + "::" + op_type) != nullptr ? &kEntry : nullptr;
}

std::vector<Family> all_operators() {
  return {element_operators,   product_operators, window_operators, resize_operators, norm_operators,
          reduce_operators,    shape_operators,   move_operators,   index_operators,  random_operators,
          recurrent_operators, control_operators, loss_operators,   signal_operators};
}

const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") return custom_entry(domain, op_type);
  for (const Family family : all_operators())
    for (const OperatorEntry& entry : family)
      if (op_type == entry.op_type) return &entry;
  return nullptr;
}

Result<void> lower_by(const OperatorEntry& entry, Node& node) {
  const Result<void> lowered = entry.lower(node);
  PANTOUM_TRY(node.refusal());
  return lowered;
}

}  // namespace pantoum::import
