// One sound use of every operator of ours that has a kernel: for tests of the shape rules, and as seeds for the fuzzer.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact/binary_plan.h"
#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/layout.h"

namespace pantoum::runtime_test {

struct OpCase {
  ir::Kind kind{};
  std::vector<ir::TensorType> inputs, outputs;
  ir::Attrs attrs;
  uint64_t workspace = 0;
  uint16_t algorithm = 0;
};

// Returns one case or more for each operator.
inline std::vector<OpCase> op_cases() {
  using enum ir::Kind;
  using enum ir::DType;
  const auto f = [](ir::Shape shape) { return ir::TensorType{kF32, std::move(shape)}; };
  const auto u = [](ir::Shape shape) { return ir::TensorType{kU8, std::move(shape)}; };
  const auto i = [](ir::Shape shape) { return ir::TensorType{kI64, std::move(shape)}; };
  const auto b = [](ir::Shape shape) { return ir::TensorType{kBool, std::move(shape)}; };
  const auto image = f({2, 4, 5, 6});
  const std::vector<int64_t> conv = {2, 1, 1, 0, 1, 2, 1, 2, 2};        // strides, pads, dilations, groups
  const std::vector<int64_t> pool = {3, 2, 2, 1, 1, 0, 0, 1, 1, 2, 1};  // kernel, strides, pads, dilations, count
  const std::vector<int64_t> conv_elu = {2, 1, 1, 0, 1, 2, 1, 2, 2, PT_OP_elu_grad, 0};
  const std::vector<int64_t> conv_gelu = {2, 1, 1, 0, 1, 2, 1, 2, 2, PT_OP_gelu, PT_RESIDUAL_NONE},
                             conv_over = {2, 1, 1, 0, 1, 2, 1, 2, 2, PT_OP_clip, PT_RESIDUAL_OVER};
  const auto conv_y = f({2, 6, 3, 4}), conv_w = f({6, 2, 3, 3}), pool_y = f({2, 4, 2, 5}), c = f({4});
  const std::vector<int64_t> conv3d = {2, 1, 3, 1, 0, 2, 0, 1, 1, 1, 2, 1, 2};
  const auto volume = f({2, 4, 4, 5, 6}), volume_w = f({6, 2, 2, 3, 3}), volume_y = f({2, 6, 2, 2, 3});
  const auto h = f({3, 5}), g3 = f({3, 15}), g4 = f({3, 20});           // a recurrent state and its gates
  const auto s = f({4, 3, 5}), s3 = f({4, 3, 15}), s4 = f({4, 3, 20});  // the same of four time steps
  std::vector<OpCase> cases = {
      {k_matmul, {f({3, 1, 4, 5}), f({2, 5, 7}), f({7})}, {f({3, 2, 4, 7})}, {{0, 0}, {}}},
      {k_matmul, {f({5, 4}), f({7, 5})}, {f({4, 7})}, {{1, 1}, {}}},
      {k_matmul_act, {f({5, 4}), f({7, 5})}, {f({4, 7})}, {{1, 1, PT_OP_gelu, PT_RESIDUAL_NONE}, {0, 0}}, 1 << 16},
      {k_matmul_act,
       {f({3, 1, 4, 5}), f({2, 5, 7}), f({7}), f({3, 2, 4, 7})},
       {f({3, 2, 4, 7})},
       {{0, 0, PT_OP_clip, PT_RESIDUAL_OVER}, {0, 6}},
       1 << 16},
      {k_attention,
       {f({2, 3, 4, 5}), f({2, 3, 6, 5}), f({2, 3, 6, 7}), f({6}), b({3, 4, 1})},
       {f({2, 3, 4, 7})},
       {{0, 0, 0, PT_STEP_SCALE, PT_STEP_ADD, PT_STEP_KEEP}, {0.5, 0, -1}},
       1 << 16},
      {k_attention_grad,
       {f({2, 4, 7}), f({2, 5, 4}), f({2, 5, 6}), f({2, 7, 6}), b({2, 1, 6})},
       {f({2, 5, 4}), f({2, 5, 6}), f({2, 7, 6})},
       {{1, 1, 1, PT_STEP_FILL, 0, 0}, {-1, 0, 0}},
       1 << 16},
      {k_conv2d, {image, conv_w, f({6})}, {conv_y}, {conv, {}}},
      {k_conv2d_dx, {conv_y, conv_w}, {image}, {conv, {}}},
      {k_conv2d_dw, {image, conv_y}, {conv_w}, {conv, {}}},
      {k_conv2d_dz, {conv_y, conv_w, image}, {image}, {conv_elu, {1, 1, 1}}, 1 << 16},
      {k_conv2d_act, {image, conv_w}, {conv_y}, {conv_gelu, {0, 0}}, 1 << 16},
      {k_conv2d_act, {image, conv_w, f({6}), conv_y}, {conv_y}, {conv_over, {0, 6}}, 1 << 16},
      {k_conv3d, {volume, volume_w, f({6})}, {volume_y}, {conv3d, {}}},
      {k_conv3d_dx, {volume_y, volume_w}, {volume}, {conv3d, {}}},
      {k_conv3d_dw, {volume, volume_y}, {volume_w}, {conv3d, {}}},
      {k_matmul_update,
       {f({5, 4}), f({7, 5}), f({4, 7})},
       {f({4, 7})},
       {{1, 1, PT_OP_sgd, 1}, {0.9, 0, 0, 0}},
       1 << 16},
      {k_conv2d_dw_update,
       {image, conv_y, conv_w, conv_w, conv_w},
       {conv_w, conv_w, conv_w},
       {{2, 1, 1, 0, 1, 2, 1, 2, 2, PT_OP_adam, 0}, {0.9, 0.99, 1e-8, 0}},
       1 << 16},
      {k_pow_grad, {f({2, 3}), f({3}), f({2, 1})}, {f({2, 3})}, {}},
      {k_gelu, {image}, {image}, {{1}, {}}},
      {k_gelu_grad, {image, image}, {image}, {{0}, {}}},
      {k_leaky_relu, {image}, {image}, {{}, {0.1}}},
      {k_leaky_relu_grad, {image, image}, {image}, {{}, {0.1}}},
      {k_scale, {image}, {image}, {{}, {2, 1}}},
      {k_cast, {i({3, 4})}, {f({3, 4})}, {}},
      {k_batch_norm, {image, c, c}, {image, c, c}, {{}, {1e-5}}},
      {k_batch_norm_grad, {image, image, c, c, c}, {image, c, c}, {{}, {1e-5}}},
      {k_batch_norm_stats, {c, c, c, c}, {c, c}, {{60}, {0.9}}},
      {k_batch_norm_act, {image, c, c}, {image, c, c}, {{PT_OP_relu}, {1e-5, 0, 0}}},
      {k_batch_norm_act_grad, {image, image, c, c, c, c}, {image, c, c}, {{PT_OP_clip}, {1e-5, 0, 6}}},
      {k_batch_norm_act_eval, {image, c, c, c, c}, {image}, {{PT_OP_leaky_relu}, {1e-5, 0.1, 0}}},
      {k_batch_norm_eval, {image, c, c, c, c}, {image}, {{}, {1e-5}}},
      {k_layer_norm, {f({2, 3, 4}), f({4}), f({4})}, {f({2, 3, 4}), f({2, 3}), f({2, 3})}, {{2}, {1e-5}}},
      {k_layer_norm_grad,
       {f({2, 3, 4}), f({2, 3, 4}), f({4}), f({2, 3}), f({2, 3})},
       {f({2, 3, 4}), f({4}), f({4})},
       {{2}, {}}},
      {k_max_pool, {image}, {pool_y}, {pool, {}}},
      {k_max_pool_grad, {pool_y, image}, {image}, {pool, {}}},
      {k_avg_pool, {image}, {pool_y}, {pool, {}}},
      {k_avg_pool_grad, {pool_y}, {image}, {pool, {}}},
      {k_reduce_sum, {f({2, 3, 4})}, {f({3})}, {{5}, {}}},
      {k_reduce_mean, {f({2, 3, 4})}, {f({})}, {{7}, {}}},
      {k_expand, {f({3, 1})}, {f({2, 3, 4})}, {{}, {0.5}}},
      {k_transpose, {i({2, 3, 4})}, {i({4, 2, 3})}, {{2, 0, 1}, {}}},
      {k_concat, {f({2, 3}), f({2, 1}), f({2, 4})}, {f({2, 8})}, {{1}, {}}},
      {k_split, {f({2, 8})}, {f({2, 3}), f({2, 1}), f({2, 4})}, {{1}, {}}},
      {k_slice, {f({7, 8})}, {f({3, 3})}, {{1, 2, 7, -3}, {}}},
      {k_slice_grad, {f({3, 3})}, {f({7, 8})}, {{1, 2, 7, -3}, {}}},
      {k_gather, {f({7, 8, 2}), i({3, 2})}, {f({7, 3, 2, 2})}, {{1}, {}}},
      {k_gather_grad, {f({7, 3, 2, 2}), i({3, 2})}, {f({7, 8, 2})}, {{1}, {}}},
      {k_dropout, {image}, {image}, {{3}, {0.25}}},
      {k_nll, {f({2, 5, 3}), i({2, 3})}, {f({})}, {{-100}, {}}},
      {k_nll_grad, {f({2, 5, 3}), i({2, 3})}, {f({2, 5, 3})}, {{-100}, {}}},
      {k_cross_entropy, {f({2, 5, 3}), i({2, 3})}, {f({})}, {{-100}, {0.1}}},
      {k_cross_entropy_grad, {f({2, 5, 3}), i({2, 3})}, {f({2, 5, 3})}, {{4}, {0}}},
      {k_soft_cross_entropy, {f({2, 5, 3}), f({2, 5, 3})}, {f({})}, {{}, {0.1}}},
      {k_soft_cross_entropy_grad, {f({2, 5, 3}), f({2, 5, 3})}, {f({2, 5, 3})}, {{}, {0}}},
      {k_count_correct, {f({2, 5}), i({2})}, {f({2})}, {{-100, 5}, {}}},
      {k_smooth_l1, {image, image}, {f({})}, {{}, {0.5}}},
      {k_smooth_l1_grad, {image, image}, {image}, {{}, {0.5}}},
      {k_kl_div, {image, image}, {f({})}, {{}, {2}}},
      {k_kl_div_grad, {image, image}, {image}, {{}, {0}}},
      {k_lstm_cell, {g4, g4, h}, {h, h, g4}, {{0, 3, 1, 2}, {}}},
      {k_lstm_cell_grad, {h, g4, h, h}, {g4, h}, {{0, 1, 2, 3}, {}}},
      {k_lstm_cell_grad, {h, g4, h, h, h}, {g4, h}, {{0, 3, 1, 2}, {}}},
      {k_gru_cell, {g3, g3, h}, {h, g3, h}, {{1, 0, 2}, {}}},
      {k_gru_cell_grad, {h, g3, h, h}, {g3, g3, h}, {{0, 1, 2}, {}}},
      {k_lstm_sequence, {s4, f({20, 5}), h, h}, {s, s, s4, h, h}, {{0, 3, 1, 2, 1}, {}}, 1 << 16},
      {k_lstm_sequence_grad, {s4, s, h, f({20, 5}), h, h}, {s4, h, h}, {{0, 1, 2, 3, 0}, {}}, 1 << 16},
      {k_lstm_sequence_grad, {s4, s, h, f({20, 5}), h, h, s}, {s4, h, h}, {{0, 3, 1, 2, 1}, {}}, 1 << 16},
      {k_gru_sequence, {s3, f({15, 5}), h}, {s, s3, s, h}, {{0, 1, 2, 0}, {}}, 1 << 16},
      {k_gru_sequence, {s3, f({15, 5}), h, f({15})}, {s, s3, s, h}, {{1, 0, 2, 1}, {}}, 1 << 16},
      {k_gru_sequence_grad, {s3, s, s, h, f({15, 5}), h}, {s3, s3, h}, {{1, 0, 2, 1}, {}}, 1 << 16},
      {k_gru_sequence_grad, {s3, s, s, h, f({15, 5}), h, s}, {s3, s3, h}, {{0, 1, 2, 0}, {}}, 1 << 16},
      {k_sign_bits, {image}, {u({30})}, {}},
      {k_relu_grad_bits, {image, u({30})}, {image}, {}},
      {k_leaky_relu_grad_bits, {image, u({30})}, {image}, {{}, {0.1}}},
      {k_max_pool_taps, {image}, {u({2, 4, 2, 5})}, {pool, {}}},
      {k_max_pool_taps, {f({2, 1, 5, 6, 4})}, {u({2, 1, 2, 5, 4})}, {pool, {}}},
      {k_max_pool_grad_taps, {pool_y, u({2, 4, 2, 5})}, {image}, {pool, {}}},
      {k_max_pool_grad_taps, {f({2, 1, 2, 5, 4}), u({2, 1, 2, 5, 4})}, {f({2, 1, 5, 6, 4})}, {pool, {}}},
      {k_sgd, {image, image, image}, {image, image}, {{1}, {0.9, 1e-4}}},
      {k_sgd, {image, image}, {image}, {{0}, {0, 0}}},
      {k_adam, {image, image, image, image}, {image, image, image}, {{}, {0.9, 0.999, 1e-8, 0}}},
      {k_compare, {f({2, 1, 4}), f({3, 1})}, {b({2, 3, 4})}, {{PT_COMPARE_LESS}, {}}},
      {k_where, {b({3, 1}), f({2, 1, 4}), f({})}, {f({2, 3, 4})}, {}},
      {k_maximum_grad, {f({2, 3}), f({3}), f({2, 1})}, {f({2, 3})}, {}},
      {k_round, {image}, {image}, {{2}, {}}},
      {k_arc, {image}, {image}, {{PT_ARC_TAN}, {}}},
      {k_arc_grad, {image, image}, {image}, {{PT_ARC_COSH}, {}}},
      {k_round_to, {image}, {image}, {{PT_ROUND_TO_BFLOAT16}, {}}},
      {k_elu, {image}, {image}, {{}, {1, 1, 1}}},
      {k_elu_grad, {image, image}, {image}, {{}, {1, 1, 1}}},
      {k_clip, {image}, {image}, {{}, {0, 6}}},
      {k_clip_grad, {image, image}, {image}, {{}, {0, 6}}},
      {k_hard_sigmoid, {image}, {image}, {{}, {0.2, 0.5}}},
      {k_hard_sigmoid_grad, {image, image}, {image}, {{}, {0.2, -2.5, 2.5}}},
      {k_hard_swish, {image}, {image}, {}},
      {k_hard_swish_grad, {image, image}, {image}, {}},
      {k_resize, {image}, {f({2, 4, 10, 9})}, {{1, 0, 0}, {2, 1.5}}},
      {k_resize_grad, {f({2, 4, 10, 9})}, {image}, {{0, 1, 2}, {2, 1.5}}},
      {k_reduce_max, {f({2, 3, 4})}, {f({3})}, {{5}, {}}},
      {k_reduce_max_grad, {f({3}), f({2, 3, 4}), f({3})}, {f({2, 3, 4})}, {{5}, {}}},
      {k_arg_max, {f({2, 3, 4})}, {i({2, 4})}, {{1}, {}}},
      {k_top_k, {f({2, 3, 4})}, {i({2, 2, 4})}, {{1, 2, 1}, {}}},
      {k_random, {}, {f({2, 3, 4})}, {{3, PT_RANDOM_NORMAL}, {0, 1}}},
      {k_scatter_elements, {f({7, 8}), i({3, 6}), f({3, 6})}, {f({7, 8})}, {{0, PT_SCATTER_ADD}, {}}},
      {k_scatter_elements, {f({5, 4}), i({5, 4}), f({5, 4})}, {f({5, 4})}, {{0, PT_SCATTER_ADD}, {}}},
      {k_scatter_elements, {f({7, 8}), i({3}), f({7, 3})}, {f({7, 8})}, {{1, PT_SCATTER_LAST}, {}}},
      {k_scatter_elements_grad, {f({7, 8}), i({3, 6})}, {f({7, 8}), f({3, 6})}, {{0}, {}}},
      {k_scatter_reduce_grad,
       {f({7, 8}), i({3, 6}), f({7, 8}), f({3, 6}), f({7, 8})},
       {f({7, 8}), f({3, 6})},
       {{0, PT_SCATTER_MUL}, {}},
       64},
      {k_cumsum, {f({2, 3, 4})}, {f({2, 3, 4})}, {{1, 0, 1}, {}}},
      {k_gather_elements, {f({7, 8}), i({3, 8})}, {f({3, 8})}, {{0}, {}}},
      {k_gather_elements_grad, {f({3, 8}), i({3, 8})}, {f({7, 8})}, {{0}, {}}},
      {k_sgd_rows, {f({7, 8}), i({3, 2}), f({3, 2, 8})}, {f({7, 8})}, {}, 256},
      {k_adagrad_rows,
       {f({7, 8}), i({3, 2}), f({3, 2, 8}), f({7, 8})},
       {f({7, 8}), f({7, 8})},
       {{}, {0.1, 1e-10}},
       256},
      {k_adagrad_rows, {f({7, 8}), i({6}), f({6, 8}), f({7, 8})}, {f({7, 8}), f({7, 8})}, {{1}, {0, 1e-10, 0.5}}, 256},
      {k_adam_rows,
       {f({7, 8}), i({3, 2}), f({3, 2, 8}), f({7, 8}), f({7, 8})},
       {f({7, 8}), f({7, 8}), f({7, 8})},
       {{}, {0.9, 0.999, 1e-8}},
       256},
      {k_adamw, {image, image, image, image}, {image, image, image}, {{}, {0.9, 0.999, 1e-8, 0.01}}},
      {k_norm, {image, f({7}), f({})}, {f({})}, {}},
      {k_clip_norm, {image, f({})}, {image}, {{}, {1}}},
      {k_accumulate, {image, image}, {image}, {}},
      {k_assign, {image, image}, {image}, {}},
      {k_assign_slice, {f({7, 8}), f({3, 3})}, {f({7, 8})}, {{1, 2, 7, -3}, {}}},
      {k_accumulated, {image, image}, {image, image}, {{}, {0.25}}},
      {k_rmsprop, {image, image, image}, {image, image}, {{0}, {0.99, 1e-8, 0, 0}}},
      {k_rmsprop, {image, image, image, image, image}, {image, image, image, image}, {{1}, {0.99, 1e-8, 0.9, 0}}},
      {k_adagrad, {image, image, image}, {image, image}, {{}, {0, 1e-10, 0}}},
      {k_adagrad, {image, image, image}, {image, image}, {{1}, {0, 1e-10, 0, 0.5}}},
      {k_adamw, {image, image, image, image, image}, {image, image, image, image}, {{2}, {0.9, 0.999, 1e-8, 0}}},
  };
  const std::vector<int64_t> dense = {1, 1, 1, 0, 1, 2, 1, 1, 2},
                             dense_dz = {1, 1, 1, 0, 1, 2, 1, 1, 2, PT_OP_tanh_grad, 0},
                             dense_over = {1, 1, 1, 0, 1, 2, 1, 1, 2, PT_OP_leaky_relu, PT_RESIDUAL_OVER};
  const auto dense_y = f({2, 6, 5, 6});
  for (const uint16_t winograd : {PT_WINOGRAD, PT_WINOGRAD_COMPACT, PT_WINOGRAD4, PT_WINOGRAD4_COMPACT_WHOLE}) {
    cases.push_back({k_conv2d, {image, conv_w, f({6})}, {dense_y}, {dense, {}}, 1 << 20, winograd});
    cases.push_back(
        {k_conv2d_act, {image, conv_w, f({6}), dense_y}, {dense_y}, {dense_over, {0.1, 0}}, 1 << 20, winograd});
    cases.push_back({k_conv2d_dx, {dense_y, conv_w}, {image}, {dense, {}}, 1 << 20, winograd});
    cases.push_back({k_conv2d_dz, {dense_y, conv_w, image}, {image}, {dense_dz, {0, 0, 0}}, 1 << 20, winograd});
    cases.push_back({k_conv2d_dw, {image, dense_y}, {conv_w}, {dense, {}}, 1 << 20, winograd});
  }
  // 6 channels and outputs in blocks of 4: one block is full, one half empty.
  const auto x_blocks = f({2, 2, 5, 6, 4}), y_blocks = f({2, 2, 3, 4, 4}), six = f({6});
  std::vector<int64_t> conv_blocks = {2, 1, 1, 0, 1, 2, 1, 2, 1, 6, 6, PT_LAYOUT_OIHW_IO};
  const auto w_blocks = f({2, 2, 3, 3, 4, 4});
  cases.push_back({k_reorder, {f({2, 6, 5, 6})}, {x_blocks}, {{PT_LAYOUT_PLAIN, PT_LAYOUT_NCHWC}, {}}});
  cases.push_back({k_reorder, {w_blocks}, {f({6, 6, 3, 3})}, {{PT_LAYOUT_IOHW_OI, PT_LAYOUT_PLAIN}, {}}});
  cases.push_back({k_conv2d_nchwc, {x_blocks, w_blocks, six}, {y_blocks}, {conv_blocks, {}}});
  std::vector<int64_t> act_blocks = conv_blocks;
  act_blocks.insert(act_blocks.end(), {PT_OP_relu, PT_RESIDUAL_READ});
  cases.push_back({k_conv2d_act_nchwc, {x_blocks, w_blocks, six, y_blocks}, {y_blocks}, {act_blocks, {0, 0}}, 1 << 20});
  act_blocks[PT_CONV_NCHWC_ATTRS] = 0;
  cases.push_back({k_conv2d_act_nchwc, {x_blocks, w_blocks, y_blocks}, {y_blocks}, {act_blocks, {0, 0}}, 1 << 20});
  cases.push_back({k_conv2d_dx_nchwc, {y_blocks, w_blocks}, {x_blocks}, {conv_blocks, {}}});
  conv_blocks.back() = PT_LAYOUT_OHWI_O;
  cases.push_back({k_conv2d_dw_nchwc, {f({2, 6, 5, 6}), y_blocks}, {f({2, 3, 3, 6, 4})}, {conv_blocks, {}}});
  cases.push_back({k_batch_norm_nchwc, {x_blocks, six, six}, {x_blocks, six, six}, {{}, {1e-5}}});
  cases.push_back({k_batch_norm_grad_nchwc, {x_blocks, x_blocks, six, six, six}, {x_blocks, six, six}, {{}, {1e-5}}});
  cases.push_back({k_batch_norm_act_nchwc, {x_blocks, six, six}, {x_blocks, six, six}, {{PT_OP_relu}, {1e-5, 0, 0}}});
  cases.push_back({k_batch_norm_act_grad_nchwc,
                   {x_blocks, x_blocks, six, six, six, six},
                   {x_blocks, six, six},
                   {{PT_OP_clip}, {1e-5, 0, 6}}});
  cases.push_back(
      {k_batch_norm_act_eval_nchwc, {x_blocks, six, six, six, six}, {x_blocks}, {{PT_OP_leaky_relu}, {1e-5, 0.1, 0}}});
  cases.push_back({k_batch_norm_eval_nchwc, {x_blocks, six, six, six, six}, {x_blocks}, {{}, {1e-5}}});
  const auto pooled_blocks = f({2, 2, 2, 5, 4});
  cases.push_back({k_max_pool_nchwc, {x_blocks}, {pooled_blocks}, {pool, {}}});
  cases.push_back({k_max_pool_grad_nchwc, {pooled_blocks, x_blocks}, {x_blocks}, {pool, {}}});
  cases.push_back({k_avg_pool_nchwc, {x_blocks}, {pooled_blocks}, {pool, {}}});
  cases.push_back({k_avg_pool_grad_nchwc, {pooled_blocks}, {x_blocks}, {pool, {}}});
  for (const ir::Kind kind : {k_add, k_sub, k_mul, k_div, k_pow, k_maximum, k_minimum})
    cases.push_back({kind, {f({2, 1, 4}), f({3, 1})}, {f({2, 3, 4})}, {}});
  const auto w = [](ir::Shape shape) { return ir::TensorType{kI32, std::move(shape)}; };
  for (const ir::Kind kind : {k_add, k_sub, k_mul, k_div, k_pow, k_maximum, k_minimum}) {
    cases.push_back({kind, {i({2, 1, 4}), i({3, 1})}, {i({2, 3, 4})}, {}});
    cases.push_back({kind, {w({2, 1, 4}), w({3, 1})}, {w({2, 3, 4})}, {}});
    cases.push_back({kind, {u({2, 1, 4}), u({3, 1})}, {u({2, 3, 4})}, {}});
  }
  cases.push_back({k_maximum, {b({2, 1, 4}), b({3, 1})}, {b({2, 3, 4})}, {}});
  cases.push_back({k_mod, {i({2, 1, 4}), i({3, 1})}, {i({2, 3, 4})}, {{0}, {}}});
  cases.push_back({k_mod, {w({2, 1, 4}), w({3, 1})}, {w({2, 3, 4})}, {{1}, {}}});
  cases.push_back({k_bitwise, {i({2, 1, 4}), i({3, 1})}, {i({2, 3, 4})}, {{PT_BITWISE_XOR}, {}}});
  cases.push_back({k_bitwise, {u({2, 1, 4}), u({3, 1})}, {u({2, 3, 4})}, {{PT_BITWISE_SHIFT_LEFT}, {}}});
  cases.push_back({k_reduce_sum, {i({2, 3, 4})}, {i({3})}, {{5}, {}}});
  cases.push_back({k_reduce_max, {b({2, 3, 4})}, {b({})}, {{7}, {}}});
  cases.push_back({k_arg_max, {w({2, 3, 4})}, {i({2, 4})}, {{1}, {}}});
  cases.push_back({k_top_k, {w({2, 3, 4})}, {i({2, 3, 4})}, {{1, 3, 0}, {}}});
  cases.push_back({k_scatter_elements, {w({7}), i({3}), w({3})}, {w({7})}, {{0, PT_SCATTER_MIN}, {}}});
  cases.push_back({k_scatter_elements, {b({7}), i({3}), b({3})}, {b({7})}, {{0, PT_SCATTER_LAST}, {}}});
  cases.push_back({k_cumsum, {w({2, 3, 4})}, {w({2, 3, 4})}, {{1, 0, 1}, {}}});
  for (const ir::Kind kind :
       {k_relu, k_sigmoid, k_tanh, k_erf, k_sqrt, k_exp, k_log, k_neg, k_abs, k_sign, k_sin, k_cos, k_softplus})
    cases.push_back({kind, {image}, {image}, {}});
  for (const ir::Kind kind : {k_mse, k_l1, k_bce_with_logits}) cases.push_back({kind, {image, image}, {f({})}, {}});
  for (const ir::Kind kind : {k_mse_grad, k_l1_grad, k_bce_with_logits_grad})
    cases.push_back({kind, {image, image}, {image}, {}});
  for (const ir::Kind kind : {k_relu_grad, k_sigmoid_grad, k_tanh_grad, k_erf_grad, k_sqrt_grad, k_softplus_grad})
    cases.push_back({kind, {image, image}, {image}, {}});
  for (const ir::Kind kind : {k_softmax, k_log_softmax})
    cases.push_back({kind, {f({2, 3, 4})}, {f({2, 3, 4})}, {{1}, {}}});
  for (const ir::Kind kind : {k_softmax_grad, k_log_softmax_grad})
    cases.push_back({kind, {f({2, 3, 4}), f({2, 3, 4})}, {f({2, 3, 4})}, {{1}, {}}});
  return cases;
}

// A plan of one program that computes the op once. Its inputs live in RAM, its outputs beside them; every tensor has
// `slack` bytes more than its type, so that operands may be declared larger than they should be.
inline artifact::BinaryPlan plan_of(const OpCase& of, uint64_t slack = 0) {
  constexpr uint32_t kUnit = 64;
  artifact::BinaryPlan plan;
  plan.align_bytes = kUnit;
  artifact::BinaryOp op;
  op.kind = of.kind;
  op.algorithm = of.algorithm;
  op.attrs = of.attrs;
  artifact::BinaryInstruction compute;
  for (const bool is_output : {false, true}) {
    for (const ir::TensorType& type : is_output ? of.outputs : of.inputs) {
      artifact::BinaryTensor tensor;
      tensor.type = type;
      auto payload = static_cast<uint64_t>(ir::size_of(type.dtype));
      for (const int64_t dim : type.shape) payload *= static_cast<uint64_t>(dim);
      tensor.bytes = (payload + slack + kUnit - 1) / kUnit * kUnit;
      if (is_output) {
        compute.at.push_back(plan.arena_bytes);
      } else {
        tensor.home = problem::Home::kRam;
        tensor.ram_at = static_cast<int64_t>(plan.arena_bytes);
      }
      plan.arena_bytes += tensor.bytes;
      (is_output ? op.outputs : op.inputs).push_back({static_cast<uint32_t>(plan.tensors.size()), type});
      plan.tensors.push_back(tensor);
    }
  }
  if (of.workspace != 0) {
    op.workspace_bytes = of.workspace;
    compute.workspace_at = plan.arena_bytes;
    plan.arena_bytes += of.workspace;
  }
  if (pt_plain_op(static_cast<uint16_t>(of.kind)) != static_cast<uint16_t>(of.kind)) {  // its reference works on copies
    op.workspace_bytes = 2 * plan.arena_bytes;
    compute.workspace_at = plan.arena_bytes;
    plan.arena_bytes *= 3;
  }
  plan.ops.push_back(op);
  plan.programs.push_back({"train", {compute}});
  return plan;
}

}  // namespace pantoum::runtime_test
