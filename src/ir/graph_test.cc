#include "ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ir/builder.h"

namespace pantoum::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}

// x -> relu -> alias -> exp -> out, and log of x that nobody reads.
struct Small {
  Graph graph;
  Builder builder{graph};
  ValueId x, r, flat, out, unread;

  Small() {
    x = builder.input("x", f32({2, 3}));
    r = builder.op(Kind::k_relu, "relu", {x});
    unread = builder.op(Kind::k_log, "log", {x});
    flat = builder.reshape(r, {6});
    out = builder.op(Kind::k_exp, "exp", {flat});
    graph.outputs = {out};
  }
};

TEST(TensorType, CountsElementsWithoutOverflow) {
  EXPECT_EQ(f32({}).elements(), 1);
  EXPECT_EQ(f32({2, 3}).bytes(), 24);
  EXPECT_EQ(f32({2, 0, INT64_MAX}).elements(), 0);
  EXPECT_EQ(f32({2, -1}).elements(), 0);
  EXPECT_GT((TensorType{DType::kI64, {INT64_MAX, INT64_MAX}}).bytes(), int64_t{1} << 56);
}

TEST(Graph, ListsTheReadersOfEveryValueOnce) {
  Small small;
  small.builder.op(Kind::k_mul, "square", {small.out, small.out});
  const auto users = users_of(small.graph);
  EXPECT_THAT(users[static_cast<size_t>(small.x)], ElementsAre(0, 1));
  EXPECT_THAT(users[static_cast<size_t>(small.out)], ElementsAre(4));
  EXPECT_THAT(users[static_cast<size_t>(small.unread)], ElementsAre());
}

TEST(Graph, FollowsAliasesToTheirBytes) {
  Small small;
  const ValueId again = small.builder.reshape(small.flat, {3, 2});
  EXPECT_EQ(root_of(small.graph, again), small.r);
  EXPECT_EQ(root_of(small.graph, small.r), small.r);
  EXPECT_EQ(root_of(small.graph, small.builder.reshape(small.x, {6})), small.x);
}

TEST(DropDeadOps, KeepsWhatAnOutputOrASuccessorNeeds) {
  Small small;
  const ValueId buffer = small.builder.buffer("running", f32({2, 3}), nullptr);
  const ValueId next = small.builder.op(Kind::k_add, "update", {buffer, small.x});
  small.graph.value(buffer).next = next;
  small.builder.op(Kind::k_neg, "dead too", {small.unread});
  drop_dead_ops(small.graph);
  std::vector<std::string> names;
  for (const Op& op : small.graph.ops) names.push_back(op.name);
  EXPECT_THAT(names, ElementsAre("relu", "relu.reshape", "exp", "update"));
  EXPECT_EQ(small.graph.value(small.unread).producer, kNone);
  EXPECT_EQ(small.graph.value(next).producer, 3);
  EXPECT_TRUE(validate(small.graph));
}

std::string problem(const Graph& graph) {
  const Result<void> valid = validate(graph);
  if (valid) return "";
  EXPECT_EQ(valid.error().code, "E0299");
  return valid.error().message;
}

TEST(Validate, AcceptsWhatTheBuilderMakes) {
  EXPECT_EQ(problem(Small().graph), "");
}

TEST(Validate, FindsWhatIsBroken) {
  const Graph good = Small().graph;
  Graph bad = good;
  std::swap(bad.ops[0], bad.ops[2]);
  EXPECT_THAT(problem(bad), HasSubstr("before it is made"));
  bad = good;
  bad.ops[0].inputs[0] = 99;
  EXPECT_THAT(problem(bad), HasSubstr("reads a value that does not exist"));
  bad = good;
  bad.ops[0].outputs[0] = -7;
  EXPECT_THAT(problem(bad), HasSubstr("writes a value that does not exist"));
  bad = good;
  bad.values.back().producer = 0;
  EXPECT_THAT(problem(bad), HasSubstr("does not name the op"));
  bad = good;
  bad.value(bad.ops[0].outputs[0]).type = f32({2, 4});
  EXPECT_THAT(problem(bad), HasSubstr("not what its rule gives"));
  bad = good;
  bad.ops[0].attrs.ints = {1};
  EXPECT_THAT(problem(bad), HasSubstr("does not have 1 integer"));
  bad = good;
  bad.value(0).next = bad.ops[2].outputs[0];
  EXPECT_THAT(problem(bad), HasSubstr("successor has another type"));
  bad = good;
  bad.value(0).data = std::make_shared<std::vector<std::byte>>(3);
  EXPECT_THAT(problem(bad), HasSubstr("3 bytes of data for f32[2,3]"));
  bad = good;
  bad.outputs = {1234};
  EXPECT_THAT(problem(bad), HasSubstr("lists a value that does not exist"));
  bad = good;
  bad.values.push_back(bad.values[0]);
  EXPECT_THAT(problem(bad), HasSubstr("one name"));
}

TEST(ToDouble, WidensTypesAndContents) {
  Graph graph;
  Builder builder(graph);
  const ValueId p = builder.constant_f32("p", {2}, {0.5f, -3.25f});
  const ValueId i = builder.constant_i64("i", {1}, {7});
  graph.outputs = {builder.op(Kind::k_exp, "exp", {p})};
  const Graph wide = to_double(graph);
  EXPECT_EQ(wide.value(p).type, (TensorType{DType::kF64, {2}}));
  EXPECT_EQ(wide.value(wide.outputs[0]).type.dtype, DType::kF64);
  EXPECT_EQ(wide.value(i).type.dtype, DType::kI64);
  double values[2];
  ASSERT_EQ(wide.value(p).data->size(), sizeof values);
  std::memcpy(values, wide.value(p).data->data(), sizeof values);
  EXPECT_EQ(values[1], -3.25);
  EXPECT_TRUE(validate(wide));
}

TEST(ToText, ShowsOneLinePerOp) {
  Graph graph;
  Builder builder(graph);
  const ValueId x = builder.input("x", f32({1, 1, 4, 4}));
  builder.op(Kind::k_max_pool, "pool", {x}, {{2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0}, {}});
  builder.op(Kind::k_scale, "half", {x}, {{}, {0.5, 0}});
  EXPECT_EQ(to_text(graph),
            "pool: pool f32[1,1,2,2] = max_pool(x) [2,2,2,2,0,0,0,0,1,1,0]\n"
            "half: half f32[1,1,4,4] = scale(x) {0.5,0}\n");
}

TEST(Builder, KeepsNamesUnique) {
  Small small;
  const ValueId twin = small.builder.op(Kind::k_relu, "relu", {small.x});
  EXPECT_EQ(small.graph.value(twin).name, "relu#2");
  small.builder.rename(twin, "x");
  EXPECT_EQ(small.graph.value(twin).name, "x#2");
  EXPECT_EQ(small.graph.ops.back().name, "relu#2");
}

TEST(Builder, RemembersTheFirstRefusalAndGoesOn) {
  Small small;
  const size_t ops = small.graph.ops.size();
  const std::vector<ValueId> parts =
      small.builder.add(Kind::k_split, "bad split", {small.x}, {{1}, {}}, {f32({2, 1}), f32({2, 1})});
  ASSERT_EQ(parts.size(), 2u);
  small.builder.op(Kind::k_add, "later", {parts[0], small.x});
  ASSERT_TRUE(small.builder.error());
  EXPECT_EQ(small.builder.error()->where, "bad split");
  EXPECT_EQ(small.graph.ops.size(), ops);
}

TEST(Builder, RefusesValuesThatDoNotExist) {
  Small small;
  small.builder.op(Kind::k_relu, "lost", {kNone});
  ASSERT_TRUE(small.builder.error());
  EXPECT_EQ(small.builder.error()->code, "E0211");
}

TEST(Builder, SumsABroadcastAway) {
  Small small;
  const ValueId y = small.builder.input("y", f32({4, 2, 3}));
  EXPECT_EQ(small.builder.type(small.builder.sum_to(y, {2, 1})).shape, (Shape{2, 1}));
  EXPECT_EQ(small.builder.type(small.builder.sum_to(y, {})).shape, Shape{});
  EXPECT_EQ(small.builder.type(small.builder.sum_to(y, {3})).shape, Shape{3});
  EXPECT_EQ(small.builder.sum_to(y, {4, 2, 3}), y);
  EXPECT_FALSE(small.builder.error());
}

TEST(Builder, TransposesByAReshapeWhereNoElementMoves) {
  Small small;
  const ValueId y = small.builder.input("y", f32({4, 1, 3}));
  const auto made = [&](std::vector<int64_t> perm) {
    return small.graph.op(small.graph.value(small.builder.transpose("t", y, std::move(perm))).producer);
  };
  EXPECT_EQ(made({1, 0, 2}).kind, Kind::k_alias);
  EXPECT_EQ(small.graph.values.back().type.shape, (Shape{1, 4, 3}));
  EXPECT_EQ(made({2, 1, 0}).kind, Kind::k_transpose);
  EXPECT_EQ(small.builder.transpose("t", y, {0, 1, 2}), y);
  EXPECT_FALSE(small.builder.error());
  small.builder.transpose("t", y, {0, 0, 2});
  EXPECT_TRUE(small.builder.error());
}

}  // namespace
}  // namespace pantoum::ir
