// Updates that make their gradient in strips: fused where nobody else reads it, the bits of the two ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/op_registry.h"
#include "rewrite/passes.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::rewrite {
namespace {

using autodiff::CaseBuilder;
using autodiff::f32;
using ir::Graph;
using ir::Kind;
using ir::ValueId;

constexpr pt_group kGroups[] = {{0.2, 0.05}, {-1, 0.3}};
constexpr pt_scalars kScalars{3, 42, 0.1, kGroups, 2};

struct Rule {
  Kind kind;
  int states;
  ir::Attrs attrs;
};

std::vector<Rule> rules() {
  return {{Kind::k_sgd, 0, {{0}, {0, 0.01}}},
          {Kind::k_sgd, 1, {{1}, {0.9, 0}}},
          {Kind::k_sgd, 1, {{0, 1}, {0.9, 0.01}}},
          {Kind::k_adam, 2, {{}, {0.9, 0.99, 1e-8, 0.01}}},
          {Kind::k_adamw, 2, {{}, {0.9, 0.99, 1e-8, 0.01}}},
          {Kind::k_adam, 3, {{0}, {0.9, 0.99, 1e-8, 0.01}}},
          {Kind::k_rmsprop, 1, {{0}, {0.9, 1e-8, 0, 0}}},
          {Kind::k_rmsprop, 3, {{1}, {0.9, 1e-8, 0.5, 0.1}}},
          {Kind::k_rmsprop, 2, {{1, 0}, {0.9, 1e-8, 0, 0.1}}},
          {Kind::k_adagrad, 1, {{}, {0.1, 1e-8, 0}}},
          {Kind::k_adagrad, 1, {{1}, {0.1, 1e-8, 0, 0.5}}}};
}

// A product, and an update of a weight by it.
struct Handmade {
  Graph graph;
  CaseBuilder c{graph, 7};
  ValueId gradient = ir::kNone;

  void matmul(int64_t m, int64_t k, int64_t n, bool trans_a, bool trans_b) {
    const ValueId a = c.parameter(trans_a ? ir::Shape{k, m} : ir::Shape{m, k});
    const ValueId b = c.parameter(trans_b ? ir::Shape{n, k} : ir::Shape{k, n});
    gradient = c.op(Kind::k_matmul, {a, b}, {{trans_a, trans_b}, {}});
  }
  void conv(const ir::Shape& x, const ir::Shape& w, const std::vector<int64_t>& ints) {
    const ValueId image = c.parameter(x), weight = c.parameter(w);
    const ValueId y = c.op(Kind::k_conv2d, {image, weight}, {ints, {}});
    gradient = c.op(Kind::k_conv2d_dw, {image, y}, {ints, {}}, {f32(w)});
  }
  void update(const Rule& rule) {
    const ir::Shape shape = c.builder.type(gradient).shape;
    std::vector<ValueId> inputs{c.parameter(shape), gradient};
    for (int state = 0; state < rule.states; ++state) inputs.push_back(c.positive(shape));
    graph.outputs = c.ops(rule.kind, inputs, rule.attrs);
  }
};

void expect_same_bits(const Graph& plain) {
  const Graph fused = fuse_updates(plain);
  const auto valid = ir::validate(fused);
  ASSERT_TRUE(valid) << to_text(valid.error()) << ir::to_text(fused);
  ASSERT_LT(fused.ops.size(), plain.ops.size()) << "nothing was fused";
  const auto expected = ir::evaluate(plain, *pt_portable_kernels(), {}, {.scalars = kScalars});
  for (const uint16_t algorithm : {uint16_t{0}, uint16_t{2}, uint16_t{3}})
    for (const int in_place : {ir::kNone, 0}) {
      std::vector<uint16_t> algorithms(fused.ops.size(), 0);
      algorithms.back() = algorithm;
      const auto found = ir::evaluate(fused, *pt_portable_kernels(), {},
                                      {.scalars = kScalars, .algorithms = algorithms, .in_place = in_place});
      ASSERT_TRUE(expected && found) << to_text(found.error());
      for (const ValueId output : plain.outputs)
        EXPECT_EQ(expected->bytes[static_cast<size_t>(output)], found->bytes[static_cast<size_t>(output)])
            << ir::to_text(fused) << algorithm;
    }
}

TEST(FuseUpdates, OfMatricesGiveTheBitsOfGradientAndUpdate) {
  std::mt19937 random(1);
  const std::vector<Rule> all = rules();
  for (size_t trial = 0; trial < 60; ++trial) {
    const auto draw = [&](int64_t least, int64_t most) {
      return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    Handmade made;
    const int64_t m = trial % 5 == 0 ? draw(1, 6) : draw(24, 90);
    made.matmul(m, draw(1, 9), draw(513 / m + 1, 513 / m + 140), trial % 2 != 0, trial / 2 % 2 != 0);
    made.update(all[trial % all.size()]);
    expect_same_bits(made.graph);
  }
}

TEST(FuseUpdates, OfImagesGiveTheBitsOfGradientAndUpdate) {
  const std::vector<int64_t> plain{1, 1, 1, 1, 1, 1, 1, 1, 1}, wide{2, 1, 2, 0, 1, 3, 1, 2, 1};
  std::vector<int64_t> depthwise = plain, groups = plain;
  depthwise[PT_CONV_GROUPS] = 90, groups[PT_CONV_GROUPS] = 3;
  size_t rule = 0;
  const auto expect = [&](const ir::Shape& x, const ir::Shape& w, const std::vector<int64_t>& ints) {
    for (int twice = 0; twice < 2; ++twice) {
      Handmade made;
      made.conv(x, w, ints);
      made.update(rules()[rule++ % rules().size()]);
      expect_same_bits(made.graph);
    }
  };
  expect({2, 8, 7, 6}, {16, 8, 3, 3}, plain);
  expect({2, 13, 7, 6}, {7, 13, 3, 3}, wide);
  expect({1, 3, 9, 9}, {9, 3, 5, 5}, plain);
  expect({2, 90, 5, 5}, {90, 1, 3, 3}, depthwise);
  expect({2, 15, 5, 5}, {21, 5, 3, 3}, groups);
  expect({1, 100, 3, 4}, {9, 100, 1, 1}, {1, 1, 0, 0, 0, 0, 1, 1, 1});
  expect({3, 2, 20, 20}, {3, 2, 11, 9}, plain);
}

TEST(FuseUpdates, LeavesWhatIsReadElsewhereAndWhatIsSmall) {
  const auto expect_untouched = [](const Graph& graph) {
    EXPECT_EQ(ir::to_text(fuse_updates(graph)), ir::to_text(graph));
  };
  Handmade read, told, small, no_product;
  read.matmul(40, 5, 40, false, false);
  read.update(rules()[0]);
  read.graph.outputs.push_back(read.c.op(Kind::k_neg, {read.gradient}));
  expect_untouched(read.graph);
  told.matmul(40, 5, 40, false, false);
  told.update(rules()[0]);
  told.graph.outputs.push_back(told.gradient);
  expect_untouched(told.graph);
  small.matmul(10, 5, 40, false, false);
  small.update(rules()[0]);
  expect_untouched(small.graph);
  no_product.gradient = no_product.c.op(Kind::k_neg, {no_product.c.parameter({40, 40})});
  no_product.update(rules()[0]);
  expect_untouched(no_product.graph);
}

TEST(FuseUpdates, LeavesWhatWouldHoldMoreThanTheGradient) {
  const auto with_dx = [](const ir::Shape& x) {
    Handmade made;
    made.conv(x, {16, 8, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
    const ir::Op product = made.graph.op(made.graph.value(made.gradient).producer);
    const ValueId w = made.graph.op(made.graph.value(product.inputs[1]).producer).inputs[1];
    const ValueId dx = made.c.op(Kind::k_conv2d_dx, {product.inputs[1], w}, product.attrs, {f32(x)});
    made.update(rules()[0]);
    made.graph.outputs.push_back(dx);
    return fuse_updates(made.graph).ops.size() - made.graph.ops.size();
  };
  EXPECT_EQ(with_dx({4, 8, 6, 6}), 0U) << "1152 elements each";
  EXPECT_EQ(with_dx({1, 8, 6, 6}), size_t(-1));
}

TEST(FuseUpdates, WorkspaceOfAStripIsAsLargeHoweverLargeTheWeight) {
  const auto workspace = [](ir::Shape a, ir::Shape b, ir::Shape w, pt_op op, std::vector<int64_t> ints) {
    ints.insert(ints.end(), {PT_OP_sgd, 0});
    const pt_tensor inputs[] = {ir::tensor_of(f32(std::move(a)), nullptr), ir::tensor_of(f32(std::move(b)), nullptr)};
    const pt_tensor output = ir::tensor_of(f32(std::move(w)), nullptr);
    pt_call call{};
    call.inputs = inputs, call.outputs = &output, call.ints = ints.data();
    return pt_kernel_find(pt_portable_kernels(), op, PT_F32, 2, 0)->workspace_bytes(&call);
  };
  EXPECT_EQ(workspace({4, 784}, {4, 64}, {784, 64}, PT_OP_matmul_update, {1, 0}), 1024U);
  EXPECT_EQ(workspace({4, 9000}, {4, 3000}, {9000, 3000}, PT_OP_matmul_update, {1, 0}), 1024U);
  const std::vector<int64_t> conv{1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(workspace({4, 64, 9, 9}, {4, 99, 9, 9}, {99, 64, 3, 3}, PT_OP_conv2d_dw_update, conv), 4U * 4 * 8 * 9);
}

}  // namespace
}  // namespace pantoum::rewrite
