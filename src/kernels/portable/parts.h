/* Kernels that make a sum in parts (pt_call.terms): every call has operands of a range of the terms alone, dense, and ranges follow one another in
 * ascending order. The terms are cut along
 *   k                  matmul, matmul_act, matmul_update
 *   channels of X      conv2d, conv2d_act, in one group
 *   channels of dY     conv2d_dx, conv2d_dz, in one group
 *   samples, or rows of dY of one sample, with the rows of X that they read and the padding that these have
 *                      conv2d_dw, conv2d_dw_update
 *   samples, or rows (dimension 2) of one sample
 *                      batch_norm, batch_norm_act in three passes; batch_norm_grad, batch_norm_act_grad in two
 *   samples            cross_entropy, nll, with all labels; soft_cross_entropy
 *   elements           mse, l1, smooth_l1, bce_with_logits, kl_div
 *   rows               layer_norm_grad: the rows of dX are whole after each call. All rows follow once more for each slice of columns
 *   indices            gather_grad
 *   rows of Q          attention_grad: the rows of dQ are whole after each call
 *
 * Some kernels are told where the slice lies in the whole (pt_call.slice_begin, whole_extent): samples of the losses of classes and their gradients,
 * elements of the losses by element and their gradients, of dropout and of random numbers, rows of gather_grad's result, and of the tables of sgd_rows, adagrad_rows and adam_rows, whose indices are those of
 * all rows; and columns of the gradients of scale and bias of layer_norm_grad, which makes dX in the call that begins at 0 alone.
 *
 * A kernel of several passes goes over all its terms in each of them, a pass after the other (PT_PASS). Its sums lie in the workspace. A result of the
 * terms' shape is written in the last pass, and may lie over an input; the others are written where their pass ends.
 *
 * Between two calls the sums of the other kernels lie in the output, those of updates, losses and layer_norm_grad in the workspace, where they must stay as they are: such an
 * output lies over no input. Only the last call reads a bias, the tensor that is added, the one that an activation's gradient reads, weights and
 * states; only the last call of an update writes its outputs. An update may be called behind its terms, all of which were PT_UNFINISHED, with
 * PT_UPDATE_ALONE: it then adds none, and updates the elements of the operands by sums that begin at the workspace; the factors are not read. */
#pragma once

#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PT_UPDATE_ALONE = PT_PASS }; /* of pt_call.terms */

/* Does the portable kernel obey pt_call.terms? Others are called with PT_ALL_TERMS. */
int pt_kernel_makes_parts(uint16_t op, uint16_t algorithm);

#ifdef __cplusplus
}
#endif

/* A firmware that makes no parts defines PT_NO_PARTS, and leaves out most of their code: no kernel makes them there. */
static inline int pt_goes_on(const pt_call* call) {
#ifdef PT_NO_PARTS
  (void)call;
  return 0;
#else
  return (call->terms & PT_GOES_ON) != 0;
#endif
}
/* The pass that the call makes, from 1 on; 0: all. */
static inline unsigned pt_pass(const pt_call* call) {
#ifdef PT_NO_PARTS
  (void)call;
  return 0;
#else
  return (unsigned)call->terms / PT_PASS;
#endif
}
static inline int pt_is_unfinished(const pt_call* call) {
#ifdef PT_NO_PARTS
  (void)call;
  return 0;
#else
  return (call->terms & PT_UNFINISHED) != 0;
#endif
}
