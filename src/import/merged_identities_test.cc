// Models of PyTorch's older exporter, which keeps one of several tensors of equal contents, and an Identity for each other.
#include "import/restore_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "testing/exported_model.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

Result<Imported> load(const OnnxModel& model, const OnnxOptions& options = {}) {
  const std::string bytes = model.bytes();
  return parse_onnx(bytes.data(), bytes.size(), "", options);
}

// "a" holds 1 everywhere, "b" holds 2, 1, 1, 1.
OnnxModel merged(const std::string& of_a, const std::string& of_b) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4, 4}).weight("a", {4}, 1).weight("b", {4}, 1);
  model.graph().mutable_initializer(2)->set_float_data(0, 2);
  model.node("Identity", {"a"}, {of_a}).node("Identity", {"b"}, {of_b}).node("MatMul", {"x", "w"}, {"h"});
  model.node("Mul", {"h", "a"}, {"i"}).node("Mul", {"i", of_a}, {"j"}).node("Add", {"j", "b"}, {"k"});
  model.node("Add", {"k", of_b}, {"y"}).output("y");
  return model;
}

TEST(MergedIdentities, ParametersThatBeginAlikeAreSeparate) {
  const auto model = load(merged("scale", "copy"));
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(parameters(model->graph), UnorderedElementsAre("wf32[4,4]", "af32[4]", "scalef32[4]", "bf32[4]"));
  EXPECT_THAT(contents(model->graph, "scale"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(model->info.notes, Contains(HasSubstr("'scale' (as 'a')")));
  EXPECT_THAT(model->info.warnings, Contains(HasSubstr("'copy' and 'b' are one tensor")));
}

TEST(MergedIdentities, AreTensorsThatOptionsName) {
  const auto model = load(merged("running", "copy"), {.freeze = {"running"}});
  ASSERT_TRUE(model) << to_text(model.error());
  std::vector<std::string> named;
  for (const auto& tensor : model->info.tensors) named.push_back(tensor.name);
  EXPECT_THAT(named, UnorderedElementsAre("w", "a", "b", "running"));
}

// What the exporter computed ahead of time is separate, too; a number that it made is none of its parameters.
TEST(MergedIdentities, OfComputedTensorsAreSeparate) {
  EXPECT_EQ(parameters(load(merged("onnx::Mul_7", "onnx::Add_8"))->graph).size(), 4U);
  EXPECT_EQ(parameters(load(merged("/Identity_output_0", "17"))->graph).size(), 3U);
}

TEST(MergedIdentities, OfOutputsStayNodes) {
  OnnxModel model = merged("scale", "copy");
  model.output("scale").output("copy");
  const auto loaded = load(model);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(parameters(loaded->graph).size(), 3U);
}

// An export for training merges what is tied, and nothing else.
TEST(MergedIdentities, OfAFileWithTiesAloneAreNoReasonToWarn) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4, 4}).node("Identity", {"w"}, {"tied"});
  model.graph().mutable_initializer(0)->set_float_data(0, 2);
  model.node("MatMul", {"x", "w"}, {"h"}).node("MatMul", {"h", "tied"}, {"y"}).output("y");
  const auto loaded = load(model);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(parameters(loaded->graph).size(), 1U);
  EXPECT_THAT(loaded->info.warnings, Each(Not(HasSubstr("one tensor in the file"))));
}

// Unsqueezed ahead of time, a parameter is a tensor of the exporter's beside its own.
TEST(MergedIdentities, ElementsOfAWeightUnderTheExportersNameAreTold) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4, 4}).weight("t", {2, 4}).weight("onnx::Add_9", {1, 2, 4});
  for (int tensor = 1; tensor < 3; ++tensor) model.graph().mutable_initializer(tensor)->set_float_data(3, 2);
  model.node("MatMul", {"x", "w"}, {"h"}).node("Add", {"h", "t"}, {"k"}).node("Add", {"k", "onnx::Add_9"}, {"y"});
  model.output("y");
  const auto loaded = load(model);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_THAT(loaded->info.warnings, Contains(HasSubstr("'onnx::Add_9' holds the elements of 't'")));
  EXPECT_THAT(loaded->info.warnings, Contains(HasSubstr("do_constant_folding=False keeps those")));
}

}  // namespace
}  // namespace pantoum::import
