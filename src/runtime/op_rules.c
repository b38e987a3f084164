/* What the shape checks of all op families share: equal dims, broadcasting, flags. op_rules.h has the contracts. */
#include "runtime/op_rules.h"

int pt_same_dims(const pt_tensor* a, const pt_tensor* b) {
  unsigned d;
  if (a->rank != b->rank) return 0;
  for (d = 0; d < a->rank; ++d)
    if (a->dims[d] != b->dims[d]) return 0;
  return 1;
}

uint32_t pt_padded_dim(const pt_tensor* t, unsigned d, unsigned rank) {
  return d + t->rank < rank ? 1 : t->dims[d + t->rank - rank];
}

int pt_broadcasts_to(const pt_tensor* from, const pt_tensor* to) {
  unsigned d;
  if (from->rank > to->rank) return 0;
  for (d = 0; d < to->rank; ++d) {
    const uint32_t extent = pt_padded_dim(from, d, to->rank);
    if (extent != 1 && extent != to->dims[d]) return 0;
  }
  return 1;
}

int pt_broadcast_dims(const pt_tensor* a, const pt_tensor* b, const pt_tensor* y, unsigned dims) {
  unsigned d;
  if (a->rank > y->rank || b->rank > y->rank) return 0;
  for (d = 0; d < dims; ++d) {
    const uint32_t of_a = pt_padded_dim(a, d, y->rank), of_b = pt_padded_dim(b, d, y->rank);
    if (of_a != of_b && of_a != 1 && of_b != 1) return 0;
    if (y->dims[d] != (of_a > of_b ? of_a : of_b)) return 0;
  }
  return 1;
}

int pt_all_same(const pt_op_view* view) {
  unsigned operand;
  for (operand = 1; operand < (unsigned)view->input_count + view->output_count; ++operand)
    if (!pt_same_dims(in(view, 0), in(view, operand))) return 0;
  return 1;
}

int pt_flagged_same(const pt_op_view* view) {
  return pt_all_same(view) && view->ints[0] >= 0 && view->ints[0] <= 1;
}

int pt_axis_same(const pt_op_view* view) {
  return pt_all_same(view) && is_axis(view, in(view, 0)->rank);
}
