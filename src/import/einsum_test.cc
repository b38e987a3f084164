// Einsum over random equations (ellipses, diagonals, extents of 1, up to four operands) against a sum over every index.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "testing/evaluate.h"

namespace pantoum::import {
namespace {

struct Dense {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

std::string einsum_model(const std::string& equation, const std::vector<Dense>& operands) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Einsum");
  node.add_output("y");
  auto& attribute = *node.add_attribute();
  attribute.set_name("equation");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(equation);
  for (size_t number = 0; number < operands.size(); ++number) {
    const std::string name = "x" + std::to_string(number);
    node.add_input(name);
    auto& input = *graph.add_input();
    input.set_name(name);
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape();  // a scalar has one, too
    for (const int64_t extent : operands[number].shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  auto& output = *graph.add_output();
  output.set_name("y");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return model.SerializeAsString();
}

Result<Imported> imported(const std::string& equation, const std::vector<Dense>& operands) {
  const std::string bytes = einsum_model(equation, operands);
  return parse_onnx(bytes.data(), bytes.size(), "/nonexistent");
}

// Every operand's dimensions and the output's, each with a label of its own ('.' stands for none).
struct Asked {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> extents;
};

double element(const Dense& operand, const std::string& labels, const std::map<char, int64_t>& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < labels.size(); ++d)
    offset = offset * operand.shape[d] + (operand.shape[d] == 1 ? 0 : at.at(labels[d]));
  return operand.data[static_cast<size_t>(offset)];
}

std::vector<double> naive(const Asked& asked, const std::vector<Dense>& operands) {
  int64_t elements = 1, all = 1;
  for (const char label : asked.output) elements *= asked.extents.at(label);
  for (const auto& [label, extent] : asked.extents) all *= extent;
  std::vector<double> sums(static_cast<size_t>(elements));
  for (int64_t number = 0; number < all; ++number) {
    std::map<char, int64_t> at;
    int64_t rest = number;
    for (const auto& [label, extent] : asked.extents) at[label] = rest % extent, rest /= extent;
    double product = 1;
    for (size_t input = 0; input < operands.size(); ++input)
      product *= element(operands[input], asked.inputs[input], at);
    int64_t offset = 0;
    for (const char label : asked.output) offset = offset * asked.extents.at(label) + at[label];
    sums[static_cast<size_t>(offset)] += product;
  }
  return sums;
}

// '0' to '9' are an ellipsis' dimensions: written as "...".
std::string written(const std::string& labels, bool open) {
  std::string text;
  bool dots = false;
  for (const char label : labels) {
    if (label > '9') {
      text += label;
    } else if (!dots) {
      text += "...";
      dots = true;
    }
  }
  return open && !dots ? "..." + text : text;
}

class RandomEinsum {
 public:
  explicit RandomEinsum(uint32_t seed) : draw_(seed) {}

  void make() {
    open_ = number(2) == 0;
    const std::string letters = "bCaDe";
    for (const char label : letters) asked.extents[label] = 1 + number(4);
    const int ellipsis = open_ ? number(3) : 0, count = 1 + number(4);
    for (int d = 0; d < ellipsis; ++d) asked.extents[static_cast<char>('0' + d)] = 1 + number(3);
    for (int input = 0; input < count; ++input) {
      std::string labels;
      for (int d = number(4); d > 0; --d) labels += letters[static_cast<size_t>(number(5))];
      std::string dots;
      for (int d = number(ellipsis + 1); d < ellipsis; ++d) dots += static_cast<char>('0' + d);
      labels.insert(static_cast<size_t>(number(static_cast<int>(labels.size()) + 1)), dots);
      asked.inputs.push_back(labels);
      operands.push_back(dense(labels));
    }
    keep_what_occurs();
    for (const auto& [label, extent] : asked.extents)
      if (label <= '9' || number(2) == 0) asked.output += label;
    for (size_t input = 0; input < asked.inputs.size(); ++input)
      equation += (input == 0 ? "" : ", ") + written(asked.inputs[input], open_);
    equation += " -> " + written(asked.output, open_);
  }

  Asked asked;
  std::vector<Dense> operands;
  std::string equation;

 private:
  int number(int below) { return static_cast<int>(draw_() % static_cast<uint32_t>(below)); }

  Dense dense(const std::string& labels) {
    Dense made;
    std::map<char, bool> thin;  // a repeated label is thin everywhere or nowhere
    for (const char label : labels) {
      const bool one = thin.try_emplace(label, number(5) == 0).first->second;
      made.shape.push_back(one ? 1 : asked.extents[label]);
    }
    int64_t count = 1;
    for (const int64_t extent : made.shape) count *= extent;
    for (int64_t at = 0; at < count; ++at) made.data.push_back(static_cast<float>(number(9) - 4) / 4);
    return made;
  }

  // Labels that no operand has go; where every operand that has one is thin, its extent is 1.
  void keep_what_occurs() {
    std::map<char, int64_t> found;
    for (size_t input = 0; input < operands.size(); ++input)
      for (size_t d = 0; d < asked.inputs[input].size(); ++d) {
        int64_t& extent = found.try_emplace(asked.inputs[input][d], 1).first->second;
        extent = std::max(extent, operands[input].shape[d]);
      }
    // The rank of an ellipsis is that of the longest one.
    asked.extents = found;
  }

  std::mt19937 draw_;
  bool open_ = false;
};

std::vector<float> evaluated(const Imported& model, const std::vector<Dense>& operands) {
  ir::Feeds feeds;
  for (size_t input = 0; input < operands.size(); ++input) {
    const auto bytes = std::as_bytes(std::span(operands[input].data));
    feeds[model.graph.inputs[input]] = {bytes.begin(), bytes.end()};
  }
  const auto values = ir::evaluate(model.graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(values) << (values ? "" : to_text(values.error()));
  if (!values) return {};
  return values->as<float>(ir::root_of(model.graph, model.graph.outputs[0]));
}

TEST(Einsum, SumsOverEveryIndex) {
  int compared = 0;
  for (uint32_t seed = 1; seed <= 600; ++seed) {
    RandomEinsum random(seed);
    random.make();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + random.equation);
    const auto model = imported(random.equation, random.operands);
    ASSERT_TRUE(model) << to_text(model.error());
    const auto expected = naive(random.asked, random.operands);
    const auto found = evaluated(*model, random.operands);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t at = 0; at < found.size(); ++at)
      ASSERT_NEAR(found[at], expected[at], 1e-4 * (1 + std::fabs(expected[at])));
    ++compared;
  }
  EXPECT_EQ(compared, 600);
}

TEST(Einsum, RefusesWhatIsNoEquation) {
  const Dense a{{2, 3}, std::vector<float>(6)}, b{{3, 4}, std::vector<float>(12)};
  for (const std::string equation :
       {"ij,jk->im", "i1,jk->ik", "ijk,jk->i", "i,jk->ik", "ij,jk,kl->il", "ij,ij->i", "ij,jk->ii", "ij->ij", "", "->",
        "...,..->...", "ij......,jk->ik", "ij,jk-ik", "ij;jk->ik"}) {
    const auto model = imported(equation, {a, b});
    ASSERT_FALSE(model) << equation;
    EXPECT_TRUE(model.error().code == "E0211" || model.error().code == "E0401")
        << equation << ": " << model.error().code;
  }
}

TEST(Einsum, GivesTheLettersThatOccurOnceInAlphabeticOrder) {
  const Dense a{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto model = imported("ba", {a});
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->graph.value(model->graph.outputs[0]).type.shape, (ir::Shape{3, 2}));
  EXPECT_EQ(evaluated(*model, {a}), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace pantoum::import
