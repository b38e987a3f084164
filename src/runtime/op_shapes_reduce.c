/* Reductions, sums along an axis, broadcasts. */
#include "runtime/op_rules.h"

/* Operands of the reduction at `x` and `y`. */
static int reduces(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  unsigned d, kept = 0;
  if (view->ints[0] < 0 || view->ints[0] >> x->rank != 0) return 0;
  for (d = 0; d < x->rank; ++d) {
    if ((view->ints[0] >> d & 1) != 0) continue;
    if (kept >= y->rank || y->dims[kept] != x->dims[d]) return 0;
    ++kept;
  }
  return kept == y->rank;
}

static int reduce(const pt_op_view* view) {
  return reduces(view, in(view, 0), out(view, 0));
}
static int reduce_max_grad(const pt_op_view* view) {
  return pt_same_dims(in(view, 1), out(view, 0)) && pt_same_dims(in(view, 0), in(view, 2)) &&
         reduces(view, in(view, 1), in(view, 0));
}

static int arg_max(const pt_op_view* view) {
  const pt_tensor *x = in(view, 0), *y = out(view, 0);
  unsigned d;
  if (!is_axis(view, x->rank) || y->rank + 1 != x->rank) return 0;
  for (d = 0; d < y->rank; ++d)
    if (y->dims[d] != x->dims[(int64_t)d < view->ints[0] ? d : d + 1]) return 0;
  return 1;
}

static int top_k(const pt_op_view* view) {
  const pt_tensor *x = in(view, 0), *y = out(view, 0);
  unsigned d;
  if (!is_axis(view, x->rank) || y->rank != x->rank || view->ints[2] < 0 || view->ints[2] > 1) return 0;
  if (view->ints[1] < 1 || view->ints[1] > (int64_t)x->dims[view->ints[0]]) return 0;
  for (d = 0; d < x->rank; ++d)
    if (y->dims[d] != ((int64_t)d == view->ints[0] ? (uint32_t)view->ints[1] : x->dims[d])) return 0;
  return 1;
}

static int cumsum(const pt_op_view* view) {
  return pt_axis_same(view) && view->ints[1] >= 0 && view->ints[1] <= 1 && view->ints[2] >= 0 && view->ints[2] <= 1;
}

static int expand(const pt_op_view* view) {
  return pt_broadcasts_to(in(view, 0), out(view, 0));
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_reduce_sum, 1, 1, 1, 1, 1, 0, SAME, reduce},
    {PT_OP_reduce_mean, 1, 1, 1, 1, 1, 0, REAL, reduce},
    {PT_OP_expand, 1, 1, 1, 1, 0, 1, SAME, expand},
    {PT_OP_reduce_max, 1, 1, 1, 1, 1, 0, SAME, reduce},
    {PT_OP_reduce_max_grad, 3, 3, 1, 1, 1, 0, REAL, reduce_max_grad},
    {PT_OP_arg_max, 1, 1, 1, 1, 1, 0, POSITIONS, arg_max},
    {PT_OP_top_k, 1, 1, 1, 1, 3, 0, POSITIONS, top_k},
    {PT_OP_cumsum, 1, 1, 1, 1, 3, 0, SAME, cumsum},
};

const pt_op_family pt_reduce_rules = {rules, sizeof rules / sizeof rules[0]};
