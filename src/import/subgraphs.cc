#include "import/subgraphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

using Renamed = std::unordered_map<std::string, std::string>;  // names of one graph -> names of the model

class Settler {
 public:
  explicit Settler(onnx::GraphProto& graph) : graph_(graph) {
    for (const auto& initializer : graph.initializer()) outside_.insert(initializer.name());
    for (const auto& input : graph.input()) outside_.insert(input.name());
    for (const auto& node : graph.node()) outside_.insert(node.output().begin(), node.output().end());
    taken_ = outside_;
  }

  Result<Captures> settle() {
    captures_.of_node.resize(static_cast<size_t>(graph_.node_size()));
    for (node_ = 0; node_ < graph_.node_size(); ++node_) {
      captured_.clear();
      PANTOUM_TRY(settle_attributes(*graph_.mutable_node(node_)));
    }
    return std::move(captures_);
  }

 private:
  onnx::GraphProto& graph_;
  std::unordered_set<std::string> outside_, taken_;  // names of the graph; of the model
  std::unordered_map<std::string, int> last_;        // the number behind a name that was taken
  std::vector<Renamed> scopes_;                      // from the outermost subgraph to the innermost
  std::unordered_set<std::string> captured_;         // of the node at `node_`
  int node_ = 0;
  Captures captures_;

  Result<void> settle_attributes(onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.graphs_size() > 0) return fail("E0208", "an attribute is a list of graphs", node.name());
      if (attribute.has_g()) PANTOUM_TRY(settle_subgraph(*attribute.mutable_g(), node.name()));
    }
    return {};
  }

  Result<void> settle_subgraph(onnx::GraphProto& subgraph, const std::string& where) {
    if (subgraph.output_size() == 0) return fail("E0208", "a subgraph has no output", where);
    if (subgraph.sparse_initializer_size() > 0) return fail("E0205", "sparse initializers are not supported", where);
    scopes_.emplace_back();
    for (auto& input : *subgraph.mutable_input()) PANTOUM_TRY(define(*input.mutable_name(), where));
    PANTOUM_TRY(move_initializers(subgraph, where));
    for (auto& node : *subgraph.mutable_node()) PANTOUM_TRY(settle_node(node));
    for (auto& output : *subgraph.mutable_output()) PANTOUM_TRY(read(*output.mutable_name(), where));
    // Shapes that were declared under the old names are not needed: the lowering knows them.
    subgraph.clear_value_info();
    scopes_.pop_back();
    return {};
  }

  Result<void> move_initializers(onnx::GraphProto& subgraph, const std::string& where) {
    for (auto& initializer : *subgraph.mutable_initializer()) {
      PANTOUM_TRY(define(*initializer.mutable_name(), where));
      graph_.add_initializer()->Swap(&initializer);
    }
    subgraph.clear_initializer();
    return {};
  }

  Result<void> settle_node(onnx::NodeProto& node) {
    for (std::string& input : *node.mutable_input())
      if (!input.empty()) PANTOUM_TRY(read(input, node.name()));
    PANTOUM_TRY(settle_attributes(node));
    for (std::string& output : *node.mutable_output())
      if (!output.empty()) PANTOUM_TRY(define(output, node.name()));
    return {};
  }

  Result<void> define(std::string& name, const std::string& where) {
    if (name.empty()) return fail("E0207", "a value of a subgraph has no name", where);
    const auto [entry, fresh] = scopes_.back().emplace(name, name);
    if (!fresh) return fail("E0207", fmt::format("the value '{}' is defined twice", name), where);
    while (!taken_.insert(entry->second).second) entry->second = fmt::format("{}#{}", name, ++last_[name]);
    name = entry->second;
    return {};
  }

  Result<void> read(std::string& name, const std::string& where) {
    for (size_t scope = scopes_.size(); scope-- > 0;) {
      const auto found = scopes_[scope].find(name);
      if (found == scopes_[scope].end()) continue;
      name = found->second;
      captures_.read.insert(name);
      return {};
    }
    if (!outside_.contains(name)) return fail("E0207", fmt::format("nothing makes '{}'", name), where);
    captures_.read.insert(name);
    if (captured_.insert(name).second) captures_.of_node[static_cast<size_t>(node_)].push_back(name);
    return {};
  }
};

void add_reads(const onnx::NodeProto& node, std::unordered_set<std::string>& names) {
  names.insert(node.input().begin(), node.input().end());
  for (const onnx::GraphProto* subgraph : subgraphs_of(node)) {
    for (const auto& inner : subgraph->node()) add_reads(inner, names);
    for (const auto& output : subgraph->output()) names.insert(output.name());
  }
}

}  // namespace

Result<Captures> settle_subgraphs(onnx::GraphProto& graph) {
  return Settler(graph).settle();
}

std::vector<const onnx::GraphProto*> subgraphs_of(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> found;
  for (const auto& attribute : node.attribute())
    if (attribute.has_g()) found.push_back(&attribute.g());
  return found;
}

std::vector<int> needed_nodes(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> needed;
  for (const auto& output : graph.output()) needed.insert(output.name());
  std::vector<int> nodes;
  for (int at = graph.node_size(); at-- > 0;) {
    const auto& outputs = graph.node(at).output();
    const auto wanted = [&](const std::string& output) { return !output.empty() && needed.contains(output); };
    if (std::ranges::none_of(outputs, wanted)) continue;
    nodes.push_back(at);
    add_reads(graph.node(at), needed);
  }
  return {nodes.rbegin(), nodes.rend()};
}

}  // namespace pantoum::import
