/* Prototypes of the portable kernels beside the products; operands and attributes are those of pantoum/ops.h. */
#ifndef PANTOUM_KERNELS_PORTABLE_KERNELS_H
#define PANTOUM_KERNELS_PORTABLE_KERNELS_H

#include "kernels/portable/real.h"

/* why: a list of prototypes, as in products.h. */
pt_status PT_NAME(pt_add)(const pt_call* call);
pt_status PT_NAME(pt_sub)(const pt_call* call);
pt_status PT_NAME(pt_mul)(const pt_call* call);
pt_status PT_NAME(pt_div)(const pt_call* call);
pt_status PT_NAME(pt_pow)(const pt_call* call);
pt_status PT_NAME(pt_pow_grad)(const pt_call* call);
pt_status PT_NAME(pt_relu)(const pt_call* call);
pt_status PT_NAME(pt_leaky_relu)(const pt_call* call);
pt_status PT_NAME(pt_sigmoid)(const pt_call* call);
pt_status PT_NAME(pt_tanh)(const pt_call* call);
pt_status PT_NAME(pt_gelu)(const pt_call* call);
pt_status PT_NAME(pt_erf)(const pt_call* call);
pt_status PT_NAME(pt_sqrt)(const pt_call* call);
pt_status PT_NAME(pt_exp)(const pt_call* call);
pt_status PT_NAME(pt_log)(const pt_call* call);
pt_status PT_NAME(pt_neg)(const pt_call* call);
pt_status PT_NAME(pt_scale)(const pt_call* call);
pt_status PT_NAME(pt_relu_grad)(const pt_call* call);
pt_status PT_NAME(pt_leaky_relu_grad)(const pt_call* call);
pt_status PT_NAME(pt_sigmoid_grad)(const pt_call* call);
pt_status PT_NAME(pt_tanh_grad)(const pt_call* call);
pt_status PT_NAME(pt_gelu_grad)(const pt_call* call);
pt_status PT_NAME(pt_erf_grad)(const pt_call* call);
pt_status PT_NAME(pt_sqrt_grad)(const pt_call* call);
pt_status PT_NAME(pt_softmax)(const pt_call* call);
pt_status PT_NAME(pt_softmax_grad)(const pt_call* call);
pt_status PT_NAME(pt_log_softmax)(const pt_call* call);
pt_status PT_NAME(pt_log_softmax_grad)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_grad)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_stats)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act_grad)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act_eval)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_eval)(const pt_call* call);
pt_status PT_NAME(pt_layer_norm)(const pt_call* call);
pt_status PT_NAME(pt_layer_norm_grad)(const pt_call* call);
pt_status PT_NAME(pt_max_pool)(const pt_call* call);
pt_status PT_NAME(pt_max_pool_grad)(const pt_call* call);
pt_status PT_NAME(pt_avg_pool)(const pt_call* call);
pt_status PT_NAME(pt_avg_pool_grad)(const pt_call* call);
pt_status PT_NAME(pt_reduce_sum)(const pt_call* call);
pt_status PT_NAME(pt_reduce_mean)(const pt_call* call);
pt_status PT_NAME(pt_expand)(const pt_call* call);
pt_status PT_NAME(pt_dropout)(const pt_call* call);
pt_status PT_NAME(pt_cross_entropy)(const pt_call* call);
pt_status PT_NAME(pt_cross_entropy_grad)(const pt_call* call);
pt_status PT_NAME(pt_mse)(const pt_call* call);
pt_status PT_NAME(pt_mse_grad)(const pt_call* call);
pt_status PT_NAME(pt_lstm_cell)(const pt_call* call);
pt_status PT_NAME(pt_lstm_cell_grad)(const pt_call* call);
pt_status PT_NAME(pt_gru_cell)(const pt_call* call);
pt_status PT_NAME(pt_gru_cell_grad)(const pt_call* call);
#define PT_SEQUENCE_PROTOTYPES(op)                             \
  pt_status PT_NAME(pt_##op##_reference)(const pt_call* call); \
  pt_status PT_NAME(pt_##op##_blocked)(const pt_call* call);   \
  pt_status PT_NAME(pt_##op##_compact)(const pt_call* call);   \
  size_t PT_NAME(pt_##op##_workspace)(const pt_call* call);    \
  size_t PT_NAME(pt_##op##_blocked_workspace)(const pt_call* call);
PT_SEQUENCE_PROTOTYPES(lstm_sequence)
PT_SEQUENCE_PROTOTYPES(lstm_sequence_grad)
PT_SEQUENCE_PROTOTYPES(gru_sequence)
PT_SEQUENCE_PROTOTYPES(gru_sequence_grad)
#undef PT_SEQUENCE_PROTOTYPES
pt_status PT_NAME(pt_sign_bits)(const pt_call* call);
pt_status PT_NAME(pt_relu_grad_bits)(const pt_call* call);
pt_status PT_NAME(pt_leaky_relu_grad_bits)(const pt_call* call);
pt_status PT_NAME(pt_max_pool_taps)(const pt_call* call);
pt_status PT_NAME(pt_max_pool_grad_taps)(const pt_call* call);
pt_status PT_NAME(pt_l1)(const pt_call* call);
pt_status PT_NAME(pt_l1_grad)(const pt_call* call);
pt_status PT_NAME(pt_smooth_l1)(const pt_call* call);
pt_status PT_NAME(pt_smooth_l1_grad)(const pt_call* call);
pt_status PT_NAME(pt_bce_with_logits)(const pt_call* call);
pt_status PT_NAME(pt_bce_with_logits_grad)(const pt_call* call);
pt_status PT_NAME(pt_kl_div)(const pt_call* call);
pt_status PT_NAME(pt_kl_div_grad)(const pt_call* call);
pt_status PT_NAME(pt_nll)(const pt_call* call);
pt_status PT_NAME(pt_nll_grad)(const pt_call* call);
pt_status PT_NAME(pt_soft_cross_entropy)(const pt_call* call);
pt_status PT_NAME(pt_soft_cross_entropy_grad)(const pt_call* call);
pt_status PT_NAME(pt_sgd)(const pt_call* call);
pt_status PT_NAME(pt_adam)(const pt_call* call);
pt_status PT_NAME(pt_norm)(const pt_call* call);
pt_status PT_NAME(pt_clip_norm)(const pt_call* call);
pt_status PT_NAME(pt_accumulate)(const pt_call* call);
pt_status PT_NAME(pt_assign)(const pt_call* call);
pt_status PT_NAME(pt_accumulated)(const pt_call* call);
pt_status PT_NAME(pt_adamw)(const pt_call* call);
pt_status PT_NAME(pt_rmsprop)(const pt_call* call);
pt_status PT_NAME(pt_adagrad)(const pt_call* call);
pt_status PT_NAME(pt_gather_grad)(const pt_call* call);
pt_status PT_NAME(pt_cast)(const pt_call* call);
pt_status PT_NAME(pt_transpose)(const pt_call* call);
pt_status PT_NAME(pt_concat)(const pt_call* call);
pt_status PT_NAME(pt_split_op)(const pt_call* call);
pt_status PT_NAME(pt_slice)(const pt_call* call);
pt_status PT_NAME(pt_slice_grad)(const pt_call* call);
pt_status PT_NAME(pt_gather)(const pt_call* call);
pt_status PT_NAME(pt_count_correct)(const pt_call* call);
pt_status PT_NAME(pt_gelu_of_erf)(const pt_call* call);
pt_status PT_NAME(pt_gelu_of_tanh)(const pt_call* call);
pt_status PT_NAME(pt_gelu_of_erf_grad)(const pt_call* call);
pt_status PT_NAME(pt_gelu_of_tanh_grad)(const pt_call* call);
pt_status PT_NAME(pt_maximum)(const pt_call* call);
pt_status PT_NAME(pt_minimum)(const pt_call* call);
pt_status PT_NAME(pt_maximum_grad)(const pt_call* call);
pt_status PT_NAME(pt_compare)(const pt_call* call);
pt_status PT_NAME(pt_where)(const pt_call* call);
pt_status PT_NAME(pt_abs)(const pt_call* call);
pt_status PT_NAME(pt_sign)(const pt_call* call);
pt_status PT_NAME(pt_round)(const pt_call* call);
pt_status PT_NAME(pt_arc)(const pt_call* call);
pt_status PT_NAME(pt_arc_grad)(const pt_call* call);
pt_status PT_NAME(pt_round_to)(const pt_call* call);
pt_status PT_NAME(pt_sin)(const pt_call* call);
pt_status PT_NAME(pt_cos)(const pt_call* call);
pt_status PT_NAME(pt_elu)(const pt_call* call);
pt_status PT_NAME(pt_elu_grad)(const pt_call* call);
pt_status PT_NAME(pt_softplus)(const pt_call* call);
pt_status PT_NAME(pt_softplus_grad)(const pt_call* call);
pt_status PT_NAME(pt_clip)(const pt_call* call);
pt_status PT_NAME(pt_clip_grad)(const pt_call* call);
pt_status PT_NAME(pt_hard_sigmoid)(const pt_call* call);
pt_status PT_NAME(pt_hard_sigmoid_grad)(const pt_call* call);
pt_status PT_NAME(pt_hard_swish)(const pt_call* call);
pt_status PT_NAME(pt_hard_swish_grad)(const pt_call* call);
pt_status PT_NAME(pt_round_down)(const pt_call* call);
pt_status PT_NAME(pt_round_up)(const pt_call* call);
pt_status PT_NAME(pt_round_even)(const pt_call* call);
pt_status PT_NAME(pt_arc_sin)(const pt_call* call);
pt_status PT_NAME(pt_arc_sin_grad)(const pt_call* call);
pt_status PT_NAME(pt_arc_cos)(const pt_call* call);
pt_status PT_NAME(pt_arc_cos_grad)(const pt_call* call);
pt_status PT_NAME(pt_arc_tan)(const pt_call* call);
pt_status PT_NAME(pt_arc_tan_grad)(const pt_call* call);
pt_status PT_NAME(pt_arc_sinh)(const pt_call* call);
pt_status PT_NAME(pt_arc_sinh_grad)(const pt_call* call);
pt_status PT_NAME(pt_arc_cosh)(const pt_call* call);
pt_status PT_NAME(pt_arc_cosh_grad)(const pt_call* call);
pt_status PT_NAME(pt_arc_tanh)(const pt_call* call);
pt_status PT_NAME(pt_arc_tanh_grad)(const pt_call* call);
pt_status PT_NAME(pt_round_to_float16)(const pt_call* call);
pt_status PT_NAME(pt_round_to_bfloat16)(const pt_call* call);
pt_status PT_NAME(pt_resize)(const pt_call* call);
pt_status PT_NAME(pt_resize_grad)(const pt_call* call);
pt_status PT_NAME(pt_reduce_max)(const pt_call* call);
pt_status PT_NAME(pt_reduce_max_grad)(const pt_call* call);
pt_status PT_NAME(pt_arg_max)(const pt_call* call);
pt_status PT_NAME(pt_cumsum)(const pt_call* call);
pt_status PT_NAME(pt_top_k)(const pt_call* call);
pt_status PT_NAME(pt_random)(const pt_call* call);
pt_status PT_NAME(pt_scatter_elements)(const pt_call* call);
pt_status PT_NAME(pt_scatter_elements_grad)(const pt_call* call);
pt_status PT_NAME(pt_scatter_reduce_grad)(const pt_call* call);
size_t PT_NAME(pt_scatter_reduce_grad_workspace)(const pt_call* call);
pt_status PT_NAME(pt_gather_elements)(const pt_call* call);
pt_status PT_NAME(pt_gather_elements_grad)(const pt_call* call);
pt_status PT_NAME(pt_expand_copy)(const pt_call* call);
pt_status PT_NAME(pt_integer_add)(const pt_call* call);
pt_status PT_NAME(pt_integer_sub)(const pt_call* call);
pt_status PT_NAME(pt_integer_mul)(const pt_call* call);
pt_status PT_NAME(pt_integer_div)(const pt_call* call);
pt_status PT_NAME(pt_integer_pow)(const pt_call* call);
pt_status PT_NAME(pt_integer_maximum)(const pt_call* call);
pt_status PT_NAME(pt_integer_minimum)(const pt_call* call);
pt_status PT_NAME(pt_mod)(const pt_call* call);
pt_status PT_NAME(pt_bitwise)(const pt_call* call);
pt_status PT_NAME(pt_integer_reduce_sum)(const pt_call* call);
pt_status PT_NAME(pt_integer_reduce_max)(const pt_call* call);
pt_status PT_NAME(pt_integer_cumsum)(const pt_call* call);
pt_status PT_NAME(pt_sgd_rows)(const pt_call* call);
/* Of kernels that need none. */
size_t PT_NAME(pt_no_workspace)(const pt_call* call);
size_t PT_NAME(pt_sgd_rows_workspace)(const pt_call* call);

pt_status PT_NAME(pt_reorder)(const pt_call* call);
#define PT_NCHWC_OPS(PT_ITEM)        \
  PT_ITEM(conv2d_nchwc)              \
  PT_ITEM(conv2d_act_nchwc)          \
  PT_ITEM(conv2d_dx_nchwc)           \
  PT_ITEM(conv2d_dw_nchwc)           \
  PT_ITEM(batch_norm_nchwc)          \
  PT_ITEM(batch_norm_grad_nchwc)     \
  PT_ITEM(batch_norm_eval_nchwc)     \
  PT_ITEM(batch_norm_act_nchwc)      \
  PT_ITEM(batch_norm_act_grad_nchwc) \
  PT_ITEM(batch_norm_act_eval_nchwc) \
  PT_ITEM(max_pool_nchwc) PT_ITEM(max_pool_grad_nchwc) PT_ITEM(avg_pool_nchwc) PT_ITEM(avg_pool_grad_nchwc)
#define PT_PROTOTYPES(name)                          \
  pt_status PT_NAME(pt_##name)(const pt_call* call); \
  size_t PT_NAME(pt_##name##_workspace)(const pt_call* call);
PT_NCHWC_OPS(PT_PROTOTYPES)
#undef PT_PROTOTYPES
pt_status PT_NAME(pt_batch_norm_nchwc_blocked)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_grad_nchwc_blocked)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_eval_nchwc_blocked)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act_nchwc_blocked)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act_grad_nchwc_blocked)(const pt_call* call);
pt_status PT_NAME(pt_batch_norm_act_eval_nchwc_blocked)(const pt_call* call);
size_t PT_NAME(pt_norm_blocks_workspace)(const pt_call* call);

#endif
