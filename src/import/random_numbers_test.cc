// What the importer makes of operators that draw and rank, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/graph.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using testing::Contains;
using testing::HasSubstr;

std::vector<ir::Op> drawing_ops(const ir::Graph& graph) {
  std::vector<ir::Op> found;
  for (const ir::Op& op : graph.ops)
    if (op.kind == Kind::k_random) found.push_back(op);
  return found;
}

void set_real(OnnxModel& model, const std::string& name, float value) {
  auto& entry = *model.graph().mutable_node(model.graph().node_size() - 1)->add_attribute();
  entry.set_name(name);
  entry.set_type(onnx::AttributeProto::FLOAT);
  entry.set_f(value);
}

std::string refusal_of(const OnnxModel& model) {
  const auto loaded = model.load();
  if (loaded) return "imported";
  std::string told = loaded.error().code + " " + loaded.error().message;
  for (const std::string& note : loaded.error().notes) told += "; " + note;
  return told;
}

TEST(RandomNumbers, HaveAKeyOfTheirOwnInEveryNode) {
  OnnxModel model;
  model.input("x", {"N", "4"}).weight("w", {4});
  for (const char* name : {"a", "b"}) model.node("RandomNormalLike", {"x"}, {name});
  model.node("Add", {"a", "b"}, {"c"}).node("Mul", {"c", "w"}, {"y"}).output("y");
  const auto loaded = model.load(3);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  const std::vector<ir::Op> ops = drawing_ops(loaded->graph);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_NE(ops[0].attrs.ints[0], ops[1].attrs.ints[0]);
  EXPECT_EQ(loaded->graph.value(ops[0].outputs[0]).type.shape, (ir::Shape{3, 4}));
}

TEST(RandomNumbers, TakeTheirBoundsFromTheNodeAndTheirSeedFromTheCommandLine) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4}).node("RandomUniformLike", {"x"}, {"u"});
  set_real(model, "low", -2);
  set_real(model, "high", 5);
  set_real(model, "seed", 7);
  model.node("Mul", {"u", "w"}, {"y"}).output("y");
  const auto loaded = model.load();
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  const std::vector<ir::Op> ops = drawing_ops(loaded->graph);
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].attrs.ints[1], PT_RANDOM_UNIFORM);
  EXPECT_EQ(ops[0].attrs.reals, (std::vector<double>{-2, 5}));
  EXPECT_THAT(loaded->graph.notes, Contains(HasSubstr("the model's own seed is not used")));
}

TEST(RandomNumbers, RefuseWhatCannotBeDrawn) {
  const auto with = [](const std::string& op, const std::string& name, float value) {
    OnnxModel model;
    model.input("x", {"2", "4"}).weight("w", {4}).node(op, {"x"}, {"u"});
    set_real(model, name, value);
    model.node("Mul", {"u", "w"}, {"y"}).output("y");
    return refusal_of(model);
  };
  EXPECT_THAT(with("RandomUniformLike", "low", 2), HasSubstr("nothing lies between 2 and 1"));
  EXPECT_THAT(with("RandomNormalLike", "scale", -1), HasSubstr("-1 is no deviation"));
  EXPECT_THAT(with("RandomNormalLike", "mean", HUGE_VALF), HasSubstr("must be finite"));
  OnnxModel whole;
  whole.input("x", {"2", "4"}).weight("w", {4}).node("RandomNormalLike", {"x"}, {"u"});
  whole.attribute("dtype", onnx::TensorProto::INT64).node("Mul", {"u", "w"}, {"y"}).output("y");
  EXPECT_THAT(refusal_of(whole), HasSubstr("it draws integers"));
  OnnxModel none;
  none.input("x", {"2", "4"}).node("RandomNormal", {}, {"u"}).node("Mul", {"u", "x"}, {"y"}).output("y");
  EXPECT_THAT(refusal_of(none), HasSubstr("its attribute 'shape' is missing"));
}

std::string ranked(const std::vector<int64_t>& most, int64_t axis) {
  OnnxModel model;
  model.input("x", {"2", "4"}).weight("w", {4}).integers("k", most).node("Mul", {"x", "w"}, {"h"});
  model.node("TopK", {"h", "k"}, {"y", "i"}).attribute("axis", axis).output("y");
  return refusal_of(model);
}

TEST(Ranking, RefusesAKThatDoesNotFit) {
  EXPECT_EQ(ranked({4}, -1), "imported");
  for (const int64_t most : {int64_t{0}, int64_t{5}, int64_t{-1}, INT64_MAX, INT64_MIN})
    EXPECT_THAT(ranked({most}, 1), HasSubstr("its K is not between 1 and the extent of its axis"));
  EXPECT_THAT(ranked({1, 2}, 1), HasSubstr("its K is not one number"));
  EXPECT_THAT(ranked({1}, 2), HasSubstr("axis 2 is not among 2 dimensions"));
}

TEST(Ranking, RefusesToCountWhatTheDataHold) {
  OnnxModel model;
  model.input("x", {"2", "4"})
      .weight("w", {4})
      .node("Mul", {"x", "w"}, {"h"})
      .node("NonZero", {"h"}, {"y"})
      .output("y");
  EXPECT_THAT(refusal_of(model), HasSubstr("how much it finds depends on the data"));
}

}  // namespace
}  // namespace pantoum::import
