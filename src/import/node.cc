#include "import/node.h"

#include "import/onnx_messages.h"
#include "import/parameter_marks.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {

using Message = onnx::AttributeProto;

const Message* Attributes::find(const char* name) const {
  for (const Message& attribute : node_->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const Message* Attributes::find(const char* name, int type) const {
  const Message* attribute = find(name);
  return attribute != nullptr && attribute->type() == type ? attribute : nullptr;
}

int64_t Attributes::integer(const char* name, int64_t otherwise) {
  const Message* attribute = find(name, Message::INT);
  return attribute != nullptr ? attribute->i() : otherwise;
}

double Attributes::real(const char* name, double otherwise) {
  const Message* attribute = find(name, Message::FLOAT);
  return attribute != nullptr ? static_cast<double>(attribute->f()) : otherwise;
}

std::string Attributes::text(const char* name, const char* otherwise) {
  const Message* attribute = find(name, Message::STRING);
  return attribute != nullptr ? attribute->s() : otherwise;
}

std::optional<Integers> Attributes::integers(const char* name) {
  const Message* attribute = find(name, Message::INTS);
  if (attribute == nullptr) return std::nullopt;
  return Integers(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<std::string>> Attributes::texts(const char* name) {
  const Message* attribute = find(name, Message::STRINGS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

const onnx::TensorProto* Attributes::tensor(const char* name) {
  const Message* attribute = find(name, Message::TENSOR);
  return attribute != nullptr ? &attribute->t() : nullptr;
}

const onnx::GraphProto* Attributes::graph(const char* name) {
  const Message* attribute = find(name, Message::GRAPH);
  return attribute != nullptr ? &attribute->g() : nullptr;
}

bool is_training_norm(const onnx::NodeProto& node) {
  if (node.op_type() != "BatchNormalization") return false;
  if (Attributes(node).integer("training_mode", 0) != 0) return true;
  const std::string target = read_fx_call(node).target;
  return target.starts_with("_native_batch_norm_legit") && target.find("no_training") == std::string::npos;
}

std::optional<DType> named_type(int64_t number) {
  return number > 0 && number < 64 ? dtype_of(static_cast<int32_t>(number)) : std::nullopt;
}

Node::Node(Lowering& lowering, const onnx::NodeProto& message, int position)
    : Composer(lowering, message.name()),
      lowering_(lowering),
      message_(message),
      position_(position),
      attributes_(message) {
  if (const std::string call = call_in_module(message); !call.empty()) {
    const int before = lowering.calls[call]++;
    label_ = before == 0 ? call : fmt::format("{}_{}", call, before);
  }
  if (label_.empty() && message.output_size() > 0) label_ = message.output(0);
  if (label_.empty()) label_ = fmt::format("{}_{}", message.op_type(), position);
  // Names of weights belong to the weights.
  if (lowering.model.initializers.contains(label_)) label_ += "." + message.op_type();
}

const std::string& Node::op_type() const {
  return message_.op_type();
}

bool Node::in_subgraph() const {
  return position_ >= lowering_.model.proto->graph().node_size();
}

Result<size_t> Node::axis(size_t rank, int64_t otherwise) {
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(attributes_.integer("axis", otherwise), rank));
  return static_cast<size_t>(axis);
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

TensorType Node::type(size_t input) const {
  if (!has(input)) return Value().type();
  const Operand& named = *operand(input);
  return named.known ? named.known->type : lowering_.builder.type(named.id);
}

Result<ValueId> materialize(Lowering& lowering, Operand& operand) {
  if (operand.id != ir::kNone) return operand.id;
  Tensor tensor = *operand.known;
  if (tensor.type.dtype == DType::kF64) tensor = make_tensor(DType::kF32, tensor.type.shape, *to_reals(tensor));
  if (tensor.type.elements() == 0 && !lowering.folds)
    return unsupported(fmt::format("'{}' has no elements", operand.name));
  if (tensor.type.shape.size() > PT_MAX_RANK)
    return unsupported(fmt::format("'{}' has more than {} dimensions", operand.name, int{PT_MAX_RANK}));
  operand.id = operand.weight ? lowering.builder.parameter(operand.name, tensor.type, tensor.data)
                              : lowering.builder.constant(operand.name, tensor.type, tensor.data,
                                                          lowering.model.initializers.contains(operand.name));
  return operand.id;
}

Value Node::value(size_t input) {
  if (!has(input)) return refuse(misfit("its input {} is missing", input));
  const Value x = value_of(*operand(input));
  const bool passes = lowering_.model.detached.empty() || lowering_.folds || message_.output_size() == 0 ||
                      !lowering_.model.detached.contains({message_.output(0), static_cast<int>(input)});
  return passes || !x || !x.is_real() ? x : detached(x);
}

Value Node::real(size_t input) {
  const Value x = value(input);
  if (x.dtype() == DType::kF32) return x;
  return refuse(unsupported(
      fmt::format("its input {} is {}, and this operator computes on float32 alone", input, ir::name_of(x.dtype())),
      "cast it to float32 before"));
}

Value Node::numeric(size_t input) {
  return computes_integers() ? value(input) : real(input);
}

Value Node::optional(size_t input) {
  return has(input) ? real(input) : Value();
}

const Tensor* Node::setting(size_t input) const {
  if (!has(input) || operand(input)->weight) return nullptr;
  lowering_.settings.insert(operand(input)->name);
  return operand(input)->known.get();
}

std::shared_ptr<Operand> Node::find(const std::string& name) const {
  const auto found = lowering_.operands.find(name);
  return found == lowering_.operands.end() ? nullptr : found->second;
}

Value Node::value_of(Operand& operand) {
  if (!operand.problem.empty()) return refuse(unsupported(operand.problem));
  const Result<ValueId> id = materialize(lowering_, operand);
  return id ? at(*id) : refuse(Failure(id.error()));
}

std::optional<double> Node::scalar(size_t input) const {
  const Tensor* tensor = setting(input);
  if (tensor == nullptr || tensor->type.elements() != 1) return std::nullopt;
  if (const auto reals = to_reals(*tensor)) return reals->front();
  return static_cast<double>(to_ints(*tensor)->front());
}

bool Node::computes_integers() const {
  const DType dtype = type(0).dtype;
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kU8;
}

Integers Node::integers(size_t input, const char* what) {
  const Tensor* tensor = setting(input);
  if (tensor != nullptr && tensor->type.shape.size() > 1)
    refuse(misfit("its {} are no list, but {}", what, ir::to_text(tensor->type)));
  return integer_elements(input, what);
}

Integers Node::integer_elements(size_t input, const char* what) {
  const Tensor* tensor = setting(input);
  if (tensor != nullptr)
    if (auto values = to_ints(*tensor)) return *std::move(values);
  refuse(unsupported(fmt::format("its {} are not constant", what),
                     "export with fixed shapes, so that the exporter can fold them"));
  return {};
}

int64_t Node::integer(size_t input, const char* what) {
  const Integers told = integers(input, what);
  if (told.size() == 1) return told[0];
  refuse(misfit("its {} is not one number", what));
  return 0;
}

std::optional<Integers> Node::integers_or_attribute(size_t input, const char* name) {
  return has(input) ? integers(input, name) : attributes_.integers(name);
}

bool Node::wants(size_t output) const {
  return output < output_count() && lowering_.model.read.contains(output_name(output));
}

Result<void> Node::set(size_t output, const Value& value) {
  auto made = std::make_shared<Operand>();
  made->id = value;
  return value ? set(output, std::move(made)) : refusal();
}

Result<void> Node::set(size_t output, std::shared_ptr<Operand> made) {
  if (output < output_count() && !output_name(output).empty()) {
    if (made->name.empty()) made->name = output_name(output);
    lowering_.operands[output_name(output)] = std::move(made);
  }
  return refusal();
}

Result<void> Node::set_known(size_t output, Tensor tensor) {
  auto made = std::make_shared<Operand>();
  made->known = std::make_shared<const Tensor>(std::move(tensor));
  return set(output, std::move(made));
}

Result<void> Node::set_sequence(const Values& parts) {
  auto made = std::make_shared<Operand>();
  made->sequence = true;
  made->problem = "it is a sequence of tensors";
  made->parts.assign(parts.begin(), parts.end());
  return set(0, std::move(made));
}

}  // namespace pantoum::import
