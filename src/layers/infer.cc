// The types of a node's results, as the import reads it.
#include "import/onnx.h"
#include "layers/messages.h"
#include "layers/part.h"
#include "layers/state.h"

namespace pantoum::layers {

namespace {

std::string input_name(ValueId value) {
  return value == kNoValue ? "" : "v" + std::to_string(value);
}

std::string output_name(size_t output) {
  return "y" + std::to_string(output);
}

// An operand with contents that a node may read as a setting is an initializer, all others are inputs: what is trained is not folded.
void write_operand(onnx::GraphProto& graph, const State& state, ValueId id, size_t batch) {
  const Value& value = state.value(id);
  const Shape& shape = value.type.shapes[batch];
  const Bytes* contents = value.type.contents[batch].get();
  if (contents != nullptr)
    write_tensor(*graph.add_initializer(), input_name(id), value.type.dtype, shape, *contents, false);
  else
    write_value(*graph.add_input(), input_name(id), value.type.dtype, shape);
}

// `batch` is a position of kBatches.
std::string model_of(const State& state, const NodeRecord& record, size_t outputs, size_t batch) {
  onnx::ModelProto model;
  begin_model(model, "node");
  import_domain(model, record.domain);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(record.op_type);
  node.set_domain(record.domain);
  write_attributes(node, record.attributes);
  std::set<ValueId> written;
  for (const ValueId input : record.inputs) {
    node.add_input(input_name(input));
    if (input != kNoValue && written.insert(input).second) write_operand(graph, state, input, batch);
  }
  for (size_t output = 0; output < outputs; ++output) {
    node.add_output(output_name(output));
    onnx::ValueInfoProto& value = *graph.add_output();
    value.set_name(output_name(output));
  }
  return model.SerializeAsString();
}

// The part alone, as a model.
std::string model_of(const Part& part, const std::vector<KnownType>& inputs, size_t batch) {
  onnx::ModelProto model;
  begin_model(model, "part");
  *model.mutable_graph() = *part.graph;
  for (const onnx::NodeProto& node : part.graph->node()) import_domain(model, node.domain());
  for (size_t input = 0; input < part.inputs.size(); ++input)
    write_value(*model.mutable_graph()->add_input(), part.inputs[input], inputs[input].dtype,
                inputs[input].shapes[batch]);
  for (const std::string& output : part.outputs) model.mutable_graph()->add_output()->set_name(output);
  return model.SerializeAsString();
}

std::optional<DType> public_type(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
      return DType::f32;
    case ir::DType::kI64:
      return DType::i64;
    case ir::DType::kI32:
      return DType::i32;
    case ir::DType::kU8:
      return DType::u8;
    case ir::DType::kBool:
      return DType::boolean;
    case ir::DType::kF64:
      break;
  }
  return std::nullopt;
}

// "node 'y0' (Conv): its channels .." -> "its channels ..".
std::string own_words(const Error& error) {
  if (error.notes.empty()) return error.message;
  const std::string& note = error.notes.front();
  const size_t end = note.starts_with("node '") ? note.find("): ") : std::string::npos;
  return end == std::string::npos ? note : note.substr(end + 3);
}

// Adds what one batch says to the types.
Result<void> add_batch(const ir::Graph& graph, size_t batch, std::vector<KnownType>& types) {
  if (graph.outputs.size() != types.size())
    return fail("E0401", "one of its results is no tensor that a layer could read");
  for (size_t output = 0; output < types.size(); ++output) {
    const ir::Value& value = graph.value(graph.outputs[output]);
    KnownType& type = types[output];
    const std::optional<DType> dtype = public_type(value.type.dtype);
    if (!dtype) return fail("E0401", "its result is float64");
    type.dtype = *dtype;
    type.shapes[batch] = value.type.shape;
    if (value.role == ir::Role::kConstant && value.data && static_cast<size_t>(value.type.elements()) <= kMostKnown)
      type.contents[batch] = std::make_shared<const std::vector<std::byte>>(value.data.copy());
    if (type.shapes[batch].size() != type.shapes[0].size())
      return fail("E0211", "its result has another number of dimensions for another batch");
  }
  return {};
}

}  // namespace

Result<std::vector<KnownType>> infer_node(const State& state, const NodeRecord& node, size_t outputs) {
  std::vector<KnownType> types(outputs);
  for (size_t batch = 0; batch < kBatches.size(); ++batch) {
    const std::string model = model_of(state, node, outputs, batch);
    const Result<import::Imported> imported = import::parse_onnx(model.data(), model.size(), "");
    if (!imported) return fail(imported.error().code, own_words(imported.error()));
    PANTOUM_TRY(add_batch(imported->graph, batch, types));
  }
  return types;
}

Result<std::vector<KnownType>> infer_part(const Part& part, const std::vector<KnownType>& inputs) {
  std::vector<KnownType> types(part.outputs.size());
  for (size_t batch = 0; batch < kBatches.size(); ++batch) {
    const std::string model = model_of(part, inputs, batch);
    PANTOUM_ASSIGN(const import::Imported imported, import::parse_onnx(model.data(), model.size(), ""));
    PANTOUM_TRY(add_batch(imported.graph, batch, types));
  }
  return types;
}

}  // namespace pantoum::layers
