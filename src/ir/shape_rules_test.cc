// Shapes of every op: what its rule gives, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ir/op_registry.h"
#include "kernels/portable/layout.h"
#include "runtime/op_shapes.h"

namespace pantoum::ir {
namespace {

using Rule = Result<std::vector<TensorType>>;

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}
TensorType i64(Shape shape) {
  return {DType::kI64, std::move(shape)};
}

TensorType truth(Shape shape) {
  return {DType::kBool, std::move(shape)};
}

TensorType u8(Shape shape) {
  return {DType::kU8, std::move(shape)};
}

struct Asked {
  Kind kind;
  std::vector<TensorType> inputs;
  Attrs attrs = {};
  std::vector<TensorType> given = {};
};

Rule infer(const Asked& asked) {
  return infer_types(asked.kind, {asked.inputs, asked.given, asked.attrs});
}

struct Accepted {
  Asked asked;
  std::vector<TensorType> outputs;
};

const Attrs kConv{{2, 1, 1, 0, 1, 2, 1, 1, 1}, {}};
const Attrs kVolume{{1, 2, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 2}, {}};
const Attrs kConvSigmoid{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_sigmoid_grad, 0}, {0, 0, 0}};
const Attrs kConvAdd{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_add, 0}, {0, 0, 0}};
const Attrs kConvRelu{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_relu, PT_RESIDUAL_NONE}, {0, 0}};
const Attrs kConvClipOver{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_clip, PT_RESIDUAL_OVER}, {0, 6}};
const Attrs kConvSum{{2, 1, 1, 0, 1, 2, 1, 1, 1, 0, PT_RESIDUAL_READ}, {0, 0}};
const Attrs kConvExp{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_exp, PT_RESIDUAL_NONE}, {0, 0}};
const Attrs kConvThree{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_relu, PT_RESIDUAL_COUNT}, {0, 0}};
const Attrs kProductRelu{{0, 1, PT_OP_relu, PT_RESIDUAL_NONE}, {0, 0}};
const Attrs kProductSum{{0, 0, 0, PT_RESIDUAL_READ}, {0, 0}};
const Attrs kBlocksSum{{2, 1, 1, 0, 1, 2, 1, 1, 1, 3, 4, PT_LAYOUT_OIHW_IO, PT_OP_relu, PT_RESIDUAL_READ}, {0, 0}};
const Attrs kSgdOfMatrices{{1, 0, PT_OP_sgd, 1}, {0.9, 0, 0, 0}};
const Attrs kSgdOfImages{{2, 1, 1, 0, 1, 2, 1, 1, 1, PT_OP_sgd, 0}, {0, 0, 0, 0}};
const Attrs kBlocks{{2, 1, 1, 0, 1, 2, 1, 1, 1, 3, 4, PT_LAYOUT_OIHW_IO}, {}};
const Attrs kPool{{2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0}, {}};

std::vector<Accepted> accepted() {
  const TensorType c3 = f32({3});
  return {
      {{Kind::k_matmul, {f32({2, 3}), f32({3, 4}), f32({4})}, {{0, 0}, {}}}, {f32({2, 4})}},
      {{Kind::k_matmul, {f32({5, 1, 3, 2}), f32({6, 4, 3})}, {{1, 1}, {}}}, {f32({5, 6, 2, 4})}},
      {{Kind::k_conv2d, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3}), f32({4})}, kConv}, {f32({2, 4, 4, 7})}},
      {{Kind::k_conv2d_dx, {f32({2, 4, 4, 7}), f32({4, 3, 3, 3})}, kConv, {f32({2, 3, 8, 7})}}, {f32({2, 3, 8, 7})}},
      {{Kind::k_conv2d_dw, {f32({2, 3, 8, 7}), f32({2, 4, 4, 7})}, kConv, {f32({4, 3, 3, 3})}}, {f32({4, 3, 3, 3})}},
      {{Kind::k_conv3d, {f32({2, 4, 5, 8, 7}), f32({6, 2, 2, 3, 3}), f32({6})}, kVolume}, {f32({2, 6, 4, 4, 7})}},
      {{Kind::k_conv3d_dx, {f32({2, 6, 4, 4, 7}), f32({6, 2, 2, 3, 3})}, kVolume, {f32({2, 4, 5, 8, 7})}},
       {f32({2, 4, 5, 8, 7})}},
      {{Kind::k_conv3d_dw, {f32({2, 4, 5, 8, 7}), f32({2, 6, 4, 4, 7})}, kVolume, {f32({6, 2, 2, 3, 3})}},
       {f32({6, 2, 2, 3, 3})}},
      {{Kind::k_conv2d_dz,
        {f32({2, 4, 4, 7}), f32({4, 3, 3, 3}), f32({2, 3, 8, 7})},
        kConvSigmoid,
        {f32({2, 3, 8, 7})}},
       {f32({2, 3, 8, 7})}},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3})}, kConvRelu}, {f32({2, 4, 4, 7})}},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3}), f32({4}), f32({2, 4, 4, 7})}, kConvClipOver},
       {f32({2, 4, 4, 7})}},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3}), f32({2, 4, 4, 7})}, kConvSum}, {f32({2, 4, 4, 7})}},
      {{Kind::k_matmul_act, {f32({5, 2, 3}), f32({4, 3}), f32({4})}, kProductRelu}, {f32({5, 2, 4})}},
      {{Kind::k_matmul_act, {f32({2, 3}), f32({3, 4}), f32({2, 4})}, kProductSum}, {f32({2, 4})}},
      {{Kind::k_matmul_update, {f32({5, 4}), f32({5, 3}), f32({4, 3}), f32({4, 3})}, kSgdOfMatrices},
       {f32({4, 3}), f32({4, 3})}},
      {{Kind::k_conv2d_dw_update, {f32({2, 3, 8, 7}), f32({2, 4, 4, 7}), f32({4, 3, 3, 3})}, kSgdOfImages},
       {f32({4, 3, 3, 3})}},
      {{Kind::k_add, {f32({2, 1, 3}), f32({4, 1})}}, {f32({2, 4, 3})}},
      {{Kind::k_mul, {f32({}), f32({2})}}, {f32({2})}},
      {{Kind::k_add, {i64({2, 1}), i64({3})}}, {i64({2, 3})}},
      {{Kind::k_pow, {f32({2, 1}), f32({3})}}, {f32({2, 3})}},
      {{Kind::k_pow, {u8({2, 1}), u8({3})}}, {u8({2, 3})}},
      {{Kind::k_mod, {i64({2, 1}), i64({3})}, {{1}, {}}}, {i64({2, 3})}},
      {{Kind::k_bitwise, {truth({2, 1}), truth({3})}, {{PT_BITWISE_XOR}, {}}}, {truth({2, 3})}},
      {{Kind::k_bitwise, {u8({2}), u8({})}, {{PT_BITWISE_SHIFT_LEFT}, {}}}, {u8({2})}},
      {{Kind::k_maximum, {truth({2, 1}), truth({3})}}, {truth({2, 3})}},
      {{Kind::k_compare, {i64({2, 1}), i64({3})}, {{PT_COMPARE_LESS}, {}}}, {truth({2, 3})}},
      {{Kind::k_where, {truth({3}), i64({2, 1}), i64({})}}, {i64({2, 3})}},
      {{Kind::k_maximum_grad, {f32({2, 3}), f32({3}), f32({})}}, {f32({2, 3})}},
      {{Kind::k_round, {f32({2})}, {{2}, {}}}, {f32({2})}},
      {{Kind::k_arc, {f32({2})}, {{PT_ARC_TANH}, {}}}, {f32({2})}},
      {{Kind::k_arc_grad, {f32({2}), f32({2})}, {{PT_ARC_SIN}, {}}}, {f32({2})}},
      {{Kind::k_round_to, {f32({2})}, {{PT_ROUND_TO_BFLOAT16}, {}}}, {f32({2})}},
      {{Kind::k_pow_grad, {f32({2, 3}), f32({2, 3}), f32({})}}, {f32({2, 3})}},
      {{Kind::k_relu, {f32({2, 3})}}, {f32({2, 3})}},
      {{Kind::k_gelu, {f32({2})}, {{1}, {}}}, {f32({2})}},
      {{Kind::k_cast, {f32({2})}, {}, {i64({2})}}, {i64({2})}},
      {{Kind::k_softmax, {f32({2, 3})}, {{1}, {}}}, {f32({2, 3})}},
      {{Kind::k_attention,
        {f32({2, 5, 4}), f32({2, 3, 4}), f32({2, 3, 7}), f32({3}), truth({2, 5, 1})},
        {{0, 0, 0, PT_STEP_ADD, PT_STEP_SCALE, PT_STEP_FILL}, {0, 2, -1}}},
       {f32({2, 5, 7})}},
      {{Kind::k_attention_grad,
        {f32({2, 5, 7}), f32({2, 4, 5}), f32({2, 4, 3}), f32({2, 7, 3})},
        {{1, 1, 1, 0, 0, 0}, {0, 0, 0}}},
       {f32({2, 4, 5}), f32({2, 4, 3}), f32({2, 7, 3})}},
      {{Kind::k_batch_norm, {f32({2, 3, 4}), c3, c3}, {{}, {1e-5}}}, {f32({2, 3, 4}), c3, c3}},
      {{Kind::k_batch_norm_grad, {f32({2, 3}), f32({2, 3}), c3, c3, c3}, {{}, {1e-5}}}, {f32({2, 3}), c3, c3}},
      {{Kind::k_batch_norm_stats, {c3, c3, c3, c3}, {{8}, {0.9}}}, {c3, c3}},
      {{Kind::k_batch_norm_act, {f32({2, 3, 4}), c3, c3}, {{PT_OP_clip}, {1e-5, 0, 6}}}, {f32({2, 3, 4}), c3, c3}},
      {{Kind::k_batch_norm_act_grad, {f32({2, 3}), f32({2, 3}), c3, c3, c3, c3}, {{PT_OP_relu}, {1e-5, 0, 0}}},
       {f32({2, 3}), c3, c3}},
      {{Kind::k_batch_norm_act_eval, {f32({2, 3}), c3, c3, c3, c3}, {{PT_OP_relu}, {1e-5, 0, 0}}}, {f32({2, 3})}},
      {{Kind::k_batch_norm_eval, {f32({2, 3}), c3, c3, c3, c3}, {{}, {1e-5}}}, {f32({2, 3})}},
      {{Kind::k_layer_norm, {f32({2, 4, 3}), c3, c3}, {{2}, {1e-5}}}, {f32({2, 4, 3}), f32({2, 4}), f32({2, 4})}},
      {{Kind::k_layer_norm_grad, {f32({2, 3}), f32({2, 3}), c3, f32({2}), f32({2})}, {{1}, {}}}, {f32({2, 3}), c3, c3}},
      {{Kind::k_max_pool, {f32({1, 2, 5, 4})}, kPool}, {f32({1, 2, 2, 2})}},
      {{Kind::k_sign_bits, {f32({3, 7})}}, {u8({3})}},
      {{Kind::k_relu_grad_bits, {f32({3, 7}), u8({3})}}, {f32({3, 7})}},
      {{Kind::k_leaky_relu_grad_bits, {f32({3, 7}), u8({3})}, {{}, {0.1}}}, {f32({3, 7})}},
      {{Kind::k_max_pool_taps, {f32({1, 2, 5, 4})}, kPool}, {u8({1, 2, 2, 2})}},
      {{Kind::k_max_pool_taps, {f32({1, 2, 5, 4, 8})}, kPool}, {u8({1, 2, 2, 2, 8})}},
      {{Kind::k_max_pool_grad_taps, {f32({1, 2, 2, 2}), u8({1, 2, 2, 2})}, kPool, {f32({1, 2, 5, 4})}},
       {f32({1, 2, 5, 4})}},
      {{Kind::k_lstm_cell, {f32({2, 12}), f32({2, 12}), f32({2, 3})}, {{0, 3, 1, 2}, {}}},
       {f32({2, 3}), f32({2, 3}), f32({2, 12})}},
      {{Kind::k_lstm_cell_grad, {f32({2, 3}), f32({2, 12}), f32({2, 3}), f32({2, 3}), f32({2, 3})}, {{0, 1, 2, 3}, {}}},
       {f32({2, 12}), f32({2, 3})}},
      {{Kind::k_gru_cell, {f32({2, 9}), f32({2, 9}), f32({2, 3})}, {{1, 0, 2}, {}}},
       {f32({2, 3}), f32({2, 9}), f32({2, 3})}},
      {{Kind::k_gru_cell_grad, {f32({2, 3}), f32({2, 9}), f32({2, 3}), f32({2, 3})}, {{0, 1, 2}, {}}},
       {f32({2, 9}), f32({2, 9}), f32({2, 3})}},
      {{Kind::k_lstm_sequence, {f32({5, 2, 12}), f32({12, 3}), f32({2, 3}), f32({2, 3})}, {{0, 3, 1, 2, 1}, {}}},
       {f32({5, 2, 3}), f32({5, 2, 3}), f32({5, 2, 12}), f32({2, 3}), f32({2, 3})}},
      {{Kind::k_lstm_sequence_grad,
        {f32({5, 2, 12}), f32({5, 2, 3}), f32({2, 3}), f32({12, 3}), f32({2, 3}), f32({2, 3}), f32({5, 2, 3})},
        {{0, 1, 2, 3, 0}, {}}},
       {f32({5, 2, 12}), f32({2, 3}), f32({2, 3})}},
      {{Kind::k_gru_sequence, {f32({5, 2, 9}), f32({9, 3}), f32({2, 3}), f32({9})}, {{1, 0, 2, 0}, {}}},
       {f32({5, 2, 3}), f32({5, 2, 9}), f32({5, 2, 3}), f32({2, 3})}},
      {{Kind::k_gru_sequence_grad,
        {f32({5, 2, 9}), f32({5, 2, 3}), f32({5, 2, 3}), f32({2, 3}), f32({9, 3}), f32({2, 3})},
        {{1, 0, 2, 1}, {}}},
       {f32({5, 2, 9}), f32({5, 2, 9}), f32({2, 3})}},
      {{Kind::k_max_pool_grad, {f32({1, 2, 2, 2}), f32({1, 2, 5, 4})}, kPool}, {f32({1, 2, 5, 4})}},
      {{Kind::k_avg_pool_grad, {f32({1, 2, 2, 2})}, kPool, {f32({1, 2, 5, 4})}}, {f32({1, 2, 5, 4})}},
      {{Kind::k_reduce_sum, {f32({2, 3, 4})}, {{0b101}, {}}}, {f32({3})}},
      {{Kind::k_reduce_sum, {i64({2, 3, 4})}, {{0b101}, {}}}, {i64({3})}},
      {{Kind::k_reduce_mean, {f32({2, 3})}, {{0b11}, {}}}, {f32({})}},
      {{Kind::k_reduce_max, {truth({2, 3})}, {{0b01}, {}}}, {truth({3})}},
      {{Kind::k_reduce_max_grad, {f32({2}), f32({2, 3}), f32({2})}, {{0b10}, {}}}, {f32({2, 3})}},
      {{Kind::k_arg_max, {f32({2, 3, 4})}, {{1}, {}}}, {i64({2, 4})}},
      {{Kind::k_arg_max, {u8({2, 3})}, {{0}, {}}}, {i64({3})}},
      {{Kind::k_top_k, {f32({2, 3, 4})}, {{1, 2, 1}, {}}}, {i64({2, 2, 4})}},
      {{Kind::k_top_k, {u8({2, 3})}, {{0, 2, 0}, {}}}, {i64({2, 3})}},
      {{Kind::k_random, {}, {{1, PT_RANDOM_UNIFORM}, {0, 1}}, {f32({2, 3})}}, {f32({2, 3})}},
      {{Kind::k_scatter_elements, {i64({4, 3}), i64({2, 2}), i64({2, 2})}, {{0, PT_SCATTER_ADD}, {}}}, {i64({4, 3})}},
      {{Kind::k_scatter_elements, {f32({4, 3}), i64({5}), f32({5, 3})}, {{0, PT_SCATTER_LAST}, {}}}, {f32({4, 3})}},
      {{Kind::k_scatter_elements_grad, {f32({4, 3}), i64({2, 2})}, {{0}, {}}, {f32({4, 3}), f32({2, 2})}},
       {f32({4, 3}), f32({2, 2})}},
      {{Kind::k_scatter_reduce_grad,
        {f32({4, 3}), i64({2, 2}), f32({4, 3}), f32({2, 2}), f32({4, 3})},
        {{0, PT_SCATTER_MAX}, {}}},
       {f32({4, 3}), f32({2, 2})}},
      {{Kind::k_cumsum, {f32({2, 3})}, {{1, 0, 1}, {}}}, {f32({2, 3})}},
      {{Kind::k_cumsum, {i64({2, 3})}, {{1, 0, 1}, {}}}, {i64({2, 3})}},
      {{Kind::k_resize, {f32({1, 2, 3, 4})}, {{1, 0, 0}, {2, 0.5}}, {f32({1, 2, 6, 2})}}, {f32({1, 2, 6, 2})}},
      {{Kind::k_resize_grad, {f32({1, 2, 6, 2})}, {{1, 0, 0}, {2, 0.5}}, {f32({1, 2, 3, 4})}}, {f32({1, 2, 3, 4})}},
      {{Kind::k_expand, {i64({3, 1})}, {{}, {1}}, {i64({5, 3, 4})}}, {i64({5, 3, 4})}},
      {{Kind::k_expand, {f32({3, 1})}, {{}, {2}}, {f32({5, 3, 4})}}, {f32({5, 3, 4})}},
      {{Kind::k_transpose, {i64({2, 3, 4})}, {{2, 0, 1}, {}}}, {i64({4, 2, 3})}},
      {{Kind::k_concat, {i64({2, 3}), i64({2, 1})}, {{1}, {}}}, {i64({2, 4})}},
      {{Kind::k_split, {f32({2, 4})}, {{1}, {}}, {f32({2, 3}), f32({2, 1})}}, {f32({2, 3}), f32({2, 1})}},
      {{Kind::k_slice, {f32({5, 6})}, {{1, 2, 5, -2}, {}}, {f32({2, 3})}}, {f32({2, 3})}},
      {{Kind::k_slice_grad, {f32({2, 3})}, {{1, 2, 5, -2}, {}}, {f32({5, 6})}}, {f32({5, 6})}},
      {{Kind::k_reorder, {f32({2, 6, 5, 7})}, {{PT_LAYOUT_PLAIN, PT_LAYOUT_NCHWC}, {}}, {f32({2, 2, 5, 7, 4})}},
       {f32({2, 2, 5, 7, 4})}},
      {{Kind::k_conv2d_nchwc,
        {f32({2, 1, 8, 7, 4}), f32({1, 1, 3, 3, 4, 4}), f32({4})},
        kBlocks,
        {f32({2, 1, 4, 7, 4})}},
       {f32({2, 1, 4, 7, 4})}},
      {{Kind::k_conv2d_act_nchwc,
        {f32({2, 1, 8, 7, 4}), f32({1, 1, 3, 3, 4, 4}), f32({4}), f32({2, 1, 4, 7, 4})},
        kBlocksSum,
        {f32({2, 1, 4, 7, 4})}},
       {f32({2, 1, 4, 7, 4})}},
      {{Kind::k_conv2d_dx_nchwc, {f32({2, 1, 4, 7, 4}), f32({1, 1, 3, 3, 4, 4})}, kBlocks, {f32({2, 1, 8, 7, 4})}},
       {f32({2, 1, 8, 7, 4})}},
      {{Kind::k_conv2d_dw_nchwc, {f32({2, 3, 8, 7}), f32({2, 1, 4, 7, 4})}, kBlocks, {f32({1, 1, 3, 3, 4, 4})}},
       {f32({1, 1, 3, 3, 4, 4})}},
      {{Kind::k_batch_norm_nchwc, {f32({2, 1, 5, 5, 4}), c3, c3}, {{}, {1e-5}}, {f32({2, 1, 5, 5, 4}), c3, c3}},
       {f32({2, 1, 5, 5, 4}), c3, c3}},
      {{Kind::k_batch_norm_grad_nchwc,
        {f32({2, 1, 5, 5, 4}), f32({2, 1, 5, 5, 4}), c3, c3, c3},
        {{}, {1e-5}},
        {f32({2, 1, 5, 5, 4}), c3, c3}},
       {f32({2, 1, 5, 5, 4}), c3, c3}},
      {{Kind::k_batch_norm_act_nchwc,
        {f32({2, 1, 5, 5, 4}), c3, c3},
        {{PT_OP_relu}, {1e-5, 0, 0}},
        {f32({2, 1, 5, 5, 4}), c3, c3}},
       {f32({2, 1, 5, 5, 4}), c3, c3}},
      {{Kind::k_batch_norm_act_grad_nchwc,
        {f32({2, 1, 5, 5, 4}), f32({2, 1, 5, 5, 4}), c3, c3, c3, c3},
        {{PT_OP_relu}, {1e-5, 0, 0}},
        {f32({2, 1, 5, 5, 4}), c3, c3}},
       {f32({2, 1, 5, 5, 4}), c3, c3}},
      {{Kind::k_batch_norm_act_eval_nchwc,
        {f32({2, 1, 5, 5, 4}), c3, c3, c3, c3},
        {{PT_OP_relu}, {1e-5, 0, 0}},
        {f32({2, 1, 5, 5, 4})}},
       {f32({2, 1, 5, 5, 4})}},
      {{Kind::k_batch_norm_eval_nchwc, {f32({2, 1, 5, 5, 4}), c3, c3, c3, c3}, {{}, {1e-5}}, {f32({2, 1, 5, 5, 4})}},
       {f32({2, 1, 5, 5, 4})}},
      {{Kind::k_max_pool_nchwc, {f32({1, 2, 5, 4, 8})}, kPool, {f32({1, 2, 2, 2, 8})}}, {f32({1, 2, 2, 2, 8})}},
      {{Kind::k_max_pool_grad_nchwc, {f32({1, 2, 2, 2, 8}), f32({1, 2, 5, 4, 8})}, kPool, {f32({1, 2, 5, 4, 8})}},
       {f32({1, 2, 5, 4, 8})}},
      {{Kind::k_avg_pool_nchwc, {f32({1, 2, 5, 4, 8})}, kPool, {f32({1, 2, 2, 2, 8})}}, {f32({1, 2, 2, 2, 8})}},
      {{Kind::k_avg_pool_grad_nchwc, {f32({1, 2, 2, 2, 8})}, kPool, {f32({1, 2, 5, 4, 8})}}, {f32({1, 2, 5, 4, 8})}},
      {{Kind::k_gather, {f32({4, 3}), i64({2, 5})}, {{0}, {}}}, {f32({2, 5, 3})}},
      {{Kind::k_gather_grad, {f32({4}), i64({})}, {{1}, {}}, {f32({4, 3})}}, {f32({4, 3})}},
      {{Kind::k_gather_elements, {i64({4, 3}), i64({2, 3})}, {{0}, {}}}, {i64({2, 3})}},
      {{Kind::k_gather_elements_grad, {f32({2, 3}), i64({2, 3})}, {{0}, {}}, {f32({4, 3})}}, {f32({4, 3})}},
      {{Kind::k_sgd_rows, {f32({7, 3}), i64({2, 5}), f32({2, 5, 3})}}, {f32({7, 3})}},
      {{Kind::k_adagrad_rows, {f32({7, 3}), i64({2}), f32({2, 3}), f32({7, 3})}, {{}, {0, 1e-10}}},
       {f32({7, 3}), f32({7, 3})}},
      {{Kind::k_adam_rows, {f32({7}), i64({}), f32({}), f32({7}), f32({7})}, {{}, {0.9, 0.999, 1e-8}}},
       {f32({7}), f32({7}), f32({7})}},
      {{Kind::k_dropout, {f32({4})}, {{1}, {0.5}}}, {f32({4})}},
      {{Kind::k_cross_entropy, {f32({2, 3, 4}), i64({2, 4})}, {{-1}, {0.1}}}, {f32({})}},
      {{Kind::k_cross_entropy_grad, {f32({2, 3}), i64({2})}, {{-1}, {0}}}, {f32({2, 3})}},
      {{Kind::k_soft_cross_entropy, {f32({2, 3}), f32({2, 3})}, {{}, {0}}}, {f32({})}},
      {{Kind::k_soft_cross_entropy_grad, {f32({2, 3}), f32({2, 3})}, {{}, {0}}}, {f32({2, 3})}},
      {{Kind::k_count_correct, {f32({2, 3}), i64({2})}, {{-1, 1}, {}}}, {f32({2})}},
      {{Kind::k_mse, {f32({2, 3}), f32({2, 3})}}, {f32({})}},
      {{Kind::k_sgd, {c3, c3}, {{0}, {0, 0}}}, {c3}},
      {{Kind::k_sgd, {c3, c3, c3}, {{1}, {0.9, 0}}}, {c3, c3}},
      {{Kind::k_adam, {c3, c3, c3, c3}, {{}, {0.9, 0.999, 1e-8, 0}}}, {c3, c3, c3}},
      {{Kind::k_rmsprop, {c3, c3, c3}, {{0}, {0.99, 1e-8, 0, 0}}}, {c3, c3}},
      {{Kind::k_rmsprop, {c3, c3, c3, c3, c3}, {{1}, {0.99, 1e-8, 0.9, 0}}}, {c3, c3, c3, c3}},
      {{Kind::k_norm, {c3, f32({2, 5}), f32({})}}, {f32({})}},
      {{Kind::k_clip_norm, {c3, f32({})}, {{}, {1}}}, {c3}},
      {{Kind::k_accumulate, {c3, c3}}, {c3}},
      {{Kind::k_assign, {c3, c3}}, {c3}},
      {{Kind::k_assign_slice, {f32({5, 6}), f32({2, 3})}, {{1, 2, 5, -2}, {}}}, {f32({5, 6})}},
      {{Kind::k_accumulated, {c3, c3}, {{}, {0.5}}}, {c3, c3}},
      {{Kind::k_adagrad, {c3, c3, c3}, {{}, {0, 1e-10, 0}}}, {c3, c3}},
      {{Kind::k_alias, {f32({2, 6})}, {}, {f32({3, 4})}}, {f32({3, 4})}},
  };
}

TEST(ShapeRules, GiveTheTypesOfTheOutputs) {
  for (const Accepted& one : accepted()) {
    const Rule types = infer(one.asked);
    ASSERT_TRUE(types) << to_text(types.error());
    EXPECT_EQ(*types, one.outputs) << name_of(one.asked.kind);
  }
}

TEST(ShapeRules, AcceptTheirOwnOutputsAsGiven) {
  for (Accepted& one : accepted()) {
    one.asked.given = one.outputs;
    const Rule types = infer(one.asked);
    ASSERT_TRUE(types) << to_text(types.error());
    EXPECT_EQ(*types, one.outputs) << name_of(one.asked.kind);
  }
}

struct Refused {
  Asked asked;
  const char* sentence;
};

std::vector<Refused> refused() {
  const TensorType c3 = f32({3}), q = f32({2, 5, 4}), dy = f32({2, 4, 4, 7}), w = f32({4, 3, 3, 3});
  const Attrs groups{{1, 1, 0, 0, 0, 0, 1, 1, 2}, {}}, stride{{0, 1, 0, 0, 0, 0, 1, 1, 1}, {}};
  const Attrs negative_pad{{1, 1, -1, 0, 0, 0, 1, 1, 1}, {}};
  return {
      {{Kind::k_matmul, {f32({2, 3}), f32({4, 5})}, {{0, 0}, {}}},
       "matmul cannot take f32[2,3], f32[4,5]: the inner extents 3"},
      {{Kind::k_matmul, {f32({3}), f32({3, 5})}, {{0, 0}, {}}}, "two dimensions or more"},
      {{Kind::k_matmul, {f32({2, 2, 3}), f32({3, 3, 4})}, {{0, 0}, {}}}, "[2] and [3] do not broadcast"},
      {{Kind::k_matmul, {f32({2, 3}), f32({3, 4}), f32({3})}, {{0, 0}, {}}}, "the bias [3] must have the shape [4]"},
      {{Kind::k_matmul, {f32({2, 3}), i64({3, 4})}, {{0, 0}, {}}}, "must be floating point, not i64"},
      {{Kind::k_matmul, {f32({2, 3})}, {{0, 0}, {}}}, "does not take 1 inputs"},
      {{Kind::k_matmul, {f32({2, 3}), f32({3, 4})}, {{0}, {}}}, "does not have 1 integer"},
      {{Kind::k_conv2d, {f32({1, 3, 8, 8}), f32({4, 2, 3, 3})}, groups}, "2 groups do not divide 3 channels"},
      {{Kind::k_conv2d, {f32({1, 4, 8, 8}), f32({4, 4, 3, 3})}, groups}, "wants 4 channels per group, the image has 2"},
      {{Kind::k_conv2d, {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, stride}, "must be 1 or more, not 0"},
      {{Kind::k_conv2d, {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, negative_pad}, "a padding must be 0 or more, not -1"},
      {{Kind::k_conv2d, {f32({1, 3, 2, 8}), f32({4, 3, 5, 3})}, kConv}, "a window of 5 does not fit into 4"},
      {{Kind::k_conv2d, {f32({3, 8, 8}), f32({4, 3, 3, 3})}, kConv}, "the image [3,8,8] must have 4 dimensions"},
      {{Kind::k_conv2d_dx, {f32({2, 4, 4, 7}), f32({4, 3, 3, 3})}, kConv}, "must be given"},
      {{Kind::k_conv3d, {f32({1, 4, 8, 8}), f32({6, 2, 3, 3})}, kVolume}, "the image [1,4,8,8] must have 5 dimensions"},
      {{Kind::k_conv3d, {f32({1, 4, 1, 8, 8}), f32({6, 2, 2, 3, 3})}, kVolume}, "a window of 2 does not fit into 1"},
      {{Kind::k_conv3d_dw, {f32({1, 4, 5, 8, 7}), f32({1, 6, 4, 4, 7})}, kVolume}, "must be given"},
      {{Kind::k_conv3d_dx, {f32({2, 6, 4, 4, 6}), f32({6, 2, 2, 3, 3})}, kVolume, {f32({2, 4, 5, 8, 7})}},
       "must have the shape"},
      {{Kind::k_conv2d_dx, {f32({2, 4, 4, 6}), f32({4, 3, 3, 3})}, kConv, {f32({2, 3, 8, 7})}},
       "must have the shape [2,4,4,7]"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w}, kConvExp}, "knows no such activation"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w, f32({4})}, kConvThree}, "knows no residual 3"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w}, kConvSum}, "what its attributes add"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w, f32({4}), dy}, kConvRelu}, "what its attributes add"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w, f32({4})}, kConvSum}, "what is added to the result"},
      {{Kind::k_conv2d_act, {f32({2, 3, 8, 7}), w, f32({3})}, kConvRelu}, "the bias"},
      {{Kind::k_conv2d_dz, {dy, w, f32({2, 3, 8, 7})}, kConvAdd, {f32({2, 3, 8, 7})}}, "knows no such activation"},
      {{Kind::k_conv2d_dz, {dy, w, f32({2, 3, 8})}, kConvSigmoid, {f32({2, 3, 8, 7})}},
       "must have the shape [2,3,8,7]"},
      {{Kind::k_matmul_act, {f32({2, 3}), f32({3, 4})}, {{0, 0, PT_OP_exp, 0}, {0, 0}}}, "knows no such activation"},
      {{Kind::k_matmul_act, {f32({2, 3}), f32({3, 4})}, kProductSum}, "what its attributes add"},
      {{Kind::k_matmul_act, {f32({2, 3}), f32({3, 4}), f32({4})}, kProductSum}, "what is added to the result"},
      {{Kind::k_matmul_act, {f32({2, 3}), f32({3, 4})}, kProductRelu}, "the inner extents 3 and 4 differ"},
      {{Kind::k_matmul_update, {f32({5, 4}), f32({5, 3}), f32({3, 4})}, kSgdOfMatrices}, "not a gradient of what"},
      {{Kind::k_matmul_update, {f32({2, 5, 4}), f32({5, 3}), f32({2, 4, 3})}, kSgdOfMatrices}, "must be matrices"},
      {{Kind::k_matmul_update, {f32({5, 4}), f32({5, 3}), f32({4, 3}), f32({4, 4})}, kSgdOfMatrices},
       "must have the shape [4,3]"},
      {{Kind::k_matmul_update, {f32({5, 4}), f32({5, 3}), f32({4, 3})}, {{1, 0, PT_OP_add, 0}, {0, 0, 0, 0}}},
       "knows no such update"},
      {{Kind::k_add, {f32({2, 3}), f32({2})}}, "[2,3] and [2] do not broadcast"},
      {{Kind::k_add, {f32({2}), {DType::kF64, {2}}}}, "one element type"},
      {{Kind::k_relu, {i64({2})}}, "must be floating point"},
      {{Kind::k_relu, {f32({2, 0})}}, "the extent 0 is out of range"},
      {{Kind::k_relu, {f32({1, 1, 1, 1, 1, 1, 1})}}, "more than 6 dimensions"},
      {{Kind::k_relu, {f32({1 << 30, 1 << 30, 1 << 30})}}, "is too large"},
      {{Kind::k_add, {f32({1 << 30, 1}), f32({1, 1 << 30})}}, "is too large"},
      {{Kind::k_softmax, {f32({2, 3})}, {{2}, {}}}, "axis 2 is not among 2 dimensions"},
      {{Kind::k_softmax, {f32({2, 3})}, {{-1}, {}}}, "axis -1"},
      {{Kind::k_attention, {f32({5, 4}), f32({3, 4}), f32({3, 7})}, {{0, 0, 0, 0, 0, 0}, {0, 0, 0}}},
       "three dimensions or more"},
      {{Kind::k_attention, {q, f32({2, 3, 5}), f32({2, 3, 7})}, {{0, 0, 0, 0, 0, 0}, {0, 0, 0}}},
       "must have the shape"},
      {{Kind::k_attention, {q, q, f32({2, 5, 7})}, {{2, 0, 0, 0, 0, 0}, {0, 0, 0}}}, "a transposition is 0 or 1"},
      {{Kind::k_attention, {q, q, q}, {{0, 0, 0, 5, 0, 0}, {0, 0, 0}}}, "the step 5 is unknown"},
      {{Kind::k_attention, {q, q, q}, {{0, 0, 0, 0, 1, 0}, {0, 0, 0}}}, "a step stands behind none"},
      {{Kind::k_attention, {q, q, q}, {{0, 0, 0, 2, 0, 0}, {0, 0, 0}}}, "a mask is missing"},
      {{Kind::k_attention, {q, q, q, f32({5})}, {{0, 0, 0, 3, 0, 0}, {0, 0, 0}}}, "of another type"},
      {{Kind::k_attention, {q, q, q, f32({4})}, {{0, 0, 0, 2, 0, 0}, {0, 0, 0}}}, "does not broadcast"},
      {{Kind::k_attention, {q, q, q, f32({5})}, {{0, 0, 0, 1, 0, 0}, {1, 0, 0}}}, "masks that no step takes"},
      {{Kind::k_attention_grad, {f32({2, 5, 3}), q, q, q}, {{0, 0, 0, 0, 0, 0}, {0, 0, 0}}}, "dY"},
      {{Kind::k_batch_norm, {f32({2, 4}), c3, c3}, {{}, {1e-5}}}, "must have the shape [4]"},
      {{Kind::k_batch_norm_stats, {c3, c3, c3, c3}, {{0}, {0.9}}}, "count per channel"},
      {{Kind::k_batch_norm_act, {f32({2, 3}), c3, c3}, {{PT_OP_sigmoid}, {1e-5, 0, 0}}}, "none that it knows"},
      {{Kind::k_batch_norm_act_grad, {f32({2, 3}), f32({2, 3}), c3, c3, c3, c3}, {{-1}, {1e-5, 0, 0}}},
       "none that it knows"},
      {{Kind::k_batch_norm_act_eval, {f32({2, 4}), c3, c3, c3, c3}, {{PT_OP_relu}, {1e-5, 0, 0}}},
       "must have the shape [4]"},
      {{Kind::k_layer_norm, {f32({2, 4}), c3, c3}, {{1}, {1e-5}}}, "the scale [3] must have the shape [4]"},
      {{Kind::k_max_pool, {f32({1, 1, 4, 4})}, {{2, 2, 1, 1, 2, 0, 0, 0, 1, 1, 0}, {}}}, "in the padding alone"},
      {{Kind::k_avg_pool, {f32({1, 1, 4, 4})}, {{2, 2, 1, 1, 0, 0, 0, 3, 1, 1, 0}, {}}}, "in the padding alone"},
      {{Kind::k_max_pool, {f32({1, 1, 1, 4})}, {{2, 1, 1, 1, 1, 0, 1, 0, 2, 1, 0}, {}}}, "in the padding alone"},
      {{Kind::k_reduce_sum, {f32({2, 3})}, {{0b100}, {}}}, "the mask 4"},
      {{Kind::k_reduce_sum, {f32({2, 3})}, {{-1}, {}}}, "the mask -1"},
      {{Kind::k_expand, {f32({3})}, {{}, {1}}, {f32({3, 2})}}, "does not broadcast to [3,2]"},
      {{Kind::k_expand, {f32({2, 3})}, {{}, {1}}, {f32({3})}}, "does not broadcast to [3]"},
      {{Kind::k_expand, {i64({3})}, {{}, {2}}, {i64({2, 3})}}, "only floating-point numbers are scaled"},
      {{Kind::k_add, {i64({2}), f32({2})}}, "one element type"},
      {{Kind::k_add, {truth({2}), truth({2})}}, "must be floating point or integers, not bool"},
      {{Kind::k_maximum, {i64({2}), f32({2})}}, "one element type"},
      {{Kind::k_mod, {f32({2}), f32({2})}, {{0}, {}}}, "it does not compute on f32"},
      {{Kind::k_mod, {i64({2}), i64({2})}, {{2}, {}}}, "a flag must be 0 or 1"},
      {{Kind::k_bitwise, {i64({2}), i64({2})}, {{9}, {}}}, "the operation 9 is unknown"},
      {{Kind::k_arc, {f32({2})}, {{PT_ARC_COUNT}, {}}}, "the function 6 is unknown"},
      {{Kind::k_round_to, {f32({2})}, {{-1}, {}}}, "the type -1 is unknown"},
      {{Kind::k_bitwise, {i64({2}), i64({2})}, {{PT_BITWISE_SHIFT_LEFT}, {}}}, "only unsigned integers"},
      {{Kind::k_reduce_sum, {truth({2})}, {{1}, {}}}, "must be floating point or integers, not bool"},
      {{Kind::k_reduce_mean, {i64({2})}, {{1}, {}}}, "must be floating point, not i64"},
      {{Kind::k_cumsum, {truth({2})}, {{0, 0, 0}, {}}}, "must be floating point or integers, not bool"},
      {{Kind::k_where, {f32({2}), f32({2}), f32({2})}}, "the condition must be bool"},
      {{Kind::k_compare, {f32({2}), f32({2})}, {{99}, {}}}, "the relation 99 is unknown"},
      {{Kind::k_resize, {f32({1, 2, 3, 4})}, {{1, 0, 0}, {2, 2}}, {f32({1, 1, 6, 8})}}, "channels must stay"},
      {{Kind::k_resize, {f32({1, 2, 3, 4})}, {{1, 9, 0}, {2, 2}}, {f32({1, 2, 6, 8})}}, "coordinates or rounding"},
      {{Kind::k_gather_elements, {f32({4, 3}), i64({2, 4})}, {{0}, {}}}, "leave the input in dimension 1"},
      {{Kind::k_top_k, {f32({2, 3})}, {{1, 4, 1}, {}}}, "no 4 elements along an axis of 3"},
      {{Kind::k_top_k, {f32({2, 3})}, {{1, 0, 1}, {}}}, "no 0 elements"},
      {{Kind::k_top_k, {truth({2})}, {{0, 1, 1}, {}}}, "must be floating point or integers, not bool"},
      {{Kind::k_random, {}, {{1, 2}, {0, 1}}, {f32({2})}}, "no distribution 2"},
      {{Kind::k_random, {}, {{1, 0}, {1, 0}}, {f32({2})}}, "nothing lies between 1 and 0"},
      {{Kind::k_random, {}, {{-1, 0}, {0, 1}}, {f32({2})}}, "fit 32 bits"},
      {{Kind::k_random, {}, {{1, 0}, {0, 1}}, {i64({2})}}, "must be floating point"},
      {{Kind::k_scatter_elements, {f32({4, 3}), i64({2, 4}), f32({2, 4})}, {{0, 0}, {}}}, "in dimension 1"},
      {{Kind::k_scatter_elements, {f32({4, 3}), i64({2}), f32({2, 2})}, {{0, 0}, {}}}, "in dimension 1"},
      {{Kind::k_scatter_elements, {f32({4, 3}), i64({1, 2}), f32({2, 2})}, {{0, 0}, {}}}, "do not fit the updates"},
      {{Kind::k_scatter_elements, {f32({4}), i64({2}), i64({2})}, {{0, 0}, {}}}, "one element type"},
      {{Kind::k_scatter_elements, {f32({4}), i64({2}), f32({2})}, {{0, 5}, {}}}, "no reduction 5"},
      {{Kind::k_scatter_reduce_grad, {f32({4}), i64({2}), f32({4}), f32({2}), f32({4})}, {{0, PT_SCATTER_ADD}, {}}},
       "no reduction 1"},
      {{Kind::k_scatter_reduce_grad, {f32({3}), i64({2}), f32({4}), f32({2}), f32({4})}, {{0, PT_SCATTER_MUL}, {}}},
       "the output's gradient [3] must have the shape [4]"},
      {{Kind::k_scatter_elements_grad, {f32({3}), i64({2})}, {{0}, {}}, {f32({4}), f32({2})}}, "gradient"},
      {{Kind::k_scatter_elements, {truth({4}), i64({2}), truth({2})}, {{0, 1}, {}}}, "bool is not computed on"},
      {{Kind::k_sgd_rows, {f32({7, 3}), i64({2}), f32({2, 4})}}, "must have the shape [2,3]"},
      {{Kind::k_adam_rows, {f32({7, 3}), i64({2}), f32({2, 3}), f32({7, 3}), f32({2, 3})}, {{}, {0.9, 0.999, 1e-8}}},
       "a state of the rows [2,3] must have the shape [7,3]"},
      {{Kind::k_transpose, {f32({2, 3})}, {{0, 0}, {}}}, "names dimension 0 twice"},
      {{Kind::k_transpose, {f32({2, 3})}, {{0}, {}}}, "another number of dimensions"},
      {{Kind::k_concat, {f32({2, 3}), f32({3, 3})}, {{1}, {}}}, "must have the shape [2,3]"},
      {{Kind::k_concat, {f32({2, 3}), i64({2, 3})}, {{1}, {}}}, "one element type"},
      {{Kind::k_split, {f32({2, 4})}, {{1}, {}}, {f32({2, 3}), f32({2, 2})}}, "make up [2,5]"},
      {{Kind::k_slice, {f32({5})}, {{1, 2}, {}}, {f32({3})}}, "leave the extent 5"},
      {{Kind::k_slice, {f32({5})}, {{1, -1}, {}}, {f32({3})}}, "leave the extent 5"},
      {{Kind::k_slice, {f32({5})}, {{1, 0}, {}}, {f32({3})}}, "leave the extent 5"},
      {{Kind::k_gather, {f32({4}), f32({2})}, {{0}, {}}}, "indices must be i64"},
      {{Kind::k_dropout, {f32({4})}, {{1}, {1.0}}}, "below 1, not 1"},
      {{Kind::k_cross_entropy, {f32({2, 3}), i64({3})}, {{-1}, {0}}}, "the labels [3] must have the shape [2]"},
      {{Kind::k_cross_entropy, {f32({2, 3}), f32({2})}, {{-1}, {0}}}, "the labels must be i64"},
      {{Kind::k_soft_cross_entropy, {f32({6}), f32({6})}, {{}, {0}}}, "the scores must have two dimensions or more"},
      {{Kind::k_count_correct, {f32({2, 3}), i64({2})}, {{-1, 0}, {}}}, "among the 0 highest"},
      {{Kind::k_lstm_cell, {f32({2, 4}), f32({2, 4}), f32({2, 1})}, {{0, 3, 1, 1}, {}}}, "the block 1 of columns"},
      {{Kind::k_gru_cell, {f32({2, 3}), f32({2, 3}), f32({2, 1})}, {{1, 2, 3}, {}}}, "the block 0 of columns"},
      {{Kind::k_gru_cell, {f32({2, 3}), f32({2, 3}), f32({2, 1})}}, "does not have 0 integer"},
      {{Kind::k_gru_sequence, {f32({5, 2, 9}), f32({9, 3}), f32({2, 3})}, {{1, 0, 2, 2}, {}}}, "neither 0 nor 1"},
      {{Kind::k_gru_sequence, {f32({5, 2, 9}), f32({9, 3}), f32({2, 3})}, {{1, 0, 1, 0}, {}}},
       "the block 1 of columns"},
      {{Kind::k_gru_sequence, {f32({5, 2, 9}), f32({9, 4}), f32({2, 4})}, {{1, 0, 2, 0}, {}}}, "the gates"},
      {{Kind::k_gru_sequence, {f32({10, 9}), f32({9, 3}), f32({2, 3})}, {{1, 0, 2, 0}, {}}}, "must have 3 dimensions"},
      {{Kind::k_lstm_sequence, {f32({5, 2, 12}), f32({12, 3}), f32({2, 3}), f32({5, 3})}, {{0, 3, 1, 2, 1}, {}}},
       "a state"},
      {{Kind::k_sgd, {c3, f32({2})}, {{0}, {0, 0}}}, "must have the shape [3]"},
      {{Kind::k_clip_norm, {c3, f32({1})}, {{}, {1}}}, "the norm [1] must have the shape []"},
      {{Kind::k_rmsprop, {c3, c3, c3}, {{1}, {0.99, 1e-8, 0, 0}}}, "where it is centered"},
      {{Kind::k_alias, {f32({2, 6})}, {}, {f32({3, 5})}}, "another number of elements"},
  };
}

TEST(ShapeRules, RefuseWithASentenceThatHoldsTheShapes) {
  for (const Refused& one : refused()) {
    const Rule types = infer(one.asked);
    ASSERT_FALSE(types) << one.sentence;
    EXPECT_EQ(types.error().code, "E0211");
    EXPECT_THAT(types.error().message, testing::HasSubstr(one.sentence));
    EXPECT_THAT(types.error().message, testing::StartsWith(name_of(one.asked.kind)));
    for (const TensorType& input : one.asked.inputs) {
      EXPECT_THAT(types.error().message, testing::HasSubstr(to_text(input)));
    }
  }
}

TEST(ShapeRules, RefuseMoreOperandsThanAKernelTakes) {
  const std::vector<TensorType> many(PT_MAX_OPERANDS, f32({1}));
  EXPECT_FALSE(infer({Kind::k_concat, many, {{0}, {}}}));
  EXPECT_TRUE(infer({Kind::k_concat, {many.begin(), many.end() - 1}, {{0}, {}}}));
}

// Random operands of every op, from plausible to absurd: a refusal, or outputs that are in range. Never a crash (run
// under UBSan).
class Hostile {
 public:
  explicit Hostile(uint32_t seed) : random_(seed) {}

  Asked ask(Kind kind) {
    const Signature& signature = op_def(kind).signature;
    Asked asked{kind, types(count(signature.min_inputs, signature.max_inputs)), {}, {}};
    if (random_() % 2 != 0) asked.given = types(count(signature.min_outputs, signature.max_outputs));
    asked.attrs.ints.resize(count(signature.ints, signature.ints));
    for (int64_t& attr : asked.attrs.ints) attr = number();
    asked.attrs.reals.resize(count(signature.reals, signature.reals));
    for (double& attr : asked.attrs.reals) attr = static_cast<double>(number());
    return asked;
  }

 private:
  std::mt19937 random_;

  size_t count(int least, int most) {
    if (random_() % 20 == 0 || least < 0) return random_() % 14;
    return static_cast<size_t>(least) + random_() % (most < 0 ? 3 : static_cast<unsigned>(most - least) + 1);
  }
  int64_t number() {
    static constexpr int64_t kOdd[] = {INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, -1, 1 << 20, 64, 63, 31};
    return random_() % 8 == 0 ? kOdd[random_() % std::size(kOdd)] : static_cast<int64_t>(random_() % 4);
  }
  std::vector<TensorType> types(size_t how_many) {
    std::vector<TensorType> made(how_many);
    const size_t rank = random_() % 5;
    for (TensorType& type : made) {
      if (random_() % 10 == 0) type.dtype = static_cast<DType>(random_() % 7);
      type.shape.resize(random_() % 6 == 0 ? random_() % 9 : rank);
      for (int64_t& extent : type.shape) extent = random_() % 3 == 0 ? number() : 2;
    }
    return made;
  }
};

TEST(ShapeRules, SurviveAnything) {
  Hostile hostile(7);
  std::set<Kind> accepted_once;
  for (int round = 0; round < 2000; ++round) {
    for (const OpDef& def : all_op_defs()) {
      const Asked asked = hostile.ask(def.kind);
      const Rule types = infer(asked);
      if (!types) {
        ASSERT_EQ(types.error().code, "E0211");
        continue;
      }
      accepted_once.insert(def.kind);
      const OpTypes whole{asked.inputs, *types, asked.attrs};
      EXPECT_GE(def.cost(whole).flops, 0) << def.name;
      EXPECT_GE(def.cost(whole).bytes_read, 0) << def.name;
      for (const auto& [output, input] :
           def.in_place == nullptr ? std::vector<std::pair<int, int>>{} : def.in_place(whole)) {
        EXPECT_EQ((*types)[static_cast<size_t>(output)].bytes(), asked.inputs[static_cast<size_t>(input)].bytes())
            << def.name;
      }
    }
  }
  EXPECT_GE(accepted_once.size(), all_op_defs().size() / 2) << "the generator finds too few operands that fit";
}

TEST(OpRegistry, KnowsEveryOperator) {
  std::set<Kind> known;
  for (const OpDef& def : all_op_defs()) {
    EXPECT_TRUE(known.insert(def.kind).second) << def.name << " is defined twice";
    EXPECT_NE(def.cost, nullptr) << def.name;
  }
#define PT_OPERATOR(op_name, id)                                             \
  EXPECT_NE(pt_find_record(id), nullptr) << #op_name " has no record";       \
  EXPECT_TRUE(known.contains(Kind::k_##op_name)) << #op_name " has no rule"; \
  EXPECT_STREQ(op_def(Kind::k_##op_name).name, #op_name);
  PT_OPERATORS(PT_OPERATOR)
#undef PT_OPERATOR
}

TEST(OpRegistry, HasAShapeTestForEveryOperatorThatIsNotLikeAnother) {
  const auto rule = [](Kind kind) { return pt_find_record(static_cast<uint16_t>(kind))->shape; };
  std::set<int (*)(pt_op_use*)> tested;
  for (const Accepted& one : accepted()) tested.insert(rule(one.asked.kind));
  // why: the operator has the rule of a custom op (src/api/custom_operator_api_test.cc).
  for (const OpDef& def : all_op_defs()) EXPECT_TRUE(is_custom(def.kind) || tested.contains(rule(def.kind))) << def.name;
}

TEST(OpCosts, CountMultiplyAddsTwice) {
  const auto flops = [](const Asked& asked, std::vector<TensorType> outputs) {
    return op_def(asked.kind).cost({asked.inputs, outputs, asked.attrs}).flops;
  };
  EXPECT_EQ(flops({Kind::k_matmul, {f32({2, 3}), f32({3, 4})}, {{0, 0}, {}}}, {f32({2, 4})}), 2 * 2 * 3 * 4);
  EXPECT_EQ(flops({Kind::k_matmul, {f32({5, 3, 2}), f32({3, 4})}, {{1, 0}, {}}}, {f32({5, 2, 4})}), 2 * 5 * 2 * 3 * 4);
  const double conv = 2.0 * (2 * 4 * 4 * 7) * (3 * 3 * 3);
  EXPECT_EQ(flops({Kind::k_conv2d, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3})}, kConv}, {f32({2, 4, 4, 7})}), conv);
  EXPECT_EQ(flops({Kind::k_conv2d_dx, {f32({2, 4, 4, 7}), f32({4, 3, 3, 3})}, kConv}, {f32({2, 3, 8, 7})}), conv);
  EXPECT_EQ(flops({Kind::k_conv2d_dz, {f32({2, 4, 4, 7}), f32({4, 3, 3, 3}), f32({2, 3, 8, 7})}, kConvSigmoid},
                  {f32({2, 3, 8, 7})}),
            conv + 3 * (2 * 3 * 8 * 7));
  EXPECT_EQ(flops({Kind::k_conv2d_act, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3}), f32({2, 4, 4, 7})}, kConvSum},
                  {f32({2, 4, 4, 7})}),
            conv + 2 * 4 * 4 * 7);
  EXPECT_EQ(flops({Kind::k_conv2d_act, {f32({2, 3, 8, 7}), f32({4, 3, 3, 3})}, kConvRelu}, {f32({2, 4, 4, 7})}),
            conv + 2 * 4 * 4 * 7);
  EXPECT_EQ(flops({Kind::k_matmul_act, {f32({2, 3}), f32({3, 4}), f32({2, 4})}, kProductSum}, {f32({2, 4})}),
            2 * 2 * 3 * 4 + 2 * 4);
  EXPECT_EQ(flops({Kind::k_conv2d_dw_update, {f32({2, 3, 8, 7}), f32({2, 4, 4, 7}), f32({4, 3, 3, 3})}, kSgdOfImages},
                  {f32({4, 3, 3, 3})}),
            conv + 6 * (4 * 3 * 3 * 3));
  const double volume = 2.0 * (2 * 6 * 4 * 4 * 7) * (2 * 2 * 3 * 3);
  EXPECT_EQ(flops({Kind::k_conv3d, {f32({2, 4, 5, 8, 7}), f32({6, 2, 2, 3, 3})}, kVolume}, {f32({2, 6, 4, 4, 7})}),
            volume);
  EXPECT_EQ(flops({Kind::k_conv2d_dw, {f32({2, 3, 8, 7}), f32({2, 4, 4, 7})}, kConv}, {f32({4, 3, 3, 3})}), conv);
}

TEST(OpCosts, CountTheBytesOfOperands) {
  const std::vector<TensorType> in{f32({100, 3}), i64({2})}, out{f32({2, 3})};
  const Attrs axis{{0}, {}};
  const OpCost gather = op_def(Kind::k_gather).cost({in, out, axis});
  EXPECT_EQ(gather.bytes_read, 24 + 16) << "what is not picked is not read";
  EXPECT_EQ(gather.bytes_written, 24);
  const OpCost alias = op_def(Kind::k_alias).cost({out, out, {}});
  EXPECT_EQ(alias.bytes_read + alias.bytes_written, 0);
}

TEST(OpRegistry, RepeatsNoEffectThatMayHappenOnce) {
  std::vector<std::string> once;
  for (const OpDef& def : all_op_defs()) {
    if (!def.recompute) once.emplace_back(def.name);
  }
  EXPECT_THAT(once, testing::UnorderedElementsAre("batch_norm_stats", "sgd", "sgd_rows", "adagrad_rows", "adam_rows",
                                                  "adam", "adamw", "rmsprop", "adagrad", "accumulate", "assign", "assign_slice",
                                                  "accumulated", "matmul_update", "conv2d_dw_update", "custom_update"));
}

}  // namespace
}  // namespace pantoum::ir
