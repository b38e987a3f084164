// What nodes are called: by the module that they are of where the exporter wrote it, else as the file calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/exported_model.h"

namespace pantoum::import {
namespace {

using testing::ElementsAre;

// The names of the ops of a chain of Tanh, and those of its nodes; each has such scopes.
struct Called {
  Names ops, nodes;
};

Called called(const Names& scopes) {
  Exported model({});
  std::string input = "x";
  for (size_t at = 0; at < scopes.size(); ++at) {
    const std::string output = at + 1 == scopes.size() ? "y" : "val_" + std::to_string(at);
    model.node("Tanh", {input}, output, "tanh.default](args = (%x,)");
    onnx::NodeProto& node = *model.graph().mutable_node(static_cast<int>(at));
    node.set_name("node_tanh_" + std::to_string(at));
    annotate(node, MetadataField::kOfNode, "pkg.torch.onnx.name_scopes", scopes[at]);
    input = output;
  }
  const Result<Imported> imported = model.load();
  EXPECT_TRUE(imported) << imported.error().message;
  Called found;
  for (const ir::Op& op : imported->graph.ops) found.ops.push_back(op.name);
  for (const NodeCoverage& node : imported->info.nodes) found.nodes.push_back(node.name);
  return found;
}

TEST(NodeNames, AreThePathOfTheModuleAndTheCall) {
  const Called found =
      called({"['', 'layer1', 'layer1.0', 'layer1.0.act', 'tanh_12']", "['', 'tanh']",
              "['', 'layer1', 'layer1.0', 'layer1.0.act', '_tanh_13']", "['', 'grad', 'grad.0', 'tanh_1']"});
  EXPECT_THAT(found.ops, ElementsAre("layer1.0.act.tanh", "tanh", "layer1.0.act.tanh_1", "self.grad.0.tanh"));
  EXPECT_EQ(found.ops, found.nodes);
}

TEST(NodeNames, AreTheFilesWhereScopesSayNothing) {
  for (const std::string scopes :
       {"", "[]", "['']", "[''", "', ']", "']", "x', '']", "['', '_']", "['', 'a']x", "', '']"})
    EXPECT_THAT(called({scopes}).ops, ElementsAre("node_tanh_0")) << scopes;
}

}  // namespace
}  // namespace pantoum::import
