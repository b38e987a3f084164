// What ranks, scatters, finds, unpools, folds and samples: at run time, folded, and with some operands known. indexed.py
// made the expected values.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <set>

#include "import/onnx.h"
#include "testing/evaluate.h"
#include "told_tensors.h"

namespace pantoum {
namespace {

using Names = std::set<std::string>;

class Indexed : public testing::Test {
 protected:
  Json expected_ = Json::parse(std::ifstream(std::string(PANTOUM_SOURCE_DIR) + "/tests/values/indexed.json"));

  // The model with the inputs that `known` names as constants.
  [[nodiscard]] onnx::ModelProto model_with(const Names& known) const {
    onnx::ModelProto model;
    std::ifstream file(std::string(PANTOUM_SOURCE_DIR) + "/tests/values/indexed.onnx", std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&file));
    for (const Json& input : expected_["inputs"])
      if (known.contains(input["name"])) *model.mutable_graph()->add_initializer() = message_of(input);
    return model;
  }

  [[nodiscard]] static Result<import::Imported> parsed(const onnx::ModelProto& model) {
    const std::string bytes = model.SerializeAsString();
    return import::parse_onnx(bytes.data(), bytes.size(), ".");
  }

  [[nodiscard]] ir::Graph imported(const Names& known) const {
    auto made = parsed(model_with(known));
    EXPECT_TRUE(made) << (made ? "" : to_text(made.error()));
    return made ? std::move(made->graph) : ir::Graph{};
  }

  [[nodiscard]] ir::Feeds feeds_of(const ir::Graph& graph) const {
    ir::Feeds feeds;
    for (const Json& input : expected_["inputs"])
      for (const ir::ValueId id : graph.inputs)
        if (graph.value(id).name == input["name"]) feeds[id] = tensor_of(input).data.copy();
    return feeds;
  }

  // Floating-point sums are in another order than the reference's; all else is the same.
  static void expect_same(const import::Tensor& found, const import::Tensor& wanted, const std::string& where) {
    ASSERT_EQ(found.type, wanted.type) << where;
    if (wanted.type.dtype != ir::DType::kF32) {
      EXPECT_EQ(found.data.copy(), wanted.data.copy()) << where;
      return;
    }
    const std::vector<double> a = *import::to_reals(found), b = *import::to_reals(wanted);
    for (size_t at = 0; at < a.size(); ++at) ASSERT_NEAR(a[at], b[at], 2e-5 * std::max(1.0, std::abs(b[at]))) << where;
  }

  void compare(const Names& known) const {
    const ir::Graph graph = imported(known);
    ASSERT_TRUE(ir::validate(graph).has_value());
    ASSERT_EQ(graph.outputs.size(), expected_["outputs"].size());
    for (const int in_place : {ir::kNone, 0}) {
      const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds_of(graph), {.in_place = in_place});
      ASSERT_TRUE(run) << to_text(run.error());
      for (size_t output = 0; output < graph.outputs.size(); ++output) {
        const Json& told = expected_["outputs"][output];
        const ir::ValueId id = graph.outputs[output];
        const auto data = std::make_shared<const std::vector<std::byte>>(run->bytes[static_cast<size_t>(id)]);
        expect_same({graph.value(id).type, data}, tensor_of(told),
                    told["name"].get<std::string>() + " " + told["op"].get<std::string>());
      }
    }
  }

  // Every `step`-th input from `first` on.
  [[nodiscard]] Names inputs(size_t first, size_t step) const {
    Names names;
    for (size_t at = first; at < expected_["inputs"].size(); at += step) names.insert(expected_["inputs"][at]["name"]);
    return names;
  }
};

TEST_F(Indexed, IsComputedAtRunTimeAsTheReferenceHasIt) {
  compare({});
}

TEST_F(Indexed, IsFoldedToTheSameWhereAllIsConstant) {
  compare(inputs(0, 1));
}

TEST_F(Indexed, IsTheSameWhereSomeOperandsAreConstant) {
  for (const size_t first : {0U, 1U, 2U}) compare(inputs(first, 3));
  for (const size_t first : {0U, 1U}) compare(inputs(first, 2));
}

TEST_F(Indexed, RefusesComputedIndicesThatAreOutOfRange) {
  const onnx::ModelProto model = model_with({});
  const ir::Graph graph = imported({});
  size_t refused = 0;
  for (const auto& node : model.graph().node()) {
    if (!node.op_type().starts_with("Scatter") && node.op_type() != "MaxUnpool") continue;
    for (const int64_t outside : {int64_t{1} << 40, -(int64_t{1} << 40), INT64_MAX, INT64_MIN}) {
      ir::Feeds feeds = feeds_of(graph);
      for (auto& [id, bytes] : feeds)
        if (graph.value(id).name == node.input(1)) std::memcpy(bytes.data(), &outside, sizeof outside);
      const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds);
      EXPECT_FALSE(run) << node.output(0) << " " << outside;
      refused += !run;
    }
  }
  EXPECT_GT(refused, 300U);
}

void change(onnx::NodeProto& node, const std::vector<std::string>& names, std::mt19937& random) {
  constexpr std::array<int64_t, 9> kNumbers = {-9, -1, 0, 1, 2, 3, 9, INT64_MAX, INT64_MIN};
  const bool attribute = node.attribute_size() > 0 && random() % 2 == 0;
  if (!attribute) {
    node.set_input(static_cast<int>(random() % static_cast<size_t>(node.input_size())), names[random() % names.size()]);
    return;
  }
  onnx::AttributeProto& told =
      *node.mutable_attribute(static_cast<int>(random() % static_cast<size_t>(node.attribute_size())));
  if (told.ints_size() > 0)
    told.set_ints(static_cast<int>(random() % static_cast<size_t>(told.ints_size())),
                  kNumbers[random() % kNumbers.size()]);
  if (told.has_i()) told.set_i(kNumbers[random() % kNumbers.size()]);
  if (told.has_s()) told.set_s("another");
}

// Operands of other nodes, and attributes out of range: refused, or computed without leaving an operand.
TEST_F(Indexed, IsRefusedOrComputedWhateverItIsGiven) {
  std::mt19937 random(11);
  const Names all = inputs(0, 1);
  const std::vector<std::string> names(all.begin(), all.end());
  size_t computed = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    onnx::ModelProto model = model_with(round % 2 != 0 ? all : Names{});
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::NodeProto node = graph.node(static_cast<int>(random() % static_cast<size_t>(graph.node_size())));
    change(node, names, random);
    graph.clear_node();
    graph.clear_output();
    *graph.add_node() = node;
    for (const std::string& output : node.output()) graph.add_output()->set_name(output);
    const auto made = parsed(model);
    if (!made) {
      EXPECT_TRUE(made.error().code == "E0401" || made.error().code == "E0211") << to_text(made.error());
      ++refused;
      continue;
    }
    const auto run = ir::evaluate(made->graph, *pt_portable_kernels(), feeds_of(made->graph));
    EXPECT_TRUE(run || run.error().code == "E0905") << to_text(run.error());
    ++computed;
  }
  EXPECT_GT(computed, 40U);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace pantoum
