#include "layers/part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "import/model.h"
#include "import/weight_roles.h"
#include "layers/messages.h"
#include "layers/newer_forms.h"

namespace pantoum::layers {
namespace {

// Of a model's message: the public types alone.
std::optional<DType> public_type_of(int32_t onnx_type) {
  const auto dtype = import::dtype_of(onnx_type);
  if (!dtype) return std::nullopt;
  switch (import::runtime_dtype(*dtype)) {
    case base::DType::kF32:
    case base::DType::kF64:
      return DType::f32;
    case base::DType::kI64:
      return DType::i64;
    case base::DType::kI32:
      return DType::i32;
    case base::DType::kU8:
      return DType::u8;
    case base::DType::kBool:
      return DType::boolean;
  }
  return std::nullopt;
}

int32_t onnx_type_of(base::DType dtype) {
  switch (dtype) {
    case base::DType::kI64:
      return onnx::TensorProto::INT64;
    case base::DType::kI32:
      return onnx::TensorProto::INT32;
    case base::DType::kU8:
      return onnx::TensorProto::UINT8;
    case base::DType::kBool:
      return onnx::TensorProto::BOOL;
    default:
      return onnx::TensorProto::FLOAT;
  }
}

PartInput input_of(const onnx::ValueInfoProto& value, DType dtype) {
  PartInput input{.name = value.name(), .dtype = dtype, .shape = {}, .has_shape = false};
  const auto& type = value.type().tensor_type();
  input.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim())
    input.shape.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : kBatch);
  return input;
}

bool is_norm(const onnx::NodeProto& node) {
  return node.op_type() == "BatchNormalization" && node.domain().empty();
}

bool is_training_norm(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [](const auto& each) { return each.name() == "training_mode" && each.i() != 0; });
}

bool is_weight_of(const onnx::NodeProto& node, int input) {
  static const std::set<std::string> kProducts = {"Conv", "ConvTranspose", "Gemm", "MatMul", "PRelu"};
  return input > 0 && kProducts.contains(node.op_type());
}

void set_attribute(onnx::NodeProto& node, const char* name, int64_t value) {
  for (auto& attribute : *node.mutable_attribute())
    if (attribute.name() == name) return attribute.set_i(value);
  write_attributes(node, {{name, value}});
}

}  // namespace

struct PartSource::Read {
  import::Model model;
};

Result<PartSource> PartSource::read(const std::string& bytes, const std::string& folder) {
  import::ExternalData external(folder);
  const import::ModelBytes file{std::as_bytes(std::span(bytes)), nullptr};
  PANTOUM_ASSIGN(import::Model model, import::read_model(file, external));
  if (const std::set<std::string> weights = import::find_weights_in_constants(model); !weights.empty()) {
    PANTOUM_ASSIGN(model, import::read_model(file, external, {}, weights));
  }
  PANTOUM_TRY(import::assign_weight_roles(model, {}));
  PartSource source;
  for (const auto& value : model.proto->graph().input()) {
    if (model.initializers.contains(value.name())) continue;
    const std::optional<DType> dtype = public_type_of(value.type().tensor_type().elem_type());
    if (!dtype)
      return fail("E0401", fmt::format("its input '{}' is of a type that is not read", value.name()), {},
                  "export it with inputs of float32");
    source.inputs_.push_back(input_of(value, *dtype));
  }
  for (const auto& output : model.proto->graph().output()) source.outputs_.push_back(output.name());
  source.read_ = std::make_shared<const Read>(Read{std::move(model)});
  return source;
}

namespace {

// One copy of a source under names of its own.
class Joiner {
 public:
  Joiner(const import::Model& model, std::string name, const PartOptions& options)
      : model_(model), prefix_(std::move(name) + "."), options_(options), graph_(*part_.graph) {}

  Result<void> make(const std::vector<PartInput>& inputs, const std::vector<std::string>& outputs) {
    PANTOUM_TRY(check_training());
    for (const PartInput& input : inputs) part_.inputs.push_back(named(input.name));
    for (const std::string& output : outputs) part_.outputs.push_back(named(output));
    PANTOUM_TRY(add_initializers());
    for (const int node : model_.order)
      if (model_.live[static_cast<size_t>(node)]) add_node(model_.proto->graph().node(node));
    if (!options_.trains) PANTOUM_TRY(pass_dropouts());
    if (options_.trains) train_norms();
    return {};
  }

  // Frozen norms become a product and a sum; the dimensions of their results tell how the factors are broadcast.
  Result<void> fix_norms(const std::vector<KnownType>& inputs) {
    Part norms = part_;
    norms.outputs.clear();
    for (const auto& node : graph_.node())
      if (is_norm(node)) norms.outputs.push_back(node.output(0));
    if (norms.outputs.empty()) return {};
    PANTOUM_ASSIGN(const std::vector<KnownType> types, infer_part(norms, inputs));
    const onnx::GraphProto before = graph_;
    graph_.clear_node();
    graph_.clear_initializer();
    size_t norm = 0;
    for (const auto& node : before.node()) {
      if (is_norm(node))
        PANTOUM_TRY(add_fixed_norm(node, types[norm++].shapes[0].size()));
      else
        *graph_.add_node() = node;
    }
    std::set<std::string> read(part_.outputs.begin(), part_.outputs.end());
    for (const auto& node : graph_.node()) read_by(node, read);
    for (const auto& tensor : before.initializer())
      if (read.contains(tensor.name())) *graph_.add_initializer() = tensor;
    return {};
  }

  // To be called last.
  [[nodiscard]] Part part() {
    collect_names();
    return std::move(part_);
  }

  [[nodiscard]] std::vector<JoinedPart::Stored> stored() const {
    std::vector<JoinedPart::Stored> all;
    if (!options_.trains) return all;
    for (const onnx::TensorProto& tensor : graph_.initializer())
      if (trained_.contains(tensor.name()) || statistics_.contains(tensor.name()))
        all.push_back(
            {tensor.name(), {tensor.dims().begin(), tensor.dims().end()}, statistics_.contains(tensor.name())});
    return all;
  }

 private:
  const import::Model& model_;
  std::string prefix_;
  PartOptions options_;
  Part part_{.graph = std::make_shared<onnx::GraphProto>(), .inputs = {}, .outputs = {}, .names = {}};
  onnx::GraphProto& graph_;  // of part_
  std::set<std::string> trained_, statistics_;

  [[nodiscard]] std::string named(const std::string& name) const { return name.empty() ? name : prefix_ + name; }

  // Every name that the node or a body of it reads, or that a body gives.
  static void read_by(const onnx::NodeProto& node, std::set<std::string>& names) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::GraphProto* body : import::subgraphs_of(node)) {
      for (const auto& output : body->output()) names.insert(output.name());
      for (const auto& inner : body->node()) read_by(inner, names);
    }
  }

  // What an exporter folded is found by marks that a part of a model does not keep.
  Result<void> check_training() const {
    if (!options_.trains || (model_.folded.empty() && model_.detached.empty())) return {};
    return fail("E0401", "its exporter folded what trains, or it stops gradients, and so it trains only alone", {},
                "take trainable = false, or train the whole network from one ONNX file", model_.folded);
  }

  [[nodiscard]] const import::Initializer* initializer(const std::string& name) const {
    const auto found = model_.initializers.find(name);
    return found == model_.initializers.end() ? nullptr : &found->second;
  }

  [[nodiscard]] std::set<std::string> weights_of_operators() const {
    std::set<std::string> names;
    for (const onnx::NodeProto& node : model_.proto->graph().node())
      for (int input = 0; input < node.input_size(); ++input)
        if (is_weight_of(node, input)) names.insert(node.input(input));
    return names;
  }

  Result<void> add_initializers() {
    const std::set<std::string> weights = options_.all_weights ? weights_of_operators() : std::set<std::string>();
    for (const auto& message : model_.proto->graph().initializer()) {
      const import::Initializer* const given = initializer(message.name());
      if (given == nullptr || !model_.read.contains(message.name())) continue;
      if (!given->problem.empty()) return fail("E0401", given->problem, {}, "export it with weights of float32");
      const bool is_real = base::is_float(given->tensor.type.dtype);
      const import::Tensor tensor = given->tensor.type.dtype == base::DType::kF64
                                        ? import::converted(given->tensor, base::DType::kF32)
                                        : given->tensor;
      const bool trains = options_.trains && is_real && (given->is_parameter() || weights.contains(message.name()));
      add_tensor(named(message.name()), tensor, trains);
      if (trains) trained_.insert(named(message.name()));
    }
    return {};
  }

  void add_tensor(const std::string& name, const import::Tensor& tensor, bool trains) {
    onnx::TensorProto& made = *graph_.add_initializer();
    write_tensor(made, name, DType::f32, tensor.type.shape, tensor.data.copy(), trains);
    made.set_data_type(onnx_type_of(tensor.type.dtype));
  }

  // The node without what the exporter noted of it, under the names of this copy, in the forms of the newest opset.
  [[nodiscard]] std::vector<onnx::NodeProto> copies(const onnx::NodeProto& node) const {
    onnx::NodeProto copy;
    copy.set_op_type(node.op_type());
    copy.set_domain(node.domain() == "ai.onnx" ? "" : node.domain());
    for (const std::string& input : node.input()) copy.add_input(named(input));
    for (const std::string& output : node.output()) copy.add_output(named(output));
    copy.set_name(!node.name().empty() ? named(node.name()) : node.output_size() > 0 ? copy.output(0) : prefix_);
    for (const auto& attribute : node.attribute()) {
      auto& made = *copy.add_attribute();
      made = attribute;
      if (attribute.has_g()) copy_body(attribute.g(), *made.mutable_g());
      for (int graph = 0; graph < attribute.graphs_size(); ++graph)
        copy_body(attribute.graphs(graph), *made.mutable_graphs(graph));
    }
    std::vector<onnx::NodeProto> made;
    append_newer(copy, model_.opset, made);
    return made;
  }

  // protobuf bounds how deep bodies nest.
  void copy_body(const onnx::GraphProto& from, onnx::GraphProto& to) const {
    to.clear_node();
    to.clear_value_info();
    for (auto& input : *to.mutable_input()) input.set_name(named(input.name()));
    for (auto& output : *to.mutable_output()) output.set_name(named(output.name()));
    for (auto& tensor : *to.mutable_initializer()) tensor.set_name(named(tensor.name()));
    for (const auto& node : from.node())
      for (onnx::NodeProto& copy : copies(node)) *to.add_node() = std::move(copy);
  }

  void add_node(const onnx::NodeProto& node) {
    for (onnx::NodeProto& copy : copies(node)) *graph_.add_node() = std::move(copy);
  }

  // A dropout passes its input. One whose mask is read stays.
  Result<void> pass_dropouts() {
    for (auto& node : *graph_.mutable_node()) {
      if (node.op_type() != "Dropout" || !node.domain().empty()) continue;
      if (node.output_size() > 1 && !node.output(1).empty() && model_.read.contains(without_prefix(node.output(1))))
        return fail("E0401", fmt::format("the mask of the dropout '{}' is read", node.name()), {},
                    "export it for inference");
      while (node.input_size() > 1) node.mutable_input()->RemoveLast();
      while (node.output_size() > 1) node.mutable_output()->RemoveLast();
      node.clear_attribute();
      node.set_op_type("Identity");
    }
    return {};
  }

  [[nodiscard]] std::string without_prefix(const std::string& name) const { return name.substr(prefix_.size()); }

  // Where all norms are in the form of inference, they train as they would in a model of their own.
  void train_norms() {
    bool any = false;
    for (const auto& node : graph_.node()) any = any || (is_norm(node) && is_training_norm(node));
    for (auto& node : *graph_.mutable_node()) {
      if (!is_norm(node) || node.input_size() < 5) continue;
      if (any && !is_training_norm(node)) continue;
      for (const int input : {3, 4}) statistics_.insert(node.input(input));
      set_attribute(node, "training_mode", 1);
      const std::string first = node.output(0);
      for (const char* more : {".running_mean", ".running_var"}) {
        const int at = std::string_view(more) == ".running_mean" ? 1 : 2;
        if (node.output_size() > at && !node.output(at).empty()) continue;
        while (node.output_size() <= at) node.add_output("");
        node.set_output(at, first + more);
      }
    }
  }

  // x * scale / sqrt(var + epsilon) + (bias - mean * scale / sqrt(var + epsilon))
  Result<void> add_fixed_norm(const onnx::NodeProto& norm, size_t rank) {
    std::array<std::vector<double>, 4> numbers;
    for (size_t input = 0; input < numbers.size(); ++input) {
      const int at = static_cast<int>(input) + 1;
      const import::Initializer* const given =
          norm.input_size() > at ? initializer(without_prefix(norm.input(at))) : nullptr;
      auto reals = given == nullptr ? std::nullopt : import::to_reals(given->tensor);
      if (!reals || reals->size() != (input == 0 ? reals->size() : numbers[0].size()))
        return fail("E0401", fmt::format("the batch norm '{}' has computed statistics, or none that fit", norm.name()),
                    {}, "export it with its batch norms as they are");
      numbers[input] = *std::move(reals);
    }
    double epsilon = 1e-5;
    for (const auto& attribute : norm.attribute())
      if (attribute.name() == "epsilon") epsilon = attribute.f();
    std::vector<double> factor = numbers[0], shift = numbers[1];
    for (size_t channel = 0; channel < factor.size(); ++channel) {
      factor[channel] /= std::sqrt(numbers[3][channel] + epsilon);
      shift[channel] -= numbers[2][channel] * factor[channel];
    }
    std::vector<int64_t> shape(rank < 2 ? 1 : rank - 1, 1);
    shape[0] = static_cast<int64_t>(factor.size());
    const std::string& y = norm.output(0);
    const std::string product = y + ".product";
    add_tensor(y + ".factor", import::make_tensor(base::DType::kF32, shape, factor), false);
    add_tensor(y + ".shift", import::make_tensor(base::DType::kF32, shape, shift), false);
    add_of_two("Mul", norm.input(0), y + ".factor", product);
    add_of_two("Add", product, y + ".shift", y);
    return {};
  }

  void add_of_two(const char* op_type, const std::string& a, const std::string& b, const std::string& y) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op_type);
    node.set_name(y);
    node.add_input(a);
    node.add_input(b);
    node.add_output(y);
  }

  void collect_names() {
    std::set<std::string> names(part_.inputs.begin(), part_.inputs.end());
    for (const auto& tensor : part_.graph->initializer()) names.insert(tensor.name());
    for (const auto& node : part_.graph->node())
      for (const std::string& output : node.output())
        if (!output.empty()) names.insert(output);
    part_.names.assign(names.begin(), names.end());
  }
};

}  // namespace

Result<JoinedPart> PartSource::join(const std::string& name, const std::vector<Tensor>& inputs,
                                    const PartOptions& options) const {
  State& state = *State::of(inputs.front());
  std::vector<KnownType> types;
  NodeRecord node{.op_type = {}, .domain = {}, .name = name, .inputs = {}, .outputs = {}};
  for (const Tensor& input : inputs) {
    node.inputs.push_back(State::id_of(input));
    types.push_back(
        {.dtype = state.value(node.inputs.back()).type.dtype, .shapes = state.value(node.inputs.back()).type.shapes});
  }
  Joiner joiner(read_->model, name, options);
  PANTOUM_TRY(joiner.make(inputs_, outputs_));
  if (!options.trains) PANTOUM_TRY(joiner.fix_norms(types));
  JoinedPart joined{.outputs = {}, .stored = joiner.stored()};
  Part part = joiner.part();
  PANTOUM_ASSIGN(const std::vector<KnownType> outputs, infer_part(part, types));
  for (const std::string& each : part.names)
    if (!state.claim_value(each))
      return fail("E0207", fmt::format("another part of the network has the name '{}' too", each), {},
                  "rename the section");
  int64_t bytes = 0;
  for (const auto& tensor : part.graph->initializer()) bytes += static_cast<int64_t>(tensor.raw_data().size());
  if (!state.spend_bytes(bytes))
    return fail("E0401", "the network has more than 2 GiB of weights, which no ONNX file holds", {}, "");
  for (const KnownType& type : outputs) {
    node.outputs.push_back(state.add_value({.name = name, .role = Role::kComputed, .type = type}));
    joined.outputs.push_back(state.handle(node.outputs.back()));
  }
  node.part = std::make_shared<const Part>(std::move(part));
  state.add_node(std::move(node));
  return joined;
}

}  // namespace pantoum::layers
