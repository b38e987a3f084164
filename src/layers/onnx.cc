// A builder's model as a message of ONNX.
#include "layers/state.h"

#include <fmt/format.h>

#include <climits>
#include <cstring>

#include "layers/messages.h"
#include "layers/part.h"

namespace pantoum::layers {

namespace {

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
    for (const NodeRecord& node : state_.nodes())
      if (node.part != nullptr) taken_.insert(node.part->names.begin(), node.part->names.end());
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

  // The nodes of a part have names of their own; its inputs and outputs have those of the values around it, too.
  void write_part(const NodeRecord& record) {
    const Part& part = *record.part;
    for (size_t input = 0; input < part.inputs.size(); ++input)
      write_identity(graph(), free_name(nodes_taken_, part.inputs[input], ""),
                     names_[static_cast<size_t>(record.inputs[input])], part.inputs[input]);
    for (const onnx::NodeProto& node : part.graph->node()) {
      import_domain(model_, node.domain());
      *graph().add_node() = node;
      graph().mutable_node(graph().node_size() - 1)->set_name(free_name(nodes_taken_, node.name(), ""));
    }
    for (const onnx::TensorProto& tensor : part.graph->initializer()) *graph().add_initializer() = tensor;
    for (size_t output = 0; output < part.outputs.size(); ++output)
      write_identity(graph(), free_name(nodes_taken_, part.outputs[output], ""), part.outputs[output],
                     names_[static_cast<size_t>(record.outputs[output])]);
  }

  void write_node(const NodeRecord& record) {
    if (record.part != nullptr) return write_part(record);
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
    if (name != output.name) write_identity(graph(), free_name(nodes_taken_, output.name, ""), name, output.name);
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

}  // namespace pantoum::layers
