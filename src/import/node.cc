#include "import/node.h"

#include <fmt/format.h>

#include "import/fx_node.h"
#include "import/onnx_messages.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {

using ir::DType;
using ir::ValueId;

Failure unsupported(std::string why, std::string help) {
  return fail("E0401", std::move(why), {}, std::move(help));
}

bool is_training_norm(const onnx::NodeProto& node) {
  if (node.op_type() != "BatchNormalization") return false;
  if (Attributes(node).integer("training_mode", 0) != 0) return true;
  const std::string target = read_fx_call(node).target;
  return target.starts_with("_native_batch_norm_legit") && target.find("no_training") == std::string::npos;
}

Node::Node(Lowering& lowering, const onnx::NodeProto& message, int position)
    : lowering_(lowering), message_(message), position_(position), attributes_(message) {
  label_ = message.name();
  if (label_.empty() && message.output_size() > 0) label_ = message.output(0);
  if (label_.empty()) label_ = fmt::format("{}_{}", message.op_type(), position);
  // Names of weights belong to the weights.
  if (lowering.model.initializers.contains(label_)) label_ += "." + message.op_type();
}

const std::string& Node::op_type() const {
  return message_.op_type();
}

size_t Node::input_count() const {
  return static_cast<size_t>(message_.input_size());
}

size_t Node::output_count() const {
  return static_cast<size_t>(message_.output_size());
}

const std::string& Node::output_name(size_t output) const {
  return message_.output(static_cast<int>(output));
}

bool Node::has(size_t input) const {
  return input < input_count() && !message_.input(static_cast<int>(input)).empty();
}

const std::shared_ptr<Operand>& Node::operand(size_t input) const {
  return lowering_.operands.at(message_.input(static_cast<int>(input)));
}

ir::TensorType Node::type(size_t input) const {
  const Operand& named = *operand(input);
  return named.known ? named.known->type : lowering_.builder.type(named.id);
}

Result<ValueId> materialize(Lowering& lowering, Operand& operand) {
  if (operand.id != ir::kNone) return operand.id;
  Tensor tensor = *operand.known;
  if (tensor.type.dtype == DType::kF64) tensor = make_tensor(DType::kF32, tensor.type.shape, *to_reals(tensor));
  if (tensor.type.elements() == 0) return unsupported(fmt::format("'{}' has no elements", operand.name));
  if (tensor.type.shape.size() > PT_MAX_RANK) {
    return unsupported(fmt::format("'{}' has more than {} dimensions", operand.name, int{PT_MAX_RANK}));
  }
  operand.id = operand.weight ? lowering.builder.parameter(operand.name, tensor.type, tensor.data)
                              : lowering.builder.constant(operand.name, tensor.type, tensor.data);
  return operand.id;
}

Result<ValueId> Node::value(size_t input) {
  if (!has(input)) return fail("E0211", fmt::format("its input {} is missing", input));
  return materialize(lowering_, *operand(input));
}

Result<ValueId> Node::real(size_t input) {
  PANTOUM_ASSIGN(const ValueId id, value(input));
  const DType dtype = lowering_.builder.type(id).dtype;
  if (dtype == DType::kF32) return id;
  return unsupported(
      fmt::format("its input {} is {}, and this operator computes on float32 alone", input, ir::name_of(dtype)),
      "cast it to float32 before");
}

const Tensor* Node::setting(size_t input) const {
  if (!has(input) || operand(input)->weight) return nullptr;
  return operand(input)->known.get();
}

std::shared_ptr<Operand> Node::find(const std::string& name) const {
  const auto found = lowering_.operands.find(name);
  return found == lowering_.operands.end() ? nullptr : found->second;
}

Result<ValueId> Node::value_of(Operand& operand) {
  if (!operand.problem.empty()) return unsupported(operand.problem);
  return materialize(lowering_, operand);
}

std::optional<double> Node::scalar(size_t input) const {
  const Tensor* tensor = setting(input);
  if (tensor == nullptr || tensor->type.elements() != 1) return std::nullopt;
  if (const auto reals = to_reals(*tensor)) return reals->front();
  return static_cast<double>(to_ints(*tensor)->front());
}

Result<std::vector<int64_t>> Node::integers(size_t input, const char* what) const {
  const Tensor* tensor = setting(input);
  if (tensor != nullptr && tensor->type.shape.size() > 1)
    return fail("E0211", fmt::format("its {} are no list, but {}", what, ir::to_text(tensor->type)));
  return integer_elements(input, what);
}

Result<std::vector<int64_t>> Node::integer_elements(size_t input, const char* what) const {
  const Tensor* tensor = setting(input);
  std::optional<std::vector<int64_t>> values;
  if (tensor != nullptr) values = to_ints(*tensor);
  if (values) return *values;
  return unsupported(fmt::format("its {} are not constant", what),
                     "export with fixed shapes, so that the exporter can fold them");
}

Result<std::optional<std::vector<int64_t>>> Node::integers_or_attribute(size_t input, const char* name) {
  if (!has(input)) return attributes_.integers(name);
  PANTOUM_ASSIGN(std::vector<int64_t> values, integers(input, name));
  return std::optional(std::move(values));
}

bool Node::wants(size_t output) const {
  return output < output_count() && lowering_.model.read.contains(output_name(output));
}

void Node::set(size_t output, ValueId id) {
  auto made = std::make_shared<Operand>();
  made->id = id;
  set(output, std::move(made));
}

void Node::set(size_t output, std::shared_ptr<Operand> made) {
  if (output >= output_count()) return;
  const std::string& name = output_name(output);
  if (name.empty()) return;
  if (made->name.empty()) made->name = name;
  lowering_.operands[name] = std::move(made);
}

void Node::set_known(size_t output, Tensor tensor) {
  auto made = std::make_shared<Operand>();
  made->known = std::make_shared<const Tensor>(std::move(tensor));
  set(output, std::move(made));
}

void Node::set_sequence(size_t output, std::vector<ValueId> parts) {
  auto made = std::make_shared<Operand>();
  made->sequence = true;
  made->problem = "it is a sequence of tensors";
  made->parts = std::move(parts);
  set(output, std::move(made));
}

Result<std::vector<ValueId>> Node::add(ir::Kind kind, std::vector<ValueId> inputs, ir::Attrs attrs,
                                       std::vector<ir::TensorType> given) {
  const std::vector<ir::TensorType> types = ir::types_of(builder().graph(), inputs);
  PANTOUM_TRY(ir::infer_types(kind, {types, given, attrs}));
  return builder().add(kind, label_, std::move(inputs), std::move(attrs), std::move(given));
}

Result<ValueId> Node::op(ir::Kind kind, std::vector<ValueId> inputs, ir::Attrs attrs,
                         std::vector<ir::TensorType> given) {
  PANTOUM_ASSIGN(const std::vector<ValueId> outputs, add(kind, std::move(inputs), std::move(attrs), std::move(given)));
  return outputs[0];
}

Result<ValueId> Node::reshape(ValueId x, ir::Shape shape) {
  const ir::TensorType from = builder().type(x);
  if (from.shape == shape) return x;
  return op(ir::Kind::k_alias, {x}, {}, {{from.dtype, std::move(shape)}});
}

Result<ValueId> Node::transpose(ValueId x, std::vector<int64_t> perm) {
  const std::vector<ir::TensorType> types = {builder().type(x)};
  const ir::Attrs attrs{perm, {}};
  PANTOUM_TRY(ir::infer_types(ir::Kind::k_transpose, {types, {}, attrs}));
  return builder().transpose(label_, x, std::move(perm));
}

Result<void> Node::spend(int64_t elements) {
  if (elements > lowering_.fold_budget) {
    return unsupported(fmt::format("the constants that it needs, of {} elements, are too large", elements));
  }
  lowering_.fold_budget -= elements;
  return {};
}

Result<ValueId> Node::filled(int64_t count, float element) {
  const auto [entry, is_new] = lowering_.filled.try_emplace({count, element}, ir::kNone);
  if (!is_new && entry->second != ir::kNone) return entry->second;
  PANTOUM_TRY(spend(count));
  const std::vector<float> elements(static_cast<size_t>(count), element);
  entry->second = builder().constant_f32(fmt::format("constant.{}x{}", count, element), {count}, elements);
  return entry->second;
}

Result<ValueId> Node::scale(ValueId x, double a, double b) {
  if (a == 1 && b == 0) return x;
  return op(ir::Kind::k_scale, {x}, {{}, {a, b}});
}

}  // namespace pantoum::import
