/* The record of every operator that C needs: one line each, by family. The compiler (src/ir), the runtime (src/runtime) and the kernel
 * table read the same lines. Names and numbers are in pantoum/ops.h; gradient, cost and traits are in src/ir/ops_*.cc.
 *
 *   OP(name, least inputs, most inputs, least outputs, most outputs, integers, reals, element types, shape rule, kernels)
 *
 *   PT_ANY          as a count: any number; the shape rule checks it
 *   element types   pt_dtype_rule of runtime/op_rules.h
 *   shape rule      a function of runtime/op_shapes_FAMILY.c
 *   kernels         which rows of the kernel table it has: PT_ROWS_KERNELS of kernel_rows.h
 */
#pragma once

#define PT_ANY (-1)

/* Element by element on one tensor, or on a gradient and a tensor, of one shape. */
#define PT_UNARY_OP(OP, name, ints, reals, rule) OP(name, 1, 1, 1, 1, ints, reals, REAL, rule, REAL)
#define PT_GRAD_OP(OP, name, ints, reals, rule) OP(name, 2, 2, 1, 1, ints, reals, REAL, rule, REAL)

#define PT_PRODUCT_OPERATORS(OP)                                                                                    \
  OP(matmul, 2, 3, 1, 1, PT_MATMUL_ATTRS, 0, REAL, matmul, PRODUCT)                                                 \
  OP(matmul_act, 2, 4, 1, 1, PT_MATMUL_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, matmul_act, ACT)         \
  OP(conv2d, 2, 3, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d, CONV)                                                      \
  OP(conv2d_dx, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dx, CONV)                                                \
  OP(conv2d_dw, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dw, CONV_DW)                                             \
  OP(conv2d_dz, 3, 3, 1, 1, PT_CONV_DZ_ATTRS, 3, REAL, conv2d_dz, CONV_DZ)                                          \
  OP(conv2d_act, 2, 4, 1, 1, PT_CONV_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, conv2d_act, CONV_ACT)      \
  OP(conv3d, 2, 3, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d, VOLUME)                                                  \
  OP(conv3d_dx, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dx, VOLUME)                                            \
  OP(conv3d_dw, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dw, VOLUME)                                            \
  OP(attention, 3, 3 + PT_ATTENTION_STEPS, 1, 1, PT_ATTENTION_ATTRS, PT_ATTENTION_REALS, ANY, attention, ATTENTION) \
  OP(attention_grad, 4, 4 + PT_ATTENTION_STEPS, 3, 3, PT_ATTENTION_ATTRS, PT_ATTENTION_REALS, ANY, attention_grad,  \
     ATTENTION)                                                                                                     \
  OP(matmul_update, 3, 6, 1, 4, PT_ANY, PT_UPDATE_REALS, REAL, matmul_update, UPDATE)                               \
  OP(conv2d_dw_update, 3, 6, 1, 4, PT_ANY, PT_UPDATE_REALS, REAL, conv2d_dw_update, UPDATE)

#define PT_POINTWISE_OPERATORS(OP)                                  \
  OP(add, 2, 2, 1, 1, 0, 0, NUMBER, pt_broadcast_all, NUMBER)       \
  OP(sub, 2, 2, 1, 1, 0, 0, NUMBER, pt_broadcast_all, NUMBER)       \
  OP(mul, 2, 2, 1, 1, 0, 0, NUMBER, pt_broadcast_all, NUMBER)       \
  OP(div, 2, 2, 1, 1, 0, 0, NUMBER, pt_broadcast_all, NUMBER)       \
  OP(pow, 2, 2, 1, 1, 0, 0, NUMBER, pt_broadcast_all, NUMBER)       \
  OP(pow_grad, 3, 3, 1, 1, 0, 0, REAL, broadcast_grad, REAL)        \
  OP(maximum, 2, 2, 1, 1, 0, 0, SAME, pt_broadcast_all, ORDERED)    \
  OP(minimum, 2, 2, 1, 1, 0, 0, SAME, pt_broadcast_all, ORDERED)    \
  OP(maximum_grad, 3, 3, 1, 1, 0, 0, REAL, broadcast_grad, REAL)    \
  OP(compare, 2, 2, 1, 1, 1, 0, COMPARED, compare, TRUTH)           \
  OP(where, 3, 3, 1, 1, 0, 0, CHOSEN, pt_broadcast_all, MOVE)       \
  OP(mod, 2, 2, 1, 1, 1, 0, INTEGER, mod, INTEGER)                  \
  OP(bitwise, 2, 2, 1, 1, 1, 0, BITS, bitwise, BITS)                \
  PT_UNARY_OP(OP, relu, 0, 0, pt_same)                              \
  PT_UNARY_OP(OP, leaky_relu, 0, 1, pt_same)                        \
  PT_UNARY_OP(OP, sigmoid, 0, 0, pt_same)                           \
  PT_UNARY_OP(OP, tanh, 0, 0, pt_same)                              \
  PT_UNARY_OP(OP, gelu, 1, 0, gelu)                                 \
  PT_UNARY_OP(OP, erf, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, sqrt, 0, 0, pt_same)                              \
  PT_UNARY_OP(OP, exp, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, log, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, neg, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, scale, 0, 2, pt_same)                             \
  OP(cast, 1, 1, 1, 1, 0, 0, ANY, cast, CAST)                       \
  PT_UNARY_OP(OP, abs, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, sign, 0, 0, pt_same)                              \
  PT_UNARY_OP(OP, round, 1, 0, rounds)                              \
  PT_UNARY_OP(OP, sin, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, cos, 0, 0, pt_same)                               \
  PT_UNARY_OP(OP, elu, 0, 3, pt_same)                               \
  PT_UNARY_OP(OP, softplus, 0, 0, pt_same)                          \
  PT_UNARY_OP(OP, clip, 0, 2, pt_same)                              \
  PT_UNARY_OP(OP, hard_sigmoid, 0, 2, pt_same)                      \
  PT_UNARY_OP(OP, hard_swish, 0, 0, pt_same)                        \
  PT_UNARY_OP(OP, arc, 1, 0, arc)                                   \
  PT_UNARY_OP(OP, round_to, 1, 0, round_to)                         \
  PT_GRAD_OP(OP, relu_grad, 0, 0, pt_same)                          \
  PT_GRAD_OP(OP, leaky_relu_grad, 0, 1, pt_same)                    \
  PT_GRAD_OP(OP, sigmoid_grad, 0, 0, pt_same)                       \
  PT_GRAD_OP(OP, tanh_grad, 0, 0, pt_same)                          \
  PT_GRAD_OP(OP, gelu_grad, 1, 0, gelu)                             \
  PT_GRAD_OP(OP, erf_grad, 0, 0, pt_same)                           \
  PT_GRAD_OP(OP, sqrt_grad, 0, 0, pt_same)                          \
  PT_GRAD_OP(OP, elu_grad, 0, 3, pt_same)                           \
  PT_GRAD_OP(OP, softplus_grad, 0, 0, pt_same)                      \
  PT_GRAD_OP(OP, clip_grad, 0, 2, pt_same)                          \
  PT_GRAD_OP(OP, hard_sigmoid_grad, 0, 3, pt_same)                  \
  PT_GRAD_OP(OP, hard_swish_grad, 0, 0, pt_same)                    \
  PT_GRAD_OP(OP, arc_grad, 1, 0, arc)                               \
  OP(random, 0, 0, 1, 1, 2, 2, REAL, random_numbers, REAL)          \
  PT_UNARY_OP(OP, dropout, 1, 1, dropout)                           \
  OP(sign_bits, 1, 1, 1, 1, 0, 0, BYTES_MADE, sign_bits, BYTES)     \
  OP(relu_grad_bits, 2, 2, 1, 1, 0, 0, REAL_BYTES, grad_bits, REAL) \
  OP(leaky_relu_grad_bits, 2, 2, 1, 1, 0, 1, REAL_BYTES, grad_bits, REAL)

#define PT_IMAGE_OPERATORS(OP)                                                      \
  OP(max_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool, REAL)                      \
  OP(max_pool_grad, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL, max_pool_grad, REAL)        \
  OP(avg_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool, REAL)                      \
  OP(avg_pool_grad, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, avg_pool_grad, REAL)        \
  OP(resize, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize, REAL)                    \
  OP(resize_grad, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize_grad, REAL)          \
  OP(max_pool_taps, 1, 1, 1, 1, PT_POOL_ATTRS, 0, BYTES_MADE, max_pool_taps, BYTES) \
  OP(max_pool_grad_taps, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL_BYTES, max_pool_grad_taps, REAL)

#define PT_NORM_OPERATORS(OP)                                                                                         \
  OP(softmax, 1, 1, 1, 1, 1, 0, REAL, pt_axis_same, REAL)                                                             \
  OP(softmax_grad, 2, 2, 1, 1, 1, 0, REAL, pt_axis_same, REAL)                                                        \
  OP(log_softmax, 1, 1, 1, 1, 1, 0, REAL, pt_axis_same, REAL)                                                         \
  OP(log_softmax_grad, 2, 2, 1, 1, 1, 0, REAL, pt_axis_same, REAL)                                                    \
  OP(batch_norm, 3, 3, 3, 3, 0, 1, REAL, batch_norm, OWN_WORKSPACE)                                                   \
  OP(batch_norm_grad, 5, 5, 3, 3, 0, 1, REAL, batch_norm_grad, OWN_WORKSPACE)                                         \
  OP(batch_norm_stats, 4, 4, 2, 2, 1, 1, REAL, batch_norm_stats, REAL)                                                \
  OP(batch_norm_eval, 5, 5, 1, 1, 0, 1, REAL, batch_norm_eval, REAL)                                                  \
  OP(batch_norm_act, 3, 3, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act, OWN_WORKSPACE)           \
  OP(batch_norm_act_grad, 6, 6, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act_grad, OWN_WORKSPACE) \
  OP(batch_norm_act_eval, 5, 5, 1, 1, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act_eval, REAL)          \
  OP(layer_norm, 3, 3, 3, 3, 1, 1, REAL, layer_norm, REAL)                                                            \
  OP(layer_norm_grad, 5, 5, 3, 3, 1, 0, REAL, layer_norm_grad, OWN_WORKSPACE)

#define PT_REDUCE_OPERATORS(OP)                                      \
  OP(reduce_sum, 1, 1, 1, 1, 1, 0, NUMBER, reduce, NUMBER)           \
  OP(reduce_mean, 1, 1, 1, 1, 1, 0, REAL, reduce, REAL)              \
  OP(expand, 1, 1, 1, 1, 0, 1, SAME, expand, EXPAND)                 \
  OP(reduce_max, 1, 1, 1, 1, 1, 0, SAME, reduce, ORDERED)            \
  OP(reduce_max_grad, 3, 3, 1, 1, 1, 0, REAL, reduce_max_grad, REAL) \
  OP(arg_max, 1, 1, 1, 1, 1, 0, POSITIONS, arg_max, POSITIONS)       \
  OP(top_k, 1, 1, 1, 1, 3, 0, POSITIONS, top_k, POSITIONS)           \
  OP(cumsum, 1, 1, 1, 1, 3, 0, NUMBER, cumsum, NUMBER)

/* alias is a view: it has no kernel and stands in no plan. */
#define PT_MOVE_OPERATORS(OP)                                                          \
  OP(alias, 1, 1, 1, 1, PT_ANY, 0, SAME, alias, NONE)                                  \
  OP(assign, 2, 2, 1, 1, 0, 0, SAME, pt_same, MOVE)                                    \
  OP(transpose, 1, 1, 1, 1, PT_ANY, 0, SAME, transpose, MOVE)                          \
  OP(concat, 1, PT_ANY, 1, 1, 1, 0, SAME, concat, MOVE)                                \
  OP(split, 1, 1, 1, PT_ANY, 1, 0, SAME, split, SPLIT)                                 \
  OP(slice, 1, 1, 1, 1, PT_ANY, 0, SAME, slice, MOVE)                                  \
  OP(slice_grad, 1, 1, 1, 1, PT_ANY, 0, SAME, slice_grad, MOVE)                        \
  OP(assign_slice, 2, 2, 1, 1, PT_ANY, 0, SAME, assign_slice, MOVE)                    \
  OP(gather, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather, MOVE)                               \
  OP(gather_grad, 2, 2, 1, 1, 1, 0, REAL_INDEX, gather_grad, REAL)                     \
  OP(gather_elements, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_elements, MOVE)             \
  OP(gather_elements_grad, 2, 2, 1, 1, 1, 0, REAL_INDEX, gather_elements_grad, REAL)   \
  OP(scatter_elements, 3, 3, 1, 1, 2, 0, SAME_INDEX, scatter_elements, SCATTER)        \
  OP(scatter_elements_grad, 2, 2, 2, 2, 1, 0, REAL_INDEX, scatter_elements_grad, REAL) \
  OP(scatter_reduce_grad, 5, 5, 2, 2, 2, 0, REAL_INDEX, scatter_reduce_grad, OWN_WORKSPACE)

#define PT_LOSS_OPERATORS(OP)                                                 \
  OP(nll, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss, SUM)                      \
  OP(nll_grad, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss_grad, REAL)           \
  OP(cross_entropy, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss, SUM)            \
  OP(cross_entropy_grad, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss_grad, REAL) \
  OP(soft_cross_entropy, 2, 2, 1, 1, 0, 1, REAL, soft_loss, SUM)              \
  OP(soft_cross_entropy_grad, 2, 2, 1, 1, 0, 1, REAL, soft_loss_grad, REAL)   \
  OP(mse, 2, 2, 1, 1, 0, 0, REAL, element_loss, SUM)                          \
  PT_GRAD_OP(OP, mse_grad, 0, 0, pt_same)                                     \
  OP(l1, 2, 2, 1, 1, 0, 0, REAL, element_loss, SUM)                           \
  PT_GRAD_OP(OP, l1_grad, 0, 0, pt_same)                                      \
  OP(smooth_l1, 2, 2, 1, 1, 0, 1, REAL, element_loss, SUM)                    \
  PT_GRAD_OP(OP, smooth_l1_grad, 0, 1, pt_same)                               \
  OP(bce_with_logits, 2, 2, 1, 1, 0, 0, REAL, element_loss, SUM)              \
  PT_GRAD_OP(OP, bce_with_logits_grad, 0, 0, pt_same)                         \
  OP(kl_div, 2, 2, 1, 1, 0, 1, REAL, element_loss, SUM)                       \
  PT_GRAD_OP(OP, kl_div_grad, 0, 1, pt_same)                                  \
  OP(count_correct, 2, 2, 1, 1, 2, 0, REAL_LABEL, count_correct, REAL)

#define PT_RECURRENT_OPERATORS(OP)                                             \
  OP(lstm_cell, 3, 3, 3, 3, 4, 0, REAL, lstm_cell, REAL)                       \
  OP(lstm_cell_grad, 4, 5, 2, 2, 4, 0, REAL, lstm_cell_grad, REAL)             \
  OP(gru_cell, 3, 3, 3, 3, 3, 0, REAL, gru_cell, REAL)                         \
  OP(gru_cell_grad, 4, 4, 3, 3, 3, 0, REAL, gru_cell_grad, REAL)               \
  OP(lstm_sequence, 4, 4, 5, 5, 5, 0, REAL, lstm_sequence, SEQUENCE)           \
  OP(lstm_sequence_grad, 6, 7, 3, 3, 5, 0, REAL, lstm_sequence_grad, SEQUENCE) \
  OP(gru_sequence, 3, 4, 4, 4, 4, 0, REAL, gru_sequence, SEQUENCE)             \
  OP(gru_sequence_grad, 6, 7, 3, 3, 4, 0, REAL, gru_sequence_grad, SEQUENCE)

/* The key is all that is known of custom operators here; the host has their rules and kernels (pantoum/custom_operator.hpp). */
#define PT_UPDATE_OPERATORS(OP)                                                         \
  OP(sgd, 2, 3, 1, 2, PT_ANY, 2, REAL, sgd, REAL)                                       \
  OP(adam, 4, 5, 3, 4, PT_ANY, 4, REAL, states, REAL)                                   \
  OP(adamw, 4, 5, 3, 4, PT_ANY, 4, REAL, states, REAL)                                  \
  OP(rmsprop, 3, 5, 2, 4, PT_ANY, 4, REAL, rmsprop, REAL)                               \
  OP(adagrad, 3, 3, 2, 2, PT_ANY, PT_ANY, REAL, adagrad, REAL)                          \
  OP(sgd_rows, 3, 3, 1, 1, PT_ANY, 0, REAL_INDEX, rows, OWN_WORKSPACE)                  \
  OP(adagrad_rows, 4, 4, 2, 2, PT_ANY, PT_ANY, REAL_INDEX, adagrad_rows, OWN_WORKSPACE) \
  OP(adam_rows, 5, 5, 3, 3, PT_ANY, 3, REAL_INDEX, rows, OWN_WORKSPACE)                 \
  OP(norm, 1, PT_ANY, 1, 1, 0, 0, REAL, norm, REAL)                                     \
  OP(clip_norm, 2, 2, 1, 1, 0, 1, REAL, clip_norm, REAL)                                \
  OP(accumulate, 2, 2, 1, 1, 0, 0, REAL, pt_same, REAL)                                 \
  OP(accumulated, 2, 2, 2, 2, 0, 1, REAL, accumulated, REAL)                            \
  OP(custom, 1, PT_ANY, 1, PT_ANY, PT_ANY, PT_ANY, ANY, keyed, NONE)                    \
  OP(custom_update, 2, PT_ANY, 1, PT_ANY, PT_ANY, PT_ANY, REAL, custom_update, NONE)

#define PT_BLOCKED_OP(OP, name, least, most, outputs, ints, reals, kernels) \
  OP(name, least, most, outputs, outputs, ints, reals, REAL, nchwc, kernels)
#define PT_BLOCK_OPERATORS(OP)                                                                             \
  OP(reorder, 1, 1, 1, 1, 2, 0, REAL, reorder, REAL)                                                       \
  PT_BLOCKED_OP(OP, conv2d_nchwc, 2, 3, 1, PT_CONV_NCHWC_ATTRS, 0, OWN_WORKSPACE)                          \
  PT_BLOCKED_OP(OP, conv2d_dx_nchwc, 2, 2, 1, PT_CONV_NCHWC_ATTRS, 0, OWN_WORKSPACE)                       \
  PT_BLOCKED_OP(OP, conv2d_dw_nchwc, 2, 2, 1, PT_CONV_NCHWC_ATTRS, 0, OWN_WORKSPACE)                       \
  PT_BLOCKED_OP(OP, conv2d_act_nchwc, 2, 4, 1, PT_CONV_NCHWC_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, \
                OWN_WORKSPACE)                                                                             \
  PT_BLOCKED_OP(OP, batch_norm_nchwc, 3, 3, 3, 0, 1, BLOCKS)                                               \
  PT_BLOCKED_OP(OP, batch_norm_grad_nchwc, 5, 5, 3, 0, 1, BLOCKS)                                          \
  PT_BLOCKED_OP(OP, batch_norm_eval_nchwc, 5, 5, 1, 0, 1, BLOCKS)                                          \
  PT_BLOCKED_OP(OP, batch_norm_act_nchwc, 3, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, BLOCKS)           \
  PT_BLOCKED_OP(OP, batch_norm_act_grad_nchwc, 6, 6, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, BLOCKS)      \
  PT_BLOCKED_OP(OP, batch_norm_act_eval_nchwc, 5, 5, 1, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, BLOCKS)      \
  PT_BLOCKED_OP(OP, max_pool_nchwc, 1, 1, 1, PT_POOL_ATTRS, 0, OWN_WORKSPACE)                              \
  PT_BLOCKED_OP(OP, max_pool_grad_nchwc, 2, 2, 1, PT_POOL_ATTRS, 0, OWN_WORKSPACE)                         \
  PT_BLOCKED_OP(OP, avg_pool_nchwc, 1, 1, 1, PT_POOL_ATTRS, 0, OWN_WORKSPACE)                              \
  PT_BLOCKED_OP(OP, avg_pool_grad_nchwc, 1, 1, 1, PT_POOL_ATTRS, 0, OWN_WORKSPACE)

#define PT_ALL_OPERATORS(OP) \
  PT_PRODUCT_OPERATORS(OP)   \
  PT_POINTWISE_OPERATORS(OP) \
  PT_IMAGE_OPERATORS(OP)     \
  PT_NORM_OPERATORS(OP)      \
  PT_REDUCE_OPERATORS(OP)    \
  PT_MOVE_OPERATORS(OP)      \
  PT_LOSS_OPERATORS(OP)      \
  PT_RECURRENT_OPERATORS(OP) \
  PT_UPDATE_OPERATORS(OP)    \
  PT_BLOCK_OPERATORS(OP)
