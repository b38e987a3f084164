// A builder's model and its single nodes as messages of ONNX.
#include "layers/state.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <climits>
#include <cstring>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/parameter_marks.h"

namespace pantoum::layers {

namespace {

constexpr int64_t kOpset = 21, kIrVersion = 10;

constexpr const char* kBatchName = "N";
constexpr const char* kKind = "pkg.torch.export.graph_signature.InputSpec.kind";

struct AttributeWriter {
  onnx::AttributeProto& to;

  void operator()(int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(double value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<double>& values) const {
    to.set_type(onnx::AttributeProto::FLOATS);
    for (const double value : values) to.add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) to.add_strings(value);
  }
};

// The ONNX packages of distributions are older than this field. Their classes write a field that they do not know unchanged.
void mark(onnx::TensorProto& tensor, const char* kind) {
  onnx::StringStringEntryProto entry;
  entry.set_key(kKind);
  entry.set_value(kind);
  tensor.GetReflection()->MutableUnknownFields(&tensor)->AddLengthDelimited(
      static_cast<int>(import::MetadataField::kOfTensor), entry.SerializeAsString());
}

void import_domain(onnx::ModelProto& model, const std::string& domain);

// An empty model of these versions.
void begin_model(onnx::ModelProto& model, const std::string& name) {
  model.set_ir_version(kIrVersion);
  model.set_producer_name("pantoum");
  import_domain(model, "");
  model.mutable_graph()->set_name(name);
}

// Another domain than ONNX's own is imported too.
void import_domain(onnx::ModelProto& model, const std::string& domain) {
  for (const auto& known : model.opset_import())
    if (known.domain() == domain) return;
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain(domain);
  set.set_version(domain.empty() || domain == "ai.onnx" ? kOpset : 1);
}

void write_attributes(onnx::NodeProto& node, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

// An initializer, marked as PyTorch's exporter marks them: trained, or not.
void write_tensor(onnx::TensorProto& tensor, const std::string& name, DType dtype, const Shape& shape,
                  const Bytes& elements, bool trained) {
  tensor.set_name(name);
  tensor.set_data_type(onnx_type(dtype));
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_raw_data(elements.data(), elements.size());
  mark(tensor, trained ? "PARAMETER" : "BUFFER");
}

// An extent of -1 is the batch, under its name.
void write_value(onnx::ValueInfoProto& value, const std::string& name, DType dtype, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(dtype));
  onnx::TensorShapeProto& extents = *type.mutable_shape();
  for (const int64_t extent : shape) {
    auto& dim = *extents.add_dim();
    if (extent == kBatch)
      dim.set_dim_param(kBatchName);
    else
      dim.set_dim_value(extent);
  }
}

// Names of values and nodes: those that the program chose first, then the others', with a number where they are taken.
class Writer {
 public:
  explicit Writer(const State& state)
      : state_(state), names_(state.values().size()), needed_(names_.size()), needed_nodes_(state.nodes().size()) {}

  onnx::ModelProto write() {
    begin_model(model_, state_.name());
    find_needed();
    name_values();
    for (size_t id = 0; id < names_.size(); ++id) write_value_of(static_cast<ValueId>(id));
    for (size_t node = 0; node < state_.nodes().size(); ++node)
      if (needed_nodes_[node]) write_node(state_.nodes()[node]);
    for (const Output& output : state_.outputs()) write_output(output);
    return std::move(model_);
  }

 private:
  const State& state_;
  onnx::ModelProto model_;
  std::vector<std::string> names_;  // by value
  std::vector<bool> needed_;        // by value: an output depends on it
  std::vector<bool> needed_nodes_;  // by node
  std::set<std::string> taken_, nodes_taken_;

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  static std::string free_name(std::set<std::string>& taken, const std::string& wanted, const std::string& suffix) {
    if (taken.insert(wanted).second) return wanted;
    const std::string longer = wanted + suffix;
    if (!suffix.empty() && taken.insert(longer).second) return longer;
    for (int number = 2;; ++number) {
      std::string name = fmt::format("{}_{}", longer, number);
      if (taken.insert(name).second) return name;
    }
  }

  // A program may compute values that it does not use.
  void find_needed() {
    const auto need = [&](ValueId id) {
      if (id != kNoValue) needed_[static_cast<size_t>(id)] = true;
    };
    for (const Output& output : state_.outputs()) need(output.value);
    for (size_t node = state_.nodes().size(); node-- > 0;) {
      const NodeRecord& record = state_.nodes()[node];
      for (const ValueId output : record.outputs)
        needed_nodes_[node] = needed_nodes_[node] || needed_[static_cast<size_t>(output)];
      if (needed_nodes_[node]) std::ranges::for_each(record.inputs, need);
    }
  }

  void name_values() {
    for (size_t id = 0; id < names_.size(); ++id) {
      const Value& value = state_.value(static_cast<ValueId>(id));
      if (value.role != Role::kComputed && value.role != Role::kConstant) taken_.insert(names_[id] = value.name);
    }
    for (const Output& output : state_.outputs()) taken_.insert(output.name);
    for (const Output& output : state_.outputs()) {
      std::string& name = names_[static_cast<size_t>(output.value)];
      if (name.empty() && state_.value(output.value).role == Role::kComputed) name = output.name;
    }
    for (size_t id = 0; id < names_.size(); ++id)
      if (names_[id].empty()) names_[id] = free_name(taken_, state_.value(static_cast<ValueId>(id)).name, "");
  }

  void write_value_of(ValueId id) {
    const Value& value = state_.value(id);
    const std::string& name = names_[static_cast<size_t>(id)];
    if (value.role == Role::kInput)
      write_value(*graph().add_input(), name, value.type.dtype, shown(value.type));
    else if (value.role == Role::kConstant && needed_[static_cast<size_t>(id)])
      write_constant(value, name);
    else if (value.role == Role::kParameter || value.role == Role::kStatistic)
      write_tensor(*graph().add_initializer(), name, value.type.dtype, value.type.shapes[0], value.elements,
                   value.role == Role::kParameter);
  }

  // Numbers and lists of integers are settings of nodes, and written as PyTorch's exporter writes those; the rest are tables.
  void write_constant(const Value& value, const std::string& name) {
    const Shape& shape = value.type.shapes[0];
    const bool is_list =
        value.type.dtype == DType::i64 && shape.size() == 1 && static_cast<size_t>(shape[0]) <= kMostKnown;
    if (!is_list && !shape.empty())
      return write_tensor(*graph().add_initializer(), name, value.type.dtype, shape, value.elements, false);
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type("Constant");
    node.set_name(free_name(nodes_taken_, name, ""));
    node.add_output(name);
    if (is_list) {
      std::vector<int64_t> numbers(value.elements.size() / sizeof(int64_t));
      std::memcpy(numbers.data(), value.elements.data(), value.elements.size());
      return write_attributes(node, {{"value_ints", numbers}});
    }
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->set_data_type(onnx_type(value.type.dtype));
    attribute.mutable_t()->set_raw_data(value.elements.data(), value.elements.size());
  }

  void write_node(const NodeRecord& record) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(record.op_type);
    node.set_domain(record.domain);
    node.set_name(free_name(nodes_taken_, record.name, "." + record.op_type));
    import_domain(model_, record.domain);
    write_attributes(node, record.attributes);
    for (const ValueId input : record.inputs)
      node.add_input(input == kNoValue ? "" : names_[static_cast<size_t>(input)]);
    for (const ValueId output : record.outputs) node.add_output(names_[static_cast<size_t>(output)]);
  }

  // An output that is an input, a parameter, or another output as well is written as an Identity node.
  void write_output(const Output& output) {
    const KnownType& type = state_.value(output.value).type;
    const std::string& name = names_[static_cast<size_t>(output.value)];
    if (name != output.name) {
      onnx::NodeProto& node = *graph().add_node();
      node.set_op_type("Identity");
      node.set_name(free_name(nodes_taken_, output.name, ""));
      node.add_input(name);
      node.add_output(output.name);
    }
    onnx::ValueInfoProto& value = *graph().add_output();
    const Shape shape = shown(type);
    // ONNX has no name for a dimension behind the first that depends on the batch.
    const bool named = std::find(shape.begin() + (shape.empty() ? 0 : 1), shape.end(), kBatch) == shape.end() &&
                       (shape.empty() || shape[0] != kBatch || type.shapes[0][0] == kBatches[0]);
    write_value(value, output.name, type.dtype, named ? shape : Shape{});
    if (!named) value.mutable_type()->mutable_tensor_type()->clear_shape();
  }
};

}  // namespace

Result<std::string> serialize(const State& state) {
  std::vector<std::string> problems = state.problems();
  const std::vector<Value>& values = state.values();
  const bool has_input = std::ranges::any_of(values, [](const Value& value) { return value.role == Role::kInput; });
  if (problems.empty() && !has_input) problems.emplace_back("the model has no input: call input(name, shape)");
  if (problems.empty() && state.outputs().empty())
    problems.emplace_back("the model has no output: call output(name, value)");
  if (!problems.empty()) {
    const size_t count = problems.size();
    return fail("E0213",
                fmt::format("the model '{}' cannot be built: {} mistake{}", state.name(), count, count == 1 ? "" : "s"),
                {},
                "each line names the place of the call and its layer; what depends on a call that is wrong is not told",
                std::move(problems));
  }
  const onnx::ModelProto model = Writer(state).write();
  if (model.ByteSizeLong() > INT_MAX)
    return fail("E0213", "the model takes more than 2 GiB, which no ONNX file holds", state.name(),
                "fewer or smaller layers");
  return model.SerializeAsString();
}

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

}  // namespace pantoum::layers
