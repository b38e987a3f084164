#include "import/restore_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "import/fx_node.h"
#include "import/metadata.h"
#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

using Initializers = std::map<std::string, Initializer>;
using Kind = Restoration::Kind;

constexpr const char* kRule = "pkg.onnxscript.rewriter.rule_name";

using Reader = Restoration::Reader;

bool is_real(const Initializer& initializer) {
  return initializer.problem.empty() && initializer.tensor.type.dtype == ir::DType::kF32;
}

Tensor transposed(const Tensor& from) {
  const auto rows = static_cast<size_t>(from.type.shape[0]), columns = static_cast<size_t>(from.type.shape[1]);
  auto data = std::make_shared<std::vector<std::byte>>(from.data->size());
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      std::memcpy(data->data() + (column * rows + row) * sizeof(float),
                  from.data->data() + (row * columns + column) * sizeof(float), sizeof(float));
  return {{from.type.dtype, {from.type.shape[1], from.type.shape[0]}}, std::move(data)};
}

// "features.bn" of "features.bn.weight".
std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

class Finder {
 public:
  Finder(const onnx::GraphProto& graph, const Initializers& initializers)
      : graph_(graph), initializers_(initializers), marks_(read_parameter_marks(graph)) {}

  Restorations find() {
    if (!marks_.any) return std::move(found_);
    for (int node = 0; node < graph_.node_size(); ++node) {
      calls_.push_back(read_fx_call(graph_.node(node)));
      for (int input = 0; input < graph_.node(node).input_size(); ++input)
        if (initializers_.contains(graph_.node(node).input(input)))
          readers_[graph_.node(node).input(input)].push_back({node, input});
    }
    for (int node = 0; node < graph_.node_size(); ++node) look_at(node);
    for (const auto& [name, readers] : readers_) look_at_folded(name, readers);
    note_missing();
    return std::move(found_);
  }

 private:
  const onnx::GraphProto& graph_;
  const Initializers& initializers_;
  const ParameterMarks marks_;
  std::vector<FxCall> calls_;
  std::map<std::string, std::vector<Reader>> readers_;
  std::set<std::string> restored_, folded_;  // parameters
  Restorations found_;

  [[nodiscard]] std::optional<std::string> expected(const Reader& reader) const {
    return expected_operand(graph_.node(reader.node), reader.input, calls_[static_cast<size_t>(reader.node)], marks_);
  }
  [[nodiscard]] bool is_missing(const std::string& parameter) const {
    return marks_.parameters.contains(parameter) && !initializers_.contains(parameter);
  }
  void add(Restoration restoration) {
    restored_.insert(restoration.parameter);
    found_.list.push_back(std::move(restoration));
  }

  void look_at(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const auto entries = read_metadata(node, MetadataField::kOfNode);
    const auto rule = entries.find(kRule);
    const std::string rules = rule == entries.end() ? "" : rule->second;
    if (rules.find("FuseBatchNorm") != std::string::npos) return tell_batch_norm(position);
    if (rules.find("RemoveOptionalBias") != std::string::npos) add_bias(position);
    for (int input = 0; input < node.input_size(); ++input) separate({position, input});
  }

  void tell_batch_norm(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const std::vector<std::string> of_norm = parameters_of(calls_[static_cast<size_t>(position)], marks_);
    folded_.insert(of_norm.begin(), of_norm.end());
    found_.problems.push_back(fmt::format("node '{}' ({}): batch norm{} was folded into '{}'", node.name(),
                                          node.op_type(),
                                          of_norm.empty() ? "" : fmt::format(" '{}'", module_of(of_norm[0])),
                                          node.input_size() > 1 ? node.input(1) : ""));
  }

  // Two parameters of equal contents became one initializer.
  void separate(const Reader& reader) {
    const std::string& value = graph_.node(reader.node).input(reader.input);
    const auto initializer = initializers_.find(value);
    const std::optional<std::string> wanted = expected(reader);
    if (initializer == initializers_.end() || !is_real(initializer->second) || !wanted) return;
    if (marks_.of(value) != Mark::kParameter || *wanted == value || !is_missing(*wanted)) return;
    add({.kind = Kind::kSeparate,
         .parameter = *wanted,
         .value = value,
         .readers = {reader},
         .shape = initializer->second.tensor.type.shape});
  }

  // A bias of zeros was left out: as many as the weight has outputs.
  void add_bias(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const std::optional<std::string> bias = expected({position, 2});
    if (!bias || !is_missing(*bias) || node.input_size() != 2) return;
    const auto weight = initializers_.find(node.input(1));
    if (weight == initializers_.end() || weight->second.tensor.type.shape.size() < 2) return;
    const ir::Shape& shape = weight->second.tensor.type.shape;
    int64_t groups = 1, turned = 0;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "group") groups = attribute.i();
      if (attribute.name() == "transB") turned = attribute.i();
    }
    const int64_t elements = weight->second.tensor.type.elements();
    if (groups < 1 || groups > elements) return;  // shape[1] * groups below stays far from overflow
    const int64_t count = node.op_type() == "Gemm"            ? shape[turned != 0 ? 0 : 1]
                          : node.op_type() == "ConvTranspose" ? shape[1] * groups
                                                              : shape[0];
    if (count < 1 || count > elements) return;
    add({.kind = Kind::kZeroBias, .parameter = *bias, .readers = {{position, 2}}, .shape = {count}});
  }

  // An initializer without a mark that was made of parameters.
  void look_at_folded(const std::string& name, const std::vector<Reader>& readers) {
    const auto sources = marks_.sources.find(name);
    const Initializer& initializer = initializers_.at(name);
    const bool real = initializer.problem.empty() && ir::is_float(initializer.tensor.type.dtype);
    if (sources == marks_.sources.end() || marks_.of(name) != Mark::kNone || !real) return;
    std::vector<std::string> parameters;
    for (const std::string& source : sources->second)
      if (marks_.parameters.contains(source)) parameters.push_back(source);
    if (parameters.empty()) return;
    folded_.insert(parameters.begin(), parameters.end());
    if (are_gates(readers, parameters)) return;
    if (parameters.size() == 1 && is_real(initializer) && move_back(name, initializer, readers, parameters[0])) return;
    found_.problems.push_back(
        fmt::format("'{}' was computed ahead of time from '{}'", name, fmt::join(parameters, "', '")));
  }

  // The weights of a recurrent call in ONNX's order of gates: the parameters' own elements.
  [[nodiscard]] bool are_gates(const std::vector<Reader>& readers, const std::vector<std::string>& parameters) const {
    return std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      const std::string& op_type = graph_.node(reader.node).op_type();
      const FxCall& call = calls_[static_cast<size_t>(reader.node)];
      const bool recurrent = (op_type == "LSTM" && call.target.starts_with("lstm.")) ||
                             (op_type == "GRU" && call.target.starts_with("gru.")) ||
                             (op_type == "RNN" && call.target.starts_with("rnn_"));
      const std::vector<std::string> given = parameters_of(call, marks_);
      return recurrent && reader.input <= 3 && std::all_of(parameters.begin(), parameters.end(), [&](const auto& each) {
               return std::find(given.begin(), given.end(), each) != given.end();
             });
    });
  }

  bool move_back(const std::string& name, const Initializer& folded, const std::vector<Reader>& readers,
                 const std::string& parameter) {
    const std::optional<Restoration> moved = movement(folded, readers);
    if (!moved) return false;
    if (const auto original = initializers_.find(parameter); original != initializers_.end()) {
      if (!holds(original->second, folded, *moved)) return false;
      add_moved(*moved, name, parameter, readers, true);
      return true;
    }
    // The exporter may have merged several of equal contents.
    std::map<std::string, std::vector<Reader>> by_parameter;
    for (const Reader& reader : readers) {
      const std::optional<std::string> wanted = expected(reader);
      if (!wanted || !is_missing(*wanted) || restored_.contains(*wanted)) return false;
      by_parameter[*wanted].push_back(reader);
    }
    for (const auto& [wanted, its_readers] : by_parameter) add_moved(*moved, name, wanted, its_readers, false);
    return true;
  }

  void add_moved(Restoration moved, const std::string& value, const std::string& parameter,
                 const std::vector<Reader>& readers, bool tied) {
    moved.value = value;
    moved.parameter = parameter;
    moved.readers = readers;
    moved.tied = tied;
    add(std::move(moved));
  }

  // How PyTorch's tensor became this one: a matrix for a product is the transpose, a vector got dimensions of 1.
  [[nodiscard]] std::optional<Restoration> movement(const Initializer& folded,
                                                    const std::vector<Reader>& readers) const {
    const ir::Shape& shape = folded.tensor.type.shape;
    const bool factor = std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      const std::string& op_type = graph_.node(reader.node).op_type();
      return reader.input == 1 && (op_type == "MatMul" || op_type == "Gemm");
    });
    Restoration moved{.kind = Kind::kTransposed};
    if (shape.size() == 2 && factor) {
      moved.shape = {shape[1], shape[0]};
      return moved;
    }
    if (std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }) > 1) return std::nullopt;
    moved.kind = Kind::kReshaped;
    moved.shape = {folded.tensor.type.elements()};
    return moved;
  }

  // Does the file's own copy of the parameter have these contents?
  static bool holds(const Initializer& original, const Initializer& folded, const Restoration& restoration) {
    if (!is_real(original) || original.tensor.type.shape != restoration.shape) return false;
    const bool turned = restoration.kind == Kind::kTransposed;
    return *original.tensor.data == (turned ? *transposed(folded.tensor).data : *folded.tensor.data);
  }

  // A parameter that several nodes read, one of which takes parts of it and does not say whose: the exporter merges
  // parameters of equal contents, so that it may stand for another there.
  [[nodiscard]] std::string find_unproved() const {
    for (const auto& [name, readers] : readers_) {
      if (readers.size() < 2 || marks_.of(name) != Mark::kParameter) continue;
      for (const Reader& reader : readers) {
        const std::string& op_type = graph_.node(reader.node).op_type();
        if (op_type != "Split" && op_type != "Slice") continue;
        const std::vector<std::string> given = parameters_of(calls_[static_cast<size_t>(reader.node)], marks_);
        if (std::find(given.begin(), given.end(), name) == given.end() && !expected(reader))
          return fmt::format("at node '{}' '{}' may stand for", graph_.node(reader.node).name(), name);
      }
    }
    return "";
  }

  // Parameters that the file lacks. Where a node still says that it is given one, training would leave it out; where
  // another may stand for it (a cross attention's bias, whose parts are added), training would tie them.
  void note_missing() {
    std::set<std::string> given;
    for (const FxCall& call : calls_)
      for (std::string& each : parameters_of(call, marks_)) given.insert(std::move(each));
    std::vector<std::string> gone;
    for (const std::string& parameter : marks_.parameters) {
      if (!is_missing(parameter) || restored_.contains(parameter) || folded_.contains(parameter)) continue;
      if (given.contains(parameter))
        found_.problems.push_back(fmt::format("the parameter '{}' was left out", parameter));
      else
        gone.push_back(fmt::format("'{}'", parameter));
    }
    if (gone.empty()) return;
    if (const std::string unproved = find_unproved(); !unproved.empty())
      return found_.problems.push_back(
          fmt::format("{} a parameter that the file lacks: {}", unproved, fmt::join(gone, ", ")));
    found_.notes.push_back(fmt::format(
        "parameters of the program that the file lacks (unused, tied to others, or left out by the exporter): {}",
        fmt::join(gone, ", ")));
  }
};

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

void set_dims(onnx::TensorProto& tensor, const ir::Shape& shape) {
  tensor.clear_dims();
  for (const int64_t extent : shape) tensor.add_dims(extent);
}

bool is_moved(const Restoration& each) {
  return each.kind == Kind::kTransposed || each.kind == Kind::kReshaped;
}

std::string moved_name(const Restoration& each) {
  return each.parameter + ".moved";
}
std::string shape_name(const Restoration& each) {
  return each.parameter + ".moved_shape";
}

onnx::NodeProto moving_node(const Restoration& each) {
  const bool turns = each.kind == Kind::kTransposed;
  onnx::NodeProto node;
  node.set_op_type(turns ? "Transpose" : "Reshape");
  node.set_name(moved_name(each));
  node.add_input(each.parameter);
  if (!turns) node.add_input(shape_name(each));
  node.add_output(moved_name(each));
  return node;
}

// The parameter's own initializer, and the shape that it is given.
void restore_tensor(onnx::GraphProto& graph, Tensors& tensors, const Restoration& each) {
  if (each.kind == Kind::kReshaped) {
    const onnx::TensorProto folded = graph.initializer(tensors.at(each.value));
    onnx::TensorProto& shape = add_tensor(graph, tensors, shape_name(each));
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(folded.dims_size());
    for (const int64_t extent : folded.dims()) shape.add_int64_data(extent);
  }
  if (tensors.contains(each.parameter)) return;
  if (each.kind == Kind::kZeroBias) {
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

}  // namespace

Restorations find_restorations(const onnx::GraphProto& graph, const Initializers& initializers) {
  return Finder(graph, initializers).find();
}

std::vector<std::string> find_computed_kernels(const onnx::GraphProto& graph, const Initializers& initializers) {
  std::vector<std::string> found;
  for (const auto& node : graph.node()) {
    const bool conv = node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
    if (!conv || node.input_size() < 2 || !node.input(1).starts_with("onnx::Conv")) continue;
    if (initializers.contains(node.input(1)))
      found.push_back(
          fmt::format("node '{}' ({}): the exporter computed its weight '{}', as it does when it folds batch norm",
                      node.name(), node.op_type(), node.input(1)));
  }
  return found;
}

std::vector<std::string> find_copies(const Initializers& initializers) {
  std::map<ir::Shape, std::vector<Initializers::const_iterator>> named;
  const auto is_matrix = [](const Initializer& initializer) {
    return initializer.is_parameter() && is_real(initializer) && initializer.tensor.type.shape.size() == 2;
  };
  for (auto each = initializers.begin(); each != initializers.end(); ++each)
    if (is_matrix(each->second) && !each->first.starts_with("onnx::"))
      named[each->second.tensor.type.shape].push_back(each);
  std::vector<std::string> found;
  for (const auto& [name, initializer] : initializers) {
    if (!name.starts_with("onnx::") || !is_matrix(initializer)) continue;
    const Tensor turned = transposed(initializer.tensor);
    if (is_filled_with(turned, to_reals(turned)->front())) continue;  // equal by chance
    const auto& candidates = named[turned.type.shape];
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const auto& each) { return *each->second.tensor.data == *turned.data; });
    if (same != candidates.end())
      found.push_back(
          fmt::format("'{}' holds the transpose of '{}': if the program ties them, they train apart here; export "
                      "with do_constant_folding=False",
                      name, (*same)->first));
  }
  return found;
}

void restore_message(onnx::GraphProto& graph, const std::vector<Restoration>& list) {
  if (list.empty()) return;
  Tensors tensors = positions_of(graph);
  for (const Restoration& each : list) {
    restore_tensor(graph, tensors, each);
    restore_readers(graph, each);
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (const Restoration& each : list)
    if (is_moved(each)) *nodes.Add() = moving_node(each);
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
    if (each.kind == Kind::kReshaped) {
      const ir::Shape shape = initializers.at(each.value).tensor.type.shape;
      const auto rank = static_cast<int64_t>(shape.size());
      initializers[shape_name(each)].tensor = make_tensor(ir::DType::kI64, {rank}, std::vector<int64_t>(shape));
    }
    if (initializers.contains(each.parameter)) continue;
    Tensor tensor;
    if (each.kind == Kind::kZeroBias)
      tensor = make_tensor(ir::DType::kF32, each.shape, std::vector<double>(static_cast<size_t>(each.shape[0])));
    else
      tensor = initializers.at(each.value).tensor;
    if (each.kind == Kind::kTransposed) tensor = transposed(tensor);
    tensor.type.shape = each.shape;
    initializers[each.parameter].tensor = std::move(tensor);
  }
  for (const std::string& name : replaced(list)) initializers.erase(name);
}

}  // namespace pantoum::import
