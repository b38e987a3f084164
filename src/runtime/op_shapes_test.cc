#include "runtime/op_shapes.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/op_registry.h"
#include "kernels/portable/update_group.h"
#include "testing/binary_plans.h"
#include "testing/op_cases.h"

namespace pantoum::runtime_test {
namespace {

constexpr uint64_t kSlack = 1 << 16;

pt_status opened(const artifact::BinaryPlan& plan) {
  const auto bytes = encoded(plan);
  pt_plan into;
  return pt_plan_open(&into, bytes.data(), bytes.size());
}

std::string name(const OpCase& of) {
  return ir::name_of(of.kind);
}

// Opens the plan and runs its program with the portable kernels; the sanitizers watch the end of the arena.
pt_status ran(const artifact::BinaryPlan& from) {
  const auto bytes = encoded(from);
  pt_plan plan;
  if (const pt_status status = pt_plan_open(&plan, bytes.data(), bytes.size()); status != PT_OK) return status;
  const Memory arena(std::aligned_alloc(64, plan.arena_bytes));
  std::memset(arena.get(), 0, plan.arena_bytes);
  const Memory memory = memory_of(pt_session_bytes(&plan));
  pt_session* session = nullptr;
  const pt_status status =
      pt_session_open(&session, &plan, memory.get(), arena.get(), nullptr, pt_portable_kernels(), nullptr, nullptr);
  const pt_scalars scalars = {1, 2, 0.1};
  return status == PT_OK ? pt_run(session, 0, &scalars) : status;
}

TEST(OpShapes, AcceptsASoundUseOfEveryOperatorAndItsKernelStaysInside) {
  for (const OpCase& of : op_cases()) EXPECT_EQ(ran(plan_of(of)), PT_OK) << name(of);
}

TEST(OpShapes, CoversEveryOperator) {
  std::set<int> covered;
  for (const OpCase& of : op_cases()) covered.insert(static_cast<int>(of.kind));
#define PT_OPERATOR(name, id) \
  EXPECT_TRUE((id) == PT_OP_alias || ir::is_custom(ir::Kind{id}) || covered.contains(id)) << #name;
  PT_OPERATORS(PT_OPERATOR)
#undef PT_OPERATOR
}

TEST(OpShapes, AcceptsEveryUpdateBehindAProduct) {
  const ir::TensorType a{ir::DType::kF32, {5, 4}}, b{ir::DType::kF32, {7, 5}}, w{ir::DType::kF32, {4, 7}};
  for (const ir::OpDef& def : ir::all_op_defs()) {
    if (!def.traits.follows_product) continue;
    const auto states = static_cast<size_t>(def.signature.min_inputs - 2);
    OpCase of{ir::Kind::k_matmul_update, {a, b, w}, {w}, {{1, 1, static_cast<int64_t>(def.kind), 0}, {0.9, 0.9, 0, 0}}};
    of.inputs.insert(of.inputs.end(), states, w);
    of.outputs.insert(of.outputs.end(), states, w);
    of.workspace = 1 << 16;
    EXPECT_EQ(ran(plan_of(of)), PT_OK) << def.name << " is not in follows() of src/runtime/op_shapes_products.c";
  }
}

// A custom op has a key, an update operands of one shape, and the portable kernels are none of theirs.
TEST(OpShapes, AskOfCustomOpsForTheirKeyAlone) {
  using enum ir::Kind;
  const ir::TensorType a{ir::DType::kF32, {2, 3}}, b{ir::DType::kI64, {5}}, c{ir::DType::kF32, {3, 2}};
  EXPECT_EQ(opened(plan_of({k_custom, {a, b}, {c, b}, {{5, -3}, {0.5}}})), PT_OK);
  EXPECT_EQ(ran(plan_of({k_custom, {a, b}, {c, b}, {{5, -3}, {0.5}}})), PT_E_KERNEL);
  EXPECT_EQ(opened(plan_of({k_custom, {a}, {a}, {{}, {0.5}}})), PT_E_PLAN);
  EXPECT_EQ(opened(plan_of({k_custom, {a}, {a}, {{0}, {}}})), PT_E_PLAN);
  EXPECT_EQ(opened(plan_of({k_custom, {a}, {a}, {{-5}, {}}})), PT_E_PLAN);
  EXPECT_EQ(opened(plan_of({k_custom_update, {a, a, a}, {a, a}, {{5}, {}}})), PT_OK);
  EXPECT_EQ(opened(plan_of({k_custom_update, {a, a, a}, {a}, {{5}, {}}})), PT_E_PLAN);
  EXPECT_EQ(opened(plan_of({k_custom_update, {a, c}, {a}, {{5}, {}}})), PT_E_PLAN);
  EXPECT_EQ(opened(plan_of({k_custom_update, {b, b}, {b}, {{5}, {}}})), PT_E_PLAN);
}

// Grows one dimension of one operand, whose tensor has the bytes. Some of these are sound again (a longer table to
// gather from, an image one row higher under a stride): they must run.
TEST(OpShapes, RefusesOperandsThatDoNotBelongTogether) {
  size_t refused = 0, accepted = 0;
  for (const OpCase& of : op_cases()) {
    const artifact::BinaryPlan sound = plan_of(of, kSlack);
    const size_t inputs = of.inputs.size();
    for (size_t operand = 0; operand < inputs + of.outputs.size(); ++operand) {
      const auto change = [&](const auto& mutate) {
        artifact::BinaryPlan plan = sound;
        artifact::BinaryOp& op = plan.ops[0];
        mutate((operand < inputs ? op.inputs[operand] : op.outputs[operand - inputs]).type);
        const pt_status status = ran(plan);
        EXPECT_TRUE(status == PT_OK || status == PT_E_PLAN) << name(of) << " " << operand;
        ++(status == PT_OK ? accepted : refused);
        return status;
      };
      const size_t rank = (operand < inputs ? of.inputs[operand] : of.outputs[operand - inputs]).shape.size();
      for (size_t dim = 0; dim < rank; ++dim) change([&](ir::TensorType& type) { ++type.shape[dim]; });
      const bool any_shape = (of.kind == ir::Kind::k_norm && operand < inputs) || of.kind == ir::Kind::k_random;
      if (rank < PT_MAX_RANK) {
        EXPECT_EQ(change([](ir::TensorType& type) { type.shape.push_back(9); }), any_shape ? PT_OK : PT_E_PLAN)
            << name(of) << " " << operand;
      }
      const ir::TensorType& own = operand < inputs ? of.inputs[operand] : of.outputs[operand - inputs];
      if (of.kind == ir::Kind::k_cast || own.dtype == ir::DType::kBool) continue;
      EXPECT_EQ(change([](ir::TensorType& type) { type.dtype = ir::DType::kBool; }), PT_E_PLAN)
          << name(of) << " " << operand;
    }
  }
  EXPECT_LT(accepted, 90U);  // of some 700
  EXPECT_GT(refused, 500U);
}

TEST(OpShapes, RefusesWrongCounts) {
  for (const OpCase& of : op_cases()) {
    artifact::BinaryPlan plan = plan_of(of);
    const int group = pt_group_place(static_cast<int64_t>(of.kind));
    if (group >= 0 && of.attrs.ints.size() == static_cast<size_t>(group)) {
      plan.ops[0].attrs.ints.push_back(0);
      for (const int64_t index : {int64_t{0}, int64_t{PT_MAX_GROUPS - 1}, int64_t{-1}, int64_t{PT_MAX_GROUPS}}) {
        plan.ops[0].attrs.ints.back() = index;
        EXPECT_EQ(opened(plan), index >= 0 && index < PT_MAX_GROUPS ? PT_OK : PT_E_PLAN) << name(of) << index;
      }
      plan.ops[0].attrs.ints.back() = 0;
    }
    plan.ops[0].attrs.ints.push_back(0);
    EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of);
    plan = plan_of(of);
    if ((of.kind == ir::Kind::k_adagrad && of.attrs.reals.size() == 3) ||
        (of.kind == ir::Kind::k_adagrad_rows && of.attrs.reals.size() == 2)) {
      plan.ops[0].attrs.reals.push_back(0.5);
      EXPECT_EQ(opened(plan), PT_OK) << "the sum to begin with";
    }
    plan.ops[0].attrs.reals.push_back(0);
    EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of);
    plan = plan_of(of);
    if (of.inputs.empty()) {
      plan.ops[0].inputs = plan.ops[0].outputs;
    } else {
      plan.ops[0].inputs.clear();
    }
    EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of);
  }
}

// Any label may be the one that is ignored, and any number of classes the highest.
bool is_class_loss(ir::Kind kind) {
  using enum ir::Kind;
  return kind == k_nll || kind == k_nll_grad || kind == k_cross_entropy || kind == k_cross_entropy_grad ||
         kind == k_count_correct;
}

TEST(OpShapes, RefusesGatesThatShareABlockOfColumns) {
  size_t cells = 0;
  for (const OpCase& of : op_cases()) {
    const bool is_cell = of.kind >= ir::Kind::k_lstm_cell && of.kind <= ir::Kind::k_gru_cell_grad;
    const bool is_sequence = of.kind >= ir::Kind::k_lstm_sequence && of.kind <= ir::Kind::k_gru_sequence_grad;
    if (!is_cell && !is_sequence) continue;
    ++cells;
    artifact::BinaryPlan plan = plan_of(of);
    plan.ops[0].attrs.ints[2] = plan.ops[0].attrs.ints[1];
    EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of);
    plan.ops[0].attrs.ints[2] = static_cast<int64_t>(of.attrs.ints.size());
    EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of);
  }
  EXPECT_EQ(cells, 12U);
}

TEST(OpShapes, RefusesAttributesThatLeadOutside) {
  for (const OpCase& of : op_cases()) {
    for (size_t attr = 0; attr < of.attrs.ints.size(); ++attr) {
      for (const int64_t value : {int64_t{-1} << 62, int64_t{1} << 62, INT64_MAX, INT64_MIN, int64_t{1} << 32}) {
        const bool is_free = of.kind == ir::Kind::k_dropout || of.kind == ir::Kind::k_batch_norm_stats ||
                             is_class_loss(of.kind) ||
                             (of.attrs.ints.size() == PT_POOL_ATTRS && attr == PT_POOL_COUNT_INCLUDE_PAD);
        if (is_free) continue;
        artifact::BinaryPlan plan = plan_of(of);
        plan.ops[0].attrs.ints[attr] = value;
        EXPECT_EQ(opened(plan), PT_E_PLAN) << name(of) << " attribute " << attr << " = " << value;
      }
    }
  }
}

}  // namespace
}  // namespace pantoum::runtime_test
