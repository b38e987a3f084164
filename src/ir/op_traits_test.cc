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
        << def.name << " has no kernels in src/kernels/portable/operators.h";
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

// The case with one tensor at two positions of equal types, on numbers that every kernel takes.
struct Twice {
  Graph graph;
  Feeds feeds;
};

Twice twice(const runtime_test::OpCase& of, size_t one, size_t other) {
  Twice made;
  Builder builder(made.graph);
  std::mt19937 random(7);
  std::vector<ValueId> inputs;
  for (size_t position = 0; position < of.inputs.size(); ++position) {
    if (position == std::max(one, other)) {
      inputs.push_back(inputs[std::min(one, other)]);
      continue;
    }
    const TensorType& type = of.inputs[position];
    inputs.push_back(builder.input("x" + std::to_string(position), type));
    std::vector<std::byte>& bytes = made.feeds[inputs.back()];
    bytes.resize(static_cast<size_t>(type.bytes()), std::byte{0});
    for (int64_t element = 0; element < type.elements(); ++element) {
      if (type.dtype == DType::kI64) bytes[static_cast<size_t>(element) * sizeof(int64_t)] = std::byte{1};  // an index
      if (type.dtype != DType::kF32) continue;
      const float value = std::uniform_real_distribution<float>(0.1F, 0.9F)(random);
      std::memcpy(bytes.data() + static_cast<size_t>(element) * sizeof(float), &value, sizeof(float));
    }
  }
  made.graph.outputs = builder.add(of.kind, "op", inputs, of.attrs, of.outputs);
  return made;
}

TEST(InPlace, AnOpThatReadsOneTensorTwiceGivesTheSameBits) {
  int asked = 0;
  for (const runtime_test::OpCase& of : runtime_test::op_cases()) {
    const OpDef& def = op_def(of.kind);
    if (def.in_place == nullptr || is_custom(of.kind)) continue;
    if (of.kind == Kind::k_batch_norm_stats) continue;  // a batch's statistics, which a norm makes, are no buffers
    const auto allowed = def.in_place({of.inputs, of.outputs, of.attrs});
    const auto overwritten = [&](size_t position) {
      return std::any_of(allowed.begin(), allowed.end(),
                         [&](const auto& pair) { return pair.second == static_cast<int>(position); });
    };
    for (const auto& [output, input] : allowed)
      for (size_t other = 0; other < of.inputs.size(); ++other) {
        if (other == static_cast<size_t>(input) || of.inputs[other] != of.inputs[static_cast<size_t>(input)]) continue;
        if (!def.recompute && overwritten(other)) continue;  // the states of an update are tensors of their own
        const Twice made = twice(of, static_cast<size_t>(input), other);
        const auto apart = evaluate(made.graph, *pt_portable_kernels(), made.feeds);
        if (!apart) continue;  // these numbers are none for the kernel
        const auto pairs = in_place_pairs(made.graph, made.graph.ops.front());
        for (int first = 0; first < static_cast<int>(pairs.size()); ++first) {
          const auto over = evaluate(made.graph, *pt_portable_kernels(), made.feeds, {.in_place = first});
          ASSERT_TRUE(over) << to_text(over.error());
          for (const ValueId result : made.graph.outputs)
            EXPECT_EQ(apart->bytes[static_cast<size_t>(result)], over->bytes[static_cast<size_t>(result)])
                << def.name << ": inputs " << input << " and " << other << " are one tensor";
          ++asked;
        }
      }
  }
  EXPECT_GT(asked, 20);
}

}  // namespace
}  // namespace pantoum::ir
