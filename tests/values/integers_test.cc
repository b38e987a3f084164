// Every operator that computes on integers and bools, over their types: at run time, folded, and with one operand known.
// integers.py made the expected values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"
#include "testing/evaluate.h"
#include "told_tensors.h"

namespace pantoum {
namespace {

using import::Tensor;

class Integers : public testing::Test {
 protected:
  Json expected_ = Json::parse(std::ifstream(std::string(PANTOUM_SOURCE_DIR) + "/tests/values/integers.json"));

  // The model with the inputs that `known` names as constants.
  [[nodiscard]] onnx::ModelProto model_with(const std::set<std::string>& known) const {
    onnx::ModelProto model;
    std::ifstream file(std::string(PANTOUM_SOURCE_DIR) + "/tests/values/integers.onnx", std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&file));
    for (const Json& input : expected_["inputs"])
      if (known.contains(input["name"])) *model.mutable_graph()->add_initializer() = message_of(input);
    return model;
  }

  [[nodiscard]] ir::Graph imported(const std::set<std::string>& known) const {
    auto made = parsed(model_with(known));
    EXPECT_TRUE(made) << (made ? "" : to_text(made.error()));
    return made ? std::move(made->graph) : ir::Graph{};
  }

  [[nodiscard]] static Result<import::Imported> parsed(const onnx::ModelProto& model) {
    const std::string bytes = model.SerializeAsString();
    return import::parse_onnx(bytes.data(), bytes.size(), ".");
  }

  [[nodiscard]] ir::Feeds feeds_of(const ir::Graph& graph) const {
    ir::Feeds feeds;
    for (const Json& input : expected_["inputs"])
      for (const ir::ValueId id : graph.inputs)
        if (graph.value(id).name == input["name"]) feeds[id] = tensor_of(input).data.copy();
    return feeds;
  }

  void compare(const ir::Graph& graph) const {
    const ir::Feeds feeds = feeds_of(graph);
    ASSERT_TRUE(ir::validate(graph).has_value());
    for (const int in_place : {ir::kNone, 0, 1}) {
      const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.in_place = in_place});
      ASSERT_TRUE(run) << to_text(run.error());
      ASSERT_EQ(graph.outputs.size(), expected_["outputs"].size());
      for (size_t output = 0; output < graph.outputs.size(); ++output) {
        const Json& told = expected_["outputs"][output];
        const Tensor wanted = tensor_of(told);
        const ir::ValueId id = graph.outputs[output];
        EXPECT_EQ(graph.value(id).type, wanted.type) << told["name"] << " " << told["op"];
        EXPECT_EQ(run->bytes[static_cast<size_t>(id)], wanted.data.copy()) << told["name"] << " " << told["op"];
      }
    }
  }

  [[nodiscard]] std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (const Json& input : expected_["inputs"]) names.push_back(input["name"]);
    return names;
  }
};

TEST_F(Integers, AreComputedAtRunTimeAsInNumpy) {
  const ir::Graph graph = imported({});
  EXPECT_GT(graph.ops.size(), 300U);
  compare(graph);
}

TEST_F(Integers, AreFoldedToTheSameWhereTheyAreConstant) {
  const std::vector<std::string> names = inputs();
  compare(imported({names.begin(), names.end()}));
}

TEST_F(Integers, AreTheSameWhereOneOperandIsConstant) {
  const std::vector<std::string> names = inputs();
  for (const size_t first : {0u, 1u}) {
    std::set<std::string> known;
    for (size_t name = first; name < names.size(); name += 2) known.insert(names[name]);
    compare(imported(known));
  }
}

TEST_F(Integers, RefuseComputedIndicesThatAreOutOfRange) {
  const onnx::ModelProto model = model_with({});
  const ir::Graph graph = imported({});
  size_t refused = 0;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() != "GatherND") continue;
    for (const int64_t outside : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN}) {
      ir::Feeds feeds = feeds_of(graph);
      for (auto& [id, bytes] : feeds)
        if (graph.value(id).name == node.input(1)) std::memcpy(bytes.data(), &outside, sizeof outside);
      const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds);
      EXPECT_FALSE(run) << node.output(0) << " " << outside;
      refused += !run;
    }
  }
  EXPECT_EQ(refused, 20U);
}

// Operands of other nodes, and attributes out of range: refused, or computed without leaving an operand.
TEST_F(Integers, AreRefusedOrComputedWhateverTheyAreGiven) {
  std::mt19937 random(11);
  const std::vector<std::string> names = inputs();
  size_t computed = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const bool known = round % 2 != 0;
    onnx::ModelProto model =
        model_with(known ? std::set<std::string>(names.begin(), names.end()) : std::set<std::string>{});
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(random() % static_cast<size_t>(graph.node_size())));
    if (node.attribute_size() > 0 && random() % 2 == 0) {
      node.mutable_attribute(0)->set_i(static_cast<int64_t>(random() % 19) - 9);
    } else {
      node.set_input(static_cast<int>(random() % static_cast<size_t>(node.input_size())),
                     names[random() % names.size()]);
    }
    const onnx::NodeProto changed = node;
    const auto output = std::ranges::find(graph.output(), changed.output(0), &onnx::ValueInfoProto::name);
    const onnx::ValueInfoProto kept = *output;
    graph.clear_output();
    *graph.add_output() = kept;
    graph.clear_node();
    *graph.add_node() = changed;
    const auto made = parsed(model);
    if (!made) {
      EXPECT_TRUE(made.error().code == "E0211" || made.error().code == "E0401") << to_text(made.error());
      ++refused;
      continue;
    }
    EXPECT_TRUE(ir::validate(made->graph).has_value()) << changed.DebugString();
    const auto run = ir::evaluate(made->graph, *pt_portable_kernels(), feeds_of(made->graph));
    EXPECT_TRUE(run || run.error().code == "E0905") << to_text(run.error()) << changed.DebugString();
    ++(run ? computed : refused);
  }
  EXPECT_GT(computed, 50U);
  EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace pantoum
