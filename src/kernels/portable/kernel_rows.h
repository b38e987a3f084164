/* The rows of the portable kernels' table, for whoever makes something of each:
 *   ROW(op, dtype, algorithm, algorithm's name, numerics, function, workspace's function)
 * Functions are named without the suffix of their precision. */
#ifndef PANTOUM_KERNELS_PORTABLE_KERNEL_ROWS_H
#define PANTOUM_KERNELS_PORTABLE_KERNEL_ROWS_H

/* Every portable kernel but the products is its own reference: one algorithm, one class of numerics. */
#define PT_ROW(ROW, op, dtype, function) ROW(op, dtype, 0, "reference", "fixed", pt_##function, pt_no_workspace)
#define PT_REAL_ROW(ROW, op) PT_ROW(ROW, op, PT_REAL_DTYPE, op)
#define PT_MOVE_ROWS(ROW, op, function) \
  PT_ROW(ROW, op, PT_F32, function) PT_ROW(ROW, op, PT_I64, function) PT_ROW(ROW, op, PT_U8, function)
#define PT_INTEGER_ROWS(ROW, op, function) \
  PT_ROW(ROW, op, PT_I64, function) PT_ROW(ROW, op, PT_I32, function) PT_ROW(ROW, op, PT_U8, function)
/* The products' algorithms: one is for processors with caches and a stack of tens of KiB, one for those without, which
 * have faster ones for a workspace. */
enum { PT_BLOCKED = 1, PT_COMPACT = 2, PT_COMPACT_WHOLE = 3, PT_SHIFT_COMPACT = 4 };
#define PT_PRODUCT_ROWS(ROW, op, workspace, compact_workspace)                        \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "ascending", pt_##op##_reference, workspace) \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "ascending", pt_##op##_blocked, workspace)     \
  ROW(op, PT_REAL_DTYPE, 2, "compact", "ascending", pt_##op##_compact, compact_workspace)

/* Convolutions of few channels by a padded strip of the image in the workspace (conv2d_shift_compact.c). */
#define PT_SHIFT_ROW(ROW, op) \
  ROW(op, PT_REAL_DTYPE, 4, "shift_compact", "ascending", pt_##op##_shift_compact, pt_##op##_shift_compact_workspace)

/* A product with what follows it: each form has its own strips. */
#define PT_ACT_ROWS(ROW, op)                                                                              \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "ascending", pt_##op##_reference, pt_##op##_reference_workspace) \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "ascending", pt_##op##_blocked, pt_##op##_blocked_workspace)       \
  ROW(op, PT_REAL_DTYPE, 2, "compact", "ascending", pt_##op##_compact, pt_##op##_compact_workspace)

/* Winograd's convolutions (winograd.h): fewer multiplications, other bits. Algorithms from PT_FIRST_OTHER on are offered
 * beside the first, which says the class of numerics that plans keep to. */
enum {
  PT_FIRST_OTHER = 16,
  PT_WINOGRAD4_COMPACT = PT_FIRST_OTHER,
  PT_WINOGRAD4_COMPACT_WHOLE,
  PT_WINOGRAD4,
  PT_WINOGRAD_COMPACT,
  PT_WINOGRAD_COMPACT_WHOLE,
  PT_WINOGRAD
};
#define PT_WINOGRAD_ROW(ROW, op, algorithm, name, numerics) \
  ROW(op, PT_REAL_DTYPE, algorithm, #name, numerics, pt_##op##_##name, pt_##op##_##name##_workspace)
#define PT_WINOGRAD_ROWS(ROW, op)                                    \
  PT_WINOGRAD_ROW(ROW, op, 16, winograd4_compact, "winograd4")       \
  PT_WINOGRAD_ROW(ROW, op, 17, winograd4_compact_whole, "winograd4") \
  PT_WINOGRAD_ROW(ROW, op, 18, winograd4, "winograd4")               \
  PT_WINOGRAD_ROW(ROW, op, 19, winograd_compact, "winograd")         \
  PT_WINOGRAD_ROW(ROW, op, 20, winograd_compact_whole, "winograd")   \
  PT_WINOGRAD_ROW(ROW, op, 21, winograd, "winograd")

/* The reference goes row by row and takes no stack: it is also what small processors run. */
#define PT_VOLUME_ROWS(ROW, op)                                                             \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "ascending", pt_##op##_reference, pt_no_workspace) \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "ascending", pt_##op##_blocked, pt_no_workspace)

/* By the products of the same name; "blocked" packs the weight once for all steps. */
#define PT_SEQUENCE_ROWS(ROW, op)                                                               \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op##_reference, pt_##op##_workspace)     \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "fixed", pt_##op##_blocked, pt_##op##_blocked_workspace) \
  ROW(op, PT_REAL_DTYPE, 2, "compact", "fixed", pt_##op##_compact, pt_##op##_workspace)

/* A strip of the gradient at a time; or the whole of it in the workspace. */
#define PT_UPDATE_ROWS(ROW, op)                                                                 \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op##_reference, pt_##op##_workspace)     \
  ROW(op, PT_REAL_DTYPE, 2, "compact", "fixed", pt_##op##_compact, pt_##op##_compact_workspace) \
  ROW(op, PT_REAL_DTYPE, 3, "compact_whole", "fixed", pt_##op##_compact_whole, pt_##op##_workspace)

/* A row of scores at a time, a block of them, four rows. */
#define PT_ATTENTION_ROWS(ROW, op)                                                                    \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op##_reference, pt_##op##_reference_workspace) \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "fixed", pt_##op##_blocked, pt_##op##_blocked_workspace)       \
  ROW(op, PT_REAL_DTYPE, 2, "compact", "fixed", pt_##op##_compact, pt_##op##_compact_workspace)

/* By the plain kernels, or in blocks. */
#define PT_BLOCKS_ROWS(ROW, op)                                                 \
  ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op, pt_##op##_workspace) \
  ROW(op, PT_REAL_DTYPE, 1, "blocked", "fixed", pt_##op##_blocked, pt_norm_blocks_workspace)

#define PT_KERNEL_ROWS(ROW)                                                                                         \
  PT_PRODUCT_ROWS(ROW, matmul, pt_no_workspace, pt_no_workspace)                                                    \
  PT_ACT_ROWS(ROW, matmul_act)                                                                                      \
  PT_PRODUCT_ROWS(ROW, conv2d, pt_no_workspace, pt_no_workspace)                                                    \
  PT_PRODUCT_ROWS(ROW, conv2d_dx, pt_no_workspace, pt_no_workspace)                                                 \
  PT_PRODUCT_ROWS(ROW, conv2d_dw, pt_no_workspace, pt_no_workspace)                                                 \
  PT_SHIFT_ROW(ROW, conv2d)                                                                                         \
  PT_WINOGRAD_ROWS(ROW, conv2d)                                                                                     \
  PT_SHIFT_ROW(ROW, conv2d_dx)                                                                                      \
  PT_WINOGRAD_ROWS(ROW, conv2d_dx)                                                                                  \
  PT_WINOGRAD_ROWS(ROW, conv2d_dw)                                                                                  \
  PT_PRODUCT_ROWS(ROW, conv2d_dz, pt_conv2d_dz_workspace, pt_conv2d_dz_compact_workspace)                           \
  PT_SHIFT_ROW(ROW, conv2d_dz)                                                                                      \
  PT_WINOGRAD_ROWS(ROW, conv2d_dz)                                                                                  \
  PT_ACT_ROWS(ROW, conv2d_act)                                                                                      \
  PT_SHIFT_ROW(ROW, conv2d_act)                                                                                     \
  PT_WINOGRAD_ROWS(ROW, conv2d_act)                                                                                 \
  PT_VOLUME_ROWS(ROW, conv3d)                                                                                       \
  PT_VOLUME_ROWS(ROW, conv3d_dx)                                                                                    \
  PT_VOLUME_ROWS(ROW, conv3d_dw)                                                                                    \
  PT_ATTENTION_ROWS(ROW, attention)                                                                                 \
  PT_ATTENTION_ROWS(ROW, attention_grad)                                                                            \
  PT_UPDATE_ROWS(ROW, matmul_update)                                                                                \
  PT_UPDATE_ROWS(ROW, conv2d_dw_update)                                                                             \
  PT_REAL_ROW(ROW, add)                                                                                             \
  PT_REAL_ROW(ROW, sub)                                                                                             \
  PT_REAL_ROW(ROW, mul)                                                                                             \
  PT_REAL_ROW(ROW, div)                                                                                             \
  PT_REAL_ROW(ROW, pow)                                                                                             \
  PT_REAL_ROW(ROW, pow_grad)                                                                                        \
  PT_REAL_ROW(ROW, relu)                                                                                            \
  PT_REAL_ROW(ROW, leaky_relu)                                                                                      \
  PT_REAL_ROW(ROW, sigmoid)                                                                                         \
  PT_REAL_ROW(ROW, tanh)                                                                                            \
  PT_REAL_ROW(ROW, gelu)                                                                                            \
  PT_REAL_ROW(ROW, erf)                                                                                             \
  PT_REAL_ROW(ROW, sqrt)                                                                                            \
  PT_REAL_ROW(ROW, exp)                                                                                             \
  PT_REAL_ROW(ROW, log)                                                                                             \
  PT_REAL_ROW(ROW, neg)                                                                                             \
  PT_REAL_ROW(ROW, scale)                                                                                           \
  PT_REAL_ROW(ROW, relu_grad)                                                                                       \
  PT_REAL_ROW(ROW, leaky_relu_grad)                                                                                 \
  PT_REAL_ROW(ROW, sigmoid_grad)                                                                                    \
  PT_REAL_ROW(ROW, tanh_grad)                                                                                       \
  PT_REAL_ROW(ROW, gelu_grad)                                                                                       \
  PT_REAL_ROW(ROW, erf_grad)                                                                                        \
  PT_REAL_ROW(ROW, sqrt_grad)                                                                                       \
  PT_REAL_ROW(ROW, softmax)                                                                                         \
  PT_REAL_ROW(ROW, softmax_grad)                                                                                    \
  PT_REAL_ROW(ROW, log_softmax)                                                                                     \
  PT_REAL_ROW(ROW, log_softmax_grad)                                                                                \
  PT_REAL_ROW(ROW, batch_norm)                                                                                      \
  PT_REAL_ROW(ROW, batch_norm_grad)                                                                                 \
  PT_REAL_ROW(ROW, batch_norm_stats)                                                                                \
  PT_REAL_ROW(ROW, batch_norm_act)                                                                                  \
  PT_REAL_ROW(ROW, batch_norm_act_grad)                                                                             \
  PT_REAL_ROW(ROW, batch_norm_act_eval)                                                                             \
  PT_REAL_ROW(ROW, batch_norm_eval)                                                                                 \
  PT_REAL_ROW(ROW, layer_norm)                                                                                      \
  PT_REAL_ROW(ROW, layer_norm_grad)                                                                                 \
  PT_REAL_ROW(ROW, max_pool)                                                                                        \
  PT_REAL_ROW(ROW, max_pool_grad)                                                                                   \
  PT_REAL_ROW(ROW, avg_pool)                                                                                        \
  PT_REAL_ROW(ROW, avg_pool_grad)                                                                                   \
  PT_REAL_ROW(ROW, reduce_sum)                                                                                      \
  PT_REAL_ROW(ROW, reduce_mean)                                                                                     \
  PT_REAL_ROW(ROW, expand)                                                                                          \
  PT_REAL_ROW(ROW, dropout)                                                                                         \
  PT_REAL_ROW(ROW, cross_entropy)                                                                                   \
  PT_REAL_ROW(ROW, cross_entropy_grad)                                                                              \
  PT_REAL_ROW(ROW, mse)                                                                                             \
  PT_REAL_ROW(ROW, mse_grad)                                                                                        \
  PT_REAL_ROW(ROW, lstm_cell)                                                                                       \
  PT_REAL_ROW(ROW, lstm_cell_grad)                                                                                  \
  PT_REAL_ROW(ROW, gru_cell)                                                                                        \
  PT_REAL_ROW(ROW, gru_cell_grad)                                                                                   \
  PT_SEQUENCE_ROWS(ROW, lstm_sequence)                                                                              \
  PT_SEQUENCE_ROWS(ROW, lstm_sequence_grad)                                                                         \
  PT_SEQUENCE_ROWS(ROW, gru_sequence)                                                                               \
  PT_SEQUENCE_ROWS(ROW, gru_sequence_grad)                                                                          \
  PT_ROW(ROW, sign_bits, PT_U8, sign_bits)                                                                          \
  PT_REAL_ROW(ROW, relu_grad_bits)                                                                                  \
  PT_REAL_ROW(ROW, leaky_relu_grad_bits)                                                                            \
  PT_ROW(ROW, max_pool_taps, PT_U8, max_pool_taps)                                                                  \
  PT_REAL_ROW(ROW, max_pool_grad_taps)                                                                              \
  PT_REAL_ROW(ROW, l1)                                                                                              \
  PT_REAL_ROW(ROW, l1_grad)                                                                                         \
  PT_REAL_ROW(ROW, smooth_l1)                                                                                       \
  PT_REAL_ROW(ROW, smooth_l1_grad)                                                                                  \
  PT_REAL_ROW(ROW, bce_with_logits)                                                                                 \
  PT_REAL_ROW(ROW, bce_with_logits_grad)                                                                            \
  PT_REAL_ROW(ROW, kl_div)                                                                                          \
  PT_REAL_ROW(ROW, kl_div_grad)                                                                                     \
  PT_REAL_ROW(ROW, nll)                                                                                             \
  PT_REAL_ROW(ROW, nll_grad)                                                                                        \
  PT_REAL_ROW(ROW, soft_cross_entropy)                                                                              \
  PT_REAL_ROW(ROW, soft_cross_entropy_grad)                                                                         \
  PT_REAL_ROW(ROW, sgd)                                                                                             \
  PT_REAL_ROW(ROW, adam)                                                                                            \
  PT_REAL_ROW(ROW, adamw)                                                                                           \
  PT_REAL_ROW(ROW, rmsprop)                                                                                         \
  PT_REAL_ROW(ROW, adagrad)                                                                                         \
  PT_REAL_ROW(ROW, norm)                                                                                            \
  PT_REAL_ROW(ROW, clip_norm)                                                                                       \
  PT_REAL_ROW(ROW, accumulate)                                                                                      \
  PT_MOVE_ROWS(ROW, assign, assign)                                                                                 \
  PT_REAL_ROW(ROW, accumulated)                                                                                     \
  PT_REAL_ROW(ROW, gather_grad)                                                                                     \
  PT_REAL_ROW(ROW, gather_elements_grad)                                                                            \
  ROW(sgd_rows, PT_REAL_DTYPE, 0, "reference", "fixed", pt_sgd_rows, pt_sgd_rows_workspace)                         \
  PT_REAL_ROW(ROW, maximum)                                                                                         \
  PT_REAL_ROW(ROW, minimum)                                                                                         \
  PT_REAL_ROW(ROW, maximum_grad)                                                                                    \
  PT_REAL_ROW(ROW, abs)                                                                                             \
  PT_REAL_ROW(ROW, sign)                                                                                            \
  PT_REAL_ROW(ROW, round)                                                                                           \
  PT_REAL_ROW(ROW, arc)                                                                                             \
  PT_REAL_ROW(ROW, arc_grad)                                                                                        \
  PT_REAL_ROW(ROW, round_to)                                                                                        \
  PT_REAL_ROW(ROW, sin)                                                                                             \
  PT_REAL_ROW(ROW, cos)                                                                                             \
  PT_REAL_ROW(ROW, elu)                                                                                             \
  PT_REAL_ROW(ROW, elu_grad)                                                                                        \
  PT_REAL_ROW(ROW, softplus)                                                                                        \
  PT_REAL_ROW(ROW, softplus_grad)                                                                                   \
  PT_REAL_ROW(ROW, clip)                                                                                            \
  PT_REAL_ROW(ROW, clip_grad)                                                                                       \
  PT_REAL_ROW(ROW, hard_sigmoid)                                                                                    \
  PT_REAL_ROW(ROW, hard_sigmoid_grad)                                                                               \
  PT_REAL_ROW(ROW, hard_swish)                                                                                      \
  PT_REAL_ROW(ROW, hard_swish_grad)                                                                                 \
  PT_REAL_ROW(ROW, resize)                                                                                          \
  PT_REAL_ROW(ROW, resize_grad)                                                                                     \
  PT_REAL_ROW(ROW, reduce_max)                                                                                      \
  PT_REAL_ROW(ROW, reduce_max_grad)                                                                                 \
  PT_REAL_ROW(ROW, cumsum)                                                                                          \
  PT_ROW(ROW, top_k, PT_I64, top_k)                                                                                 \
  PT_REAL_ROW(ROW, random)                                                                                          \
  PT_REAL_ROW(ROW, scatter_elements)                                                                                \
  PT_INTEGER_ROWS(ROW, scatter_elements, scatter_elements)                                                          \
  PT_ROW(ROW, scatter_elements, PT_BOOL, scatter_elements)                                                          \
  PT_REAL_ROW(ROW, scatter_elements_grad)                                                                           \
  ROW(scatter_reduce_grad, PT_REAL_DTYPE, 0, "reference", "fixed", pt_scatter_reduce_grad,                          \
      pt_scatter_reduce_grad_workspace)                                                                             \
  PT_ROW(ROW, arg_max, PT_I64, arg_max)                                                                             \
  PT_ROW(ROW, compare, PT_BOOL, compare)                                                                            \
  PT_ROW(ROW, count_correct, PT_REAL_DTYPE, count_correct)                                                          \
  PT_INTEGER_ROWS(ROW, add, integer_add)                                                                            \
  PT_INTEGER_ROWS(ROW, sub, integer_sub)                                                                            \
  PT_INTEGER_ROWS(ROW, mul, integer_mul)                                                                            \
  PT_INTEGER_ROWS(ROW, div, integer_div)                                                                            \
  PT_INTEGER_ROWS(ROW, pow, integer_pow)                                                                            \
  PT_INTEGER_ROWS(ROW, maximum, integer_maximum)                                                                    \
  PT_INTEGER_ROWS(ROW, minimum, integer_minimum)                                                                    \
  PT_INTEGER_ROWS(ROW, reduce_sum, integer_reduce_sum)                                                              \
  PT_INTEGER_ROWS(ROW, reduce_max, integer_reduce_max)                                                              \
  PT_INTEGER_ROWS(ROW, cumsum, integer_cumsum)                                                                      \
  PT_INTEGER_ROWS(ROW, mod, mod)                                                                                    \
  PT_INTEGER_ROWS(ROW, bitwise, bitwise)                                                                            \
  PT_ROW(ROW, maximum, PT_BOOL, integer_maximum)                                                                    \
  PT_ROW(ROW, minimum, PT_BOOL, integer_minimum)                                                                    \
  PT_ROW(ROW, reduce_max, PT_BOOL, integer_reduce_max)                                                              \
  PT_ROW(ROW, bitwise, PT_BOOL, bitwise)                                                                            \
  PT_MOVE_ROWS(ROW, transpose, transpose)                                                                           \
  PT_MOVE_ROWS(ROW, concat, concat)                                                                                 \
  PT_MOVE_ROWS(ROW, slice, slice)                                                                                   \
  PT_MOVE_ROWS(ROW, slice_grad, slice_grad)                                                                         \
  PT_MOVE_ROWS(ROW, gather, gather)                                                                                 \
  PT_MOVE_ROWS(ROW, gather_elements, gather_elements)                                                               \
  PT_MOVE_ROWS(ROW, where, where)                                                                                   \
  PT_ROW(ROW, expand, PT_I64, expand_copy)                                                                          \
  PT_ROW(ROW, expand, PT_I32, expand_copy)                                                                          \
  PT_ROW(ROW, expand, PT_U8, expand_copy)                                                                           \
  PT_ROW(ROW, expand, PT_BOOL, expand_copy)                                                                         \
  PT_MOVE_ROWS(ROW, split, split_op)                                                                                \
  PT_ROW(ROW, cast, PT_F32, cast)                                                                                   \
  PT_ROW(ROW, cast, PT_F64, cast)                                                                                   \
  PT_ROW(ROW, cast, PT_I64, cast)                                                                                   \
  PT_ROW(ROW, cast, PT_I32, cast)                                                                                   \
  PT_ROW(ROW, cast, PT_U8, cast)                                                                                    \
  PT_ROW(ROW, cast, PT_BOOL, cast)                                                                                  \
  PT_REAL_ROW(ROW, reorder)                                                                                         \
  ROW(conv2d_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_conv2d_nchwc, pt_conv2d_nchwc_workspace)             \
  ROW(conv2d_dx_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_conv2d_dx_nchwc, pt_conv2d_dx_nchwc_workspace)    \
  ROW(conv2d_dw_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_conv2d_dw_nchwc, pt_conv2d_dw_nchwc_workspace)    \
  ROW(conv2d_act_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_conv2d_act_nchwc, pt_conv2d_act_nchwc_workspace) \
  PT_BLOCKS_ROWS(ROW, batch_norm_nchwc)                                                                             \
  PT_BLOCKS_ROWS(ROW, batch_norm_grad_nchwc)                                                                        \
  PT_BLOCKS_ROWS(ROW, batch_norm_eval_nchwc)                                                                        \
  PT_BLOCKS_ROWS(ROW, batch_norm_act_nchwc)                                                                         \
  PT_BLOCKS_ROWS(ROW, batch_norm_act_grad_nchwc)                                                                    \
  PT_BLOCKS_ROWS(ROW, batch_norm_act_eval_nchwc)                                                                    \
  ROW(max_pool_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_max_pool_nchwc, pt_max_pool_nchwc_workspace)       \
  ROW(max_pool_grad_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_max_pool_grad_nchwc,                          \
      pt_max_pool_grad_nchwc_workspace)                                                                             \
  ROW(avg_pool_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_avg_pool_nchwc, pt_avg_pool_nchwc_workspace)       \
  ROW(avg_pool_grad_nchwc, PT_REAL_DTYPE, 0, "reference", "fixed", pt_avg_pool_grad_nchwc,                          \
      pt_avg_pool_grad_nchwc_workspace)

#endif
