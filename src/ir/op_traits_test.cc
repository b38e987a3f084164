// What the registry says of an op is what its kernel does, and no list beside the registry leaves an op out.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "ir/builder.h"
#include "ir/op_registry.h"
#include "testing/evaluate.h"
#include "testing/op_cases.h"

namespace pantoum::ir {
namespace {

using Floats = std::vector<float>;
constexpr size_t kElements = 21;

// The attributes of every use of a pointwise op in op_cases.h.
std::vector<std::pair<const OpDef*, Attrs>> pointwise_uses() {
  std::vector<std::pair<const OpDef*, Attrs>> uses;
  for (const runtime_test::OpCase& of : runtime_test::op_cases())
    if (op_def(of.kind).traits.pointwise) uses.emplace_back(&op_def(of.kind), of.attrs);
  return uses;
}

// The op alone, on operands of one shape.
Floats run(const OpDef& def, const Attrs& attrs, const std::vector<Floats>& operands) {
  Graph graph;
  Builder builder(graph);
  Feeds feeds;
  std::vector<ValueId> inputs;
  for (const Floats& operand : operands) {
    inputs.push_back(builder.input("x" + std::to_string(inputs.size()), {DType::kF32, {3, 7}}));
    feeds[inputs.back()].resize(operand.size() * sizeof(float));
    std::memcpy(feeds[inputs.back()].data(), operand.data(), operand.size() * sizeof(float));
  }
  graph.outputs = {builder.op(def.kind, "op", inputs, attrs)};
  const auto made = evaluate(graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(made) << def.name << ": " << to_text(made.error());
  return made ? made->as<float>(graph.outputs[0]) : Floats(kElements, 1);
}

std::vector<Floats> noise(size_t operands, std::mt19937& random) {
  std::vector<Floats> made(operands, Floats(kElements));
  for (Floats& operand : made)
    for (float& element : operand) element = std::uniform_real_distribution<float>(0.1F, 4)(random);
  return made;
}

TEST(OpTraits, PointwiseOpsComputeEveryElementAlone) {
  std::mt19937 random(1);
  for (const auto& [def, attrs] : pointwise_uses()) {
    std::vector<Floats> operands = noise(static_cast<size_t>(def->signature.min_inputs), random);
    Floats expected = run(*def, attrs, operands);
    for (Floats& operand : operands) std::ranges::reverse(operand);
    std::ranges::reverse(expected);
    const Floats found = run(*def, attrs, operands);  // compared by bits: outside its domain a function is NaN
    ASSERT_EQ(found.size(), expected.size());
    if (found.empty()) continue;
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0) << def->name;
  }
}

TEST(OpTraits, WhatKeepsZeroMakesZerosOfZeros) {
  size_t keeping = 0;
  for (const auto& [def, attrs] : pointwise_uses()) {
    if (!def->traits.keeps_zero(attrs)) continue;
    const std::vector<Floats> zeros(static_cast<size_t>(def->signature.min_inputs), Floats(kElements, 0));
    EXPECT_EQ(run(*def, attrs, zeros), zeros[0]) << def->name;
    ++keeping;
  }
  EXPECT_GE(keeping, 20U);
}

TEST(OpTraits, KeepingZeroMayDependOnAttributes) {
  const auto keeps = [](Kind kind, std::vector<double> reals) {
    return op_def(kind).traits.keeps_zero({{}, std::move(reals)});
  };
  EXPECT_TRUE(keeps(Kind::k_clip, {-1, 1}));
  EXPECT_FALSE(keeps(Kind::k_clip, {0.5, 1}));
  EXPECT_TRUE(keeps(Kind::k_scale, {2, 0}));
  EXPECT_FALSE(keeps(Kind::k_scale, {2, 1}));
  EXPECT_TRUE(keeps(Kind::k_hard_sigmoid, {0.2, 0}));
  EXPECT_FALSE(keeps(Kind::k_hard_sigmoid, {0.2, 0.5}));
}

// The runtime and the portable kernels know no registry: they have PT_CONV_GRADIENTS.
TEST(OpTraits, GradientsThatConvolutionsFinishAreThoseOfTheRuntimesList) {
  std::set<Kind> listed;
#define PT_GRADIENT(name) listed.insert(Kind::k_##name);
  PT_CONV_GRADIENTS(PT_GRADIENT)
#undef PT_GRADIENT
  for (const OpDef& def : all_op_defs()) {
    EXPECT_EQ(def.traits.through_convolution, listed.contains(def.kind))
        << def.name << ": its row and PT_CONV_GRADIENTS in include/pantoum/ops.h differ";
    if (!def.traits.through_convolution) continue;
    EXPECT_TRUE(def.traits.pointwise && def.signature.max_inputs == 2) << def.name;
    EXPECT_TRUE(def.signature.ints <= 1 && def.signature.reals <= 3) << def.name << ": conv2d_dz has no place for more";
  }
}

TEST(OpTraits, UpdatesThatFollowProductsAreThoseOfTheRuntimesList) {
  std::set<Kind> listed;
#define PT_UPDATE(name) listed.insert(Kind::k_##name);
  PT_PRODUCT_UPDATES(PT_UPDATE)
#undef PT_UPDATE
  for (const OpDef& def : all_op_defs()) {
    EXPECT_EQ(def.traits.follows_product, listed.contains(def.kind))
        << def.name << ": its row and PT_PRODUCT_UPDATES in include/pantoum/ops.h differ";
    if (!def.traits.follows_product) continue;
    EXPECT_EQ(def.signature.min_outputs, def.signature.min_inputs - 1) << def.name;
    EXPECT_TRUE(def.signature.ints <= 1 && def.signature.reals <= PT_UPDATE_REALS)
        << def.name << ": matmul_update has no place for more";
  }
}

TEST(OpTraits, EveryOpButTheViewHasAPortableKernel) {
  const pt_kernel_table& table = *pt_portable_kernels();
  for (const OpDef& def : all_op_defs()) {
    if (def.kind == Kind::k_alias || is_custom(def.kind)) continue;
    const auto* const end = table.kernels + table.count;
    EXPECT_TRUE(
        std::any_of(table.kernels, end, [&](const pt_kernel& row) { return row.op == static_cast<int>(def.kind); }))
        << def.name << " has no row in src/kernels/portable/kernel_rows.h";
  }
}

TEST(OpTraits, CompactFormsReadWhatTheyAreMadeOf) {
  for (const OpDef& def : all_op_defs()) {
    if (!def.compact) continue;
    EXPECT_EQ(op_def(def.compact->made_by).signature.max_inputs, 1) << def.name;
    EXPECT_EQ(op_def(def.compact->gradient).signature.ints, def.signature.ints) << def.name;
    EXPECT_EQ(op_def(def.compact->gradient).signature.reals, def.signature.reals) << def.name;
  }
}

}  // namespace
}  // namespace pantoum::ir
