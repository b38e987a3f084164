/* Reductions, sums along an axis, broadcasts. */
#include "runtime/op_rules.h"

/* `y` becomes what the mask leaves of the dimensions of `x`. */
static int kept_dims(pt_op_use* use, const pt_tensor* x, pt_tensor* y) {
  const int64_t mask = use->ints[0];
  unsigned d;
  if (mask < 0 || mask >> x->rank != 0)
    return pt_refuse(use, PT_TEXT("the mask {} names dimensions that it does not have"), mask, 0);
  y->rank = 0;
  for (d = 0; d < x->rank; ++d)
    if ((mask >> d & 1) == 0) y->dims[y->rank++] = x->dims[d];
  return 1;
}

static int reduce(pt_op_use* use) {
  return kept_dims(use, in(use, 0), pt_make(use, NULL));
}
static int reduce_max_grad(pt_op_use* use) {
  pt_tensor y;
  return kept_dims(use, in(use, 1), &y) && pt_want_dims(use, in(use, 0), &y, PT_TEXT("the output's gradient")) &&
         pt_want_dims(use, in(use, 2), &y, PT_TEXT("the maximum")) && pt_make_all(use, in(use, 1), 1);
}

static int arg_max(pt_op_use* use) {
  const pt_tensor* x = in(use, 0);
  pt_tensor* y = pt_make(use, x);
  unsigned d;
  if (!pt_want_axis(use, x->rank)) return 0;
  --y->rank;
  for (d = (unsigned)use->ints[0]; d < y->rank; ++d) y->dims[d] = x->dims[d + 1];
  return 1;
}

static int top_k(pt_op_use* use) {
  const pt_tensor* x = in(use, 0);
  const int64_t most = use->ints[1];
  if (!pt_want_axis(use, x->rank)) return 0;
  if (most < 1 || most > (int64_t)x->dims[use->ints[0]])
    return pt_refuse(use, PT_TEXT("there are no {} elements along an axis of {}"), most, x->dims[use->ints[0]]);
  pt_make(use, x)->dims[use->ints[0]] = (uint32_t)most;
  return pt_want_below(use, 2, 2, PT_TEXT("a flag must be 0 or 1, not {}"));
}

static int cumsum(pt_op_use* use) {
  return pt_want_below(use, 1, 2, PT_TEXT("a flag must be 0 or 1, not {}")) &&
         pt_want_below(use, 2, 2, PT_TEXT("a flag must be 0 or 1, not {}")) && pt_axis_same(use);
}

static int expand(pt_op_use* use) {
  if (!pt_want_given(use)) return 0;
  if (use->dtype != PT_F32 && use->dtype != PT_F64 && use->reals[0] != 1)
    return PT_REFUSE(use, "only floating-point numbers are scaled");
  return pt_broadcasts_to(in(use, 0), given(use, 0)) ||
         pt_refuse_shapes(use, PT_TEXT("it does not broadcast to {a}"), "", given(use, 0), given(use, 0));
}

PT_FAMILY(pt_reduce_records, PT_REDUCE_OPERATORS)
