#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Positions of the k most along an axis: a heap of k positions, in place of the output, with the last of them in order
 * at its root. The order is a total one (of equals the lower position first, NaN above all), so that there is one
 * answer whatever the algorithm. */
typedef struct ranking {
  const void* x;
  int64_t* y;
  uint8_t dtype;
  size_t extent, inner, most; /* the axis, the elements between its neighbours, k */
  int largest;
  size_t from, to; /* where the row at hand begins in x and y */
} ranking;

/* 1, 0 or -1: element a of the row is above, equal to or below element b. */
static int order_of(const ranking* r, int64_t a, int64_t b) {
  const size_t left = r->from + (size_t)a * r->inner, right = r->from + (size_t)b * r->inner;
  if (r->dtype == PT_REAL_DTYPE) {
    const pt_real x = ((const pt_real*)r->x)[left], y = ((const pt_real*)r->x)[right];
    if (x != x || y != y) return (x != x) - (y != y);
    return (x > y) - (x < y);
  }
  const int64_t x = pt_integer_at(r->x, r->dtype, left), y = pt_integer_at(r->x, r->dtype, right);
  return (x > y) - (x < y);
}

static int comes_before(const ranking* r, int64_t a, int64_t b) {
  const int order = order_of(r, a, b);
  if (order == 0) return a < b;
  return r->largest ? order > 0 : order < 0;
}

static int64_t* place(const ranking* r, size_t at) {
  return &r->y[r->to + at * r->inner];
}

static void swap_places(const ranking* r, size_t a, size_t b) {
  const int64_t kept = *place(r, a);
  *place(r, a) = *place(r, b);
  *place(r, b) = kept;
}

static void sift_down(const ranking* r, size_t at, size_t count) {
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && comes_before(r, *place(r, child), *place(r, child + 1))) ++child;
    if (!comes_before(r, *place(r, at), *place(r, child))) return;
    swap_places(r, at, child);
    at = child;
  }
}

static void rank_row(const ranking* r) {
  for (size_t at = 0; at < r->most; ++at) *place(r, at) = (int64_t)at;
  for (size_t at = r->most / 2; at-- > 0;) sift_down(r, at, r->most);
  for (size_t at = r->most; at < r->extent; ++at) {
    if (!comes_before(r, (int64_t)at, *place(r, 0))) continue;
    *place(r, 0) = (int64_t)at;
    sift_down(r, 0, r->most);
  }
  for (size_t last = r->most; last-- > 1;) {
    swap_places(r, 0, last);
    sift_down(r, 0, last);
  }
}

static void rank_rows(void* arg, size_t begin, size_t end) {
  ranking r = *(const ranking*)arg;
  for (size_t row = begin; row < end; ++row) {
    r.from = row / r.inner * r.extent * r.inner + row % r.inner;
    r.to = row / r.inner * r.most * r.inner + row % r.inner;
    rank_row(&r);
  }
}

pt_status PT_NAME(pt_top_k)(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  const size_t axis = (size_t)call->ints[0], count = pt_elements(x);
  ranking r = {x->data,
               call->outputs[0].data,
               x->dtype,
               x->dims[axis],
               pt_extent(x, axis + 1, x->rank),
               (size_t)call->ints[1],
               call->ints[2] != 0,
               0,
               0};
  return PT_NAME(pt_parallel)(call, count / r.extent, count * 4, rank_rows, &r);
}
