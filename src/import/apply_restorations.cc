
#include "import/onnx_messages.h"
#include "import/restore_parameters.h"

namespace pantoum::import {
namespace {

using Initializers = std::map<std::string, Initializer>;
using RestorationKind = Restoration::Kind;
using Reader = Restoration::Reader;

using Tensors = std::map<std::string, int>;  // name -> position

Tensors positions_of(const onnx::GraphProto& graph) {
  Tensors positions;
  for (int at = 0; at < graph.initializer_size(); ++at) positions.emplace(graph.initializer(at).name(), at);
  return positions;
}

onnx::TensorProto& add_tensor(onnx::GraphProto& graph, Tensors& tensors, const std::string& name) {
  tensors.emplace(name, graph.initializer_size());
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  return tensor;
}

void set_dims(onnx::TensorProto& tensor, const Shape& shape) {
  tensor.clear_dims();
  for (const int64_t extent : shape) tensor.add_dims(extent);
}

// Does a node stand between the parameter and its readers?
bool is_moved(const Restoration& each) {
  return each.kind != RestorationKind::kSeparate && each.kind != RestorationKind::kZeroBias &&
         each.kind != RestorationKind::kCopied;
}
bool has_shape(const Restoration& each) {
  return each.kind == RestorationKind::kReshaped || each.kind == RestorationKind::kExpanded;
}
bool is_scaled(const Restoration& each) {
  return each.kind == RestorationKind::kComputed && each.factor != 1;
}

// One parameter may be moved in several ways, where the file has it too.
std::string moved_name(const Restoration& each) {
  return each.parameter + ".moved" + (each.tied ? "." + each.value : "");
}
std::string shape_name(const Restoration& each) {
  return moved_name(each) + "_shape";
}
std::string factor_name(const Restoration& each) {
  return moved_name(each) + "_factor";
}

// Operators and their second inputs, "" where they have one.
std::vector<std::pair<std::string, std::string>> steps_of(const Restoration& each) {
  if (each.kind == RestorationKind::kTransposed) return {{"Transpose", ""}};
  if (each.kind == RestorationKind::kReshaped) return {{"Reshape", shape_name(each)}};
  if (each.kind == RestorationKind::kExpanded) return {{"Expand", shape_name(each)}};
  std::vector<std::pair<std::string, std::string>> steps;
  for (const std::string& function : each.functions) steps.emplace_back(function, "");
  if (is_scaled(each)) steps.emplace_back("Mul", factor_name(each));
  if (each.turned) steps.emplace_back("Transpose", "");
  return steps;
}

// Appends the nodes that compute what the readers read from the parameter.
void add_moving_nodes(const Restoration& each, google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  std::string value = each.parameter;
  const auto steps = steps_of(each);
  for (size_t step = 0; step < steps.size(); ++step) {
    onnx::NodeProto& node = *nodes.Add();
    node.set_op_type(steps[step].first);
    node.add_input(value);
    if (!steps[step].second.empty()) node.add_input(steps[step].second);
    value = moved_name(each) + (step + 1 == steps.size() ? "" : "." + std::to_string(step));
    node.set_name(value);
    node.add_output(value);
  }
}

// Adds the shapes and factors that those nodes read.
void add_settings(onnx::GraphProto& graph, Tensors& tensors, const Restoration& each) {
  if (has_shape(each)) {
    const onnx::TensorProto folded = graph.initializer(tensors.at(each.value));
    onnx::TensorProto& shape = add_tensor(graph, tensors, shape_name(each));
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(folded.dims_size());
    for (const int64_t extent : folded.dims()) shape.add_int64_data(extent);
  }
  if (!is_scaled(each)) return;
  onnx::TensorProto& factor = add_tensor(graph, tensors, factor_name(each));
  factor.set_data_type(onnx::TensorProto::FLOAT);
  factor.add_float_data(static_cast<float>(each.factor));
}

// The parameter's own initializer.
void restore_tensor(onnx::GraphProto& graph, Tensors& tensors, const Restoration& each) {
  add_settings(graph, tensors, each);
  if (tensors.contains(each.parameter)) return;
  if (each.kind == RestorationKind::kZeroBias) {
    onnx::TensorProto& bias = add_tensor(graph, tensors, each.parameter);
    bias.set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t at = 0; at < each.shape[0]; ++at) bias.add_float_data(0);
  } else {
    const onnx::TensorProto folded = graph.initializer(tensors.at(each.value));
    onnx::TensorProto& parameter = add_tensor(graph, tensors, each.parameter);
    parameter = folded;
    parameter.set_name(each.parameter);
  }
  set_dims(graph.mutable_initializer()->at(tensors.at(each.parameter)), each.shape);
}

void restore_readers(onnx::GraphProto& graph, const Restoration& each) {
  // The name is the parameter's from now on; nothing reads the copy.
  if (each.kind == RestorationKind::kCopied)
    return graph.mutable_node(each.readers[0].node)->set_output(0, each.parameter + ".merged");
  for (const Reader& reader : each.readers) {
    onnx::NodeProto& node = *graph.mutable_node(reader.node);
    while (node.input_size() <= reader.input) node.add_input("");
    node.set_input(reader.input, is_moved(each) ? moved_name(each) : each.parameter);
  }
}

std::set<std::string> replaced(const std::vector<Restoration>& list) {
  std::set<std::string> names;
  for (const Restoration& each : list)
    if (is_moved(each)) names.insert(each.value);
  return names;
}

void restore_settings(Initializers& initializers, const Restoration& each) {
  if (has_shape(each)) {
    const Shape shape = initializers.at(each.value).tensor.type.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    initializers[shape_name(each)].tensor = make_tensor(DType::kI64, {rank}, Integers(shape));
  }
  if (is_scaled(each))
    initializers[factor_name(each)].tensor = make_tensor(DType::kF32, {}, std::vector<double>{each.factor});
}

Tensor original(const Tensor& folded, const Restoration& each) {
  if (each.kind == RestorationKind::kTransposed) return transposed(folded);
  if (each.kind == RestorationKind::kExpanded)
    if (const auto axis = repeated_axis(folded)) return first_along(folded, *axis);
  if (each.kind != RestorationKind::kComputed) return folded;
  // That there are some was checked when this was found.
  const Tensor arguments = before_functions(folded, each.functions, each.factor).value_or(folded);
  return each.turned ? transposed(arguments) : arguments;
}

}  // namespace

void restore_message(onnx::GraphProto& graph, const std::vector<Restoration>& list) {
  if (list.empty()) return;
  Tensors tensors = positions_of(graph);
  for (const Restoration& each : list) {
    restore_tensor(graph, tensors, each);
    restore_readers(graph, each);
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (const Restoration& each : list)
    if (is_moved(each)) add_moving_nodes(each, nodes);
  nodes.MergeFrom(graph.node());
  graph.mutable_node()->Swap(&nodes);
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  const std::set<std::string> gone = replaced(list);
  for (auto& tensor : *graph.mutable_initializer())
    if (!gone.contains(tensor.name())) kept.Add()->Swap(&tensor);
  graph.mutable_initializer()->Swap(&kept);
}

void restore_contents(Initializers& initializers, const std::vector<Restoration>& list) {
  for (const Restoration& each : list) {
    restore_settings(initializers, each);
    if (initializers.contains(each.parameter)) continue;
    Tensor tensor;
    if (each.kind == RestorationKind::kZeroBias)
      tensor = make_tensor(DType::kF32, each.shape, std::vector<double>(static_cast<size_t>(each.shape[0])));
    else
      tensor = original(initializers.at(each.value).tensor, each);
    tensor.type.shape = each.shape;
    initializers[each.parameter].tensor = std::move(tensor);
  }
  for (const std::string& name : replaced(list)) initializers.erase(name);
}

}  // namespace pantoum::import
