#include "emit/inference_form.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/onnx_messages.h"
#include "import/subgraphs.h"

namespace pantoum::emit {
namespace {

void add_names_read(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::GraphProto* inner : import::subgraphs_of(node)) add_names_read(*inner, names);
  }
  for (const auto& output : graph.output()) names.insert(output.name());
}

std::set<std::string> names_read(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  add_names_read(graph, names);
  return names;
}

// Lists the graph and all graphs inside its nodes.
void add_graphs(onnx::GraphProto& graph, std::vector<onnx::GraphProto*>& graphs) {
  graphs.push_back(&graph);
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) add_graphs(*attribute.mutable_g(), graphs);
}

// By the name of a value, the name of the value that its readers read in place of it.
using Instead = std::map<std::string, std::string>;

const std::string& resolve(const Instead& instead, const std::string& name) {
  const auto found = instead.find(name);
  return found == instead.end() ? name : resolve(instead, found->second);
}

void make_plain(onnx::NodeProto& norm, Instead& instead) {
  for (const int output : {1, 2})
    if (output < norm.output_size() && !norm.output(output).empty())
      instead[norm.output(output)] = norm.input(output + 2);
  while (norm.output_size() > 1) norm.mutable_output()->RemoveLast();
  for (int at = norm.attribute_size(); at-- > 0;)
    if (const std::string& name = norm.attribute(at).name(); name == "training_mode" || name.starts_with("pantoum_"))
      norm.mutable_attribute()->DeleteSubrange(at, 1);
}

Result<void> skip_dropout(const onnx::NodeProto& dropout, const std::set<std::string>& read, Instead& instead) {
  if (dropout.output_size() > 1 && read.contains(dropout.output(1)) && !dropout.output(1).empty())
    return fail("E0401", "the mask of a dropout is used", dropout.name(), "use the values alone");
  instead[dropout.output(0)] = dropout.input(0);
  return {};
}

// An output of the graph keeps its name.
void keep_outputs(onnx::GraphProto& graph, const Instead& instead) {
  for (const auto& output : graph.output()) {
    if (!instead.contains(output.name())) continue;
    onnx::NodeProto* copy = graph.add_node();
    copy->set_op_type("Identity");
    copy->set_name(output.name() + ".Identity");
    copy->add_input(resolve(instead, output.name()));
    copy->add_output(output.name());
  }
}

// Drops nodes (from the last to the first), then initializers that were read before and are no longer.
void drop_unread(onnx::GraphProto& graph, const std::set<std::string>& before) {
  for (int at = graph.node_size(); at-- > 0;) {
    const std::set<std::string> read = names_read(graph);
    const auto& outputs = graph.node(at).output();
    const bool lost = std::ranges::any_of(outputs, [&](const auto& name) { return before.contains(name); }) &&
                      std::ranges::none_of(outputs, [&](const auto& name) { return read.contains(name); });
    if (lost) graph.mutable_node()->DeleteSubrange(at, 1);
  }
  const std::set<std::string> read = names_read(graph);
  for (int at = graph.initializer_size(); at-- > 0;) {
    const std::string& name = graph.initializer(at).name();
    if (before.contains(name) && !read.contains(name)) graph.mutable_initializer()->DeleteSubrange(at, 1);
  }
}

}  // namespace

Result<void> make_inference_form(onnx::GraphProto& graph) {
  const std::set<std::string> before = names_read(graph);
  std::vector<onnx::GraphProto*> graphs;
  add_graphs(graph, graphs);
  Instead instead;
  for (onnx::GraphProto* each : graphs) {
    for (auto& node : *each->mutable_node()) {
      if (node.op_type() == "BatchNormalization" && node.input_size() == 5 && node.output_size() > 0)
        make_plain(node, instead);
      if (node.op_type() == "Dropout" && node.input_size() > 0 && node.output_size() > 0)
        PANTOUM_TRY(skip_dropout(node, before, instead));
    }
  }
  for (onnx::GraphProto* each : graphs) {
    auto& nodes = *each->mutable_node();
    for (int at = nodes.size(); at-- > 0;)
      if (nodes.Get(at).op_type() == "Dropout") nodes.DeleteSubrange(at, 1);
    for (auto& node : nodes)
      for (std::string& input : *node.mutable_input()) input = resolve(instead, input);
    keep_outputs(*each, instead);
  }
  drop_unread(graph, before);
  return {};
}

}  // namespace pantoum::emit
