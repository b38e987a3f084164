/* What the shape rules of all op families share: equal dims, broadcasting, refusals. op_rules.h has the contracts. */
#include "runtime/op_rules.h"

#include <string.h>

#include "kernels/portable/update_group.h"

#ifndef PT_NO_TEXT
int pt_refuse(pt_op_use* use, const char* text, int64_t a, int64_t b) {
  if (use->problem != NULL) {
    use->problem->text = text;
    use->problem->numbers[0] = (double)a, use->problem->numbers[1] = (double)b;
  }
  return 0;
}

int pt_refuse_shapes(pt_op_use* use, const char* text, const char* what, const pt_tensor* a, const pt_tensor* b) {
  if (use->problem != NULL) {
    use->problem->text = text, use->problem->what = what;
    use->problem->a = *a, use->problem->b = *b;
  }
  return 0;
}
#endif

pt_tensor* pt_make(pt_op_use* use, const pt_tensor* like) {
  pt_tensor* made = &use->made[use->made_count++];
  memset(made, 0, sizeof *made);
  if (like != NULL) *made = *like;
  made->data = NULL;
  made->dtype = use->dtype;
  return made;
}

int pt_make_all(pt_op_use* use, const pt_tensor* like, unsigned count) {
  while (count-- > 0) pt_make(use, like);
  return 1;
}

int pt_same_dims(const pt_tensor* a, const pt_tensor* b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* The dim that lines up with dim d of a tensor of `rank`, as numpy pads with 1s on the left. */
static uint32_t padded_dim(const pt_tensor* t, unsigned d, unsigned rank) {
  return d + t->rank < rank ? 1 : t->dims[d + t->rank - rank];
}

int pt_broadcasts_to(const pt_tensor* from, const pt_tensor* to) {
  unsigned d;
  if (from->rank > to->rank) return 0;
  for (d = 0; d < to->rank; ++d) {
    const uint32_t extent = padded_dim(from, d, to->rank);
    if (extent != 1 && extent != to->dims[d]) return 0;
  }
  return 1;
}

int pt_broadcast(pt_op_use* use, pt_tensor* y, const pt_tensor* x) {
  const pt_tensor before = *y;
  unsigned d;
  if (x->rank > y->rank) y->rank = x->rank;
  for (d = 0; d < y->rank; ++d) {
    const uint32_t a = padded_dim(&before, d, y->rank), b = padded_dim(x, d, y->rank);
    if (a != b && a != 1 && b != 1)
      return pt_refuse_shapes(use, PT_TEXT("{a} and {b} do not broadcast to one shape"), "", &before, x);
    y->dims[d] = a == 1 ? b : a;
  }
  return 1;
}

int pt_want_rank(pt_op_use* use, const pt_tensor* tensor, unsigned rank, const char* what) {
  if (tensor->rank == rank) return 1;
  if (use->problem != NULL) use->problem->numbers[0] = rank;
  return pt_refuse_shapes(use, PT_TEXT("{what} {a} must have {} dimensions"), what, tensor, tensor);
}

int pt_want_dims(pt_op_use* use, const pt_tensor* tensor, const pt_tensor* like, const char* what) {
  if (pt_same_dims(tensor, like)) return 1;
  return pt_refuse_shapes(use, PT_TEXT("{what} {a} must have the shape {b}"), what, tensor, like);
}

int pt_want_vector(pt_op_use* use, const pt_tensor* tensor, uint64_t length, const char* what) {
  pt_tensor vector = *tensor;
  if (!pt_want_extent(use, length)) return 0;
  vector.rank = 1;
  vector.dims[0] = (uint32_t)length;
  return pt_want_dims(use, tensor, &vector, what);
}

int pt_want_axis(pt_op_use* use, unsigned rank) {
  if (use->ints[0] >= 0 && use->ints[0] < (int64_t)rank) return 1;
  return pt_refuse(use, PT_TEXT("axis {} is not among {} dimensions"), use->ints[0], rank);
}

int pt_want_below(pt_op_use* use, unsigned at, int64_t count, const char* text) {
  return (use->ints[at] >= 0 && use->ints[at] < count) || pt_refuse(use, text, use->ints[at], 0);
}

int pt_want_group(pt_op_use* use) {
  const unsigned place = (unsigned)pt_group_place(use->op);
  if (use->int_count != place && use->int_count != place + 1)
    return pt_refuse(use, PT_TEXT("it does not have {} integer and {} real attributes"), use->int_count,
                     use->real_count);
  return use->int_count == place || pt_want_below(use, place, PT_MAX_GROUPS, PT_TEXT("there is no group {}"));
}

int pt_want_outputs(pt_op_use* use, unsigned count) {
  if (use->output_count == 0 || use->output_count == count) return 1;
  return pt_refuse(use, PT_TEXT("it does not make {} outputs"), use->output_count, 0);
}

int pt_want_given(pt_op_use* use) {
  return use->output_count != 0 || PT_REFUSE(use, "the type of its output must be given");
}

int pt_want_extent(pt_op_use* use, uint64_t extent) {
  return extent <= INT32_MAX || pt_refuse(use, PT_TEXT("the extent {} is out of range"), (int64_t)extent, 0);
}

int pt_want_reals(pt_op_use* use, unsigned begin, unsigned end) {
  unsigned input;
  for (input = begin; input < end; ++input) {
    const uint8_t dtype = in(use, input)->dtype;
    if (dtype != PT_F32 && dtype != PT_F64)
      return pt_refuse(use, PT_TEXT("its operands must be floating point, not {dtype}"), dtype, 0);
    if (dtype != in(use, begin)->dtype) return PT_REFUSE(use, "its inputs must have one element type");
  }
  return 1;
}

int pt_same(pt_op_use* use) {
  unsigned input;
  for (input = 1; input < use->input_count; ++input)
    if (!pt_want_dims(use, in(use, input), in(use, 0), PT_TEXT("every input"))) return 0;
  return pt_make_all(use, in(use, 0), 1);
}

int pt_axis_same(pt_op_use* use) {
  return pt_want_axis(use, in(use, 0)->rank) && pt_same(use);
}

int pt_broadcast_all(pt_op_use* use) {
  pt_tensor* y = pt_make(use, in(use, 0));
  unsigned input;
  for (input = 1; input < use->input_count; ++input)
    if (!pt_broadcast(use, y, in(use, input))) return 0;
  return 1;
}
