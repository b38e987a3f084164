// The graphs inside a model: branches of If, bodies of Loop and Scan.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx_proto.h"

namespace pantoum::import {

// What the nodes of a graph read beside their own inputs: per node, names of that graph which its subgraphs read, at any
// depth, each once.
struct Captures {
  std::vector<std::vector<std::string>> of_node;
  std::set<std::string> read;  // every name that a node of a subgraph reads, or that a subgraph gives
};

// Gives every name that a subgraph defines to that subgraph alone (two branches may use one, or hide one of outside), and
// moves initializers of subgraphs to the graph. Nodes of the graph stay where they are; the model stays the same.
// E0205 sparse initializers; E0207 a name that is defined twice or that nothing makes; E0208 a subgraph without outputs.
// Time is linear in the size of the message; protobuf bounds how deep subgraphs nest (100 messages in one another).
[[nodiscard]] Result<Captures> settle_subgraphs(onnx::GraphProto& graph);

// Every subgraph of a node, in the order of its attributes.
[[nodiscard]] std::vector<const onnx::GraphProto*> subgraphs_of(const onnx::NodeProto& node);

// The positions of the nodes of a settled subgraph that its outputs depend on, in order.
[[nodiscard]] std::vector<int> needed_nodes(const onnx::GraphProto& graph);

}  // namespace pantoum::import
