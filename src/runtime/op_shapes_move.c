/* Elements that move and do not change. */
#include "runtime/op_rules.h"

static int alias(pt_op_use* use) {
  if (use->int_count > 1 || (use->int_count == 1 && use->ints[0] != 0 && use->ints[0] != 1))
    return PT_REFUSE(use, "its attribute is 0 or 1");
  return pt_want_given(use) && (pt_type_elements(in(use, 0)) == pt_type_elements(given(use, 0)) ||
                                pt_refuse_shapes(use, PT_TEXT("the shape {a} has another number of elements"), "",
                                                 given(use, 0), given(use, 0)));
}

static int transpose(pt_op_use* use) {
  const pt_tensor* x = in(use, 0);
  pt_tensor* y = pt_make(use, x);
  unsigned d, seen = 0;
  if (use->int_count != x->rank) return PT_REFUSE(use, "the permutation has another number of dimensions");
  for (d = 0; d < x->rank; ++d) {
    const int64_t from = use->ints[d];
    if (!pt_want_below(use, d, x->rank, PT_TEXT("the permutation names dimension {}, which it does not have")))
      return 0;
    if ((seen >> from & 1) != 0) return pt_refuse(use, PT_TEXT("the permutation names dimension {} twice"), from, 0);
    seen |= 1u << from;
    y->dims[d] = x->dims[from];
  }
  return 1;
}

/* `whole` becomes the parts laid end to end along the axis. */
static int join(pt_op_use* use, const pt_tensor* parts, unsigned count, pt_tensor* whole) {
  uint64_t extent = 0;
  unsigned part;
  if (!pt_want_axis(use, parts[0].rank)) return 0;
  *whole = parts[0];
  whole->data = NULL;
  for (part = 0; part < count; ++part) {
    pt_tensor wanted = parts[0];
    if (parts[part].rank != wanted.rank) return PT_REFUSE(use, "its parts differ in rank");
    wanted.dims[use->ints[0]] = parts[part].dims[use->ints[0]];
    if (!pt_want_dims(use, &parts[part], &wanted, PT_TEXT("a part"))) return 0;
    extent += parts[part].dims[use->ints[0]];
  }
  whole->dims[use->ints[0]] = (uint32_t)extent;
  return pt_want_extent(use, extent);
}

static int concat(pt_op_use* use) {
  return join(use, in(use, 0), use->input_count, pt_make(use, NULL));
}
static int split(pt_op_use* use) {
  pt_tensor whole;
  return pt_want_given(use) && join(use, given(use, 0), use->output_count, &whole) &&
         (pt_same_dims(&whole, in(use, 0)) ||
          pt_refuse_shapes(use, PT_TEXT("its parts make up {a}"), "", &whole, &whole));
}

/* `part` is every step-th element of `whole` from start, in each dimension. */
static int slices(pt_op_use* use, const pt_tensor* whole, const pt_tensor* part) {
  unsigned d;
  if (part->rank != whole->rank || use->int_count != 2u * whole->rank)
    return PT_REFUSE(use, "it needs start and step of every dimension");
  for (d = 0; d < whole->rank; ++d) {
    const int64_t start = use->ints[2 * d], step = use->ints[2 * d + 1], extent = whole->dims[d];
    const int sane = start >= 0 && start < extent && step != 0 && step >= -INT32_MAX && step <= INT32_MAX;
    const int64_t last = sane ? start + step * ((int64_t)part->dims[d] - 1) : -1;
    if (last < 0 || last >= extent) {
      pt_refuse(use, PT_TEXT("elements from {} by {} leave the extent {}"), start, step);
      if (use->problem != NULL) use->problem->numbers[2] = (double)extent;
      return 0;
    }
  }
  return 1;
}

static int slice(pt_op_use* use) {
  return pt_want_given(use) && slices(use, in(use, 0), given(use, 0));
}
static int slice_grad(pt_op_use* use) {
  return pt_want_given(use) && slices(use, given(use, 0), in(use, 0));
}

static int assign_slice(pt_op_use* use) {
  return slices(use, in(use, 0), in(use, 1)) && pt_make_all(use, in(use, 0), 1);
}

/* `rows` becomes the table with its axis replaced by the dims of the index. */
static int gather_dims(pt_op_use* use, const pt_tensor* table, pt_tensor* rows) {
  const pt_tensor* index = in(use, 1);
  unsigned d, axis;
  if (!pt_want_axis(use, table->rank)) return 0;
  if (table->rank + index->rank - 1u > PT_MAX_RANK)
    return pt_refuse(use, PT_TEXT("its result has more than {} dimensions"), PT_MAX_RANK, 0);
  axis = (unsigned)use->ints[0];
  rows->rank = (uint8_t)(table->rank + index->rank - 1u);
  for (d = 0; d < rows->rank; ++d)
    rows->dims[d] = d < axis                 ? table->dims[d]
                    : d < axis + index->rank ? index->dims[d - axis]
                                             : table->dims[d + 1 - index->rank];
  return 1;
}

static int gather(pt_op_use* use) {
  return gather_dims(use, in(use, 0), pt_make(use, NULL));
}
static int gather_grad(pt_op_use* use) {
  pt_tensor rows;
  return pt_want_given(use) && gather_dims(use, given(use, 0), &rows) &&
         pt_want_dims(use, in(use, 0), &rows, PT_TEXT("the output's gradient"));
}

/* The indices, of the rank of `x`, stay within its extents but along the axis. */
static int picks(pt_op_use* use, const pt_tensor* x) {
  const pt_tensor* indices = in(use, 1);
  unsigned d;
  if (!pt_want_axis(use, x->rank) || !pt_want_rank(use, indices, x->rank, PT_TEXT("the tensor of indices"))) return 0;
  for (d = 0; d < x->rank; ++d)
    if ((int64_t)d != use->ints[0] && indices->dims[d] > x->dims[d])
      return pt_refuse(use, PT_TEXT("the indices leave the input in dimension {}"), d, 0);
  return 1;
}

static int gather_elements(pt_op_use* use) {
  return picks(use, in(use, 0)) && pt_make_all(use, in(use, 1), 1);
}
static int gather_elements_grad(pt_op_use* use) {
  return pt_want_given(use) && picks(use, given(use, 0)) &&
         pt_want_dims(use, in(use, 0), in(use, 1), PT_TEXT("the output's gradient"));
}

/* Updates `u` of `x` at the indices, which have its shape or are a vector along the axis. */
static int updates(pt_op_use* use, const pt_tensor* x, const pt_tensor* u) {
  const pt_tensor* indices = in(use, 1);
  const int by_row = !pt_same_dims(indices, u);
  unsigned d;
  if (!pt_want_axis(use, x->rank) || !pt_want_rank(use, u, x->rank, PT_TEXT("the tensor of updates"))) return 0;
  if (by_row && (indices->rank != 1 || indices->dims[0] != u->dims[use->ints[0]]))
    return PT_REFUSE(use, "the indices do not fit the updates");
  for (d = 0; d < x->rank; ++d)
    if ((int64_t)d != use->ints[0] && (by_row ? u->dims[d] != x->dims[d] : u->dims[d] > x->dims[d]))
      return pt_refuse(use, PT_TEXT("the updates do not fit the input in dimension {}"), d, 0);
  return 1;
}
static int has_reduction(pt_op_use* use, int64_t least) {
  return (use->ints[1] >= least && use->ints[1] < PT_SCATTER_COUNT) ||
         pt_refuse(use, PT_TEXT("there is no reduction {}"), use->ints[1], 0);
}

static int scatter_elements(pt_op_use* use) {
  if (!updates(use, in(use, 0), in(use, 2)) || !has_reduction(use, PT_SCATTER_LAST)) return 0;
  if (use->dtype == PT_BOOL && (use->ints[1] == PT_SCATTER_ADD || use->ints[1] == PT_SCATTER_MUL))
    return PT_REFUSE(use, "bool is not computed on");
  return pt_make_all(use, in(use, 0), 1);
}
static int scatter_elements_grad(pt_op_use* use) {
  return pt_want_given(use) && updates(use, given(use, 0), given(use, 1)) &&
         pt_want_dims(use, in(use, 0), given(use, 0), PT_TEXT("the output's gradient"));
}
static int scatter_reduce_grad(pt_op_use* use) {
  const pt_tensor* x = in(use, 2);
  return updates(use, x, in(use, 3)) && has_reduction(use, PT_SCATTER_MUL) &&
         pt_want_dims(use, in(use, 0), x, PT_TEXT("the output's gradient")) &&
         pt_want_dims(use, in(use, 4), x, PT_TEXT("the output")) && pt_make_all(use, x, 1) &&
         pt_make_all(use, in(use, 3), 1);
}

PT_FAMILY(pt_move_records, PT_MOVE_OPERATORS)
