/* Normalizations and softmax. */
#include "kernels/portable/norm_activation.h"
#include "runtime/op_rules.h"

/* Inputs from `first` on have one element per channel of `x`. */
static int channels_fit(pt_op_use* use, const pt_tensor* x, unsigned first) {
  if (x->rank < 2) return PT_REFUSE(use, "its input must have two dimensions or more");
  for (; first < use->input_count; ++first)
    if (!pt_want_vector(use, in(use, first), x->dims[1], PT_TEXT("a vector over the channels"))) return 0;
  return 1;
}
/* X, or its gradient, and two vectors over its channels; `scale` is such a vector. */
static int make_normed(pt_op_use* use, const pt_tensor* x, const pt_tensor* scale) {
  return pt_make_all(use, x, 1) && pt_make_all(use, scale, 2);
}

static int batch_norm(pt_op_use* use) {
  return channels_fit(use, in(use, 0), 1) && make_normed(use, in(use, 0), in(use, 1));
}
static int batch_norm_grad(pt_op_use* use) {
  return channels_fit(use, in(use, 1), 2) &&
         pt_want_dims(use, in(use, 0), in(use, 1), PT_TEXT("the output's gradient")) &&
         make_normed(use, in(use, 1), in(use, 2));
}
static int batch_norm_stats(pt_op_use* use) {
  if (!pt_want_rank(use, in(use, 0), 1, PT_TEXT("a statistic"))) return 0;
  if (use->ints[0] < 1) return PT_REFUSE(use, "the count per channel must be 1 or more");
  return pt_same(use) && pt_make_all(use, in(use, 0), 1);
}
static int batch_norm_eval(pt_op_use* use) {
  return channels_fit(use, in(use, 0), 1) && pt_make_all(use, in(use, 0), 1);
}

static int has_activation(pt_op_use* use) {
  return pt_is_norm_activation(use->ints[PT_NORM_ACTIVATION]) ||
         PT_REFUSE(use, "the activation behind it is none that it knows");
}
static int batch_norm_act(pt_op_use* use) {
  return has_activation(use) && batch_norm(use);
}
static int batch_norm_act_grad(pt_op_use* use) {
  return has_activation(use) && batch_norm_grad(use);
}
static int batch_norm_act_eval(pt_op_use* use) {
  return has_activation(use) && batch_norm_eval(use);
}

/* Rows of `x` before the axis, what is normalized from it on: the shape of their statistics, and of `scale`. */
static int rows_fit(pt_op_use* use, const pt_tensor* x, const pt_tensor* scale, pt_tensor* rows) {
  pt_tensor row = *x;
  unsigned d, axis;
  if (!pt_want_axis(use, x->rank)) return 0;
  axis = (unsigned)use->ints[0];
  row.rank = (uint8_t)(x->rank - axis);
  for (d = 0; d < row.rank; ++d) row.dims[d] = x->dims[axis + d];
  *rows = *x;
  rows->rank = (uint8_t)axis;
  return pt_want_dims(use, scale, &row, PT_TEXT("the scale"));
}
static int layer_norm(pt_op_use* use) {
  pt_tensor rows;
  return rows_fit(use, in(use, 0), in(use, 1), &rows) &&
         pt_want_dims(use, in(use, 2), in(use, 1), PT_TEXT("the bias")) && make_normed(use, in(use, 0), &rows);
}
static int layer_norm_grad(pt_op_use* use) {
  pt_tensor rows;
  return rows_fit(use, in(use, 1), in(use, 2), &rows) &&
         pt_want_dims(use, in(use, 0), in(use, 1), PT_TEXT("the output's gradient")) &&
         pt_want_dims(use, in(use, 3), &rows, PT_TEXT("the mean")) &&
         pt_want_dims(use, in(use, 4), &rows, PT_TEXT("the inverse deviation")) &&
         make_normed(use, in(use, 1), in(use, 2));
}

PT_FAMILY(pt_norm_records, PT_NORM_OPERATORS)
