#include "import/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/foreign_text.h"
#include "base/globs.h"
#include "import/constant_tables.h"
#include "import/detached_values.h"
#include "import/message_parts.h"
#include "import/onnx_messages.h"
#include "import/restore_parameters.h"

namespace pantoum::import {

namespace {

Result<void> check(const std::string& name, const char* whose) {
  const bool is_whole = name.find('\0') == std::string::npos;
  if (is_whole && base::is_utf8(name)) return {};
  return fail("E0207", fmt::format("the name of a {} {}", whose, is_whole ? "is no UTF-8" : "has a zero byte"),
              fmt::format("'{}'", base::one_line(name)), "rename it in the model, and export it again");
}

Result<void> check_names(const onnx::GraphProto& graph);

Result<void> check_node(const onnx::NodeProto& node) {
  PANTOUM_TRY(check(node.name(), "node"));
  for (const std::string& input : node.input()) PANTOUM_TRY(check(input, "value"));
  for (const std::string& output : node.output()) PANTOUM_TRY(check(output, "value"));
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) PANTOUM_TRY(check_names(attribute.g()));
    for (const auto& graph : attribute.graphs()) PANTOUM_TRY(check_names(graph));
  }
  return {};
}

Result<void> check_value(const onnx::ValueInfoProto& value) {
  PANTOUM_TRY(check(value.name(), "value"));
  for (const auto& dim : value.type().tensor_type().shape().dim()) PANTOUM_TRY(check(dim.dim_param(), "dimension"));
  return {};
}

Result<void> check_names(const onnx::GraphProto& graph) {
  PANTOUM_TRY(check(graph.name(), "graph"));
  for (const auto& tensor : graph.initializer()) PANTOUM_TRY(check(tensor.name(), "tensor"));
  for (const auto& input : graph.input()) PANTOUM_TRY(check_value(input));
  for (const auto& output : graph.output()) PANTOUM_TRY(check_value(output));
  for (const auto& node : graph.node()) PANTOUM_TRY(check_node(node));
  return {};
}

constexpr int64_t kFirstIr = 4, kLastIr = 10, kFirstOpset = 11, kLastOpset = 21;
constexpr const char* kExportAgain = "export the model again, with opset_version=17";

Result<void> check_versions(Model& model) {
  const int64_t ir = model.proto->ir_version();
  if (ir < kFirstIr || ir > kLastIr) {
    return fail("E0203", fmt::format("IR version {} is outside {} to {}", ir, kFirstIr, kLastIr), "", kExportAgain);
  }
  for (const auto& import : model.proto->opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") model.opset = import.version();
  }
  if (model.opset < kFirstOpset || model.opset > kLastOpset) {
    return fail("E0204", fmt::format("opset {} is outside {} to {}", model.opset, kFirstOpset, kLastOpset), "",
                kExportAgain);
  }
  return {};
}

Result<void> check_values(const onnx::GraphProto& graph) {
  if (graph.output_size() == 0) return fail("E0208", "the graph has no output");
  if (graph.sparse_initializer_size() > 0) {
    return fail("E0205", "sparse initializers are not supported", graph.sparse_initializer(0).values().name(),
                "export dense weights");
  }
  for (const auto& input : graph.input()) {
    if (input.name().empty()) return fail("E0208", "an input has no name");
    if (!input.type().has_tensor_type()) return fail("E0208", "an input is not a tensor", input.name());
    if (input.type().tensor_type().elem_type() <= 0) return fail("E0208", "an input has no element type", input.name());
  }
  return {};
}

// The contents that stand at that place of the file.
ir::Data contents_at(const ModelBytes& file, const ContentsPlace& place) {
  if (file.file) return {file.file, place.at, place.size};
  const auto part = file.bytes.subspan(place.at, place.size);
  return std::make_shared<const std::vector<std::byte>>(part.begin(), part.end());
}

// `kept`: contents that are not in the message, by positions.
Result<void> read_initializers(Model& model, ExternalData& external, const ModelBytes& file,
                               const std::map<int, ContentsPlace>& kept) {
  auto& messages = *model.proto->mutable_graph()->mutable_initializer();
  for (int position = 0; position < messages.size(); ++position) {
    onnx::TensorProto& message = messages[position];
    const std::string where = fmt::format("initializer '{}'", message.name());
    if (message.name().empty()) return fail("E0207", "an initializer has no name");
    auto [entry, fresh] = model.initializers.try_emplace(message.name());
    if (!fresh) return fail("E0207", "two initializers have one name", where);
    const auto place = kept.find(position);
    Result<Tensor> tensor =
        read_tensor(message, external, where, place == kept.end() ? ir::Data() : contents_at(file, place->second));
    if (tensor) {
      entry->second.tensor = std::move(*tensor);
    } else if (tensor.error().code == "E0401") {
      entry->second.problem = fmt::format("{}: {}", where, tensor.error().message);
    } else {
      return Failure(std::move(tensor).error());
    }
  }
  return {};
}

// An initializer that stands among the inputs, too, is what it is declared to be there.
Result<void> check_declared_initializers(const Model& model) {
  for (const auto& input : model.proto->graph().input()) {
    const auto found = model.initializers.find(input.name());
    if (found == model.initializers.end() || !found->second.problem.empty()) continue;
    const auto& declared = input.type().tensor_type();
    const TensorType& type = found->second.tensor.type;
    bool same =
        dtype_of(declared.elem_type()) && runtime_dtype(*dtype_of(declared.elem_type())) == runtime_dtype(type.dtype);
    if (declared.has_shape()) {
      same = same && declared.shape().dim_size() == static_cast<int>(type.shape.size());
      for (int d = 0; same && d < declared.shape().dim_size(); ++d) {
        const auto& dim = declared.shape().dim(d);
        same = !dim.has_dim_value() || dim.dim_value() == type.shape[static_cast<size_t>(d)];
      }
    }
    if (same) continue;
    return fail(
        "E0205",
        fmt::format("it is {}, and the file declares another type for the input of its name", ir::to_text(type)),
        fmt::format("initializer '{}'", input.name()), "export the model again");
  }
  return {};
}

void restore_parameters(Model& model) {
  onnx::GraphProto& graph = *model.proto->mutable_graph();
  Restorations found = find_restorations(graph, model.initializers);
  restore_message(graph, found.list);
  restore_contents(model.initializers, found.list);
  model.restorations = std::move(found.list);
  model.folded = std::move(found.problems);
  for (std::string& kernel : find_computed_kernels(graph, model.initializers))
    model.folded.push_back(std::move(kernel));
  model.export_notes = std::move(found.notes);
  model.export_warnings = std::move(found.warnings);
  DetachedInputs detached = find_detached(graph, model.initializers);
  model.detached = std::move(detached.inputs);
  for (std::string& warning : detached.warnings) model.export_warnings.push_back(std::move(warning));
}

using Producers = std::unordered_map<std::string, int>;  // name -> the node that makes it; -1: the graph itself

Result<Producers> find_producers(const Model& model) {
  const onnx::GraphProto& graph = model.proto->graph();
  Producers producers;
  for (const auto& [name, initializer] : model.initializers) producers.emplace(name, -1);
  std::set<std::string> inputs;
  for (const auto& input : graph.input()) {
    if (!inputs.insert(input.name()).second) return fail("E0207", "two inputs have one name", input.name());
    producers.emplace(input.name(), -1);
  }
  for (int node = 0; node < graph.node_size(); ++node) {
    for (const std::string& output : graph.node(node).output()) {
      if (output.empty() || producers.emplace(output, node).second) continue;
      return fail("E0207", fmt::format("the value '{}' is defined twice", output), graph.node(node).name(),
                  "an exporter may give a tensor and a result one name: rename that buffer or parameter in the model");
    }
  }
  return producers;
}

// Calls `visit` with every name that a node reads, by itself or in its subgraphs; stops where that is false.
template <class Visit>
bool each_read(const Model& model, int node, const Visit& visit) {
  for (const std::string& input : model.proto->graph().node(node).input())
    if (!input.empty() && !visit(input)) return false;
  const std::vector<std::string>& captured = model.captures.of_node[static_cast<size_t>(node)];
  return std::ranges::all_of(captured, visit);
}

// Every name that is read must be made by someone.
Result<void> check_reads(Model& model, const Producers& producers) {
  const onnx::GraphProto& graph = model.proto->graph();
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      if (input.empty()) continue;
      if (!producers.contains(input)) return fail("E0207", fmt::format("nothing makes '{}'", input), node.name());
      model.read.insert(input);
    }
  }
  model.read.insert(model.captures.read.begin(), model.captures.read.end());
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) {
    if (!producers.contains(output.name())) return fail("E0207", "nothing makes an output", output.name());
    if (!outputs.insert(output.name()).second) return fail("E0207", "two outputs have one name", output.name());
    model.read.insert(output.name());
  }
  return {};
}

// Kahn's algorithm, always taking the first node of the file that is ready.
Result<void> sort_nodes(Model& model, const Producers& producers) {
  const onnx::GraphProto& graph = model.proto->graph();
  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits(count, 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int node = 0; node < graph.node_size(); ++node) {
    each_read(model, node, [&](const std::string& name) {
      const int producer = producers.at(name);
      if (producer < 0) return true;
      readers[static_cast<size_t>(producer)].push_back(node);
      ++waits[static_cast<size_t>(node)];
      return true;
    });
    if (waits[static_cast<size_t>(node)] == 0) ready.push(node);
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    model.order.push_back(node);
    for (const int reader : readers[static_cast<size_t>(node)]) {
      if (--waits[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (model.order.size() != count) return fail("E0207", "the nodes form a cycle");
  return {};
}

void mark_live(Model& model, const Producers& producers) {
  const onnx::GraphProto& graph = model.proto->graph();
  model.live.assign(static_cast<size_t>(graph.node_size()), 0);
  const auto mark = [&](const std::string& name) {
    const int producer = producers.at(name);
    if (producer >= 0) model.live[static_cast<size_t>(producer)] = 1;
    return true;
  };
  for (const auto& output : graph.output()) mark(output.name());
  for (size_t position = model.order.size(); position-- > 0;) {
    const int node = model.order[position];
    if (model.live[static_cast<size_t>(node)]) each_read(model, node, mark);
  }
}

}  // namespace

Result<Model> read_model(const ModelBytes& file, ExternalData& external, const std::vector<std::string>& train,
                         const std::set<std::string>& weights) {
  Model model{.proto = std::make_shared<onnx::ModelProto>()};
  const size_t size = file.bytes.size();
  if (size > kMostModelBytes)
    return fail("E0202", "the file is larger than 2 GiB", "", "save the weights as external data");
  if (size == 0) return fail("E0202", "the file is empty");
  std::optional<MessageParts> parts = part_message(file.bytes);
  const bool parsed = parts ? model.proto->ParseFromString(parts->message)
                            : model.proto->ParseFromArray(file.bytes.data(), static_cast<int>(size));
  if (!parsed || !model.proto->has_graph()) {
    return fail("E0202", "this is not an ONNX model, or it is truncated", "", "export or copy the file again");
  }
  PANTOUM_TRY(check_versions(model));
  PANTOUM_TRY(check_values(model.proto->graph()));
  PANTOUM_TRY(settle_subgraphs(*model.proto->mutable_graph()));
  lift_tables(*model.proto->mutable_graph(), [&](const std::string& name, const TensorType& type) {
    return weights.contains(name) || (type.elements() > 1 && base::matches_any(train, name));
  });
  PANTOUM_TRY(read_initializers(model, external, file, parts ? parts->contents_of : std::map<int, ContentsPlace>()));
  PANTOUM_TRY(check_declared_initializers(model));
  restore_parameters(model);
  PANTOUM_ASSIGN(model.captures, settle_subgraphs(*model.proto->mutable_graph()));  // of the nodes that there are now
  model.tables = find_tables(model.proto->graph());
  PANTOUM_ASSIGN(const Producers producers, find_producers(model));
  PANTOUM_TRY(check_reads(model, producers));
  PANTOUM_TRY(sort_nodes(model, producers));
  mark_live(model, producers);
  PANTOUM_TRY(check_names(model.proto->graph()));  // those, too, that were restored
  return model;
}

}  // namespace pantoum::import
