#include "kernels/portable/kernels.h"
#include "kernels/portable/products.h"

/* Every portable kernel but the products is its own reference: one algorithm, one class of numerics. */
#define PT_ROW(op, dtype, function) \
  { PT_OP_##op, dtype, 0, 0, "reference", "fixed", PT_NAME(pt_##function), NULL, NULL }
#define PT_REAL_ROW(op) PT_ROW(op, PT_REAL_DTYPE, op)
#define PT_NCHWC_ROW(op) \
  {PT_OP_##op, PT_REAL_DTYPE, 0, 0, "reference", "fixed", PT_NAME(pt_##op), NULL, PT_NAME(pt_##op##_workspace)},
#define PT_MOVE_ROWS(op, function) \
  PT_ROW(op, PT_F32, function), PT_ROW(op, PT_I64, function), PT_ROW(op, PT_U8, function)

static const pt_kernel kKernels[] = {PT_PRODUCT_KERNELS PT_REAL_ROW(add),
                                     PT_REAL_ROW(sub),
                                     PT_REAL_ROW(mul),
                                     PT_REAL_ROW(div),
                                     PT_REAL_ROW(pow),
                                     PT_REAL_ROW(pow_grad),
                                     PT_REAL_ROW(relu),
                                     PT_REAL_ROW(leaky_relu),
                                     PT_REAL_ROW(sigmoid),
                                     PT_REAL_ROW(tanh),
                                     PT_REAL_ROW(gelu),
                                     PT_REAL_ROW(erf),
                                     PT_REAL_ROW(sqrt),
                                     PT_REAL_ROW(exp),
                                     PT_REAL_ROW(log),
                                     PT_REAL_ROW(neg),
                                     PT_REAL_ROW(scale),
                                     PT_REAL_ROW(relu_grad),
                                     PT_REAL_ROW(leaky_relu_grad),
                                     PT_REAL_ROW(sigmoid_grad),
                                     PT_REAL_ROW(tanh_grad),
                                     PT_REAL_ROW(gelu_grad),
                                     PT_REAL_ROW(erf_grad),
                                     PT_REAL_ROW(sqrt_grad),
                                     PT_REAL_ROW(softmax),
                                     PT_REAL_ROW(softmax_grad),
                                     PT_REAL_ROW(log_softmax),
                                     PT_REAL_ROW(log_softmax_grad),
                                     PT_REAL_ROW(batch_norm),
                                     PT_REAL_ROW(batch_norm_grad),
                                     PT_REAL_ROW(batch_norm_stats),
                                     PT_REAL_ROW(batch_norm_eval),
                                     PT_REAL_ROW(layer_norm),
                                     PT_REAL_ROW(layer_norm_grad),
                                     PT_REAL_ROW(max_pool),
                                     PT_REAL_ROW(max_pool_grad),
                                     PT_REAL_ROW(avg_pool),
                                     PT_REAL_ROW(avg_pool_grad),
                                     PT_REAL_ROW(reduce_sum),
                                     PT_REAL_ROW(reduce_mean),
                                     PT_REAL_ROW(expand),
                                     PT_REAL_ROW(dropout),
                                     PT_REAL_ROW(cross_entropy),
                                     PT_REAL_ROW(cross_entropy_grad),
                                     PT_REAL_ROW(mse),
                                     PT_REAL_ROW(mse_grad),
                                     PT_REAL_ROW(lstm_cell),
                                     PT_REAL_ROW(lstm_cell_grad),
                                     PT_REAL_ROW(gru_cell),
                                     PT_REAL_ROW(gru_cell_grad),
                                     PT_ROW(sign_bits, PT_U8, sign_bits),
                                     PT_REAL_ROW(relu_grad_bits),
                                     PT_REAL_ROW(leaky_relu_grad_bits),
                                     PT_ROW(max_pool_taps, PT_U8, max_pool_taps),
                                     PT_REAL_ROW(max_pool_grad_taps),
                                     PT_REAL_ROW(sgd),
                                     PT_REAL_ROW(adam),
                                     PT_REAL_ROW(gather_grad),
                                     PT_ROW(count_correct, PT_REAL_DTYPE, count_correct),
                                     PT_ROW(add, PT_I64, add_i64),
                                     PT_ROW(add, PT_I32, add_i32),
                                     PT_ROW(sub, PT_I64, sub_i64),
                                     PT_ROW(sub, PT_I32, sub_i32),
                                     PT_ROW(mul, PT_I64, mul_i64),
                                     PT_ROW(mul, PT_I32, mul_i32),
                                     PT_ROW(div, PT_I64, div_i64),
                                     PT_ROW(div, PT_I32, div_i32),
                                     PT_ROW(neg, PT_I64, neg_i64),
                                     PT_ROW(neg, PT_I32, neg_i32),
                                     PT_MOVE_ROWS(transpose, transpose),
                                     PT_MOVE_ROWS(concat, concat),
                                     PT_MOVE_ROWS(slice, slice),
                                     PT_MOVE_ROWS(slice_grad, slice_grad),
                                     PT_MOVE_ROWS(gather, gather),
                                     PT_MOVE_ROWS(split, split_op),
                                     PT_ROW(cast, PT_F32, cast),
                                     PT_ROW(cast, PT_F64, cast),
                                     PT_ROW(cast, PT_I64, cast),
                                     PT_ROW(cast, PT_I32, cast),
                                     PT_ROW(cast, PT_U8, cast),
                                     PT_ROW(cast, PT_BOOL, cast),
                                     PT_REAL_ROW(reorder),
                                     PT_NCHWC_OPS(PT_NCHWC_ROW)};

static const pt_kernel_table kTable = {kKernels, sizeof kKernels / sizeof kKernels[0]};

#ifdef PT_REAL_DOUBLE
const pt_kernel_table* pt_portable_kernels_f64(void) {
  return &kTable;
}
#else
const pt_kernel_table* pt_portable_kernels(void) {
  return &kTable;
}
#endif
