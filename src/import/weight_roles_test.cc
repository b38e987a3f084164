// What trains: by marks, uses, names and options. Models are built here, node by node, metadata as PyTorch's exporter
// writes it.
#include "import/weight_roles.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <random>

#include "import/onnx_messages.h"
#include "import/parameter_marks.h"
#include "testing/onnx_metadata.h"

namespace pantoum::import {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;

constexpr const char* kKindKey = "pkg.torch.export.graph_signature.InputSpec.kind";

// x [2,4,6,6] -> nodes; every result that nobody reads is an output.
class Source {
 public:
  Source() {
    proto_.set_ir_version(10);
    proto_.set_producer_name("pytorch");
    proto_.add_opset_import()->set_version(20);
    onnx::ValueInfoProto& x = *graph().add_input();
    x.set_name("x");
    x.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : {2, 4, 6, 6})
      x.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
  }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  Source& by(const std::string& producer) {
    proto_.set_producer_name(producer);
    return *this;
  }

  Source& tensor(const std::string& name, const std::vector<int64_t>& dims, float first = 0.5F) {
    onnx::TensorProto& made = *graph().add_initializer();
    made.set_name(name);
    made.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) made.add_dims(dim), count *= dim;
    for (int64_t at = 0; at < count; ++at) made.add_float_data(at == 0 ? first : static_cast<float>(at));
    return *this;
  }
  Source& integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& made = *graph().add_initializer();
    made.set_name(name);
    made.set_data_type(onnx::TensorProto::INT64);
    made.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) made.add_int64_data(value);
    return *this;
  }
  Source& node(const std::string& op_type, const Names& inputs, const std::string& output) {
    onnx::NodeProto& made = *graph().add_node();
    made.set_op_type(op_type);
    made.set_name("node_" + output);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return *this;
  }
  Source& mark(const std::string& name, const std::string& kind) {
    onnx::ValueInfoProto& value = *graph().add_value_info();
    value.set_name(name);
    annotate(value, MetadataField::kOfValue, kKindKey, kind);
    return *this;
  }
  Source& folded(const std::string& name, const std::string& from) {
    onnx::ValueInfoProto& value = *graph().add_value_info();
    value.set_name(name);
    annotate(value, MetadataField::kOfValue, "pkg.onnxscript.optimizer.folded_from", from);
    return *this;
  }
  [[nodiscard]] Result<Imported> load(const OnnxOptions& options = {}) {
    std::map<std::string, int> read;
    for (const auto& each : graph().node())
      for (const std::string& input : each.input()) ++read[input];
    onnx::ModelProto whole = proto_;
    for (const auto& each : graph().node())
      if (!read.contains(each.output(0))) whole.mutable_graph()->add_output()->set_name(each.output(0));
    const std::string bytes = whole.SerializeAsString();
    return parse_onnx(bytes.data(), bytes.size(), "", options);
  }

 private:
  onnx::ModelProto proto_;
};

std::map<std::string, std::string> trains(Source& source, const OnnxOptions& options = {}) {
  const Result<Imported> model = source.load(options);
  std::map<std::string, std::string> found;
  if (!model) return {{"error", to_text(model.error())}};
  for (const TensorInfo& tensor : model->info.tensors) found[tensor.name] = tensor.trains;
  return found;
}

Source convolution() {
  return Source().tensor("conv.weight", {3, 4, 1, 1}).node("Conv", {"x", "conv.weight"}, "y");
}

TEST(WeightRoles, WhatOnlyAddsOrMultipliesIsAmbiguous) {
  Source source = convolution();
  source.tensor("scale", {3, 1, 1}).node("Mul", {"y", "scale"}, "a");
  source.tensor("mean", {1, 3, 1, 1}).node("Sub", {"a", "mean"}, "b");
  source.tensor("table", {9, 6}).integers("begin", {0}).integers("end", {6});
  source.node("Slice", {"table", "begin", "end"}, "rows").node("Mul", {"rows", "b"}, "c");
  source.tensor("onnx::Add_7", {6, 6}).node("Add", {"c", "onnx::Add_7"}, "d");
  source.tensor("onnx::Mul_8", {}).node("Mul", {"d", "onnx::Mul_8"}, "e");
  const std::map<std::string, std::string> expected{
      {"conv.weight", "yes"}, {"scale", "ambiguous"}, {"mean", "ambiguous"},        {"table", "ambiguous"},
      {"begin", "no"},        {"end", "no"},          {"onnx::Add_7", "ambiguous"}, {"onnx::Mul_8", "no"}};
  EXPECT_EQ(trains(source), expected);
  const Names warnings = source.load()->info.warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("--freeze 'mean' --freeze 'onnx::Add_7' --freeze 'scale' --freeze 'table'"));
}

TEST(WeightRoles, WhatNodesMakeOfATableAloneIsATable) {
  Source source;
  source.tensor("inverse", {6}).node("Exp", {"inverse"}, "grown").node("Mul", {"x", "grown"}, "y");
  source.tensor("weight_v", {6, 5}).tensor("weight_g", {5}).node("Mul", {"weight_v", "weight_g"}, "w");
  source.node("MatMul", {"y", "w"}, "z");
  const std::map<std::string, std::string> expected{{"inverse", "ambiguous"}, {"weight_v", "yes"}, {"weight_g", "yes"}};
  EXPECT_EQ(trains(source), expected);
  Source scaled;
  scaled.tensor("weight_v", {6, 5}).tensor("weight_g", {5}).node("Mul", {"weight_v", "weight_g"}, "w");
  scaled.node("MatMul", {"x", "w"}, "z");
  EXPECT_EQ(trains(scaled), (std::map<std::string, std::string>{{"weight_v", "yes"}, {"weight_g", "yes"}}));
}

TEST(WeightRoles, AVectorAddedToAProductIsABias) {
  const auto added = [](const std::vector<int64_t>& dims, const char* product) {
    Source source;
    source.tensor("w", product == std::string("Conv") ? std::vector<int64_t>{6, 4, 1, 1} : std::vector<int64_t>{6, 6});
    source.node(product, {"x", "w"}, "y").tensor("b", dims).node("Add", {"b", "y"}, "z");
    return trains(source)["b"];
  };
  EXPECT_EQ(added({6}, "MatMul"), "yes");
  EXPECT_EQ(added({1, 1, 6}, "MatMul"), "yes");
  EXPECT_EQ(added({6, 6}, "MatMul"), "ambiguous");
  EXPECT_EQ(added({6, 1}, "MatMul"), "ambiguous");
  EXPECT_EQ(added({6, 1, 1}, "Conv"), "yes");
  EXPECT_EQ(added({1, 6, 1, 1}, "Conv"), "yes");
  EXPECT_EQ(added({6}, "Conv"), "ambiguous");
  Source scores;  // a mask over x x^T is no bias
  scores.node("Transpose", {"x"}, "t").node("MatMul", {"x", "x"}, "y").tensor("b", {6}).node("Add", {"y", "b"}, "z");
  EXPECT_EQ(trains(scores)["b"], "ambiguous");
}

TEST(WeightRoles, APartOfAVectorAddedToAProductIsABias) {
  const auto added = [](const std::vector<int64_t>& dims) {
    Source source;
    source.tensor("w", {6, 6})
        .node("MatMul", {"x", "w"}, "y")
        .tensor("b", dims)
        .integers("begin", {0})
        .integers("end", {6});
    source.node("Slice", {"b", "begin", "end"}, "part").node("Add", {"y", "part"}, "z");
    return trains(source)["b"];
  };
  EXPECT_EQ(added({18}), "yes");
  EXPECT_EQ(added({9, 6}), "ambiguous");  // rows of a table
  Source sliced;                          // of an activation
  sliced.tensor("weight", {6, 6}).node("MatMul", {"x", "weight"}, "y").integers("begin", {0}).integers("end", {6});
  sliced.node("Slice", {"x", "begin", "end"}, "part").node("Add", {"y", "part"}, "z");
  EXPECT_EQ(trains(sliced)["weight"], "yes");
}

TEST(WeightRoles, ScalesAndShiftsOfAGroupNormAreWeights) {
  const auto affine = [] {
    Source source;
    source.integers("groups", {0, 2, -1}).integers("image", {2, 4, 6, 6}).tensor("ones", {2}).tensor("zeros", {2});
    source.node("Reshape", {"x", "groups"}, "flat");
    source.node("InstanceNormalization", {"flat", "ones", "zeros"}, "norm").node("Reshape", {"norm", "image"}, "back");
    source.tensor("scale", {4, 1, 1}).node("Mul", {"back", "scale"}, "scaled");
    source.tensor("shift", {4, 1, 1}).node("Add", {"shift", "scaled"}, "y");
    const auto found = trains(source);
    return found.contains("error") ? found.at("error") : found.at("scale") + ", " + found.at("shift");
  };
  EXPECT_EQ(affine(), "yes, yes");
  Source other;  // the same product and sum behind another operator
  other.node("Relu", {"x"}, "norm").tensor("scale", {4, 1, 1}).node("Mul", {"norm", "scale"}, "scaled");
  other.tensor("shift", {4, 1, 1}).node("Add", {"scaled", "shift"}, "y");
  EXPECT_EQ(trains(other)["scale"] + ", " + trains(other)["shift"], "ambiguous, ambiguous");
}

TEST(WeightRoles, AnEmbeddingTimesANumberIsAnEmbedding) {
  const auto table = [](const char* factor) {
    Source source;
    source.tensor("table", {9, 6}).tensor("onnx::Mul_1", {}).tensor("w", {6, 6});
    source.node("ReduceMean", {"x"}, "mean")
        .node("ArgMax", {"x"}, "at")
        .node("Gather", {"table", "at"}, "rows")
        .node("Mul", {"rows", factor}, "scaled");
    source.node("MatMul", {"scaled", "w"}, "y");
    return trains(source)["table"];
  };
  EXPECT_EQ(table("onnx::Mul_1"), "yes");
  EXPECT_EQ(table("mean"), "ambiguous");  // by an activation: it may be a schedule that is read at a timestep
}

TEST(WeightRoles, RowsThatMultiplyRowsAreEmbeddings) {
  Source source;
  source.tensor("users", {9, 6}).tensor("items", {7, 6}).tensor("angles", {7, 6});
  source.node("ArgMax", {"x"}, "at").node("Gather", {"users", "at"}, "user").node("Gather", {"items", "at"}, "item");
  source.node("Identity", {"item"}, "same").node("Mul", {"user", "same"}, "scores");
  source.node("Gather", {"angles", "at"}, "turn").node("Mul", {"scores", "turn"}, "z").node("Relu", {"z"}, "y");
  auto found = trains(source);
  EXPECT_EQ(found["users"] + ", " + found["items"] + ", " + found["angles"], "yes, yes, ambiguous");
}

TEST(WeightRoles, InfinitiesIntegersAndStatisticsNeverTrain) {
  Source source = convolution();
  source.tensor("mask", {6, 6}, -std::numeric_limits<float>::infinity()).node("Add", {"y", "mask"}, "a");
  source.tensor("hole", {6, 6}, std::numeric_limits<float>::quiet_NaN()).node("Add", {"a", "hole"}, "b");
  source.tensor("s", {3}).tensor("o", {3}).tensor("m", {3}).tensor("v", {3});
  source.node("BatchNormalization", {"b", "s", "o", "m", "v"}, "c");
  source.tensor("bn.running_mean", {3, 1, 1}).node("Sub", {"c", "bn.running_mean"}, "d");
  const std::map<std::string, std::string> expected{
      {"conv.weight", "yes"}, {"mask", "no"}, {"hole", "no"}, {"s", "yes"},
      {"o", "yes"},           {"m", "no"},    {"v", "no"},    {"bn.running_mean", "no"}};
  EXPECT_EQ(trains(source), expected);
  for (const char* name : {"mask", "hole", "m"}) {
    const auto refused = source.load({.train = {name}});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "E0104");
  }
}

// A mask embedding takes the place of activations; what fills a masked score is one number.
TEST(WeightRoles, AVectorThatWhereChoosesMayBeAParameter) {
  Source source = convolution();
  source.tensor("mask_token", {6}).tensor("filler", {}).tensor("val_7", {6}).node("Less", {"y", "y"}, "c");
  source.node("Where", {"c", "mask_token", "y"}, "a").node("Where", {"c", "a", "filler"}, "b");
  source.node("Where", {"c", "val_7", "b"}, "z");
  EXPECT_EQ(trains(source)["mask_token"], "ambiguous");
  EXPECT_EQ(trains(source)["filler"], "no");
  EXPECT_EQ(trains(source)["val_7"], "no");
}

TEST(WeightRoles, AWeightThatAlsoStandsForAStatisticTrains) {
  Source source = convolution();
  source.tensor("s", {3}).tensor("o", {3}).node("Identity", {"s"}, "v").node("Identity", {"o"}, "m");
  source.node("BatchNormalization", {"y", "s", "o", "m", "v"}, "z");
  EXPECT_EQ(trains(source)["s"], "yes");
  EXPECT_EQ(trains(source)["o"], "yes");
}

Source marked() {
  Source source = convolution();
  source.tensor("scale", {3, 1, 1}).node("Mul", {"y", "scale"}, "a").tensor("mean", {3, 1, 1});
  source.node("Sub", {"a", "mean"}, "b").tensor("steps", {1}).node("Add", {"b", "steps"}, "c");
  return source.mark("conv.weight", "PARAMETER").mark("scale", "PARAMETER").mark("mean", "BUFFER");
}

TEST(WeightRoles, MarksDecide) {
  Source source = marked();
  source.tensor("val_3", {6, 6}).node("Add", {"c", "val_3"}, "d").folded("val_3", "['val_1', 'val_2']");
  const std::map<std::string, std::string> expected{
      {"conv.weight", "yes"}, {"scale", "yes"}, {"mean", "no"}, {"steps", "no"}, {"val_3", "no"}};
  EXPECT_EQ(trains(source), expected);
  EXPECT_THAT(source.load()->info.warnings, IsEmpty());
}

TEST(WeightRoles, MarksMayStandAtTheTensorToo) {
  Source source = convolution();
  source.tensor("scale", {3, 1, 1}).node("Mul", {"y", "scale"}, "a");
  annotate(*source.graph().mutable_initializer(1), MetadataField::kOfTensor, kKindKey, "BUFFER");
  EXPECT_EQ(trains(source)["scale"], "no");
}

TEST(WeightRoles, HostileMetadataDecidesNothing) {
  Source torn = convolution();
  onnx::ValueInfoProto& value = *torn.graph().add_value_info();
  value.set_name("conv.weight");
  value.GetReflection()->MutableUnknownFields(&value)->AddLengthDelimited(4, "\xff\xff\xff");
  value.GetReflection()->MutableUnknownFields(&value)->AddVarint(4, 7);
  EXPECT_EQ(trains(torn)["conv.weight"], "yes");
  Source unknown = convolution().mark("conv.weight", "SOMETHING").mark("ghost", "");
  EXPECT_EQ(trains(unknown)["conv.weight"], "yes");
  Source both = marked().mark("scale", "BUFFER");
  EXPECT_EQ(trains(both)["scale"], "ambiguous");
  Source unclosed = marked().folded("steps", "['conv.weight");
  EXPECT_EQ(trains(unclosed)["steps"], "no");
  Source integers = convolution().mark("conv.weight", "PARAMETER");
  integers.integers("shape", {2, 3, 6, 6}).node("Reshape", {"y", "shape"}, "z").mark("shape", "PARAMETER");
  EXPECT_EQ(trains(integers)["shape"], "no");
}

TEST(WeightRoles, TrainIsTheOppositeOfFreeze) {
  Source source = marked();
  EXPECT_EQ(trains(source, {.train = {"mean"}})["mean"], "yes");
  EXPECT_EQ(trains(source, {.freeze = {"scale"}})["scale"], "no");
  const auto all = source.load({.train = {"*"}});
  ASSERT_TRUE(all) << to_text(all.error());
  EXPECT_EQ(all->info.parameter_count, 3 * 4 + 3 + 3 + 1);
  const auto both = source.load({.train = {"me*"}, .freeze = {"*"}});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, "E0117");
  EXPECT_THAT(both.error().notes, testing::ElementsAre("'mean'"));
  const auto nothing = source.load({.train = {"mean", "nothing"}});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, "E0104");
  EXPECT_THAT(nothing.error().notes, testing::ElementsAre("'nothing'"));
}

TEST(WeightRoles, WhatIsFixedMayBeFrozenAndWhatTrainsTrained) {
  Source source = marked();
  EXPECT_EQ(trains(source, {.freeze = {"mean"}})["mean"], "no");
  EXPECT_EQ(trains(source, {.train = {"scale"}})["scale"], "yes");
  const auto nothing = source.load({.freeze = {"mean", "nothing"}});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, "E0104");
  EXPECT_THAT(nothing.error().notes, testing::ElementsAre("'nothing'"));
  const auto both = source.load({.train = {"mean"}, .freeze = {"mean"}});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, "E0117");
}

TEST(WeightRoles, ATableInAConstantNodeTrainsIfItIsNamed) {
  const auto with_table = [](int32_t type) {
    Source source = convolution();
    onnx::NodeProto& made = *source.graph().add_node();
    made.set_op_type("Constant");
    made.add_output("table");
    onnx::AttributeProto& value = *made.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(type);
    for (const int64_t extent : {3, 1, 1}) value.mutable_t()->add_dims(extent);
    for (int at = 0; at < 3; ++at)
      type == onnx::TensorProto::FLOAT ? value.mutable_t()->add_float_data(2) : value.mutable_t()->add_int64_data(2);
    if (type != onnx::TensorProto::FLOAT) source.node("Identity", {"table"}, "z");
    return type == onnx::TensorProto::FLOAT ? source.node("Mul", {"y", "table"}, "z") : source;
  };
  Source reals = with_table(onnx::TensorProto::FLOAT), integers = with_table(onnx::TensorProto::INT64);
  EXPECT_EQ(trains(reals)["table"], "no");
  EXPECT_EQ(reals.load()->info.parameter_count, 12);
  EXPECT_EQ(trains(reals, {.train = {"table"}})["table"], "yes");
  EXPECT_EQ(reals.load({.train = {"t*"}})->info.parameter_count, 15);
  EXPECT_EQ(trains(reals, {.freeze = {"table"}})["table"], "no");
  const auto refused = integers.load({.train = {"table"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().notes, testing::Contains(HasSubstr("its elements are i64")));
}

TEST(WeightRoles, AnEmbeddingThatOnlyMultipliesIsOne) {
  Source source = convolution();
  source.tensor("gates", {5, 6}).node("Cast", {"y"}, "rows");
  onnx::AttributeProto& to = *source.graph().mutable_node(1)->add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(onnx::TensorProto::INT64);
  source.node("Gather", {"gates", "rows"}, "gate").tensor("rotary", {1, 6});
  source.node("Mul", {"gate", "rotary"}, "z");
  EXPECT_EQ(trains(source)["gates"], "yes");
  EXPECT_EQ(trains(source)["rotary"], "ambiguous");
}

TEST(WeightRoles, OptionsSettleWhatIsAmbiguous) {
  Source source = convolution();
  source.tensor("a*[b]", {3, 1, 1}).node("Mul", {"y", "a*[b]"}, "z");
  EXPECT_THAT(source.load()->info.warnings[0], HasSubstr(R"(--freeze 'a\*\[b\]')"));
  EXPECT_THAT(source.load({.freeze = {R"(a\*\[b\])"}})->info.warnings, IsEmpty());
  EXPECT_THAT(source.load({.train = {R"(a\*\[b\])"}})->info.warnings, IsEmpty());
}

// PyTorch's older exporter keeps the names of parameters, and names what it folded itself.
TEST(WeightRoles, AFactorWithoutAParametersNameIsAmbiguous) {
  const std::map<std::string, std::string> expected{
      {"fc.weight", "yes"}, {"proj", "ambiguous"}, {"onnx::MatMul_9", "ambiguous"}};
  for (const bool conv : {false, true}) {
    const std::vector<int64_t> dims = conv ? std::vector<int64_t>{4, 4, 1, 1} : std::vector<int64_t>{6, 6};
    const char* operation = conv ? "Conv" : "MatMul";
    Source source;
    source.tensor("fc.weight", dims).node(operation, {"x", "fc.weight"}, "a");
    source.tensor("proj", dims).node(operation, {"a", "proj"}, "b");
    source.tensor("onnx::MatMul_9", dims).node(operation, {"b", "onnx::MatMul_9"}, "c");
    EXPECT_EQ(trains(source), expected) << operation;
  }
}

TEST(WeightRoles, WhatIsComparedIsAmbiguous) {
  for (const char* comparison : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"}) {
    Source source = convolution();
    source.tensor("grid", {6}).node(comparison, {"y", "grid"}, "above").node("Sub", {"y", "grid"}, "z");
    EXPECT_EQ(trains(source)["grid"], "ambiguous") << comparison;
    EXPECT_EQ(trains(source.by("tf2onnx"))["grid"], "no") << comparison;
  }
}

// Reasons by name, of a file of another exporter.
std::map<std::string, std::string> elsewhere(Source& source, const OnnxOptions& options = {}) {
  return trains(source.by("tf2onnx"), options);
}

TEST(WeightRoles, NumbersBesideActivationsDoNotTrainElsewhere) {
  for (const char* operation : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu", "Greater"})
    for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{}, {1}, {1, 1}}) {
      if (operation == std::string("PRelu") && !dims.empty()) continue;  // a slope
      Source source = convolution();
      source.tensor("layer.weight", dims).node(operation, {"y", "layer.weight"}, "z");
      EXPECT_EQ(elsewhere(source)["layer.weight"], "no") << operation << dims.size();
    }
}

TEST(WeightRoles, WhatOperatorsCompareLimitOrChooseDoesNotTrainElsewhere) {
  Source source = convolution();
  source.tensor("a", {6}).tensor("b", {6}).tensor("c", {6}).tensor("d", {6}).tensor("e", {6});
  source.node("Max", {"y", "a"}, "p").node("Min", {"b", "p"}, "q").node("Greater", {"q", "c"}, "condition");
  source.node("Where", {"condition", "q", "d"}, "r").node("Add", {"r", "e"}, "z");
  const std::map<std::string, std::string> expected{
      {"conv.weight", "yes"}, {"a", "no"}, {"b", "no"}, {"c", "no"}, {"d", "no"}, {"e", "ambiguous"}};
  EXPECT_EQ(elsewhere(source), expected);
  const Names warnings = source.load()->info.warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[1], HasSubstr("--train 'a' --train 'b' --train 'c' --train 'd'"));
  EXPECT_EQ(elsewhere(source, {.train = {"a"}})["a"], "yes");
  EXPECT_THAT(source.load({.freeze = {"*"}})->info.warnings, IsEmpty());
}

TEST(WeightRoles, NamesDecideNothingElsewhere) {
  for (const char* name : {"onnx::MatMul_12", "val_3", "/layer/Constant_output_0", "running_mean", "w"}) {
    Source product, sum;
    product.tensor(name, {6, 6}).node("MatMul", {"x", name}, "y");
    EXPECT_EQ(elsewhere(product)[name], "yes") << name;
    sum.node("Relu", {"x"}, "a").tensor(name, {6}).node("Add", {"a", name}, "y");
    EXPECT_EQ(elsewhere(sum)[name], "ambiguous") << name;
  }
}

TEST(WeightRoles, BiasesAreFoundBehindMovementsElsewhere) {
  const auto added = [](const std::vector<int64_t>& weight, const std::vector<int64_t>& bias) {
    Source source;
    source.tensor("k", weight).integers("shape", {8, 6, -1}).tensor("b", bias);
    if (weight.size() == 2)
      source.node("MatMul", {"x", "k"}, "y").node("Reshape", {"y", "shape"}, "m");
    else
      source.node("Conv", {"x", "k"}, "y").node("Transpose", {"y"}, "m");
    if (weight.size() != 2) {
      onnx::AttributeProto& perm = *source.graph().mutable_node(1)->add_attribute();
      perm.set_name("perm");
      perm.set_type(onnx::AttributeProto::INTS);
      for (const int64_t axis : {0, 2, 3, 1}) perm.add_ints(axis);
    }
    source.node("Add", {"m", "b"}, "z");
    return elsewhere(source)["b"];
  };
  EXPECT_EQ(added({3, 4, 1, 1}, {3}), "yes");
  EXPECT_EQ(added({1, 4, 1, 1}, {1}), "yes");
  EXPECT_EQ(added({3, 4, 1, 1}, {1}), "no");
  EXPECT_EQ(added({6, 1}, {1}), "yes");
  EXPECT_EQ(added({6, 3}, {3}), "yes");
  EXPECT_EQ(added({6, 3}, {6, 1}), "ambiguous");
}

TEST(WeightRoles, NormsWrittenOutKeepTheirStatistics) {
  Source folded;  // as Keras writes it
  folded.tensor("var", {6}).tensor("eps", {}).tensor("gamma", {6}).tensor("mean", {6}).tensor("beta", {6});
  folded.node("Add", {"var", "eps"}, "a").node("Sqrt", {"a"}, "b").node("Reciprocal", {"b"}, "c");
  folded.node("Mul", {"c", "gamma"}, "scale").node("Mul", {"x", "scale"}, "scaled");
  folded.node("Mul", {"mean", "scale"}, "moved")
      .node("Sub", {"beta", "moved"}, "shift")
      .node("Add", {"scaled", "shift"}, "y");
  const std::map<std::string, std::string> expected{
      {"var", "no"}, {"eps", "no"}, {"gamma", "yes"}, {"mean", "no"}, {"beta", "yes"}};
  EXPECT_EQ(elsewhere(folded), expected);
  Source plain;
  plain.tensor("var", {6}).tensor("eps", {}).tensor("gamma", {6}).tensor("mean", {6}).tensor("beta", {6});
  plain.node("Sub", {"x", "mean"}, "centred").node("Add", {"var", "eps"}, "a").node("Sqrt", {"a"}, "b");
  plain.node("Div", {"centred", "b"}, "c").node("Mul", {"c", "gamma"}, "d").node("Add", {"d", "beta"}, "y");
  EXPECT_EQ(elsewhere(plain), expected);
  Source of_activations;
  of_activations.tensor("eps", {}).tensor("gamma", {6}).tensor("beta", {6}).tensor("table", {6});
  of_activations.node("Mul", {"x", "x"}, "square")
      .node("ReduceMean", {"square"}, "var")
      .node("Add", {"var", "eps"}, "a");
  of_activations.node("Sqrt", {"a"}, "b").node("Div", {"x", "b"}, "c").node("Mul", {"gamma", "c"}, "d");
  of_activations.node("Add", {"d", "beta"}, "y").node("Add", {"y", "table"}, "z");
  const std::map<std::string, std::string> affine{
      {"eps", "no"}, {"gamma", "yes"}, {"beta", "yes"}, {"table", "ambiguous"}};
  EXPECT_EQ(elsewhere(of_activations), affine);
}

TEST(WeightRoles, AWidthUnderARootMakesNoMaskAShift) {
  Source source;
  source.tensor("width", {}).tensor("mask", {6}).node("Sqrt", {"width"}, "root").node("Div", {"x", "root"}, "scores");
  source.node("Add", {"scores", "mask"}, "y");
  EXPECT_EQ(elsewhere(source), (std::map<std::string, std::string>{{"width", "no"}, {"mask", "ambiguous"}}));
}

TEST(WeightRoles, WeightsInConstantNodesAreFoundElsewhere) {
  const auto constant = [](Source& source, const std::string& name, const std::vector<int64_t>& dims) {
    source.tensor(name, dims);
    onnx::TensorProto tensor;
    tensor.Swap(source.graph().mutable_initializer()->ReleaseLast());
    onnx::NodeProto& made = *source.graph().add_node();
    made.set_op_type("Constant");
    made.add_output(name);
    onnx::AttributeProto& value = *made.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
  };
  Source source;
  constant(source, "w", {6, 1});
  constant(source, "b", {1});
  constant(source, "table", {6});
  constant(source, "half", {});
  source.node("MatMul", {"x", "w"}, "y")
      .node("Add", {"y", "b"}, "z")
      .node("Mul", {"z", "table"}, "a")
      .node("Mul", {"a", "half"}, "c");
  const std::map<std::string, std::string> expected{{"w", "yes"}, {"b", "yes"}, {"table", "no"}};
  EXPECT_EQ(elsewhere(source), expected);
  EXPECT_EQ(source.load()->info.parameter_count, 7);
  EXPECT_EQ(trains(source.by("pytorch"))["w"], "no");
  EXPECT_EQ(elsewhere(source, {.freeze = {"w"}})["w"], "no");
}

TEST(WeightRoles, AKernelOfEqualFiltersIsAmbiguousElsewhere) {
  Source source;
  source.tensor("blur", {4, 1, 3, 3}).node("Conv", {"x", "blur"}, "y");
  onnx::TensorProto& blur = *source.graph().mutable_initializer(0);
  for (int at = 0; at < 36; ++at) blur.set_float_data(at, static_cast<float>(at % 9));
  onnx::AttributeProto& group = *source.graph().mutable_node(0)->add_attribute();
  group.set_name("group");
  group.set_type(onnx::AttributeProto::INT);
  group.set_i(4);
  EXPECT_EQ(elsewhere(source)["blur"], "ambiguous");
  blur.set_float_data(35, 7.5F);
  EXPECT_EQ(elsewhere(source)["blur"], "yes");
}

TEST(WeightRoles, WeightsInConstantNodesOfSubgraphsAreFoundElsewhere) {
  const auto constant = [](onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims) {
    onnx::NodeProto& made = *graph.add_node();
    made.set_op_type("Constant");
    made.add_output(name);
    onnx::AttributeProto& value = *made.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) value.mutable_t()->add_dims(dim), count *= dim;
    for (int64_t at = 0; at < count; ++at) value.mutable_t()->add_float_data(static_cast<float>(at));
  };
  const auto node = [](onnx::GraphProto& graph, const char* op_type, const Names& inputs, const std::string& output) {
    onnx::NodeProto& made = *graph.add_node();
    made.set_op_type(op_type);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
  };
  const auto body = [](onnx::GraphProto& graph, const char* attribute) -> onnx::GraphProto& {
    onnx::AttributeProto& made = *graph.mutable_node(graph.node_size() - 1)->add_attribute();
    made.set_name(attribute);
    made.set_type(onnx::AttributeProto::GRAPH);
    made.mutable_g()->set_name(attribute);
    return *made.mutable_g();
  };
  const auto truth = [](Source& source, const std::string& name) {
    onnx::TensorProto& made = *source.graph().add_initializer();
    made.set_name(name);
    made.set_data_type(onnx::TensorProto::BOOL);
    made.add_int32_data(1);
  };
  Source branches;
  truth(branches, "condition");
  branches.node("If", {"condition"}, "y");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = body(branches.graph(), branch);
    constant(graph, "w", {6, 6});  // both branches use one name
    constant(graph, "table", {6});
    node(graph, "MatMul", {"x", "w"}, "p");
    node(graph, "Mul", {"p", "table"}, "q");
    graph.add_output()->set_name("q");
  }
  auto found = elsewhere(branches);
  EXPECT_EQ(std::ranges::count_if(found, [](const auto& each) { return each.second == "yes"; }), 2);
  EXPECT_EQ(branches.load()->info.parameter_count, 36);  // of the branch that is taken

  Source loop;
  truth(loop, "go_on");
  loop.integers("trips", {3});
  loop.graph().mutable_initializer(1)->clear_dims();
  loop.node("Loop", {"trips", "go_on", "x"}, "y");
  onnx::GraphProto& graph = body(loop.graph(), "body");
  for (const char* input : {"trip", "before", "state"}) graph.add_input()->set_name(input);
  constant(graph, "w", {6, 6});
  constant(graph, "b", {6});
  constant(graph, "limit", {6});
  node(graph, "Identity", {"before"}, "after");
  node(graph, "MatMul", {"state", "w"}, "p");
  node(graph, "Add", {"p", "b"}, "q");
  node(graph, "Max", {"q", "limit"}, "next");
  for (const char* output : {"after", "next"}) graph.add_output()->set_name(output);
  found = elsewhere(loop);
  EXPECT_EQ(found["w"] + ", " + found["b"] + ", " + found["limit"], "yes, yes, no");
  EXPECT_EQ(loop.load()->info.parameter_count, 42);
  EXPECT_EQ(elsewhere(loop, {.train = {"limit"}})["limit"], "yes");
  EXPECT_EQ(elsewhere(loop, {.freeze = {"w"}})["w"], "no");
  EXPECT_EQ(trains(loop.by("pytorch"))["w"], "no");
  EXPECT_EQ(trains(loop.by("pytorch"), {.train = {"w"}})["w"], "yes");
}

// A factor that the older exporter computed ahead of time: of a layer without bias, or of a buffer.
TEST(WeightRoles, AFactorUnderAnExportersNameIsAmbiguousWithoutABias) {
  for (const char* op_type : {"MatMul", "Conv", "Gemm"}) {
    const std::vector<int64_t> dims =
        op_type == std::string("Conv") ? std::vector<int64_t>{6, 4, 1, 1} : std::vector<int64_t>{6, 6};
    const std::string name = "onnx::MatMul_12";
    Source source, biased;
    const auto input = [&](Source& into) -> std::string {
      if (op_type != std::string("Gemm")) return "x";
      into.integers("shape", {48, 6}).node("Reshape", {"x", "shape"}, "rows");
      return "rows";
    };
    source.tensor(name, dims).node(op_type, {input(source), name}, "y");
    EXPECT_EQ(trains(source)[name], "ambiguous") << op_type;
    EXPECT_THAT(source.load()->info.warnings, testing::Contains(HasSubstr("--freeze '" + name + "'")));
    biased.tensor(name, dims).tensor("fc.bias", {6});
    if (op_type == std::string("MatMul"))
      biased.node(op_type, {"x", name}, "y").node("Add", {"y", "fc.bias"}, "z");
    else
      biased.node(op_type, {input(biased), name, "fc.bias"}, "y");
    EXPECT_EQ(trains(biased)[name], "yes") << op_type;
    EXPECT_EQ(elsewhere(source)[name], "yes") << op_type;
  }
}

using Wave = std::function<double(int place, int frequency)>;

// Rows of waves times a window, as files hold them. `order`: "cosines", "sines", "both" one behind the other, "in turn".
std::vector<float> waves(int places, int frequencies, const std::string& order, const Wave& window) {
  std::vector<float> rows;
  const auto row = [&](int frequency, bool sine) {
    for (int place = 0; place < places; ++place) {
      const double angle = 2 * std::numbers::pi * frequency * place / places;
      rows.push_back(static_cast<float>(window(place, frequency) * (sine ? -std::sin(angle) : std::cos(angle))));
    }
  };
  for (int part = 0; part < (order == "both" ? 2 : 1); ++part)
    for (int frequency = 0; frequency < frequencies; ++frequency) {
      row(frequency, order == "sines" || part == 1);
      if (order == "in turn") row(frequency, true);
    }
  return rows;
}

Source filtered(const std::vector<float>& elements, int places, bool as_matrix) {
  Source source;
  const auto rows = static_cast<int64_t>(elements.size()) / places;
  onnx::TensorProto& made = *source.graph().add_initializer();
  made.set_name("f.weight");
  made.set_data_type(onnx::TensorProto::FLOAT);
  const std::vector<int64_t> dims =
      as_matrix ? std::vector<int64_t>{places, rows} : std::vector<int64_t>{rows, 1, places};
  for (const int64_t dim : dims) made.add_dims(dim);
  for (int64_t at = 0; at < rows * places; ++at)
    made.add_float_data(elements[static_cast<size_t>(as_matrix ? at % rows * places + at / rows : at)]);
  source.integers("shape", as_matrix ? std::vector<int64_t>{-1, places} : std::vector<int64_t>{2, 1, -1});
  source.node("Reshape", {"x", "shape"}, "signal").node(as_matrix ? "MatMul" : "Conv", {"signal", "f.weight"}, "y");
  return source;
}

TEST(WeightRoles, ABasisOfFourierTransformsDoesNotTrainElsewhere) {
  constexpr double kPi = std::numbers::pi;
  const std::vector<Wave> windows = {
      [](int, int) { return 1.0; }, [](int place, int) { return 0.5 - 0.5 * std::cos(2 * kPi * place / 16); },
      [](int place, int) { return 0.54 - 0.46 * std::cos(2 * kPi * place / 15); },
      [](int place, int) { return place < 3 || place > 12 ? 0.0 : std::exp(-0.1 * (place - 8) * (place - 8)); },
      [](int, int frequency) { return frequency == 0 || frequency == 8 ? 1.0 / 16 : 2.0 / 16; }};
  for (const char* order : {"cosines", "sines", "both", "in turn"})
    for (const bool as_matrix : {false, true})
      for (size_t window = 0; window < windows.size(); ++window) {
        Source source = filtered(waves(16, 9, order, windows[window]), 16, as_matrix);
        EXPECT_EQ(elsewhere(source)["f.weight"], "no") << order << " " << window << as_matrix;
        EXPECT_THAT(source.load()->info.warnings, testing::Contains(HasSubstr("--train 'f.weight'")));
        EXPECT_EQ(elsewhere(source, {.train = {"f.weight"}})["f.weight"], "yes");
        EXPECT_EQ(trains(source.by("pytorch"))["f.weight"], "ambiguous");
      }
}

TEST(WeightRoles, OtherFiltersAreNoBasis) {
  std::mt19937 draw(7);
  std::normal_distribution<double> normal;
  const Wave hann = [](int place, int) { return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * place / 16); };
  const std::map<std::string, std::function<float(int row, int place)>> others = {
      {"random", [&](int, int) { return static_cast<float>(normal(draw)); }},
      {"ramps", [](int row, int place) { return static_cast<float>(row + place); }},
      {"identity", [](int row, int place) { return row == place ? 1.0F : 0.0F; }},
      {"triangles",
       [](int row, int place) { return static_cast<float>(std::max(0.0, 1 - std::abs(row - place) / 3.0)); }},
      {"waves of uneven steps",
       [](int row, int place) { return static_cast<float>(std::cos(row * row * 0.07 * std::sqrt(place))); }},
      {"trained", [&](int row, int place) {
         const double wave = hann(place, 0) * std::cos(2 * std::numbers::pi * row * place / 16);
         return static_cast<float>(wave + 0.02 * normal(draw));
       }}};
  for (const auto& [name, element] : others)
    for (const bool as_matrix : {false, true}) {
      std::vector<float> elements;
      for (int at = 0; at < 12 * 16; ++at) elements.push_back(element(at / 16, at % 16));
      Source source = filtered(elements, 16, as_matrix);
      EXPECT_EQ(elsewhere(source)["f.weight"], "yes") << name << as_matrix;
    }
}

TEST(ModelInfo, ANormThatIsInTheFileIsNotFolded) {
  const auto warns = [](const std::string& op_type, const std::vector<std::string>& tensors,
                        const std::string& output) {
    Source source;
    Names inputs{"x"};
    for (const std::string& name : tensors) {
      source.tensor(name, op_type == "Conv" ? std::vector<int64_t>{4, 4, 1, 1} : std::vector<int64_t>{4});
      inputs.push_back(name);
    }
    source.node(op_type, inputs, output);
    const Names warnings = source.load()->info.warnings;
    return std::ranges::any_of(
        warnings, [](const std::string& each) { return each.find("folded batch norm") != std::string::npos; });
  };
  EXPECT_FALSE(warns("InstanceNormalization", {"net.0.bn.weight", "net.0.bn.bias"}, "/net/net.0/bn/y"));
  EXPECT_FALSE(warns("InstanceNormalization", {"net.bn.weight", "net.bn.bias"}, "/net/bn/y"));
  EXPECT_TRUE(warns("InstanceNormalization", {"net.bn.weight", "net.bn.bias"}, "/net/other/bn/y"));
  EXPECT_TRUE(warns("InstanceNormalization", {"net.weight", "net.bias"}, "/net/bn/y"));
  EXPECT_TRUE(warns("Conv", {"bn.weight"}, "y"));
}

TEST(ModelInfo, CountsNoFrozenElements) {
  Source source = convolution();
  source.tensor("fc.weight", {6, 6}).node("MatMul", {"y", "fc.weight"}, "z");
  EXPECT_EQ(source.load()->info.parameter_count, 12 + 36);
  EXPECT_EQ(source.load({.freeze = {"fc.weight"}})->info.parameter_count, 12);
}

}  // namespace
}  // namespace pantoum::import
