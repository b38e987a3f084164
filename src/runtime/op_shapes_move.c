/* Elements that move and do not change. */
#include "runtime/op_rules.h"

static int transpose(const pt_op_view* view) {
  const pt_tensor *x = in(view, 0), *y = out(view, 0);
  unsigned d, seen = 0;
  if (view->int_count != x->rank || y->rank != x->rank) return 0;
  for (d = 0; d < x->rank; ++d) {
    const int64_t from = view->ints[d];
    if (from < 0 || from >= x->rank || (seen >> from & 1) != 0 || y->dims[d] != x->dims[from]) return 0;
    seen |= 1u << from;
  }
  return 1;
}

/* `parts` laid end to end along the axis make `whole`. */
static int joins(const pt_op_view* view, const pt_tensor* parts, unsigned count, const pt_tensor* whole) {
  uint64_t extent = 0;
  unsigned part, d;
  if (!is_axis(view, whole->rank)) return 0;
  for (part = 0; part < count; ++part) {
    if (parts[part].rank != whole->rank) return 0;
    for (d = 0; d < whole->rank; ++d)
      if ((int64_t)d != view->ints[0] && parts[part].dims[d] != whole->dims[d]) return 0;
    extent += parts[part].dims[view->ints[0]];
  }
  return extent == whole->dims[view->ints[0]];
}

static int concat(const pt_op_view* view) {
  return joins(view, in(view, 0), view->input_count, out(view, 0));
}
static int split(const pt_op_view* view) {
  return joins(view, out(view, 0), view->output_count, in(view, 0));
}

/* `part` is every step-th element of `whole` from start, in each dimension. */
static int slices(const pt_op_view* view, const pt_tensor* whole, const pt_tensor* part) {
  unsigned d;
  if (part->rank != whole->rank || view->int_count != 2u * whole->rank) return 0;
  for (d = 0; d < whole->rank; ++d) {
    const int64_t start = view->ints[2 * d], step = view->ints[2 * d + 1], extent = whole->dims[d];
    int64_t last;
    if (start < 0 || start >= extent || step == 0 || step < -INT32_MAX || step > INT32_MAX) return 0;
    last = start + step * ((int64_t)part->dims[d] - 1);
    if (last < 0 || last >= extent) return 0;
  }
  return 1;
}

static int slice(const pt_op_view* view) {
  return slices(view, in(view, 0), out(view, 0));
}
static int slice_grad(const pt_op_view* view) {
  return slices(view, out(view, 0), in(view, 0));
}

/* rows = table with its axis replaced by the dims of index. */
static int gathers(const pt_op_view* view, const pt_tensor* table, const pt_tensor* index, const pt_tensor* rows) {
  unsigned d, axis;
  if (!is_axis(view, table->rank) || rows->rank + 1u != (unsigned)table->rank + index->rank) return 0;
  axis = (unsigned)view->ints[0];
  for (d = 0; d < rows->rank; ++d) {
    const uint32_t extent = d < axis                 ? table->dims[d]
                            : d < axis + index->rank ? index->dims[d - axis]
                                                     : table->dims[d + 1 - index->rank];
    if (rows->dims[d] != extent) return 0;
  }
  return 1;
}

static int gather(const pt_op_view* view) {
  return gathers(view, in(view, 0), in(view, 1), out(view, 0));
}
static int gather_grad(const pt_op_view* view) {
  return gathers(view, out(view, 0), in(view, 1), in(view, 0));
}

/* `indices`, of the rank of `x`, stay within its extents but along the axis. */
static int picks(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  const pt_tensor* indices = in(view, 1);
  unsigned d;
  if (!is_axis(view, x->rank) || indices->rank != x->rank || !pt_same_dims(indices, y)) return 0;
  for (d = 0; d < x->rank; ++d)
    if ((int64_t)d != view->ints[0] && indices->dims[d] > x->dims[d]) return 0;
  return 1;
}

static int gather_elements(const pt_op_view* view) {
  return picks(view, in(view, 0), out(view, 0));
}
static int gather_elements_grad(const pt_op_view* view) {
  return picks(view, out(view, 0), in(view, 0));
}

/* Updates `u` of `x` at the indices, which have its shape or are a vector along the axis. */
static int updates(const pt_op_view* view, const pt_tensor* x, const pt_tensor* u) {
  const pt_tensor* indices = in(view, 1);
  unsigned d;
  if (!is_axis(view, x->rank) || u->rank != x->rank) return 0;
  const int by_row = !pt_same_dims(indices, u);
  if (by_row && !is_vector(indices, u->dims[view->ints[0]])) return 0;
  for (d = 0; d < x->rank; ++d)
    if ((int64_t)d != view->ints[0] && (by_row ? u->dims[d] != x->dims[d] : u->dims[d] > x->dims[d])) return 0;
  return 1;
}

static int scatter_elements(const pt_op_view* view) {
  const int64_t reduction = view->ints[1];
  return reduction >= 0 && reduction < PT_SCATTER_COUNT && pt_same_dims(in(view, 0), out(view, 0)) &&
         updates(view, in(view, 0), in(view, 2));
}
static int scatter_elements_grad(const pt_op_view* view) {
  return pt_same_dims(in(view, 0), out(view, 0)) && updates(view, out(view, 0), out(view, 1));
}
static int scatter_reduce_grad(const pt_op_view* view) {
  const int64_t reduction = view->ints[1];
  const pt_tensor* x = in(view, 2);
  return reduction >= PT_SCATTER_MUL && reduction < PT_SCATTER_COUNT && pt_same_dims(in(view, 0), x) &&
         pt_same_dims(in(view, 4), x) && pt_same_dims(out(view, 0), x) && pt_same_dims(out(view, 1), in(view, 3)) &&
         updates(view, x, in(view, 3));
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_assign, 2, 2, 1, 1, 0, 0, SAME, pt_all_same},
    {PT_OP_gather_elements, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_elements},
    {PT_OP_gather_elements_grad, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_elements_grad},
    {PT_OP_scatter_elements, 3, 3, 1, 1, 2, 0, SAME_INDEX, scatter_elements},
    {PT_OP_scatter_elements_grad, 2, 2, 2, 2, 1, 0, SAME_INDEX, scatter_elements_grad},
    {PT_OP_scatter_reduce_grad, 5, 5, 2, 2, 2, 0, SAME_INDEX, scatter_reduce_grad},
    {PT_OP_transpose, 1, 1, 1, 1, -1, 0, SAME, transpose},
    {PT_OP_concat, 1, PT_MAX_OPERANDS - 1, 1, 1, 1, 0, SAME, concat},
    {PT_OP_split, 1, 1, 1, PT_MAX_OPERANDS - 1, 1, 0, SAME, split},
    {PT_OP_slice, 1, 1, 1, 1, -1, 0, SAME, slice},
    {PT_OP_slice_grad, 1, 1, 1, 1, -1, 0, SAME, slice_grad},
    {PT_OP_gather, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather},
    {PT_OP_gather_grad, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_grad},
};

const pt_op_family pt_move_rules = {rules, sizeof rules / sizeof rules[0]};
