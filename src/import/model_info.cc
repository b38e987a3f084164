#include "import/lower_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "import/node.h"
#include "import/onnx_messages.h"
#include "import/restore_parameters.h"
#include "import/subgraphs.h"
#include "import/weight_roles.h"

namespace pantoum::import {
namespace {

constexpr const char* kExportCall =
    "torch.onnx.export(model, args, \"m.onnx\", training=torch.onnx.TrainingMode.TRAINING, "
    "do_constant_folding=False, opset_version=17, dynamo=False)";

struct Census {
  bool conv = false, batch_norm = false, dropout = false, training = false;
};

Census count_nodes(const Model& model) {
  Census census;
  for (const auto& node : model.proto->graph().node()) {
    census.conv = census.conv || node.op_type() == "Conv";
    census.dropout = census.dropout || node.op_type() == "Dropout";
    if (node.op_type() != "BatchNormalization") continue;
    census.batch_norm = true;
    Attributes attributes(node);
    census.training = census.training || attributes.integer("training_mode", 0) != 0;
  }
  return census;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

// Does a word of the text, between anything but letters, equal `word` (digits after it do not count)?
bool has_word(const std::string& text, const std::string& word) {
  const auto letter = [&](size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (!(at > 0 && letter(at - 1)) && !letter(at + word.size())) return true;
  }
  return false;
}

// "net.bn" of "net.bn.weight", also where the parts are apart by '/'; "" of a name without parts.
std::string module_of(const std::string& name) {
  const size_t end = name.find_last_of("./");
  std::string module = end == std::string::npos ? "" : name.substr(0, end);
  std::ranges::replace(module, '/', '.');
  return module;
}

// Modules with a tensor that another node than a product reads: what they compute is in the file.
std::set<std::string> find_present_modules(const Model& model) {
  std::set<std::string> modules;
  for (const auto& node : model.proto->graph().node()) {
    const std::string& op_type = node.op_type();
    if (op_type == "Conv" || op_type == "ConvTranspose" || op_type == "Gemm" || op_type == "MatMul") continue;
    for (const std::string& input : node.input())
      if (model.initializers.contains(input)) modules.insert(module_of(input));
  }
  modules.erase("");
  return modules;
}

// Is the name of something in one of the modules? The older exporter writes "/blocks/blocks.0/bn/Mul" for "blocks.0.bn".
bool is_within(const std::string& text, const std::set<std::string>& modules) {
  std::string name = "." + text;
  std::ranges::replace(name, '/', '.');
  return std::ranges::any_of(
      modules, [&](const std::string& module) { return name.find("." + module + ".") != std::string::npos; });
}

// The first name or piece of metadata that holds one of the words; empty when there is none.
std::string find_trace(const Model& model, std::initializer_list<const char*> words) {
  const auto has_any = [&](const std::string& text) {
    const std::string small = lower_case(text);
    return std::ranges::any_of(words, [&](const char* word) { return has_word(small, word); });
  };
  std::set<std::string> present = find_present_modules(model);
  std::erase_if(present, [&](const std::string& module) { return !has_any(module.substr(module.rfind('.') + 1)); });
  const auto betrays = [&](const std::string& text) { return has_any(text) && !is_within(text, present); };
  for (const auto& [name, initializer] : model.initializers) {
    if (betrays(name)) return name;
  }
  for (const auto& node : model.proto->graph().node()) {
    if (betrays(node.name())) return node.name();
    for (const std::string& output : node.output()) {
      if (betrays(output)) return output;
    }
  }
  for (const auto& entry : model.proto->metadata_props()) {
    if (betrays(entry.key()) || betrays(entry.value())) return "metadata " + entry.key();
  }
  return {};
}

TensorInfo describe_tensor(const std::string& name, const Initializer& initializer) {
  const bool known = initializer.problem.empty();
  const char* trains = initializer.frozen || !initializer.is_parameter() ? "no"
                       : initializer.trains == Trains::kYes              ? "yes"
                                                                         : "ambiguous";
  return {name, known ? ir::to_text(initializer.tensor.type) : "?", trains, initializer.why};
}

// In the order of the nodes; those of a subgraph where its node stands.
void describe_tables(const Model& model, const onnx::GraphProto& graph, std::vector<TensorInfo>& tensors) {
  for (const auto& node : graph.node()) {
    for (const onnx::GraphProto* body : subgraphs_of(node)) describe_tables(model, *body, tensors);
    const auto table = node.output_size() == 1 ? model.tables.find(node.output(0)) : model.tables.end();
    if (table == model.tables.end()) continue;
    const bool is_float = ir::is_float(table->second.dtype);
    tensors.push_back({table->first, ir::to_text(table->second), "no",
                       is_float ? "a table in a Constant node"
                                : fmt::format("its elements are {}", ir::name_of(table->second.dtype))});
  }
}

std::vector<TensorInfo> describe_tensors(const Model& model) {
  std::vector<TensorInfo> tensors;
  for (const auto& message : model.proto->graph().initializer())
    tensors.push_back(describe_tensor(message.name(), model.initializers.at(message.name())));
  describe_tables(model, model.proto->graph(), tensors);
  return tensors;
}

std::string show_dimension(int64_t extent, int64_t wider, const Batch& batch) {
  const int64_t each = wider - extent, rest = extent - each * batch.size;
  if (each <= 0 || rest < 0) return std::to_string(extent);
  const std::string product = each == 1 ? batch.name : fmt::format("{}*{}", each, batch.name);
  return rest == 0 ? product : fmt::format("{}+{}", product, rest);
}

const ir::Value* find_value(const Graph& graph, const std::string& name) {
  for (const ValueId id : graph.inputs)
    if (graph.value(id).name == name) return &graph.value(id);
  for (size_t output = 0; output < graph.outputs.size(); ++output)
    if (graph.output_names[output] == name) return &graph.value(graph.outputs[output]);
  return nullptr;
}

// "x f32[N,3,8,8]"
std::string describe_value(const std::string& name, const Batch& batch, const LoweredModel& lowered,
                           const LoweredModel* wider) {
  const ir::Value* value = find_value(lowered.graph, name);
  if (value == nullptr) return name + " ?";
  const ir::Value* larger = wider != nullptr ? find_value(wider->graph, name) : nullptr;
  return fmt::format("{} {}{}", name, ir::name_of(value->type.dtype),
                     show_shape(value->type.shape, larger != nullptr ? &larger->type.shape : nullptr, batch));
}

std::vector<std::string> describe_inputs(const Model& model, const Batch& batch, const LoweredModel& lowered,
                                         const LoweredModel* wider) {
  std::vector<std::string> found;
  for (const auto& input : model.proto->graph().input())
    if (!model.initializers.contains(input.name()))
      found.push_back(describe_value(input.name(), batch, lowered, wider));
  return found;
}

std::vector<std::string> describe_outputs(const Model& model, const Batch& batch, const LoweredModel& lowered,
                                          const LoweredModel* wider) {
  std::vector<std::string> found;
  for (const auto& output : model.proto->graph().output())
    found.push_back(describe_value(output.name(), batch, lowered, wider));
  return found;
}

}  // namespace

std::string show_shape(const Shape& shape, const Shape* wider, const Batch& batch) {
  std::vector<std::string> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool compares = wider != nullptr && wider->size() == shape.size();
    dims.push_back(show_dimension(shape[d], compares ? (*wider)[d] : shape[d], batch));
  }
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::vector<std::string> warn_of_folding(const Model& model) {
  const Census census = count_nodes(model);
  std::vector<std::string> warnings;
  if (!census.batch_norm) {
    const std::string trace = find_trace(model, {"bn", "batchnorm", "batch_norm", "batchnormalization"});
    if (model.folded.empty() && !trace.empty()) {
      warnings.push_back(
          fmt::format("'{}' suggests that the exporter folded batch norm into the convolutions: the "
                      "model would train without it; export with {}",
                      trace, kExportCall));
    }
  }
  if (!census.dropout) {
    const std::string trace = find_trace(model, {"dropout", "drop"});
    if (!trace.empty()) {
      warnings.push_back(
          fmt::format("'{}' suggests that the exporter left dropout out; export with {}", trace, kExportCall));
    }
  }
  return warnings;
}

// Nothing tells whether these are to train: a file with norms in both forms does.
int64_t count_inference_norms(const Model& model) {
  const auto& nodes = model.proto->graph().node();
  if (std::any_of(nodes.begin(), nodes.end(), is_training_norm)) return 0;
  return std::count_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.op_type() == "BatchNormalization" && node.input_size() > 3 &&
           model.initializers.contains(node.input(3));
  });
}

ModelInfo describe_model(const Model& model, const Batch& batch, const LoweredModel& lowered,
                         const LoweredModel* wider) {
  ModelInfo info;
  info.ir_version = model.proto->ir_version();
  info.opset = model.opset;
  info.producer = model.proto->producer_name();
  if (!model.proto->producer_version().empty()) info.producer += " " + model.proto->producer_version();
  info.graph_name = model.proto->graph().name();
  info.batch_name = batch.name;
  info.batch = batch.size;
  for (size_t node = 0; node < lowered.nodes.size(); ++node) {
    const NodeOutcome& outcome = lowered.nodes[node];
    info.nodes.push_back(outcome.coverage);
    for (size_t output = 0; output < outcome.types.size(); ++output) {
      const std::optional<TensorType>& type = outcome.types[output];
      const bool both = wider != nullptr && output < wider->nodes[node].types.size();
      const std::optional<TensorType>* other = both ? &wider->nodes[node].types[output] : nullptr;
      const Shape* larger = other != nullptr && *other ? &(*other)->shape : nullptr;
      info.nodes.back().output_shapes.push_back(type ? show_shape(type->shape, larger, batch) : "?");
    }
  }
  info.inference_norms = count_inference_norms(model);
  // No exporter has folded a model that Pantoum's own builder wrote.
  const bool was_exported = model.proto->producer_name() != "pantoum";
  if (was_exported) info.warnings = warn_of_folding(model);
  if (const std::string ambiguous = warn_of_ambiguous(model); !ambiguous.empty()) info.warnings.push_back(ambiguous);
  if (const std::string doubtful = warn_of_doubtful(model); !doubtful.empty()) info.warnings.push_back(doubtful);
  for (std::string& copy : find_copies(model.initializers)) info.warnings.push_back(std::move(copy));
  if (lowered.dynamic) {
    for (const std::string& open : lowered.dynamic->notes) {
      info.warnings.push_back(fmt::format("{} is dynamic: {}", open, lowered.dynamic->help));
    }
  }
  info.notes = lowered.graph.notes;
  if (was_exported && warn_of_folding(model).empty() && !count_nodes(model).training) {
    info.notes.push_back(
        fmt::format("whether the exporter folded batch norm or dropout away cannot be known from the "
                    "file; this call keeps them: {}",
                    kExportCall));
  }
  info.inputs = describe_inputs(model, batch, lowered, wider);
  info.outputs = describe_outputs(model, batch, lowered, wider);
  info.tensors = describe_tensors(model);
  for (const ir::Value& value : lowered.graph.values) {
    const auto initializer = model.initializers.find(value.name);
    const bool frozen = initializer != model.initializers.end() && initializer->second.frozen;
    if (value.role == ir::Role::kParameter && !frozen) info.parameter_count += value.type.elements();
  }
  return info;
}

}  // namespace pantoum::import
